from __future__ import annotations

from scirgen.core.records import Span
from scirgen.report.data import Highlight, highlights


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
