"""For every division of a run into parts, also with datasets in several parts, the joined view equals that of the one run."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from scirgen.core.records import Dataset, Failure, Paper, QAPair, Rejection, SectionLabel
from scirgen.pipeline.store import Store
from scirgen.pipeline.views.merged_view import MergedView
from scirgen.pipeline.views.opening import open_view
from scirgen.pipeline.views.part_view import Part, PartView
from scirgen.pipeline.views.view import StoreView
from scirgen.stages.base import StageResult

PAPERS = 3


def do(store: Store, numbers: list[int], papers: dict[int, int]) -> None:
    """What a run would have done for these datasets: a paper's sections, which datasets may share, and a dataset's pairs."""
    ids = [f"d{n}" for n in numbers]
    store.see_datasets(ids, 0, 1)
    bad = Rejection(stage="collect", code="malformed_record", reason="no", record_kind="Dataset", record_id="r:9")
    page = store.put("collect", "page:start", "-".join(ids), StageResult(rejections=(bad,)), 0)
    store.use("@run", "collect", "page:start", page.id)
    for n, dataset_id in zip(numbers, ids, strict=True):
        paper = Paper(id=f"p{papers[n]}")
        collected = StageResult((Dataset(id=dataset_id, title=f"T{n}"), paper))
        store.put("collect", dataset_id, f"c{n}", collected, 0, used_by=dataset_id)
        label = SectionLabel(
            document_id=f"doc{paper.id}",
            paper_id=paper.id,
            start=0,
            end=5,
            heading="H",
            label="none",
            decided_by="rule",
        )
        store.put("section", paper.id, f"s{paper.id}", StageResult((label,)), 0, used_by=dataset_id)
        said = Rejection(
            stage="filter", code=("vague", "length")[n % 2], reason="no", record_kind="QAPair", record_id=f"x{n}",
            dataset_id=dataset_id, question_type="why",
        )  # fmt: skip
        pairs = tuple(
            QAPair(id=f"qa-{n}-{k}", dataset_id=dataset_id, question="q", answer="a", question_type="why")
            for k in range(n % 3)
        )
        store.put("filter", dataset_id, f"f{n}", StageResult(pairs, (said,)), 0, used_by=dataset_id)
        store.put("tag", f"{dataset_id}|0", f"t{n}", StageResult(pairs), 0, used_by=dataset_id)
        if n % 4:
            store.complete_dataset(dataset_id, "done")


def told(view: StoreView) -> dict[str, object]:
    """Everything in a view that does not depend on its folder."""
    ids = view.dataset_ids()
    return {
        "ids": ids,
        "datasets": list(view.datasets()),
        "papers": sorted({p.id for p in view.records("collect", Paper)}),
        "labels": list(view.records("section", SectionLabel)),
        "labels of each": [list(view.records("section", SectionLabel, i)) for i in ids],
        "pairs": list(view.pairs()),
        "rejections": list(view.rejections()),
        "of each": [list(view.rejections("filter", i)) for i in ids],
        "funnel": {stage: dict(sorted(row.items())) for stage, row in view.funnel().items()},
        "by type": view.rejected_by_type(),
        "waiting": view.waiting(),
        "found": [[(kind, r.stage, r.key) for kind, r in view.find(i)] for i in (*ids, "x1", "qa-2-0", "r:9")],
    }


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_the_joined_view_of_any_division_is_that_of_the_one_run(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 9))
    papers = {n: data.draw(st.integers(0, PAPERS - 1)) for n in range(count)}
    wide = data.draw(st.integers(1, 4))
    # Each dataset is in one part or in several.
    places = [data.draw(st.sets(st.integers(0, wide - 1), min_size=1)) for _ in range(count)]
    divided = [[n for n in range(count) if number in places[n]] for number in range(wide)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Store(folder / "whole" / "run.db") as store:
            do(store, list(range(count)), papers)
        parts = []
        owned: set[int] = set()
        for number, numbers in enumerate(divided):
            with Store(folder / str(number) / "run.db") as store:
                do(store, numbers, papers)
            elsewhere = [f"d{n}" for n in numbers if n in owned]
            view = PartView(Store(folder / str(number) / "run.db", writable=False), elsewhere)
            parts.append(Part(str(number), folder / str(number), view))
            owned |= set(numbers)
        whole = open_view(folder / "whole")
        joined = MergedView(Store(folder / "merged" / "run.db"), parts)
        one, other = told(whole), told(joined)
        whole.close(), joined.close()
    assert other == one


def test_what_one_part_failed_at_is_taken_from_the_one_that_could(tmp_path: Path) -> None:
    failed = StageResult(failures=(Failure(stage="section", code="model", message="no"),))
    parts = []
    for number in range(2):
        folder = tmp_path / str(number)
        with Store(folder / "run.db") as store:
            do(store, [number], {0: 0, 1: 0})
            if number == 0:
                store.db.execute("DELETE FROM results WHERE stage='section'")
                store.put("section", "p0", "sp0", failed, 0, used_by="d0")
        parts.append(Part(str(number), folder, PartView(Store(folder / "run.db", writable=False))))
    joined = MergedView(Store(tmp_path / "merged" / "run.db"), parts)
    row = joined.funnel()["section"]
    assert (row["done"], row["failed"], row["outputs"]) == (1, 0, 1)
    assert len(list(joined.records("section", SectionLabel))) == 1
    joined.close()
