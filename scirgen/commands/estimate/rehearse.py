"""A rehearsal: runs the real plan on a few datasets, with fetched and parsed papers and stand-in replies instead of a
model's.

`scirgen.commands.estimate.estimate` scales the calls of a rehearsal up to a whole run.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scirgen.commands.estimate.rehearsal import AT, Call, CallLog, StandInChat, StandInScoring
from scirgen.commands.estimate.stand_in import Lean
from scirgen.core.config import Config, QuotaConfig
from scirgen.core.errors import ScirgenError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Dataset
from scirgen.core.registry import Registry
from scirgen.core.resources import Resources
from scirgen.core.runtime import rare_collections
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.base import Capabilities, ModelIdentity
from scirgen.llm.chat_session import CachedChatSession
from scirgen.llm.open import backend_of, open_chat
from scirgen.llm.score_session import CachedScoreSession
from scirgen.llm.uri import ModelURI
from scirgen.pipeline.engines.local import LocalEngine
from scirgen.pipeline.observer import Silent
from scirgen.pipeline.runner import Runner
from scirgen.pipeline.store import RUN, Store
from scirgen.pipeline.views.dearest import DearPaper, dearest_papers
from scirgen.pipeline.views.view import StoreView
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, WorkItem
from scirgen.stages.collect.pages import iterate, setting_aside
from scirgen.stages.collect.source import Source
from scirgen.stages.collect.validated_source import CheckedSource
from scirgen.stages.filter.deciding import possible_names
from scirgen.stages.filter.stage import describe_gates

LEANS: tuple[Lean, ...] = ("usual", "sparse", "rich")
"""The rehearsals of an estimate; the time of the first is measured."""

WALK = 20_000
"""Largest number of records read to count datasets; beyond that, the catalogue's own count is used if it has one."""

_OPEN = -1e9


@dataclass(frozen=True)
class Sample:
    """Some datasets, and the total number. ``exact``: all records were read."""

    ids: tuple[str, ...]
    datasets: int
    exact: bool = True


@dataclass
class Rehearsal:
    """The requests of one rehearsal.

    Attributes:
        owners: stage -> item's key -> the sampled datasets that use it.
        calls: every request that would have cost money.
        outputs: stage -> records produced.
        pairs: number of pairs requested from generate, usable or not.
        stage_seconds: stage -> seconds of work on its items, one after the other.
        seconds: wall time of the whole rehearsal.
        dearest: the papers of the sample that take most calls.
    """

    lean: Lean
    owners: dict[str, dict[str, set[str]]]
    calls: list[Call]
    outputs: dict[str, int]
    pairs: int
    failed: dict[str, int]
    stage_seconds: dict[str, float]
    seconds: float
    dearest: tuple[DearPaper, ...] = ()


@dataclass
class ModelFacts:
    """Properties of generator and scorer that are known without calling them; ``notes`` list guesses."""

    generator: tuple[ModelIdentity, Capabilities]
    scorer: tuple[ModelIdentity, Capabilities]
    notes: list[str] = field(default_factory=list)


async def draw_sample(source: CheckedSource, config: Config, size: int) -> Sample:
    """``size`` datasets drawn evenly from those that a run would read (a seeded reservoir).

    Raises:
        ScirgenError: the catalogue cannot be read.
    """
    rng, kept = random.Random(config.seed), list[str]()
    wanted = looked_at = 0
    known: set[int] = set()
    exact = True
    async for entry in iterate(source.datasets, None):
        if not isinstance(entry, Dataset):
            continue
        looked_at += 1
        if setting_aside(entry, config.collect, known) is None:
            wanted += 1
            if len(kept) < size:
                kept.append(entry.id)
            elif (place := rng.randrange(wanted)) < size:
                kept[place] = entry.id
        if wanted == config.collect.limit:
            break
        if looked_at == WALK:
            exact = False
            break
    if not exact:
        total = source.count()
        if total is not None and total > looked_at:
            wanted = round(wanted * total / looked_at)
    limit = config.collect.limit
    return Sample(tuple(sorted(kept)), wanted if limit is None else min(wanted, limit), exact)


