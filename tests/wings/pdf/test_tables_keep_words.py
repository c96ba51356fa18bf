"""Each word of a page with a table is in the document once, whether the table is read or refused."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from scirgen.core.records import Paper
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import ParserOptions
from scirgen_pdf.parser import PdfParser

pymupdf = pytest.importorskip("pymupdf")

HEADER = [(64, 0, "Class"), (250, 0, "Main compounds")]
FLUSH = [[(64, 5, "Mono (C10)"), (200, 0, "Borneol, Camphor,"), (200, 10, "Fenchone, Thymol")] for _ in "abc"]
VALUES = [[(64, 0, f"Oil {n}"), (250, 0, f"{n}.5")] for n in range(10, 15)]
BESIDE = [(412, 0, "margin")]
NOTES = [[(64, 0, "a Means of three samples"), (64, 10, "b Means of five samples")]]


def words_of(page: list[list[tuple[int, int, str]]]) -> Counter[str]:
    return Counter(re.findall(r"\w+", " ".join(text for row in page for _, _, text in row)))


@pytest.mark.parametrize("reader", ["pdfium", "pymupdf"])
@pytest.mark.parametrize(
    ("rows", "ruled"),
    [
        ([HEADER, *FLUSH], {0, 1, 2, 3}),
        ([HEADER, *VALUES], {0, 1, 2, 3, 4, 5}),
        ([HEADER, *VALUES], {0, 5}),
        ([HEADER, *VALUES, *NOTES], {0, 5, 6}),
        ([HEADER, *VALUES[:4], VALUES[4] + BESIDE], {0, 5}),
        ([*FLUSH, *NOTES], {0, 1, 2, 3}),
        ([HEADER, *VALUES, [(100, 0, "some words across both of the columns of it")], *VALUES[:2]], {0, 8}),
    ],
)
def test_no_word_of_a_table_is_lost_or_doubled(
    tmp_path: Path, reader: str, rows: list[list[tuple[int, int, str]]], ruled: set[int]
) -> None:
    """``ruled``: the rows with a rule below."""
    with pymupdf.open() as made:
        page, y = made.new_page(width=595, height=842), 100
        page.insert_text((60, 85), "Table 1. Compounds of oils.", fontname="tiro", fontsize=9)
        page.draw_line((60, 91), (420, 91))
        for n, row in enumerate(rows):
            for x, down, text in row:
                page.insert_text((x, y + down), text, fontname="tiro", fontsize=9)
            y += max(down for _, down, _ in row) + 14
            if n in ruled:
                page.draw_line((60, y - 10), (420, y - 10))
        made.save(tmp_path / "p.pdf")
    document = assemble(Paper(id="p"), PdfParser().parse(tmp_path / "p.pdf", ParserOptions(reader=reader)))
    found = Counter(re.findall(r"\w+", "\n".join(document.text[b.start : b.end] for b in document.blocks)))
    if rows[1:] == FLUSH:
        (block,) = [b for b in document.blocks if b.table]
        assert document.text[block.start : block.end].count("Mono (C10)") == len(FLUSH), "the last row is no note"
    assert found - words_of([[(0, 0, "Table 1. Compounds of oils.")]]) == words_of(rows)
