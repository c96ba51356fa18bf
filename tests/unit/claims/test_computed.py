"""Numbers recomputed from cells."""

from __future__ import annotations

import pytest

from scirgen.claims.computed import cell_numbers, computed
from scirgen.claims.quantities import cell_quantity, header_unit, quantities
from scirgen.core.records import Span


def cell(text: str, *headers: str) -> Span:
    return Span(document_id="d", start=0, end=len(text), text=text, medium="table", headers=headers)


CELLS = [cell(text, "ANPP (g m−2)") for text in ("84.5", "30.1 a", "55.0 ± 2")]


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ("84.5 g", "found"), ("54.4 g", "difference"), ("2.81", "ratio"), ("2.8", "ratio"), ("180.7 %", "per cent"),
        ("169.6", "sum"), ("56.5", "mean"), ("35.6 %", "share"), ("3", "count"), ("12.3", ""), ("54.9 g", ""),
        ("2.9", ""),
    ],
)  # fmt: skip
def test_number_follows_from_cells_within_its_rounding(said: str, how: str) -> None:
    (claimed,) = quantities(said)
    assert computed(claimed, cell_numbers(CELLS)) == how


def test_cells_of_a_cited_row_count_and_other_evidence_does_not() -> None:
    row = Span(document_id="d", start=0, end=1, text="| Upper | 2.35 | 1,204 | 3-4 |", medium="table")
    prose = Span(document_id="d", start=0, end=1, text="It is 7 m deep.")
    assert [q.value for q in cell_numbers([row, prose])] == [2.35, 1204.0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("−0.45", -0.45), ("3.1 (2.9–3.3)", 3.1), ("12,5b", 12.5), ("45 %", 45.0), ("0.02**", 0.02), ("12–15", None),
        ("n.d.", None), ("-", None), ("2 of 3", None), ("Table 2", None), ("", None),
    ],
)  # fmt: skip
def test_cell_is_one_number_or_none(text: str, value: float | None) -> None:
    found = cell_quantity(text)
    assert (found.value if found else None) == value


@pytest.mark.parametrize(
    ("header", "unit"),
    [
        ("Depth (m)", "m"), ("Rate [mm yr−1]", "mm yr−1"), ("Share, %", "%"), ("Share (%) a", "%"),
        ("Flux (g C m−2)", "g C m−2"), ("ΔG (in kcal/mol)", "kcal/mol"), ("Share (%) 10", ""),
        ("Group (A)", ""), ("Species (n = 20)", ""), ("Days", ""), ("Model (this study)", ""),
    ],
)  # fmt: skip
def test_unit_of_a_header(header: str, unit: str) -> None:
    assert header_unit(header) == unit


def test_a_row_reads_its_numbers_in_the_units_of_its_header() -> None:
    header = Span(document_id="d", start=0, end=9, text="| Lake | Area (ha) | Deep |", medium="header", role="context")
    other = header.model_copy(update={"start": 3, "text": "| Mean (%) | Depth (m) |"})
    row = Span(document_id="d", start=20, end=29, text="| Upper | 2.35 | 4 |", medium="table")
    assert [(q.value, q.unit) for q in cell_numbers([row, header, other])] == [(2.35, "ha"), (4.0, "")]
    caption = header.model_copy(update={"start": 10, "text": "Table 2. Trees.", "medium": "caption"})
    its = header.model_copy(update={"start": 12, "text": "| Lake | Trees | Birds |"})
    assert [q.unit for q in cell_numbers([row, header, caption, its])] == ["", ""], "the area is of another table"
