"""The interface of all stages. Stages never import each other; they communicate through records."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from pydantic import BaseModel

from scirgen.core.config import Config
from scirgen.core.errors import ConfigError, PluginError
from scirgen.core.fingerprint import derived_seed
from scirgen.core.prompts import Prompt, PromptLibrary, RenderedPrompt
from scirgen.core.records import (
    Dataset,
    Failure,
    Provenance,
    QAPair,
    Record,
    Rejection,
)
from scirgen.core.registry import Registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.session import ChatSession, ScoreSession

R = TypeVar("R", bound=Record)
M = TypeVar("M", bound=BaseModel)
Role = Literal["generator", "scorer", "judge"]
AUTO, JUDGE = "auto", "llm_judge"
"""Names in ``filter.faithfulness``: the scorers that suit the models, and the judge that reads every pair."""


@dataclass(frozen=True)
class WorkItem:
    """One unit of work.

    Attributes:
        key: the item's key, unique within the stage; it names the item's subject (``dataset_id``, ``paper_id``,
            ``dataset_id|paper_id``, ``dataset_id|question_type``, ``...#round``).
        inputs: the records it is made from. Their producers' fingerprints enter the item's fingerprint.
        parameters: anything else the item depends on (a question type's id, a round, a quota cell), JSON-serialisable;
            part of the fingerprint.
        salt: hash of further definitions that only this item depends on (one question type's definition).
    """

    key: str
    inputs: tuple[Record, ...] = ()
    parameters: dict[str, object] = field(default_factory=dict)
    salt: str = ""

    def asked(self, kind: type[M]) -> M:
        """Return the parameters, with the type that the planning stage gave them."""
        return kind.model_validate(self.parameters)

    def of(self, kind: type[R]) -> tuple[R, ...]:
        """Return the inputs of a record class, in order."""
        return tuple(r for r in self.inputs if isinstance(r, kind))

    def one(self, kind: type[R]) -> R:
        """Return the first input of a record class."""
        return next(r for r in self.inputs if isinstance(r, kind))


@dataclass(frozen=True)
class StageResult:
    """The result of one work item. With failures, the outputs count but the item is tried again on the next run."""

    outputs: tuple[Record, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class Uses:
    """Everything that a stage's results depend on, apart from its inputs; hashed into its fingerprint."""

    config: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    taxonomies: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    extra: tuple[str, ...] = ()


def made_stage(registry: Registry, name: str) -> Stage:
    """Return a stage of the registry.

    Raises:
        PluginError: no stage has that name, or it is not a `Stage`.
    """
    made = registry.get("stage", name)
    if not (isinstance(made, type) and issubclass(made, Stage)):
        raise PluginError(f"stage {name!r} is not a Stage subclass")
    return made()


def asked_for(kind: str, base: type[Any], config: Config, registry: Registry) -> list[Any]:
    """Return the plugins of a kind that the settings name, in ``steps`` or by a section of their name; in the order of
    names.

    Raises:
        PluginError: what a plugin registered is not a subclass of ``base``.
    """
    found: list[Any] = []
    for name in registry.names(kind):
        if name in config.steps or name in config.sections:
            made = registry.get(kind, name)
            if not (isinstance(made, type) and issubclass(made, base)):
                raise PluginError(f"{kind} {name!r} is not a {base.__name__} subclass")
            found.append(made())
    return found


def suited(stage: Stage, ctx: StageContext) -> Stage:
    """Return the stage for a model's prompt pack: its variant `NAME.PACK` of the registry, or the stage itself.

    Raises:
        ConfigError: nothing that is installed serves the model's pack.
    """
    if ctx.pack == "standard":
        return stage
    variants = [name for name in ctx.registry.names("stage") if name.endswith(f".{ctx.pack}")]
    if not variants:
        raise ConfigError(
            f"{ctx.chat.identity} needs the prompts for {ctx.pack} models, and no installed plugin has them",
            hint='Install scirgen with its plugins (pip install "scirgen[local]"), take a larger model, or set '
            "models.pack: standard.",
        )
    name = f"{stage.name}.{ctx.pack}"
    return made_stage(ctx.registry, name) if name in variants else stage


def roles_in(stages: Iterable[Stage], config: Config) -> frozenset[Role]:
    """Return the models that the stages ask with these settings."""
    return frozenset(role for stage in stages for role in stage.uses(config).roles)


class Scope(Protocol):
    """The outputs of the earlier stages for one dataset and its papers."""

    @property
    def dataset(self) -> Dataset: ...

    def outputs(self, stage: str, kind: type[R]) -> tuple[R, ...]:
        """Return the records of a class produced by a stage, by work-item key. In later rounds: of all rounds."""

    def users(self, paper_id: str) -> tuple[Dataset, ...]:
        """Return all datasets of the run that use a paper, by id, this one among them. Known after match: not before
        extract."""

    @property
    def round(self) -> int:
        """0 for the first pass; later rounds only generate, filter and tag pairs for the quotas that are not met."""

    @property
    def wanted(self) -> Sequence[dict[str, object]]:
        """In later rounds: the quota cells given to this dataset (``question_type``, ``bloom``, ``polarity``,
        ``count``)."""


class RunView(Protocol):
    """The whole run, read-only, in the order of ids; what release and the report read. Iterators hold one row at a
    time."""

    def datasets(self) -> Iterator[Dataset]: ...

    def stages(self) -> tuple[str, ...]:
        """Return the names of the steps of the run's plan, in order; those of plugins among them."""

    def subjects(self) -> tuple[str, ...]:
        """Return the ids of the datasets that pairs are made about, sorted: all, unless ``generate.about`` chooses."""

    def records(self, stage: str, kind: type[R], dataset_id: str | None = None) -> Iterator[R]:
        """Yield the current outputs of a stage; shared outputs (of a paper) come once."""

    def uses(self) -> dict[str, tuple[str, ...]]:
        """Return a mapping: dataset id -> ids of the papers that use it, both sorted. All counts of used papers come
        from here."""

    def rejections(self, stage: str | None = None, dataset_id: str | None = None) -> Iterator[Rejection]: ...

    def pairs(self) -> Iterator[QAPair]:
        """Yield the accepted and tagged pairs, by id."""

    def within_target(self, ctx: StageContext, releasable: frozenset[str]) -> tuple[frozenset[str], tuple[str, ...]]:
        """Return the ids of the rows (of those that can be released) that the target keeps, and a line for the card on
        each cell with too few rows."""

    def content(self, *stages: str) -> str:
        """Return the digest of all datasets' current results of some stages."""

    def funnel(self) -> dict[str, dict[str, int]]:
        """Return a mapping: stage -> {"done", "failed", "outputs", "rejected", "rejected:<code>"...}."""

    def manifest(self) -> dict[str, object]:
        """Return the versions, hashes, models, counts and usage of the run."""

    def notes(self) -> tuple[str, ...]:
        """Return lines for the card: replaced steps; for a merged run, how its parts differ and what they lack."""


@dataclass(frozen=True)
class FrontMatter:
    """The facts that a paper states about itself, empty where it states none; ``passages`` are its blocks without
    references."""

    title: str = ""
    abstract: str = ""
    authors: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    doi: str | None = None
    year: int | None = None
    licence: str = "unknown"
    language: str = ""
    language_guessed: bool = True
    passages: tuple[str, ...] = ()


class PaperReader(Protocol):
    """Reads papers for a source that makes records of them. The pipeline provides it: stages do not know each other."""

    @property
    def versions(self) -> tuple[int | str, ...]:
        """Return the parsers' versions, which change when a paper may be read differently."""

    async def read(self, path: Path) -> FrontMatter:
        """Read one file.

        Raises:
            PaperError: it cannot be read.
        """

    def close(self) -> None:
        """End the processes that read."""


@dataclass(frozen=True)
class StageContext:
    """The services that a stage may use. It never changes: there is one per run, and ``at`` returns the one of an
    item."""

    config: Config
    resources: Resources
    prompts: PromptLibrary
    taxonomies: Taxonomies
    registry: Registry
    folder: Path
    chat_session: ChatSession | None = None
    score_session: ScoreSession | None = None
    run: RunView | None = None
    log: logging.Logger = field(default_factory=lambda: logging.getLogger("scirgen"))
    stage: str = ""
    key: str = ""
    fingerprint: str = ""
    judge_session: ChatSession | None = None

    def at(self, stage: str, key: str, fingerprint: str) -> StageContext:
        """Return this context for one work item."""
        return replace(self, stage=stage, key=key, fingerprint=fingerprint)

    @property
    def chat(self) -> ChatSession:
        """The generator."""
        if self.chat_session is None:
            raise ConfigError(f"stage {self.stage} needs a model, and none is configured", hint="Pass --model URI.")
        return self.chat_session

    @property
    def judge(self) -> ChatSession:
        """The model that judges answers: ``models.judge``, or the generator."""
        return self.judge_session or self.chat

    @property
    def judged(self) -> bool:
        """True if a judge reads every pair: ``filter.faithfulness`` names it, or ``auto`` takes it."""
        named, judge = self.config.filter.faithfulness, self.judge_session or self.chat_session
        return JUDGE in named or (AUTO in named and judge is not None and judge.pack == "standard")

    @property
    def scorer(self) -> ScoreSession:
        """The scorer."""
        if self.score_session is None:
            raise ConfigError(f"stage {self.stage} needs log-probabilities", hint="Pass --scorer URI.")
        return self.score_session

    @property
    def pack(self) -> str:
        """The prompt pack that suits the generator; "standard" without one."""
        return self.chat_session.pack if self.chat_session else "standard"

    def prompt(self, name: str) -> Prompt:
        """Return the stage's prompt ``name``, in the pack that suits the generator."""
        return self.prompts.get(f"{self.stage}/{name}", self.pack)

    def seed(self, *parts: object) -> int:
        """Return a seed derived from the run's seed, the stage, the item's key and ``parts``; never from a counter."""
        return derived_seed(self.config.seed, self.stage, self.key, *parts)

    def provenance(self, prompt: RenderedPrompt | None = None, replies: Iterable[str] = ()) -> Provenance:
        """Return the provenance of this item's outputs."""
        model = str(self.chat_session.identity) if prompt is not None and self.chat_session else None
        return Provenance(
            stage=self.stage,
            key=self.key,
            fingerprint=self.fingerprint,
            prompt=prompt.reference if prompt else None,
            model=model,
            replies=tuple(replies),
        )

    def reject(self, code: str, reason: str, about: Record | tuple[str, str], **fields: Any) -> Rejection:
        """Return the rejection of something that this item does not keep (see `Rejection.of`), with this item's
        provenance unless another is given."""
        return Rejection.of(self.stage, code, reason, about, **{"provenance": self.provenance(), **fields})


class Stage(ABC):
    """One of the steps of the pipeline. Stateless: everything it needs is in the item and the context.

    ``version`` is raised by hand whenever the same inputs would give other outputs. With ``reads_run``, ``items`` reads
    the records and papers of the whole run in ``ctx.run``, and its items are planned again when these change; such a
    step comes after match.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    reads_run: ClassVar[bool] = False
    on_driver: ClassVar[bool] = False
    """Do the work where the run's store is, whatever the engine."""
    refuse_empty: ClassVar[bool] = False
    """Stop a run before the release if the stage worked and produced nothing."""

    def uses(self, config: Config) -> Uses:
        """Return everything that results depend on, apart from the inputs."""
        return Uses(config=(self.name,))

    def definitions(self, ctx: StageContext) -> str:
        """Return the hash of the items' salts except for `uses`: gates, scorers, strategies or recipes, with versions
        and prompts.

        A dataset that is complete is planned again only if this or `uses` changes.
        """
        return ""

    def check_settings(self, config: Config, registry: Registry) -> None:  # noqa: B027 (most stages name nothing)
        """Refuse settings that name something that does not exist; it opens neither model nor input.

        Raises:
            ScirgenError: as for `check`.
        """

    def notes(self, ctx: StageContext) -> Iterable[str]:
        """Return lines that the user should see before any work."""
        return ()

    def check(self, ctx: StageContext) -> None:  # noqa: B027 (most stages have nothing to check)
        """Open what the settings name and refuse what cannot work, before any work is done.

        Raises:
            ScirgenError: the settings name something that does not exist, or that does not suit the models.
        """

    @abstractmethod
    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Return the work items of one dataset. Cheap and deterministic; items with the same key in several datasets
        are done once."""

    @abstractmethod
    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Process one item.

        Raises:
            ScirgenError: the item fails with that code; a fatal one stops the run.
        """
