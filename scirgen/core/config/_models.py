"""The resolved configuration of a run."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from scirgen.core.config._stages import (
    CollectConfig,
    ExtractConfig,
    FilterConfig,
    GenerateConfig,
    MatchConfig,
    ParseConfig,
    QueryConfig,
    ReleaseConfig,
    Section,
    SectionConfig,
    TagConfig,
    VerifyConfig,
)


class ModelsConfig(Section):
    """Which models play which role, as URIs (``openai:NAME[@BASE_URL]``, ``hf:ID_OR_DIR``, ``vllm:...``, ``bundled:...``)."""

    generator: str = Field(
        default="bundled:smollm2-135m", description="URI of the model that reads papers and writes pairs"
    )
    scorer: str = Field(default="", description="empty: the generator, if it gives log-probabilities")
    judge: str = Field(default="", description="chat model for llm_judge; empty: the generator judges its own answers")
    pack: Literal["auto", "standard", "small"] = Field(
        default="auto", description="prompts for strong or for small models; auto: by the model's size"
    )
    options: dict[str, object] = Field(
        default={}, description="passed to the backends (dtype, device, api_key_env, ...)"
    )
    tokenizer: str = Field(
        default="",
        description="folder with the tokenizer of a model on a server: its special tokens are broken up in texts from outside",
    )
    prices: dict[str, tuple[float, float] | tuple[float, float, float]] = Field(
        default={},
        description="model name -> price per million prompt and completion tokens, and for prompt tokens that the server has "
        "in its prefix cache, if those cost less",
    )


class LimitsConfig(Section):
    """Concurrency, retries and budgets. Not part of a fingerprint: these settings change when something runs, not its
    result."""

    concurrency: int = Field(default=16, ge=1, description="largest number of model calls in flight")
    datasets_in_flight: int = Field(default=32, ge=1, description="largest number of datasets in work at once")
    timeout_s: float = Field(default=120.0, gt=0, description="time limit for a whole call to a model server")
    max_wait_s: float = Field(default=600.0, ge=0, description="upper limit for a model server's Retry-After")
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


class RayConfig(Section):
    """Settings of the ``ray`` engine. Not part of a fingerprint: all engines give the same release."""

    address: str | None = Field(default=None, description="address of a running cluster; none: Ray on this machine")
    actors: int | None = Field(
        default=None, ge=1, description="number of actors; none: one for each CPU of the cluster"
    )
    cpus: float = Field(default=1, ge=0, description="CPUs an actor claims")
    gpus: float = Field(default=0, ge=0, description="GPUs an actor claims; 1 for in-process models on GPUs")


class Config(Section):
    """Everything that decides what a run makes and how."""

    domain: str = Field(default="geo", description="name of the domain plugin")
    input: str | None = Field(default=None, description="folder or file of records; none: the domain's sample")
    papers: str | None = Field(default=None, description="folder of papers, if it is not inside the input")
    overrides: str | None = Field(
        default=None,
        description="folder with your own prompts/ and taxonomies/; a file overrides the built-in one with the same id",
    )
    seed: int = Field(default=0, description="random seed of samples, splits and model calls")
    shared: bool = Field(
        default=False,
        description="let other users of this machine read a new run's folder; its run.db and log.jsonl are private otherwise",
    )
    language: str = Field(default="en", description="language code of questions and answers: en, zh, pt-BR...")
    models: ModelsConfig = ModelsConfig()
    limits: LimitsConfig = LimitsConfig()
    engine: str = Field(default="local", description="where a run computes: local or ray")
    ray: RayConfig = RayConfig()
    collect: CollectConfig = CollectConfig()
    parse: ParseConfig = ParseConfig()
    section: SectionConfig = SectionConfig()
    match: MatchConfig = MatchConfig()
    extract: ExtractConfig = ExtractConfig()
    verify: VerifyConfig = VerifyConfig()
    query: QueryConfig = QueryConfig()
    generate: GenerateConfig = GenerateConfig()
    filter: FilterConfig = FilterConfig()
    tag: TagConfig = TagConfig()
    release: ReleaseConfig = ReleaseConfig()

    @field_validator("language")
    @classmethod
    def _is_a_code(cls, given: str) -> str:
        # With a name instead of a code, the gates would find no words and silently pass everything.
        if not re.fullmatch(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*", given):
            raise ValueError(f"{given!r} is not a language code; write en, zh, pt-BR...")
        return given
