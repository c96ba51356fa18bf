"""Finds the tables of a PDF with its reader, on the pages that have a table's caption, and writes them as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from scirgen.core.records import BlockKind, Box
from scirgen_pdf.page.characters import composed
from scirgen_pdf.page.lines import LIGATURES, UNKNOWN, Line, Run
from scirgen_pdf.paragraphs import Group
from scirgen_pdf.reading.page import Glyph, Page, PdfFile, Signs, words

_CAPTION: Final = re.compile(
    r"\s*(?:tab(?:le|ela|la|elle|leau|\\.)?|quadro|cuadro|表)\s*\.?\s*(?:\d|[IVX]+\b|[A-Z]\.?\d)", re.I
)
_LONGEST_CELL: Final = 80
_LEAST_FILLED: Final = 0.4


@dataclass(frozen=True)
class FoundTable:
    """A table's box on its page and its rows as Markdown."""

    box: Box
    markdown: str


def found_tables(file: PdfFile, number: int, page: Page, signs: Signs) -> tuple[FoundTable, ...]:
    """The tables of a page (from 0) with at least two rows and columns; none on a page without a table's caption.

    ``signs`` replace what fonts give for them; a sign that no one can name is U+FFFD.
    """
    if not any(_CAPTION.match("".join(span.text for span in line.spans)) for line in page.lines):
        return ()
    found = []
    placed = _placed(file.page(number, glyphs=True), signs)
    for box, cells in file.grids(number):
        # A finder's own text loses blanks and moves decimal points.
        rows = _without_empty([[_cell(placed, cell) for cell in row] for row in cells])
        if _is_table(rows):
            found.append(FoundTable(box, _markdown(rows)))
    return tuple(found)


def with_tables(groups: list[Group], tables: Sequence[FoundTable], page: int) -> list[Group]:
    """The groups of a paper with the lines inside each table of a page replaced by one group, the table."""
    for table in tables:
        kept: list[Group] = []
        place = None
        for group in groups:
            outside = [line for line in group.lines if group.page != page or not _inside(line, table.box)]
            if len(outside) == len(group.lines):
                kept.append(group)
                continue
            place = len(kept) if place is None else place
            if outside:
                group.lines = outside
                kept.append(group.settle())
        if place is not None:
            line = Line(page, table.box, [Run("table", groups[0].style)], 0).settle()
            made = Group(
                [line], 0, table.box[0], table.box[2], kind=BlockKind.TABLE, in_table=True, markdown=table.markdown
            )
            kept.insert(place, made)
            groups = kept
    return groups


def _inside(line: Line, box: Box) -> bool:
    return box[0] - 1 <= (line.x0 + line.x1) / 2 <= box[2] + 1 and box[1] - 1 <= line.middle <= box[3] + 1


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Tells whether rows are those of a table, not of a frame around text or of a diagram."""
    cells = [cell for row in rows for cell in row]
    filled = [len(cell) for cell in cells if cell]
    if len(rows) < 2 or len(rows[0]) < 2 or len(filled) < 4:
        return False
    return len(filled) >= _LEAST_FILLED * len(cells) and median(filled) <= _LONGEST_CELL


def _without_empty(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The rows without empty rows and columns."""
    columns = [index for index in range(max(map(len, rows), default=0)) if any(row[index] for row in rows)]
    return [[row[index] for index in columns] for row in rows if any(row)]


def _placed(page: Page, signs: Signs) -> list[tuple[float, float, str]]:
    """The words of a page, each with the middle of its box."""
    for span in page.spans():
        read = signs.get(span.font, {})
        span.glyphs = tuple(Glyph(UNKNOWN.sub("\ufffd", g.text.translate(read)), g.box) for g in span.glyphs)
    return [((w.box[0] + w.box[2]) / 2, (w.box[1] + w.box[3]) / 2, w.text) for w in words(page.lines)]


def _cell(placed: Sequence[tuple[float, float, str]], box: Box | None) -> str:
    """The words whose middles are in a cell, in reading order."""
    if box is None:
        return ""
    inside = (text for x, y, text in placed if box[0] <= x < box[2] and box[1] <= y < box[3])
    return composed(" ".join(inside).translate(LIGATURES)).replace("|", "\\|")


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + " --- |" * len(rows[0]), *rest])
