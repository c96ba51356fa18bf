"""A plan of stages that count their work, over a list of datasets. Tests set which items fail or stop, and which stage
has changed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from scirgen.core.config import Config, load_config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Dataset, Failure, Paper, QAPair, Rejection
from scirgen.core.registry import Registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.pipeline.engine import Engine
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.runner import Outcome, Runner
from scirgen.pipeline.store import Store
from scirgen.pipeline.views.view import open_view
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.collect.source import Candidate, Cursor, Fetched


class Killed(BaseException):
    """Stands for a SIGKILL: nothing below the event loop catches it."""


class ListSource:
    """Datasets d0..dN, each with the one paper that all share."""

    name = "list"

    def __init__(self, folder: Path, count: int) -> None:
        self.file = folder / "shared.txt"
        self.file.write_text("A paper.")
        self.count = count

    def revision(self, cursor: str | None) -> str | None:
        return str(self.count)

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        for number in range(int(cursor or 0), self.count):
            yield Dataset(id=f"d{number}", title=f"Dataset {number}")
            yield Cursor(str(number + 1))

    def papers(self, dataset: Dataset) -> Iterable[Candidate]:
        return [Candidate(Paper(id="p", doi="10.1/x"), "doi")]

    def fetch(self, paper: Paper) -> Fetched:
        return Fetched(self.file, "text/plain")


class Counting(Stage):
    """Counts its work. Parse has an item per paper, the others per dataset; stages from generate on pass a pair on."""

    def __init__(self, name: str, world: World) -> None:
        self.name = name
        self.version = world.versions.get(name, 1)
        self.world = world

    def uses(self, config: Config) -> Uses:
        return Uses()

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        if self.name == "release":
            return [WorkItem("release")]
        if self.name == "parse":
            return [WorkItem(p.id, (p,)) for p in scope.outputs("collect", Paper)]
        before = PLAN[[s.stage for s in PLAN].index(self.name) - 1].stage
        return [WorkItem(scope.dataset.id, (scope.dataset, *scope.outputs(before, QAPair)))]

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        if self.world.calls.total() == self.world.kill_after:
            raise Killed
        self.world.calls[f"{self.name} {item.key}"] += 1
        await asyncio.sleep(0)
        if (error := self.world.errors.get(f"{self.name} {item.key}")) is not None:
            raise error
        if (rejection := self.world.rejections.get(f"{self.name} {item.key}")) is not None:
            return StageResult(rejections=(rejection,))
        if self.name == "generate" and item.key in self.world.partial:
            half = QAPair(id=f"half-{item.key}", dataset_id=item.key, question="q", answer="a", question_type="t")
            return StageResult((half,), failures=(Failure(stage="generate", code="reply_invalid", message="no"),))
        if self.name == "filter" and item.key in self.world.stop_at:
            self.world.runner.stop()
        if self.name in ("generate", "filter", "tag"):
            return StageResult(
                (QAPair(id=f"qa-{item.key}", dataset_id=item.key, question="q", answer="a", question_type="t"),)
            )
        return StageResult()


class World:
    """A folder with a run, and the settings of the test."""

    def __init__(self, folder: Path, count: int = 5) -> None:
        self.folder = folder
        self.count = count
        self.calls: Counter[str] = Counter()
        self.versions: dict[str, int] = {}
        self.errors: dict[str, Exception] = {}
        self.rejections: dict[str, Rejection] = {}
        self.stop_at: set[str] = set()
        self.partial: set[str] = set()
        self.kill_after: int | None = None

    def run(self, **flags: object) -> Outcome:
        self.calls.clear()
        resources = Resources()
        config = load_config(flags=flags).config
        with Store(self.folder / "run.db") as store:
            ctx = StageContext(
                config, resources, PromptLibrary(resources), Taxonomies(resources), Registry(), self.folder
            )
            stages: dict[str, Stage] = {s.stage: Counting(s.stage, self) for s in PLAN[1:]}
            self.runner = Runner(store, ctx, stages, Engine(config), ListSource(self.folder, self.count), Observer())
            return asyncio.run(self.runner.run())

    def stages_called(self) -> set[str]:
        return {name.split()[0] for name in self.calls}

    def pairs(self) -> list[str]:
        view = open_view(self.folder)
        try:
            return [p.id for p in view.pairs()]
        finally:
            view.close()
