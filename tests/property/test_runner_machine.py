"""Runs in any order with anything between them: stages change and change back, items fail and heal, runs are stopped
and killed.

The model knows which (stage, item, versions) are done; a run must do exactly the others that are in reach, each once.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scirgen.commands.doctor import diagnose
from scirgen.core.errors import ReplyInvalidError
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.views.view import open_view
from tests.support.counting_runs import Killed, World

STAGES = [step.stage for step in PLAN[1:-1]]
WIDTH = {"limits.datasets_in_flight": 3}
PAPER = "10.1/x"

Identity = tuple[object, ...]


class Runs(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="scirgen-machine-"))
        self.world = World(self.folder, count=3)
        self.limit: int | None = None
        self.done: set[Identity] = set()
        self.settled = False

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    # -- the model -------------------------------------------------------------------------------------------------

    def datasets(self) -> list[str]:
        count = self.world.count if self.limit is None else min(self.limit, self.world.count)
        return [f"d{n}" for n in range(count)]

    def identity(self, stage: str, dataset: str) -> Identity:
        """What an item's result depends on: its stage's version, and who made the pairs it is given."""
        version = self.world.versions.get(stage, 1)
        if stage in ("filter", "tag"):
            before = self.identity("generate" if stage == "filter" else "filter", dataset)
            return stage, dataset, version, before if before in self.done else None
        return stage, PAPER if stage == "parse" else dataset, version

    def to_do(self) -> set[str]:
        """The items that an undisturbed run works on, failing ones included, in order, since later items depend on
        them."""
        before, wanted = set(self.done), set[str]()
        for dataset in self.datasets():
            for stage in STAGES:
                identity = self.identity(stage, dataset)
                if identity not in before:
                    wanted.add(f"{stage} {identity[1]}")
                if f"{stage} {identity[1]}" not in self.world.errors:
                    self.done.add(identity)
        self.done = before
        return wanted

    def learn(self) -> None:
        """Record the work of the last run, in the plan's order, so that identities are those that the run saw."""
        for stage in STAGES:
            for dataset in self.datasets():
                identity = self.identity(stage, dataset)
                name = f"{stage} {identity[1]}"
                if name in self.world.calls and name not in self.world.errors:
                    self.done.add(identity)

    # -- what may happen -------------------------------------------------------------------------------------------

    @rule(stage=st.sampled_from(STAGES), version=st.integers(1, 2))
    def change_a_stage(self, stage: str, version: int) -> None:
        self.settled &= self.world.versions.get(stage, 1) == version
        self.world.versions[stage] = version

    @rule(stage=st.sampled_from(STAGES), number=st.integers(0, 3))
    def let_an_item_fail(self, stage: str, number: int) -> None:
        key = PAPER if stage == "parse" else f"d{number}"
        self.world.errors[f"{stage} {key}"] = ReplyInvalidError("no JSON")

    @rule()
    def heal_all(self) -> None:
        self.world.errors.clear()

    @precondition(lambda self: self.world.count < 5)
    @rule()
    def add_a_dataset(self) -> None:
        self.world.count += 1
        self.settled = False

    @rule(limit=st.none() | st.integers(1, 4))
    def set_a_limit(self, limit: int | None) -> None:
        self.settled &= limit == self.limit
        self.limit = limit

    @rule()
    def run_to_the_end(self) -> None:
        expected = self.to_do()
        outcome = self.world.run(**WIDTH, **{"collect.limit": self.limit})
        calls = set(self.world.calls)
        assert calls - {"release release"} == expected
        assert not self.settled or "release release" not in calls
        assert set(self.world.calls.values()) <= {1}
        self.learn()
        failing = {name for name in expected if name in self.world.errors}
        assert outcome.status == ("partial" if failing else "success") and outcome.failed_items == len(failing)
        self.check_the_view()
        self.settled = not failing  # failed items are tried again, and the release depends on the result

    @rule(at=st.integers(0, 4))
    def run_and_stop(self, at: int) -> None:
        expected = self.to_do()
        self.world.stop_at = {f"d{at}"}
        outcome = self.world.run(**WIDTH, **{"collect.limit": self.limit})
        self.world.stop_at = set()
        assert set(self.world.calls) - {"release release"} <= expected
        assert set(self.world.calls.values()) <= {1}
        self.learn()
        self.settled = False
        assert outcome.status in ("stopped", "success", "partial")

    @rule(after=st.integers(0, 20))
    def run_and_kill(self, after: int) -> None:
        expected = self.to_do()
        self.world.kill_after = after
        try:
            self.world.run(**WIDTH, **{"collect.limit": self.limit})
        except Killed:
            pass
        finally:
            self.world.kill_after = None
        assert set(self.world.calls) - {"release release"} <= expected
        # A call in flight when the process died gave no result; the store says which.
        self.learn_from_the_store()
        self.settled = False

    def learn_from_the_store(self) -> None:
        view = open_view(self.folder)
        try:
            stored = {
                (stage, key)
                for stage in STAGES
                for key, status in view.store.db.execute(
                    "SELECT m.key, r.status FROM members m JOIN results r ON r.id=m.result_id WHERE m.stage=?", (stage,)
                )
                if status == "done"
            }
        finally:
            view.close()
        self.world.calls = type(self.world.calls)(
            {name: 1 for name in self.world.calls if tuple(name.split(" ", 1)) in stored}
        )
        self.learn()

    # -- what must hold --------------------------------------------------------------------------------------------

    def check_the_view(self) -> None:
        """Nothing lost, nothing doubled, counts agree."""
        view = open_view(self.folder)
        try:
            funnel, pairs = view.funnel(), [p.id for p in view.pairs()]
        finally:
            view.close()
        ids = self.datasets()
        tagged = [d for d in ids if self.identity("tag", d) in self.done]
        assert pairs == [f"qa-{d}" for d in tagged]
        assert set(tagged) >= {d for d in ids if f"tag {d}" not in self.world.errors}
        for stage in STAGES:
            row = funnel[stage]
            items = {self.identity(stage, d)[1] for d in ids}
            failing = sum(f"{stage} {key}" in self.world.errors for key in items)
            assert row["done"] + row["failed"] == len(items) and row["todo"] == row["partial"] == 0
            done_before = {i[1] for i in (self.identity(stage, d) for d in ids) if i in self.done}
            assert row["done"] == len(done_before) >= len(items) - failing

    @invariant()
    def the_store_is_sound(self) -> None:
        if (self.folder / "run.db").exists():
            assert diagnose(self.folder) == []


Runs.TestCase.settings = settings(max_examples=50, stateful_step_count=14, deadline=None)
TestRuns = Runs.TestCase
