"""Checks prompts and taxonomies that load without error for likely mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel

from scirgen.claims.conformance import answer_problem, question_problem
from scirgen.core.errors import ResourceError
from scirgen.core.prompts import Prompt
from scirgen.core.safety.sandbox import Placeholder
from scirgen.core.text.shown import shown
from scirgen.plugin import PromptLibrary, QuestionType, Resources, Taxonomies, language_name, load_registry, suggest
from scirgen.stages.filter.gates.form import foreign_text

_FIELD = re.compile(r"^\s*- ([a-z_]+)(?=:|$)|`([a-z_]+)`", re.MULTILINE)
"""A field of a reply, as the built-in prompts name them: ``- question: ...``, or in backquotes."""
_KIND = re.compile(r"\bkind((?:\.[a-z_]+)+)(?!\w*\()")
CHARS_PER_TOKEN = 4
CONTEXT_TOKENS: Mapping[str, int] = {"standard": 8192, "small": 2048}
_MATERIAL_SHARE = 0.5
"""Share of the context that must remain for the material and the reply."""
_SMALL_PROMPT_TOKENS = 350
"""Models below about 0.5B parameters copy from longer instructions or cannot follow them."""


@dataclass(frozen=True)
class Finding:
    """One problem. An error makes a run fail or its rows wrong; a warning makes rows worse."""

    level: Literal["error", "warning"]
    where: str
    message: str


def sample_variables(
    prompt: Prompt, taxonomies: Taxonomies, domain: str, kind: QuestionType, language: str = "en"
) -> dict[str, object]:
    """Return a value for every variable of a prompt: real ones from the taxonomies if available, else placeholders."""
    known: dict[str, Callable[[], object]] = {
        "kind": lambda: kind,
        "kinds": lambda: list(taxonomies.graesser.types),
        "samples": lambda: kind.examples_for(domain),
        "tasks": lambda: [
            {
                "kind": kind,
                "sample": next(iter(kind.examples_for(domain)), None),
                "count": 5,
                "level": next(iter(kind.levels), ""),
                "polarities": ["Yes", "No"] if kind.polar else [],
                "positions": ["first", "last"] if kind.answer.kind == "option" else [],
            }
        ],
        "levels": lambda: list(taxonomies.bloom.levels),
        "tie_breaking": lambda: taxonomies.bloom.tie_breaking,
        "language": lambda: language_name(language),
    }
    return {name: known[name]() if name in known else Placeholder(f"<{name}>") for name in prompt.file.variables}


def lint(
    prompts: PromptLibrary,
    taxonomies: Taxonomies,
    *,
    domain: str = "general",
    language: str = "en",
    context_tokens: int | None = None,
) -> list[Finding]:
    """Return all findings, errors first, over all prompts and taxonomies.

    Args:
        context_tokens: the model's window; None: 8192 for standard prompts, 2048 for those of the small pack.
    """
    found = list(lint_files(taxonomies))
    # Without these no prompt can be rendered; this would report one error thirty times.
    usable = taxonomies if {f.where for f in found}.isdisjoint(_RENDERED) else None
    if usable is not None:
        found += lint_types(taxonomies, domain, language)
    found += lint_prompts(prompts, usable, domain, context_tokens)
    return sorted(found, key=lambda f: (f.level, f.where))


_RENDERED = ("taxonomies/graesser", "taxonomies/bloom", "taxonomies/wording")


def lint_files(taxonomies: Taxonomies) -> Iterator[Finding]:
    """Yield the taxonomy files that do not load, those of plugins among them."""
    registry = load_registry()
    models = registry.names("taxonomy")
    for name in taxonomies.names():
        try:
            if name in models:
                taxonomies.load(name, cast("type[BaseModel]", registry.get("taxonomy", name)))
            else:
                taxonomies.hash(name)
        except ResourceError as error:
            yield Finding("error", f"taxonomies/{name}", error.in_full)


def lint_types(taxonomies: Taxonomies, domain: str, language: str = "en") -> Iterator[Finding]:
    """Yield the findings on question types: missing examples, examples that violate their own type's expectations,
    unknown levels."""
    kinds, wording = taxonomies.question_types((), language), taxonomies.wording.of(language)
    levels = {level.id for level in taxonomies.bloom.levels}
    known = {kind.id: kind.name for kind in kinds}
    for code, words in taxonomies.wording.languages.items():
        if len(code.partition("-")[0]) > 3 or language_name(code) == code:
            yield Finding("error", "taxonomies/wording", f"{code!r} is not the code of a language, such as 'it'")
        for id in words.types.keys() - known.keys():
            yield Finding("error", "taxonomies/wording", f"{code}: unknown question type {id!r}. {suggest(id, known)}")
    general = [kind.id for kind in kinds if domain not in kind.examples]
    if domain != "general" and general:
        message = f"no examples of {domain!r}, the general ones are shown: {shown(general, 4)}"
        yield Finding("warning", "taxonomies/graesser", message)
    for kind in kinds:
        where = f"taxonomies/graesser: {kind.id}"
        if (same := next(id for id, name in known.items() if name == kind.name)) != kind.id:
            yield Finding("error", where, f"has the name of {same!r}, {kind.name!r}; a model could not tell them apart")
        for level in set(kind.levels) - levels:
            yield Finding("error", where, f"unknown Bloom level {level!r}")
        for field in ("ask", "reply", "stems"):
            if not getattr(kind, field):
                yield Finding("warning", where, f"has no {field!r}, which prompts show to the model")
        if not kind.examples_for(domain):
            yield Finding("error", where, f"has no examples for {domain!r}, and no general ones")
        for name, examples in kind.examples.items():
            for number, example in enumerate(examples, 1):
                if foreign_text(f"{example.question} {example.answer}", language, taxonomies.wording):
                    continue
                at = f"{where}: example {number} of {name!r}"
                if not example.evidence:
                    yield Finding("warning", at, "has no 'evidence', which shows the model where an answer comes from")
                problem = question_problem(kind, example.question)
                if problem:
                    yield Finding("error", at, f"the question {problem}: {example.question!r}")
                problem = answer_problem(kind, example.question, example.answer, wording)
                if problem:
                    yield Finding("error", at, f"the answer {problem}: {example.answer!r}")


def lint_prompts(
    prompts: PromptLibrary, taxonomies: Taxonomies | None, domain: str, context_tokens: int | None = None
) -> Iterator[Finding]:
    """Yield the findings on prompts: those that do not load or render, unused variables and examples, texts that are
    too long. Without taxonomies, only those that do not load."""
    built_in = Resources().find("prompts")
    standard = PromptLibrary(Resources())
    for id in prompts.ids():
        if id not in built_in:
            yield Finding("warning", f"prompts/{id}", f"replaces no built-in prompt. {suggest(id, built_in)}")
        try:
            prompt = prompts.get(id)
        except ResourceError as error:
            yield Finding("error", f"prompts/{id}", error.in_full)
            continue
        if taxonomies is None:
            continue
        replaced = built_in.get(id)
        if replaced is not None and prompt.origin != "scirgen":
            wanted = standard.get(id).file.output
            if prompt.file.output != wanted:
                yield Finding(
                    "error",
                    f"prompts/{id}",
                    f"{prompt.path}: output is {prompt.file.output!r}, and the stage reads {wanted!r}: "
                    f"write 'output: {wanted}'",
                )
            if wanted == "json" and (gone := _fields(standard.get(id)) - _fields(prompt)):
                message = (
                    f"does not name {', '.join(sorted(gone))} as the built-in prompt does; replies need these words"
                )
                yield Finding("warning", f"prompts/{id}", message)
        if slips := list(_attributes(prompt)):
            yield from slips
            continue
        yield from _lint_prompt(prompt, taxonomies, domain, context_tokens)


def _fields(prompt: Prompt) -> set[str]:
    return {a or b for text in (prompt.file.system, prompt.file.user) for a, b in _FIELD.findall(text)}


def _attributes(prompt: Prompt) -> Iterator[Finding]:
    """Yield the unknown attributes of a question type, such as ``{{ kind.replay }}``, with the place and a similar
    name."""
    lines = Path(prompt.path).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        for found in _KIND.finditer(line):
            model: object = QuestionType
            for name in found.group(1).split(".")[1:]:
                fields = getattr(model, "model_fields", None)
                if fields is None:
                    break
                known = {*fields, *(n for n, v in vars(model).items() if isinstance(v, (property, cached_property)))}
                if name not in known:
                    yield Finding(
                        "error",
                        f"prompts/{prompt.id}",
                        f"{prompt.path}:{number}: 'kind{found.group(1)}' does not exist. {suggest(name, known)}",
                    )
                    break
                model = fields[name].annotation if name in fields else None


def _lint_prompt(prompt: Prompt, taxonomies: Taxonomies, domain: str, context_tokens: int | None) -> Iterator[Finding]:
    where = f"prompts/{prompt.id}"
    turns = prompt.file.turns
    used = prompt.used
    for slip in prompt.slips:
        yield Finding("warning", where, slip)
    if prompt.file.examples and "examples" not in used and turns is None:  # a stage may show them as turns
        yield Finding("warning", where, "has examples but does not show them")
    try:
        kinds = taxonomies.graesser.types if used & {"kind", "samples", "tasks"} else taxonomies.graesser.types[:1]
        sizes = {k.id: _tokens(prompt, sample_variables(prompt, taxonomies, domain, k)) for k in kinds}
    except ResourceError as error:
        yield Finding("error", where, error.message)
        return
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        yield Finding("warning", where, f"could not be rendered with placeholders: {error}")
        return
    longest = max(sizes, key=lambda k: sizes[k])
    pack = "small" if prompt.id.endswith(".small") else "standard"
    context = context_tokens or CONTEXT_TOKENS[pack]
    need = sizes[longest] + prompt.file.sampling.max_tokens
    if need > context:
        yield Finding("error", where, f"about {need} tokens with the reply do not fit a context of {context}")
    elif need > context * (1 - _MATERIAL_SHARE) and context_tokens:
        yield Finding(
            "warning", where, f"about {need} tokens with the reply leave little of {context} for the material"
        )
    if pack == "small" and sizes[longest] > _SMALL_PROMPT_TOKENS:
        yield Finding("warning", where, f"about {sizes[longest]} tokens are long for a small model")


def _tokens(prompt: Prompt, variables: Mapping[str, Any]) -> int:
    rendered = prompt.filled(variables)
    return sum(len(text) for _, text in rendered.messages) // CHARS_PER_TOKEN
