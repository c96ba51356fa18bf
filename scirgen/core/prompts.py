"""Prompts as data: strict YAML files, filled in by `sandbox`. `scirgen.llm` calls a model with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, cast

import jinja2
from pydantic import Field

from scirgen.core.errors import ResourceError
from scirgen.core.files.yamlfile import load_yaml, validate
from scirgen.core.fingerprint import digest
from scirgen.core.records import Frozen
from scirgen.core.registry import suggest
from scirgen.core.resources import Resource, Resources
from scirgen.core.safety.sandbox import Budget, PromptError, check, compiled, fill, marked
from scirgen.core.safety.sandbox import variables as named_in
from scirgen.core.text.untrusted import FENCE_VERSION


class SamplingDefaults(Frozen):
    """Sampling parameters of a prompt; config may override them per stage."""

    temperature: float = Field(default=0.0, ge=0, le=2)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_tokens: int = Field(default=512, gt=0)
    stop: tuple[str, ...] = ()


class Turns(Frozen):
    """Examples as earlier turns of the conversation, which small models follow better than a description of the
    task."""

    each: str = Field(description="variable that holds the examples; in the two templates, one of them is {{ item }}")
    user: str
    assistant: str


class Choice(Frozen):
    """A label to choose from, in the guidelines of ``prompts/label``."""

    id: str = Field(description="the stored value")
    key: str = Field(min_length=1, max_length=1, description="the key that chooses it")
    name: str
    meaning: str = ""


class PromptFile(Frozen):
    """The content of a file in ``prompts/<stage>/``."""

    version: int = Field(ge=1)
    description: str
    output: Literal["json", "text"] = "text"
    variables: dict[str, str] = Field(description="name -> description; using an undeclared variable is an error")
    trusted: tuple[str, ...] = Field(
        default=(),
        description="variables (or variable.field) that taxonomies or code write; all others hold text from outside "
        "and must be "
        "printed with | fence or | inert. A file that replaces a built-in one inherits its list",
    )
    sampling: SamplingDefaults = SamplingDefaults()
    system: str = ""
    turns: Turns | None = None
    user: str
    examples: tuple[dict[str, object], ...] = Field(
        default=(), description="few-shot examples, shown as {{ examples }}"
    )
    choices: tuple[Choice, ...] = Field(default=(), description="labels to choose from; guidelines for labelling only")


@dataclass(frozen=True)
class RenderedPrompt:
    """Messages ready to send, and the prompt that they come from."""

    id: str
    version: int
    hash: str
    output: Literal["json", "text"]
    sampling: SamplingDefaults
    messages: tuple[tuple[Literal["system", "user", "assistant"], str], ...]

    @property
    def reference(self) -> str:
        """``id@version#hash``, as stored in provenance."""
        return f"{self.id}@{self.version}#{self.hash[:12]}"


@dataclass(frozen=True)
class Prompt:
    """A loaded prompt. ``origin`` is "scirgen" or the domain that overrides it."""

    id: str
    origin: str
    path: str
    file: PromptFile

    @cached_property
    def hash(self) -> str:
        """Hash of everything in the file that can change a reply."""
        # Empty fields are left out, so adding a field does not change the hash of other prompts; `trusted` does not
        # change replies.
        left_out = {"description", "trusted"} | {name for name in ("turns", "choices") if not getattr(self.file, name)}
        return digest(self.file.model_dump(mode="json", exclude=left_out), FENCE_VERSION)

    @property
    def reference(self) -> str:
        """``id@version#hash``, as a judge's identity and a sample's guideline have it."""
        return f"{self.id}@{self.file.version}#{self.hash[:12]}"

    def render(self, **variables: object) -> RenderedPrompt:
        """Fill the template. Strings are untrusted text (`Untrusted`) unless the file names them under ``trusted``.

        Raises:
            ResourceError: a variable is missing or undeclared, or the template fails.
        """
        declared = set(self.file.variables)
        missing, unknown = declared - variables.keys(), variables.keys() - declared
        if missing or unknown:
            what = f"needs {sorted(missing)}" if missing else f"does not declare {sorted(unknown)}"
            raise ResourceError(f"prompt {self.id}: {what}", hint=suggest(next(iter(missing or unknown)), declared))
        try:
            return self.filled(variables)
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise ResourceError(f"{self.path}: {type(error).__name__}: {error}") from error

    def filled(self, variables: Mapping[str, object]) -> RenderedPrompt:
        """Like `render`, for values that may not fit the template, such as placeholders; not every variable needs a
        value.

        Raises:
            ResourceError: the template fails; other exceptions come from a value that does not fit it.
        """
        values = {**marked(variables, self.file.trusted), "examples": self.file.examples}
        messages: list[tuple[Literal["system", "user", "assistant"], str]] = []
        budget = Budget()
        if self.file.system.strip():
            text = self._system_text
            messages.append(
                ("system", self._fill("system", self.file.system, values, budget) if text is None else text)
            )
        if turns := self.file.turns:
            for item in cast("Iterable[object]", values[turns.each]):
                shown = {**values, "item": item}
                messages.append(("user", self._fill("turns.user", turns.user, shown, budget)))
                messages.append(("assistant", self._fill("turns.assistant", turns.assistant, shown, budget)))
        messages.append(("user", self._fill("user", self.file.user, values, budget)))
        return RenderedPrompt(
            self.id, self.file.version, self.hash, self.file.output, self.file.sampling, tuple(messages)
        )

    @cached_property
    def used(self) -> frozenset[str]:
        """The variables that the templates name, ``examples`` included."""
        turns = self.file.turns
        sources = [self.file.system, self.file.user] + ([turns.user, turns.assistant] if turns else [])
        found = {name for source in sources for name in named_in(source)}
        return frozenset((found - {"item"} if turns else found) | ({turns.each} if turns else set()))

    @property
    def slips(self) -> list[str]:
        """Likely mistakes of its author; a variant for small models need not use all variables."""
        unused = set() if self.id.endswith(".small") else set(self.file.variables) - self.used
        return [f"declares {name!r} but does not use it" for name in sorted(unused)]

    def _fill(self, part: str, source: str, values: Mapping[str, object], budget: Budget) -> str:
        try:
            if source not in self._compiled:
                self._compiled[source] = compiled(source)
            return fill(self._compiled[source], values, budget)
        except PromptError as error:
            raise ResourceError(f"{self.path}: {part}: {error.message}") from error

    @cached_property
    def _system_text(self) -> str | None:
        """The system message if it is the same for every item, as most are; rendered once."""
        return None if named_in(self.file.system) else self._fill("system", self.file.system, {}, Budget())

    @cached_property
    def _compiled(self) -> dict[str, jinja2.Template]:
        return {}


