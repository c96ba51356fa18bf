"""scirgen's row of `benchmarks.throughput`: the real runner over synthetic datasets, one model call an item of
generate."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import BaseModel, Field

from benchmarks.scale import SyntheticSource
from benchmarks.throughput import material
from scirgen.core.config import Config, FilterConfig, LimitsConfig, ModelsConfig
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Dataset, QAPair, Rejection, Span
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.runtime import rare_collections
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.open import open_sessions
from scirgen.llm.server.openai_compat import OpenAIChat
from scirgen.pipeline.engine import Engine
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.runner import Runner
from scirgen.pipeline.store import Store
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.collect.source import Cursor
from scirgen.stages.filter.stage import FilterStage

BACKEND = OpenAIChat
"""Imported with everything else, so that the SDK counts as start-up here as it does in the bare row."""

GATES = ("schema", "not_verbatim", "language", "pointing", "not_supported")


class Pair(BaseModel):
    evidence: list[str] = Field(min_length=1, max_length=3)
    question: str
    answer: str


class Pairs(BaseModel):
    pairs: list[Pair] = Field(min_length=3, max_length=3)


class Synthetic(SyntheticSource):
    """``count`` datasets with 3 kB of description, without papers."""

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        for n in range(self.count):
            yield Dataset(id=f"d{n:05}", title=f"Measurements of basin {n}", description=material(n))


class Ask(Stage):
    """One call an item, with the prompt and the reply's form of the joint strategy."""

    name = "generate"

    def __init__(self, items: int) -> None:
        self._items = items

    def uses(self, config: Config) -> Uses:
        return Uses(prompts=("generate/joint",), roles=("generator",))

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        return [WorkItem(f"{scope.dataset.id}|{n:02}", (scope.dataset,)) for n in range(self._items)]

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        dataset = item.one(Dataset)
        kind = ctx.taxonomies.question_types()[int(item.key[-2:])]
        prompt = ctx.prompt("joint").render(
            record=[dataset.text],
            papers=(),
            tasks=[
                {"kind": kind, "sample": None, "count": 3, "level": "", "polarities": [], "positions": []},
            ],
            levels=(),
            tables=False,
            language="English",
            most=3,
            name="",
            by="",
            both=0,
        )
        answer = await ctx.chat.ask(prompt, Pairs, seed=ctx.seed(kind.id))
        made, origin = [], ctx.provenance(prompt, [answer.reply_key])
        for pair in answer.value.pairs:
            at = dataset.text.find(pair.evidence[0])
            if at >= 0:
                span = Span(document_id=dataset.id, start=at, end=at + len(pair.evidence[0]), text=pair.evidence[0])
                made.append(
                    QAPair(
                        id=QAPair.make_id(dataset.id, kind.id, pair.question, pair.answer),
                        dataset_id=dataset.id, question=pair.question, answer=pair.answer, question_type=kind.id,
                        evidence=(span,), strategy="joint", provenance=origin,
                    )
                )  # fmt: skip
        return StageResult(tuple(made))


class Nothing(Stage):
    """Stages that have nothing to do here."""

    def __init__(self, name: str) -> None:
        self.name = name

    def uses(self, config: Config) -> Uses:
        return Uses()

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        return [WorkItem("release")] if self.name == "release" else ()

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        return StageResult()


async def run(url: str, datasets: int, items: int, concurrency: int, out: Path) -> None:
    """Run it, and write one line a reply that became pairs."""
    config = Config(
        models=ModelsConfig(generator=f"openai:fake@{url}"),
        limits=LimitsConfig(concurrency=concurrency, retries=8, repair_attempts=4),
        filter=FilterConfig(gates=GATES, faithfulness=()),
    )
    folder = Path(f"{out}.run")
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240
    with rare_collections(), Store(folder / "run.db") as store:
        resources, registry = Resources(), load_registry()
        sessions = await open_sessions(config, registry, store.writer, needs_scores=False)
        ctx = StageContext(
            config, resources, PromptLibrary(resources), Taxonomies(resources), registry, folder, sessions.chat
        )
        stages: dict[str, Stage] = {s.stage: Nothing(s.stage) for s in PLAN}
        stages |= {"generate": Ask(items), "filter": FilterStage()}
        await Runner(store, ctx, stages, Engine(config), Synthetic(datasets), Observer()).run()
        usage = sessions.usage()
        rows = store.db.execute("SELECT COUNT(*) FROM replies WHERE spoiled = 0").fetchone()[0]
        done = store.db.execute(
            "SELECT COUNT(DISTINCT key) FROM results WHERE stage = 'generate' AND status = 'done'"
        ).fetchone()[0]
        await sessions.aclose()
    assert rows >= done
    with out.open("w") as file:
        file.writelines(f"{json.dumps(usage)}\n" for _ in range(done))