async def model_facts(config: Config, registry: Registry) -> ModelFacts:
    """Identity and capabilities of the models. It only asks a server for its list of models, and does without the list
    if there is no answer."""
    notes: list[str] = []
    uri = config.models.generator
    parsed = ModelURI.parse(uri)
    try:
        chat = await open_chat(uri, config, registry)
        generator = (chat.identity, chat.capabilities)
        await chat.aclose()
    except ScirgenError as error:
        if error.exit_status == 2 and error.error_code != "model_access":
            raise
        notes.append(f"{uri} did not answer ({error.message}); its prompt pack is derived from its name.")
        made = backend_of("chat_model", uri, registry)[1](parsed, config.models, config.limits)
        generator = (made.identity, made.capabilities)
    scorer = ModelURI.parse(config.models.scorer or uri)
    separate = scorer.scheme not in ("hf", "vllm", "bundled")
    abilities = Capabilities(logprobs=True, separate_scores=separate)
    return ModelFacts(generator, (ModelIdentity(scorer.scheme, scorer.name), abilities), notes)


async def rehearse(
    config: Config,
    registry: Registry,
    resources: Resources,
    stages: Mapping[str, Stage],
    source: Source,
    facts: ModelFacts,
    sample: Sample,
    lean: Lean,
    scratch: Path,
) -> Rehearsal:
    """Run the plan up to release over the sample. Rehearsals that share ``scratch`` parse each paper once.

    Raises:
        ScirgenError: a fatal error, as in a run.
    """
    config = _rehearsal_config(config, registry, sample, lean)
    log = CallLog()
    prompts = PromptLibrary(resources)
    chat = CachedChatSession(
        StandInChat(*facts.generator, lean, log), prompts=prompts, limits=config.limits, pack=config.models.pack
    )
    score = CachedScoreSession(StandInScoring(*facts.scorer, log), limits=config.limits)
    started = time.monotonic()
    with rare_collections(), Store(scratch / "run.db") as store:
        ctx = StageContext(config, resources, prompts, Taxonomies(resources), registry, scratch, chat, score)
        plan = {**stages, "release": _NoRelease()}
        await Runner(store, ctx, plan, _NotingEngine(config), source, Silent()).run()
        view = StoreView(store)
        dearest = dearest_papers(view)
        funnel = view.funnel()
        owners: dict[str, dict[str, set[str]]] = {}
        for dataset, stage, key in store.db.execute("SELECT dataset_id, stage, key FROM members"):
            if dataset != RUN:
                owners.setdefault(stage, {}).setdefault(key, set()).add(dataset)
        seconds = dict(store.db.execute("SELECT stage, SUM(seconds) FROM results GROUP BY 1").fetchall())
    return Rehearsal(
        lean, owners, log.calls,
        {stage: row["outputs"] for stage, row in funnel.items()},
        funnel["generate"]["outputs"] + funnel["generate"]["rejected"],
        {stage: row["failed"] + row["partial"] for stage, row in funnel.items() if row["failed"] + row["partial"]},
        seconds, time.monotonic() - started, dearest,
    )  # fmt: skip


def _rehearsal_config(config: Config, registry: Registry, sample: Sample, lean: Lean) -> Config:
    """Settings for one pass over the sample; for ``rich``, gates that need no model are off, so everything passes."""
    collect = config.collect.model_copy(update={"ids": sample.ids, "limit": len(sample.ids)})
    none = {"max_tokens": None, "max_cost": None, "max_minutes": None}
    changed: dict[str, object] = {
        "collect": collect,
        "limits": config.limits.model_copy(update=none),
        "generate": config.generate.model_copy(update={"quota": QuotaConfig()}),
    }
    if lean == "rich":
        free = [str(row["code"]) for row in describe_gates(config, registry) if not row["models"]]
        settings = config.filter.model_dump()
        settings["gate_options"] |= {gate: {"enabled": False} for gate in free}
        settings |= {"thresholds": {name: {"*": _OPEN} for name in possible_names(config)}, "combine": "all"}
        changed["filter"] = type(config.filter).model_validate(settings)
    return config.model_copy(update=changed)


class _NotingEngine(LocalEngine):
    """Tells the stand-in models which item makes a request."""

    async def execute(self, stage: Stage, item: WorkItem, ctx: StageContext) -> StageResult:
        token = AT.set((stage.name, item.key))
        try:
            return await super().execute(stage, item, ctx)
        finally:
            AT.reset(token)


class _NoRelease(Stage):
    """Do nothing: a rehearsal has no release."""

    name = "release"

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        return ()

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        return StageResult()
