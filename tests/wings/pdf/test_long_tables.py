"""Tables that stand sideways or go on over several pages are one table with one header."""

from __future__ import annotations

from pathlib import Path

import pytest

from scirgen.core.records import BlockKind, Document, Paper
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import ParserOptions
from scirgen_pdf.parser import PdfParser

pymupdf = pytest.importorskip("pymupdf")

HEADER = ("Station", "Depth (m)", "Days")
ROWS = [(f"Station {n} of the valley", f"2.{n}", str(80 + n)) for n in range(10, 22)]


def two_pages(path: Path, second: str, header: tuple[str, ...], rotate: int) -> Document:
    """The document of a table of which half the rows are on each of two pages; ``second``: the line above the second
    half."""
    with pymupdf.open() as source, pymupdf.open() as made:
        for above, first, rows in (("Table 1. Days with snow.", HEADER, ROWS[:6]), (second, header, ROWS[6:])):
            page = source.new_page(width=595, height=842)
            page.insert_text((60, 80), above, fontname="tiro", fontsize=9)
            lines = [*([first] if first else []), *rows]
            for number, row in enumerate(lines):
                for column, text in enumerate(row):
                    page.insert_text((64 + 130 * column, 102 + 14 * number), text, fontname="tiro", fontsize=9)
            for y in (90, 106, 92 + 14 * len(lines)):
                page.draw_line((60, y), (420, y))
        for page in source:
            sheet = made.new_page(width=842 if rotate else 595, height=595 if rotate else 842)
            sheet.show_pdf_page(sheet.rect, source, page.number, rotate=rotate)
        made.save(path)
    return assemble(Paper(id="p"), PdfParser().parse(path, ParserOptions()))


@pytest.mark.parametrize("rotate", [0, 90, 270])
@pytest.mark.parametrize("second", ["Table 1. (Continued)", ""])
def test_a_table_over_two_pages_is_one_also_sideways(tmp_path: Path, second: str, rotate: int) -> None:
    document = two_pages(tmp_path / "p.pdf", second, HEADER, rotate)
    (block,) = [b for b in document.blocks if b.kind is BlockKind.TABLE]
    rows = document.text[block.start : block.end].splitlines()
    assert rows == [f"| {' | '.join(row)} |" for row in (HEADER, ("---",) * 3, *ROWS)]
    assert block.table and {document.span(c.start, c.end).page for c in block.table.cells} == {1, 2}


@pytest.mark.parametrize(
    ("second", "header"), [("Table 2. Days with ice.", HEADER), ("Table 1. (Continued)", ("Lake", "Ice (days)"))]
)
def test_another_table_on_the_next_page_stays_another(tmp_path: Path, second: str, header: tuple[str, ...]) -> None:
    document = two_pages(tmp_path / "p.pdf", second, header, 0)
    first, *_ = [b for b in document.blocks if b.kind is BlockKind.TABLE]
    assert document.text[first.start : first.end].count("\n") == len(ROWS[:6]) + 1
    captions = [document.text[b.start : b.end] for b in document.blocks if b.kind is BlockKind.CAPTION]
    assert second in captions, "its caption is not lost with a part that does not belong"


@pytest.mark.parametrize("reader", ["pdfium", "pymupdf"])
def test_rules_that_are_pictures_and_a_part_in_the_next_column(tmp_path: Path, reader: str) -> None:
    dot = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 1, 1), False)
    with pymupdf.open() as made:
        page = made.new_page(width=595, height=842)
        page.insert_text((60, 560), "Table 1. Days with snow.", fontname="tiro", fontsize=9)
        for x, y, lines in ((60, 580, [HEADER, *ROWS[:6]]), (310, 80, [HEADER, *ROWS[6:]])):
            for number, row in enumerate(lines):
                for column, text in enumerate(row):
                    page.insert_text((x + 80 * column, y + 14 * number), text[:12], fontname="tiro", fontsize=9)
            for level in (y - 12, y + 4, y + 14 * len(lines) - 6):
                page.insert_image((x - 4, level, x + 220, level + 0.5), pixmap=dot, keep_proportion=False)
        made.save(tmp_path / "p.pdf")
    document = assemble(Paper(id="p"), PdfParser().parse(tmp_path / "p.pdf", ParserOptions(reader=reader)))
    (block,) = [b for b in document.blocks if b.kind is BlockKind.TABLE]
    assert document.text[block.start : block.end].count("\n") == len(ROWS) + 1


def test_a_refused_table_is_one_block_a_page_without_headings(tmp_path: Path) -> None:
    prose = "We describe how authors report their studies and what readers may expect of them in the future. " * 4
    with pymupdf.open() as made:
        for above, numbers in (("Table 1. Checklist of items to report.", range(1, 8)), ("", range(8, 15))):
            page = made.new_page(width=595, height=842)
            page.insert_textbox((60, 40 if above else 430, 420, 420 if above else 700), prose, fontname="tiro")
            page.insert_text((60, 196), above, fontname="tiro", fontsize=9)
            for line, number in enumerate(numbers):
                y = 220 + 24 * line
                page.insert_text((64, y), f"PART {'IVX'[number % 3]}", fontname="tibo", fontsize=9)
                page.insert_text((64, y + 11), f"{number} Describe what was done in 1985.", fontname="tiro", fontsize=9)
            for rule in (206, y + 18):
                page.draw_line((60, rule), (420, rule))
        made.save(tmp_path / "p.pdf")
    parsed = PdfParser().parse(tmp_path / "p.pdf", ParserOptions())
    inside = [b for b in parsed.blocks if "PART" in b.text or "Describe what" in b.text]
    assert [(b.kind, b.table, {line.page for line in b.lines}) for b in inside] == [
        (BlockKind.TABLE, None, {1}),
        (BlockKind.TABLE, None, {2}),
    ]
    assert inside[0].text.splitlines()[:2] == ["PART V", "1 Describe what was done in 1985."]
    assert sum(b.refused != "" for b in parsed.blocks) == 1
    assert not parsed.abstract
