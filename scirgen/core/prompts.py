"""Prompts as data: strict YAML files rendered by sandboxed Jinja. Calling a model with them is left to `scirgen.llm`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, cast

import jinja2
import jinja2.meta
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, ConfigDict, Field

from scirgen.core.errors import ResourceError
from scirgen.core.fingerprint import digest
from scirgen.core.registry import suggest
from scirgen.core.resources import Resources
from scirgen.core.yamlfile import load_yaml, validate

_ROLE_MARKERS = re.compile(r"<\|(?=[a-z_]+\|>)|\[(?=/?INST\])|<(?=/?(?:s|start_of_turn|end_of_turn)>)", re.I)


def fence(text: object) -> str:
    """Jinja filter for untrusted text: delimiters that the text cannot forge, chat control tokens broken up.

    The delimiter is derived from the text itself, so rendering stays deterministic and the text cannot contain it.
    """
    body = _ROLE_MARKERS.sub(lambda m: m.group() + " ", str(text))
    tag = f"data-{digest('fence', body)[:8]}"
    return f"<{tag}>\n{body}\n</{tag}>"


FENCE = re.compile(r"</?data-[0-9a-f]{6,}>")
"""What `fence` puts around data."""


def unfenced(text: str) -> str:
    """A reply without the delimiters of `fence`, which small models copy along with what is between them."""
    return FENCE.sub("", text).strip() or text


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, quicker for what templates are given: fields of records and keys of dicts are safe without its checks."""

    def getattr(self, obj: object, attribute: str) -> object:
        kind = type(obj)
        if kind is dict and attribute in cast("dict[str, object]", obj) and not hasattr(dict, attribute):
            return cast("dict[str, object]", obj)[attribute]
        if issubclass(kind, BaseModel) and attribute in kind.__pydantic_fields__:
            return getattr(obj, attribute)
        return super().getattr(obj, attribute)


_ENVIRONMENT = _Sandbox(
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=False,
    autoescape=False,
)
_ENVIRONMENT.filters["fence"] = fence


class SamplingDefaults(BaseModel):
    """Sampling parameters of a prompt; config may override them per stage."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    temperature: float = Field(default=0.0, ge=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_tokens: int = Field(default=512, gt=0)
    stop: tuple[str, ...] = ()


class Turns(BaseModel):
    """Worked examples as earlier turns of the conversation, which small models follow better than a description of the task."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    each: str = Field(description="variable that holds the examples; in the two templates, one of them is {{ item }}")
    user: str
    assistant: str


class Choice(BaseModel):
    """A label to choose from, in the guidelines of ``prompts/label``."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str = Field(description="what is stored")
    key: str = Field(min_length=1, max_length=1, description="the key that chooses it")
    name: str
    meaning: str = ""


class PromptFile(BaseModel):
    """What a file in ``prompts/<stage>/`` holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    version: int = Field(ge=1)
    description: str
    output: Literal["json", "text"] = "text"
    variables: dict[str, str] = Field(description="name -> what it is; using another one is an error")
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
    """Messages ready to be sent, and which prompt they came from."""

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
        # What a file leaves empty is left out, so that a new field changes the hash of no other prompt.
        left_out = {"description"} | {name for name in ("turns", "choices") if not getattr(self.file, name)}
        return digest(self.file.model_dump(mode="json", exclude=left_out))

    def render(self, **variables: object) -> RenderedPrompt:
        """Fill the template.

        Raises:
            ResourceError: a variable is missing, or one is passed that the file does not declare.
        """
        declared = set(self.file.variables)
        missing, unknown = declared - variables.keys(), variables.keys() - declared
        if missing or unknown:
            what = f"needs {sorted(missing)}" if missing else f"does not declare {sorted(unknown)}"
            raise ResourceError(f"prompt {self.id}: {what}", hint=suggest(next(iter(missing or unknown)), declared))
        values = {**variables, "examples": self.file.examples}
        messages: list[tuple[Literal["system", "user", "assistant"], str]] = []
        if self.file.system.strip():
            text = self._system_text
            messages.append(("system", self._fill("system", self.file.system, values) if text is None else text))
        if turns := self.file.turns:
            for item in cast("Iterable[object]", values[turns.each]):
                messages.append(("user", self._fill("turns.user", turns.user, {**values, "item": item})))
                messages.append(("assistant", self._fill("turns.assistant", turns.assistant, {**values, "item": item})))
        messages.append(("user", self._fill("user", self.file.user, values)))
        return RenderedPrompt(
            self.id, self.file.version, self.hash, self.file.output, self.file.sampling, tuple(messages)
        )

    def _fill(self, part: str, source: str, values: dict[str, object]) -> str:
        if source not in self._compiled:
            self._compiled[source] = _ENVIRONMENT.from_string(source)
        try:
            return self._compiled[source].render(values).strip()
        except jinja2.TemplateError as error:
            raise ResourceError(f"{self.path}: {part}: {error.message}") from error

    @cached_property
    def _system_text(self) -> str | None:
        """The system message where it is the same for every item, as most are; rendered once."""
        if jinja2.meta.find_undeclared_variables(_ENVIRONMENT.parse(self.file.system)):
            return None
        return self._fill("system", self.file.system, {})

    @cached_property
    def _compiled(self) -> dict[str, jinja2.Template]:
        return {}


class PromptLibrary:
    """All prompts of a run: the built-in ones, overridden by the domain's."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._files = resources.find("prompts")
        self._loaded: dict[str, Prompt] = {}

    def ids(self) -> list[str]:
        """Ids (``stage/name``, small-model variants ``stage/name.small``), sorted."""
        return sorted(self._files)

    def get(self, id: str, pack: str = "standard") -> Prompt:
        """The prompt ``id`` in the wanted pack; ``standard`` stands in where a pack has no variant.

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
        for part in ("system", "user"):
            self._check_template(getattr(file, part), set(file.variables), f"{resource.path}", lines.get((part,), 1))
        if file.turns:
            first_line = lines.get(("turns",), 1)
            if file.turns.each not in {*file.variables, "examples"}:
                hint = suggest(file.turns.each, file.variables)
                raise ResourceError(f"{resource.path}:{first_line}: undefined variable {file.turns.each!r}", hint=hint)
            for source in (file.turns.user, file.turns.assistant):
                self._check_template(source, {*file.variables, "item"}, f"{resource.path}", first_line)
        return Prompt(name, resource.origin, str(resource.path), file)

    @staticmethod
    def _check_template(source: str, declared: set[str], path: str, first_line: int) -> None:
        try:
            used = jinja2.meta.find_undeclared_variables(_ENVIRONMENT.parse(source))
        except jinja2.TemplateSyntaxError as error:
            raise ResourceError(f"{path}:{first_line + error.lineno}: {error.message}") from error
        for name in sorted(used - declared - {"examples"}):
            offset = next((i for i, text in enumerate(source.splitlines(), 1) if re.search(rf"\b{name}\b", text)), 0)
            raise ResourceError(
                f"{path}:{first_line + offset}: undefined variable {name!r}", hint=suggest(name, declared)
            )
