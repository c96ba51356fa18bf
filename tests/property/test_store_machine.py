"""The store under any order of writes, closings, kills and repairs: each write is there exactly once, and the counts
agree."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scirgen.commands.doctor import repair
from scirgen.core.records import Dataset, Failure, Rejection
from scirgen.pipeline.store import Store
from scirgen.pipeline.views.view import StoreView
from scirgen.stages.base import StageResult

DATASETS = st.sampled_from(["d0", "d1", "d2"])
STAGES = st.sampled_from(["parse", "generate", "filter"])
KEYS = st.sampled_from(["k0", "k1", "k2"])
FINGERPRINTS = st.sampled_from(["f0", "f1"])

Result = tuple[str, int, int, int]
"""Status, outputs, rejections, failures."""


def result_of(outputs: int, rejections: int, failures: int) -> StageResult:
    aside = Rejection(stage="s", code="length", reason="r", record_kind="QAPair", record_id="qa")
    return StageResult(
        tuple(Dataset(id=f"x{n}", title="t" * 300) for n in range(outputs)),
        (aside,) * rejections,
        (Failure(stage="s", code="model", message="no"),) * failures,
    )


class StoreMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="scirgen-store-"))
        self.kills = 0
        self.folder = self.home / "0"
        self.store = Store(self.folder / "run.db")
        self.results: dict[tuple[str, str, str], Result] = {}
        self.members: dict[tuple[str, str, str], tuple[str, str, str] | None] = {}
        self.seen: dict[str, int] = {}
        self.collected = 0
        self.complete: dict[str, str] = {}
        self.pages: dict[str, tuple[str, str | None, str]] = {}

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.home)

    # -- writing ---------------------------------------------------------------------------------------------------

    @rule(dataset=DATASETS, stage=STAGES, keys=st.sets(KEYS))
    def plan(self, dataset: str, stage: str, keys: set[str]) -> None:
        self.store.plan(dataset, stage, sorted(keys))
        for member in [m for m in self.members if m[:2] == (dataset, stage) and m[2] not in keys]:
            del self.members[member]
        for key in keys:
            self.members.setdefault((dataset, stage, key), None)

    @rule(
        stage=STAGES, key=KEYS, fingerprint=FINGERPRINTS, counts=st.tuples(*[st.integers(0, 3)] * 3),
        used_by=st.none() | DATASETS,
    )  # fmt: skip
    def put(self, stage: str, key: str, fingerprint: str, counts: tuple[int, int, int], used_by: str | None) -> None:
        stored = self.store.put(stage, key, fingerprint, result_of(*counts), 0.1, used_by=used_by)
        status = "done" if not counts[2] else "partial" if counts[0] or counts[1] else "failed"
        assert stored.status == status
        self.results[stage, key, fingerprint] = (status, *counts)
        if used_by is not None:
            self.members[used_by, stage, key] = (stage, key, fingerprint)

    @rule(dataset=DATASETS, stage=STAGES, key=KEYS, fingerprint=FINGERPRINTS)
    def use(self, dataset: str, stage: str, key: str, fingerprint: str) -> None:
        stored = self.store.get(stage, key, fingerprint)
        assert (stored is not None) == ((stage, key, fingerprint) in self.results)
        if stored is not None:
            self.store.use(dataset, stage, key, stored.id)
            self.members[dataset, stage, key] = (stage, key, fingerprint)

    @rule(stage=STAGES, key=KEYS, fingerprint=FINGERPRINTS)
    def forget(self, stage: str, key: str, fingerprint: str) -> None:
        stored = self.store.get(stage, key, fingerprint)
        if stored is None:
            return
        self.store.forget(stored.id)
        gone = (stage, key, fingerprint)
        del self.results[gone]
        self.members = {m: None if points == gone else points for m, points in self.members.items()}

    @rule(datasets=st.lists(DATASETS, unique=True, min_size=1), run=st.integers(1, 3))
    def see(self, datasets: list[str], run: int) -> None:
        self.store.see_datasets(datasets, 0, run)
        self.seen |= dict.fromkeys(datasets, run)

    @rule(run=st.integers(1, 3))
    def read_the_catalogue_to_its_end(self, run: int) -> None:
        self.store.set_meta("collected", str(run))
        self.collected = run

    @rule(dataset=st.none() | DATASETS, keep=st.sets(STAGES))
    def supersede(self, dataset: str | None, keep: set[str]) -> None:
        self.store.supersede(dataset, sorted(keep))
        for member in self.members:
            if dataset in (None, member[0]) and member[1] not in keep:
                self.members[member] = None
        for one in self.complete:
            if dataset in (None, one):
                self.complete[one] = ""

    @rule(dataset=DATASETS, fingerprint=st.sampled_from(["", "p0", "p1"]))
    def complete_dataset(self, dataset: str, fingerprint: str) -> None:
        self.store.complete_dataset(dataset, fingerprint)
        if dataset in self.seen:
            self.complete[dataset] = fingerprint

    @rule(cursor=st.sampled_from(["start", "c1"]), fingerprint=FINGERPRINTS, following=st.none() | st.just("c1"))
    def put_page(self, cursor: str, fingerprint: str, following: str | None) -> None:
        self.store.put_page(cursor, fingerprint, following, '["d0"]')
        self.pages[cursor] = (fingerprint, following, '["d0"]')

    @rule()
    def a_transaction_that_fails_leaves_nothing(self) -> None:
        try:
            with self.store.transaction():
                self.store.db.execute("DELETE FROM results")
                self.store.db.execute("DELETE FROM members")
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass

    # -- what ends a process ---------------------------------------------------------------------------------------

    @rule(clean=st.booleans())
    def close_and_open(self, clean: bool) -> None:
        self.store.close(clean=clean)
        self.store = Store(self.folder / "run.db")

    @rule()
    def kill_and_open(self) -> None:
        """A killed process leaves its files as they are at that moment; another one opens them."""
        self.kills += 1
        left = self.home / str(self.kills)
        shutil.copytree(self.folder, left)
        self.store.close()
        self.folder = left
        self.store = Store(self.folder / "run.db")

    @rule()
    def repair_a_sound_store(self) -> None:
        self.store.close()
        saved = repair(self.folder)
        assert saved.lost == {} and saved.kept["results"] == len(self.results)
        self.store = Store(self.folder / "run.db")
        self.complete = {}
        self.pages = {}  # the catalogue is read again

    # -- what must hold --------------------------------------------------------------------------------------------

    @invariant()
    def results_are_there_once(self) -> None:
        rows = self.store.db.execute("SELECT stage, key, fingerprint FROM results").fetchall()
        assert sorted(rows) == sorted(self.results)
        for identity, expected in self.results.items():
            found = self.store.get(*identity)
            assert found is not None
            counted = len(found.outputs()), len(found.rejections()), len(found.failures())
            assert (found.status, *counted) == expected and counted[:2] == (found.n_outputs, found.n_rejections)
        indexed = Counter(kind for (kind,) in self.store.db.execute("SELECT kind FROM rows"))
        wanted = [sum(r[n] for r in self.results.values()) for n in (1, 2, 3)]
        assert [indexed["Dataset"], indexed["Rejection"], indexed["Failure"]] == wanted

    @invariant()
    def paths_point_where_they_were_pointed(self) -> None:
        query = (
            "SELECT m.dataset_id, m.stage, m.key, r.stage, r.key, r.fingerprint "
            "FROM members m LEFT JOIN results r ON r.id=m.result_id"
        )
        rows = {row[:3]: row[3:] if row[3] else None for row in self.store.db.execute(query)}
        assert rows == self.members

    @invariant()
    def the_funnel_counts_what_the_current_run_points_at(self) -> None:
        current = {d for d, run in self.seen.items() if run >= self.collected}
        shared = {(m[1], m[2], points) for m, points in self.members.items() if m[0] in current}
        wanted: Counter[tuple[str, str]] = Counter()
        for stage, _, points in shared:
            wanted[stage, self.results[points][0] if points else "todo"] += 1
        funnel = StoreView(self.store).funnel()
        names = ("done", "partial", "failed", "todo")
        found = Counter({(s, name): row[name] for s, row in funnel.items() for name in names if row[name]})
        assert found == wanted
        assert StoreView(self.store).dataset_ids() == sorted(current)

    @invariant()
    def the_rest_is_kept(self) -> None:
        assert {d: self.store.completed(d) for d in ("d0", "d1", "d2")} == {
            d: self.complete.get(d, "") for d in ("d0", "d1", "d2")
        }
        assert {c: self.store.page(c) for c in self.pages} == self.pages

    @invariant()
    def sqlite_finds_nothing_wrong(self) -> None:
        self.store.check()

    @invariant()
    def another_process_may_read_and_not_write(self) -> None:
        reader = sqlite3.connect(f"file:{self.folder / 'run.db'}?mode=ro", uri=True)
        assert reader.execute("SELECT COUNT(*) FROM results").fetchone() == (len(self.results),)
        reader.close()


StoreMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
TestStore = StoreMachine.TestCase
