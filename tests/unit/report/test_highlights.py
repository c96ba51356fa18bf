from __future__ import annotations

import json
from pathlib import Path

from scirgen.core.records import Block, BlockKind, Document, QAPair, Span
from scirgen.pipeline.store import Store
from scirgen.report import gather
from scirgen.report.data import Highlight, highlights
from scirgen.stages.base import StageResult


def test_cells_of_two_tables_without_pages_are_two_pieces() -> None:
    def span(start: int, text: str, medium: str = "table") -> Span:
        headers = ("Lake",) * (medium == "table")
        fields = {"document_id": "d", "start": start, "end": start + len(text), "medium": medium, "headers": headers}
        return Span.model_validate({**fields, "text": text})

    spans = [
        span(20, "92"),
        span(25, "7"),
        span(60, "3"),
        span(0, "Table 1", "caption"),
        span(40, "Table 2", "caption"),
    ]
    pieces = highlights(spans, lambda s: Highlight(before="", text=s.text, after="", where=s.document_id))
    assert [p.text for p in pieces] == ["Lake: 92\nLake: 7", "Lake: 3", "Table 1", "Table 2"]


def test_the_report_of_a_run_tells_two_tables_without_captions_apart(tmp_path: Path) -> None:
    text = "| 92 |\n| 7 |\n\n| 3 |"
    tables = (Block(kind=BlockKind.TABLE, start=a, end=b, page=1) for a, b in ((0, 12), (14, 19)))
    document = Document(id="d", paper_id="p", text=text, blocks=tuple(tables))
    pair = QAPair(
        id="qa-1",
        dataset_id="p",
        question="How deep are the lakes?",
        answer="92, 7 and 3 m",
        question_type="quantification",
        evidence=tuple(document.span(*place) for place in ((2, 4), (9, 10), (16, 17))),
    )
    with Store(tmp_path / "run.db") as store:
        store.see_datasets(["p"], 0, 1)
        for stage, record in (("parse", document), ("tag", pair)):
            store.use("p", stage, "k", store.put(stage, "k", "f", StageResult((record,)), 0.1).id)
        store.set_meta("manifest", json.dumps({"domain": "geo", "models": {}}))
    assert [piece.text for piece in gather(tmp_path).sample[0].evidence] == ["92\n7", "3"]
