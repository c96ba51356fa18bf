"""The resolved configuration of a run."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Literal, TypeVar, cast

from pydantic import Field, SerializeAsAny, field_validator

from scirgen.core.config._stages import (
    AskConfig,
    CollectConfig,
    FilterConfig,
    GenerateConfig,
    MatchConfig,
    ParseConfig,
    ReleaseConfig,
    SearchConfig,
    Section,
    SectionConfig,
    TagConfig,
)
from scirgen.core.errors import PluginError
from scirgen.core.registry import load_registry

S = TypeVar("S", bound=Section)


class ModelsConfig(Section):
    """The models by role, as URIs (``openai:NAME[@BASE_URL]``, ``hf:ID_OR_DIR``, ``vllm:...``, ``bundled:...``)."""

    generator: str = Field(
        default="bundled:smollm2-135m", description="URI of the model that reads papers and writes pairs"
    )
    scorer: str = Field(default="", description="empty: the generator, if it gives log-probabilities")
    judge: str = Field(
        default="", description="chat or decision model for llm_judge; empty: the generator judges its own answers"
    )
    reasoning: Literal["", "low", "medium", "high"] = Field(
        default="", description="effort of a reasoning model on a server; empty: the model's own default"
    )
    pack: Literal["auto", "standard", "small"] = Field(
        default="auto", description="prompts for strong or for small models; auto: by the model's size"
    )
    options: dict[str, object] = Field(
        default={}, description="passed to the backends (dtype, device, api_key_env, ...)"
    )
    tokenizer: str = Field(
        default="",
        description="folder with the tokenizer of a model on a server: its special tokens are broken up in "
        "untrusted texts",
    )
    prices: dict[str, tuple[float, float] | tuple[float, float, float]] = Field(
        default={},
        description="model name -> price per million prompt and completion tokens, and for prompt tokens that the "
        "server has in its prefix cache; overrides scirgen's dated list (scirgen models --prices)",
    )


class LimitsConfig(Section):
    """Concurrency, retries and budgets. Not part of a fingerprint: these settings change when something runs, not its
    result."""

    concurrency: int = Field(default=16, ge=1, description="largest number of model calls in flight")
    datasets_in_flight: int = Field(default=32, ge=1, description="largest number of datasets in work at once")
    timeout_s: float = Field(
        default=600.0, gt=0, description="time limit for a whole call to a model server, and for its Retry-After"
    )
    max_reply_mb: float = Field(
        default=8.0, gt=0, description="largest answer of a model server, before and after decompression"
    )
    retries: int = Field(default=5, ge=0, description="number of retries of a model call after a temporary error")
    repair_attempts: int = Field(
        default=2, ge=0, description="number of times that a malformed reply is sent back for correction"
    )
    requests_per_minute: int | None = Field(default=None, description="rate of model calls; None: no limit")
    tokens_per_minute: int | None = Field(default=None, description="rate of tokens; None: no limit")
    max_tokens: int | None = Field(default=None, description="the run stops before it has used more tokens")
    max_cost: float | None = Field(default=None, description="the run stops before it costs more, by ``models.prices``")
    max_minutes: float | None = Field(default=None, description="the run starts no more work after this time")


class Config(Section):
    """Everything that decides what a run makes and how."""

    domain: str = Field(default="general", description="name of the domain plugin")
    input: str | None = Field(default=None, description="folder or file of records; none: the domain's sample, if any")
    papers: str | None = Field(default=None, description="folder of papers, if it is not inside the input")
    overrides: str | None = Field(
        default=None,
        description="folder with your own prompts/ and taxonomies/; a file overrides the built-in one with the same id",
    )
    seed: int = Field(default=0, description="random seed of samples, splits and model calls")
    shared: bool = Field(
        default=False,
        description="let other users of this machine read a new run's folder; its run.db and log.jsonl are private "
        "otherwise",
    )
    language: str = Field(default="en", description="language code of questions and answers: en, zh, pt-BR...")
    models: ModelsConfig = ModelsConfig()
    limits: LimitsConfig = LimitsConfig()
    engine: str = Field(default="local", description="where a run computes: local or ray")
    collect: CollectConfig = CollectConfig()
    parse: ParseConfig = ParseConfig()
    section: SectionConfig = SectionConfig()
    match: MatchConfig = MatchConfig()
    ask: AskConfig = AskConfig()
    search: SearchConfig = SearchConfig()
    generate: GenerateConfig = GenerateConfig()
    filter: FilterConfig = FilterConfig()
    tag: TagConfig = TagConfig()
    release: ReleaseConfig = ReleaseConfig()
    steps: tuple[str, ...] = Field(
        default=(), description="names of plugins' steps to run; a step whose settings section is given runs, too"
    )
    sections: dict[str, SerializeAsAny[Section]] = Field(
        default={},
        description="settings of plugins by section; write them at the top level, as `query: {recipes: ...}`",
    )

    @field_validator("sections", mode="before")
    @classmethod
    def _of_their_plugins(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        models = {name: section_model(name) for name, value in given.items() if not isinstance(value, Section)}
        return {k: models[k].model_validate(v) if k in models else v for k, v in given.items()}

    def part(self, name: str, kind: type[S]) -> S:
        """Return a plugin's section of settings; its defaults if the settings do not mention it."""
        found = self.sections.get(name)
        # A section that somebody wrote may not be empty, so the defaults are not checked.
        return found if isinstance(found, kind) else cast(S, kind.model_construct())

    def texts(self) -> Iterator[str]:
        """Yield every text in the settings: names of plugins, URIs of models, paths."""
        stack: list[object] = [self.model_dump(mode="json"), *self.sections]
        while stack:
            value = stack.pop()
            if isinstance(value, str):
                yield value
            elif isinstance(value, dict):
                stack += [*value, *value.values()]
            elif isinstance(value, list):
                stack += value

    def section_of(self, name: str) -> object:
        """Return the value of a top-level key, of a plugin's section, or of a key of one ("generate.mix"); None if the
        settings lack it.

        Raises:
            AttributeError: the section has no such key.
        """
        first, *keys = name.split(".")
        found: object = getattr(self, first) if first in type(self).model_fields else self.sections.get(first)
        return None if found is None else functools.reduce(getattr, keys, found)

    @field_validator("language")
    @classmethod
    def _is_a_code(cls, given: str) -> str:
        # With a name instead of a code, the gates would find no words and silently pass everything.
        if not re.fullmatch(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*", given):
            raise ValueError(f"{given!r} is not a language code; write en, zh, pt-BR...")
        return given


def section_model(name: str) -> type[Section]:
    """Return the model of a plugin's section of settings.

    Raises:
        PluginError: no plugin has a section of that name, or it is not a `Section`.
    """
    found = load_registry().get("settings", name)
    if not (isinstance(found, type) and issubclass(found, Section)):
        raise PluginError(f"settings {name!r} is not a subclass of scirgen.Section")
    return found
