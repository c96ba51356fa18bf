"""The papers that cost most model calls, as the report shows them."""

from __future__ import annotations

from pathlib import Path

from scirgen.core.records import Link, Paper, Provenance, SectionLabel
from scirgen.pipeline.store import Store
from scirgen.pipeline.views.view import CostlyPaper, StoreView, costliest_papers
from scirgen.report.data import PaperRow
from scirgen.report.figures import gather
from scirgen.report.page import render
from scirgen.stages.base import StageResult


def label(paper: str, number: int, reply: str) -> SectionLabel:
    return SectionLabel(
        document_id=f"doc-{paper}", paper_id=paper, start=number, end=number + 1, heading="Odd", label="none",
        decided_by="model", provenance=Provenance(stage="section", key=paper, fingerprint="f", replies=(reply,)),
    )  # fmt: skip


def test_the_paper_with_the_most_replies_comes_first(tmp_path: Path) -> None:
    with Store(tmp_path / "run.db") as store:
        store.see_datasets(["d"], 0, 1)
        papers = tuple(Paper(id=p, title=f"Paper <{p}>") for p in ("dear", "usual", "free"))
        put = [
            ("collect", "d", papers),
            ("section", "dear", tuple(label("dear", n, f"r{n}") for n in range(60))),
            ("section", "usual", tuple(label("usual", n, "one call for all") for n in range(9))),
            ("section", "free", ()),
            ("match", "l", (Link(dataset_id="d", paper_id="usual", found_by="doi", provenance=Provenance(
                stage="match", key="l", fingerprint="f", replies=("m1", "m2"))),)),
        ]  # fmt: skip
        store.plan("d", "section", ["dear", "usual", "free"])
        for stage, key, records in put:
            store.put(stage, key, "f", StageResult(records), 0.0, used_by="d")
        assert costliest_papers(StoreView(store)) == (
            CostlyPaper("dear", "Paper <dear>", {"section": 60}),
            CostlyPaper("usual", "Paper <usual>", {"section": 1, "match": 2}),
        )
        assert [p.paper_id for p in costliest_papers(StoreView(store), 1)] == ["dear"]
    data = gather(tmp_path)
    assert data.costliest[0] == PaperRow(paper="Paper <dear>", calls={"section": 60}, total=60)
    page = render(data)
    assert "Paper &lt;dear&gt;" in page and "section 1, match 2" in page