class PromptLibrary:
    """All prompts of a run: the built-in ones, as overridden by the domain."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._files = resources.find("prompts")
        self._loaded: dict[str, Prompt] = {}

    def ids(self) -> list[str]:
        """Return the ids (``stage/name``, small-model variants ``stage/name.small``), sorted."""
        return sorted(self._files)

    def get(self, id: str, pack: str = "standard") -> Prompt:
        """Return the prompt ``id`` in the wanted pack, or in ``standard`` if the pack has no variant.

        Raises:
            ResourceError: unknown id, or the file is wrong (file, line, "did you mean").
        """
        variant = f"{id}.{pack}"
        name = variant if pack != "standard" and variant in self._files else id
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def _load(self, name: str) -> Prompt:
        resource = self._resources.get("prompts", name)
        value, lines = load_yaml(resource.path)
        file = validate(value, PromptFile, str(resource.path), lines)
        file = file.model_copy(update={"trusted": self._trusted(resource, file, lines.get(("trusted",), 1))})
        for part in ("system", "user"):
            self._check_template(getattr(file, part), set(file.variables), str(resource.path), lines.get((part,), 1))
        if file.turns:
            first_line = lines.get(("turns",), 1)
            each = file.turns.each
            if each not in {*file.variables, "examples"}:
                hint = suggest(each, file.variables)
                raise ResourceError(f"{resource.path}:{first_line}: undefined variable {each!r}", hint=hint)
            for source in (file.turns.user, file.turns.assistant):
                self._check_template(source, {*file.variables, "item"}, str(resource.path), first_line)
        return Prompt(name, resource.origin, str(resource.path), file)

    @staticmethod
    def _trusted(resource: Resource, file: PromptFile, line: int) -> tuple[str, ...]:
        """Return the variables that a prompt trusts. A file that replaces a built-in prompt, or is a variant of it,
        inherits that prompt's list."""
        if resource.origin == "scirgen":
            return file.trusted
        built_in = Resources().find("prompts")
        replaced = built_in.get(resource.id) or built_in.get(resource.id.rpartition(".")[0])
        if replaced is None:
            return file.trusted
        known = validate(load_yaml(replaced.path)[0], PromptFile, str(replaced.path)).trusted
        for name in file.trusted:
            if not any(name == k or name.startswith(f"{k}.") for k in known):
                raise ResourceError(
                    f"{resource.path}:{line}: {name!r} is untrusted text, which this prompt cannot list as trusted",
                    hint="Remove it from the list, and print it with | fence.",
                )
        return known

    @staticmethod
    def _check_template(source: str, declared: set[str], path: str, first_line: int) -> None:
        try:
            check(source)
            used = named_in(source)
        except PromptError as error:
            raise ResourceError(f"{path}:{first_line + error.line}: {error.message}") from error
        for name in sorted(used - declared - {"examples"}):
            offset = next((i for i, text in enumerate(source.splitlines(), 1) if re.search(rf"\b{name}\b", text)), 0)
            raise ResourceError(
                f"{path}:{first_line + offset}: undefined variable {name!r}", hint=suggest(name, declared)
            )
