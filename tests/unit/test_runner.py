"""The runner: what is done again and what is not, how failures and stops end, on a small plan of counting stages."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from scirgen.core.config import Config, load_config
from scirgen.core.errors import ModelAccessError, ReplyInvalidError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Dataset, Failure, Paper, QAPair, Rejection
from scirgen.core.registry import Registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.engines.local import LocalEngine
from scirgen.pipeline.observer import Silent
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.runner import Outcome, Runner
from scirgen.pipeline.store import Store
from scirgen.pipeline.view import StoreView
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.collect.source import Candidate, Cursor, Fetched


class ListSource:
    """Datasets d0..dN, each with the one paper that all share."""

    name = "list"

    def __init__(self, folder: Path, count: int) -> None:
        self.file = folder / "shared.txt"
        self.file.write_text("A paper.")
        self.count = count

    def revision(self, cursor: str | None) -> str | None:
        return None

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        for number in range(int(cursor or 0), self.count):
            yield Dataset(id=f"d{number}", title=f"Dataset {number}")
            yield Cursor(str(number + 1))

    def papers(self, dataset: Dataset) -> Iterable[Candidate]:
        return [Candidate(Paper(id="p", doi="10.1/x"), "doi")]

    def fetch(self, paper: Paper) -> Fetched:
        return Fetched(self.file, "text/plain")


class Counting(Stage):
    """Counts what it is asked to do; parse is per paper, the rest per dataset; generate and later pass a pair on."""

    def __init__(self, name: str, world: World) -> None:
        self.name = name  # type: ignore[misc]
        self.version = world.versions.get(name, 1)  # type: ignore[misc]
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
        self.world.calls[f"{self.name} {item.key}"] += 1
        await asyncio.sleep(0)
        if (error := self.world.errors.get(f"{self.name} {item.key}")) is not None:
            raise error
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
    """A folder with a run in it, and the knobs of the test."""

    def __init__(self, folder: Path, count: int = 5) -> None:
        self.folder = folder
        self.count = count
        self.calls: Counter[str] = Counter()
        self.versions: dict[str, int] = {}
        self.errors: dict[str, Exception] = {}
        self.stop_at: set[str] = set()
        self.partial: set[str] = set()

    def run(self, **flags: object) -> Outcome:
        self.calls.clear()
        resources = Resources()
        config = load_config(flags=flags).config
        with Store(self.folder / "run.db") as store:
            ctx = StageContext(
                config, resources, PromptLibrary(resources), Taxonomies(resources), Registry(), self.folder
            )
            stages: dict[str, Stage] = {s.stage: Counting(s.stage, self) for s in PLAN}
            self.runner = Runner(store, ctx, stages, LocalEngine(config), ListSource(self.folder, self.count), Silent())
            return asyncio.run(self.runner.run())

    def stages_called(self) -> set[str]:
        return {name.split()[0] for name in self.calls}

    def pairs(self) -> list[str]:
        view = StoreView.open(self.folder)
        try:
            return [p.id for p in view.pairs()]
        finally:
            view.close()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_first_run_does_every_item_once_and_shared_ones_once_in_all(world: World) -> None:
    assert world.run().status == "success"
    assert set(world.calls.values()) == {1}
    assert world.calls["parse 10.1/x"] == 1
    assert world.pairs() == [f"qa-d{n}" for n in range(5)]


def test_second_run_does_nothing(world: World) -> None:
    world.run()
    assert world.run().status == "success" and not world.calls


def test_changed_tag_stage_redoes_tag_and_release_alone(world: World) -> None:
    world.run()
    world.versions["tag"] = 2
    world.run()
    assert world.stages_called() == {"tag", "release"}


def test_changed_generate_stage_redoes_what_depends_on_it(world: World) -> None:
    world.run()
    world.versions["generate"] = 2
    world.run()
    assert world.stages_called() == {"generate", "filter", "tag", "release"}


def test_one_more_dataset_leaves_the_others_alone(world: World) -> None:
    world.run()
    world.count = 6
    world.versions["collect"] = 2
    world.run()
    assert {k.split()[1] for k in world.calls} == {"d5", "release"}


def test_lower_limit_leaves_the_rest_out_of_the_view_and_redoes_no_item(world: World) -> None:
    world.run()
    world.run(**{"collect.limit": 2})
    assert world.stages_called() == {"release"}
    assert world.pairs() == ["qa-d0", "qa-d1"]


def test_failed_item_makes_the_run_partial_and_is_tried_again(world: World) -> None:
    world.errors["tag d3"] = ReplyInvalidError("not JSON")
    outcome = world.run()
    assert outcome.status == "partial" and outcome.failed_items == 1
    assert world.pairs() == ["qa-d0", "qa-d1", "qa-d2", "qa-d4"]
    world.errors.clear()
    assert world.run().status == "success"
    assert set(world.calls) == {"tag d3", "release release"}
    assert len(world.pairs()) == 5


def test_what_was_made_from_a_partial_result_is_made_anew_once_it_is_whole(world: World) -> None:
    world.partial.add("d2")
    assert world.run().status == "partial"
    assert world.run().status == "partial" and set(world.calls) == {"generate d2"}, "the same half gives the same rest"
    world.partial.clear()
    assert world.run().status == "success"
    assert set(world.calls) == {"generate d2", "filter d2", "tag d2", "release release"}


def test_unexpected_exception_is_recorded_and_the_others_go_on(world: World) -> None:
    world.errors["extract d0"] = ZeroDivisionError("oops")
    assert world.run().status == "partial"
    view = StoreView.open(world.folder)
    assert view.funnel()["extract"]["failed:internal_error"] == 1
    view.close()


def test_fatal_error_stops_the_run_and_keeps_what_was_done(world: World) -> None:
    world.errors["generate d4"] = ModelAccessError("wrong key")
    with pytest.raises(ModelAccessError):
        world.run()
    done = set(world.calls)
    world.errors.clear()
    assert world.run().status == "success"
    assert not {k for k in world.calls if k.startswith("parse")} & done


def test_stop_drains_and_the_next_run_goes_on(world: World) -> None:
    world.count = 60
    world.stop_at.add("d2")
    assert world.run(**{"limits.datasets_in_flight": 2}).status == "stopped"
    first = set(world.calls)
    world.stop_at.clear()
    assert world.run(**{"limits.datasets_in_flight": 2}).status == "success"
    assert len(world.pairs()) == 60
    assert not first & set(world.calls)
