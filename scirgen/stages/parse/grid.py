"""Makes one block from the rows of a table, for all parsers: places cells, finds headers, reads numbers and units,
and writes the table as Markdown whose cells keep their places. A table that is not sure is refused with a code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from textwrap import shorten

from scirgen.claims.quantities import cell_quantity, header_unit
from scirgen.core.records import BlockKind, Box, PlacedLine
from scirgen.core.records.table import Cell, Table
from scirgen.stages.parse.base import ParsedBlock

_MAX_ROWS, _MAX_COLUMNS, _MAX_CELLS = 2000, 200, 20_000
_LEAST_FILLED = 4
_BEGINNING = 60
_LONGEST_CELL = 300
"""Characters of a middling cell; longer ones are those of a page that is laid out by a table."""
_MAX_HEADER_COLUMNS = 3
_VALUE = re.compile(r"[<>≤≥~−–+-]?\s?\d")
_NO_NAME = re.compile(r"(?![<>=≤≥])[\W\d_]*")
REFUSED = {
    "table_shape": "its rows and columns do not make a table: overlapping or too many cells, fewer than two rows or "
    "columns, or cells of running text or of text that is removed",
    "table_header": "no row names its columns",
    "table_signs": "it has signs that the file does not name, which may be minus signs",
    "table_columns": "where its columns or its end are is not clear from the page",
}
"""Why a table is not read as cells."""


def refused_place(text: str, page: int | None) -> str:
    """Return the page of a table that is not read as cells, and how its text, or its caption in a PDF, begins."""
    return f"{f', page {page}' if page else ''}, “{shorten(text, _BEGINNING, placeholder=' …')}”"


@dataclass(frozen=True)
class GivenCell:
    """A cell as a file states it; ``page`` and ``box`` are its place on a page."""

    text: str
    rows: int = 1
    columns: int = 1
    header: bool = False
    page: int | None = None
    box: Box | None = None


@dataclass(frozen=True)
class _Placed:
    given: GivenCell
    row: int
    column: int


def table_block(rows: Sequence[Sequence[GivenCell]], header_rows: int | None = None, refused: str = "") -> ParsedBlock:
    """Return the block of a table: Markdown with cells, or plain rows with the code of its refusal.

    Args:
        rows: the cells that each row states, an empty text for an empty cell; cells that a row above covers are absent.
        header_rows: number of rows that name columns, if the file states it.
        refused: a code of `REFUSED`, if the parser itself is not sure.
    """
    lines = [row for row in rows if any(cell.text for cell in row)]
    dropped = [n for n, row in enumerate(rows) if not any(cell.text for cell in row)]
    if header_rows is not None:
        header_rows -= sum(n < header_rows for n in dropped)
    placed = [] if refused or len(lines) > _MAX_ROWS else _place(lines)
    code = refused or _problem(placed)
    if not code:
        top = header_rows if header_rows else _header_rows(placed)
        height, last = max(p.row for p in placed) + 1, max(placed, key=lambda p: (p.row < top, p.column))
        pairs = last.column + last.given.columns == 2 and _VALUE.match(
            last.given.text
        )  # names and their values, without a header
        numbered = all(_is_number(p.given.text) for p in placed if p.column == 0)
        code = "" if 0 < top < height and not pairs and not numbered else "table_header"
    if code:
        text = "\n".join(" | ".join(cell.text for cell in row) for row in lines)
        places = [PlacedLine(start=0, page=c.page, bbox=c.box) for r in rows for c in r if c.page and c.box]
        return ParsedBlock(kind=BlockKind.TABLE, text=text, lines=tuple(places[:1]), refused=code)
    return _written(placed, top)


def _place(rows: Sequence[Sequence[GivenCell]]) -> list[_Placed]:
    """Return the cells with their rows and columns, as HTML places them; nothing if they overlap or are too many."""
    taken: set[tuple[int, int]] = set()
    placed: list[_Placed] = []
    for number, row in enumerate(rows):
        column = 0
        for cell in row:
            while (number, column) in taken:
                column += 1
            height = min(max(1, cell.rows), len(rows) - number)
            width = max(1, cell.columns)
            if column + width > _MAX_COLUMNS or len(taken) + height * width > _MAX_CELLS:
                return []
            covered = {(number + y, column + x) for y in range(height) for x in range(width)}
            if covered & taken:
                return []
            taken |= covered
            placed.append(_Placed(replace(cell, rows=height, columns=width), number, column))
    return placed


def _problem(placed: Sequence[_Placed]) -> str:
    filled = [p for p in placed if p.given.text]
    if len(filled) < _LEAST_FILLED or len({p.row for p in filled}) < 2 or len({p.column for p in filled}) < 2:
        return "table_shape"
    if median(len(p.given.text) for p in filled) > _LONGEST_CELL:
        return "table_shape"
    return "table_signs" if any("\ufffd" in p.given.text for p in filled) else ""


def _header_rows(placed: Sequence[_Placed]) -> int:
    """Return the rows at the top that are marked as headers; else the first, if it has no number where rows below it
    have some."""
    marked = 0
    for row in range(max(p.row for p in placed) + 1):
        cells = [p.given for p in placed if p.row == row and p.given.text]
        if not cells or not all(cell.header for cell in cells):
            break
        marked = row + 1
    first = [p.given for p in placed if p.row == 0 and p.column > 0 and p.given.text]
    numbers = sum(_is_number(cell.text) for cell in first)
    return marked or (max(p.given.rows for p in placed if p.row == 0) if first and not numbers else 0)


def _header_columns(placed: Sequence[_Placed], top: int, width: int) -> int:
    """Return the columns at the left that name rows: as many as name each row of a group by itself, of those that hold
    no numbers.

    Marked columns are such, too; a column that counts the rows names none.
    """
    heads = {p.row for p in placed if p.given.columns >= width}
    body = [p for p in placed if p.row >= top and p.given.text and p.row not in heads]
    height = len({p.row for p in body})
    marked = 0
    while marked < width - 1 and all(p.given.header for p in body if p.column == marked):
        marked += 1
    named: dict[int, tuple[str, ...]] = {p.row: (str(sum(h < p.row for h in heads)),) for p in body}
    for column in range(min(_MAX_HEADER_COLUMNS, width - 1)):
        cells = {p.row: p.given.text for p in body if p.column == column}
        counts = list(cells.values()) == [str(n) for n in range(1, height + 1)]
        values = sum(_is_number(text) or _NO_NAME.fullmatch(text) is not None for text in cells.values())
        if column and values > 0.5 * len(cells):
            return max(1, marked, column)
        last = ""
        for row in sorted(named):  # an empty first cell means the one above
            last = cells.get(row, "" if column else last)
            named[row] = (*named[row], last)
        if len(cells) == height and len(set(named.values())) == height and not counts:
            return max(marked, column + 1)
    return max(1, marked)


def _is_number(text: str) -> bool:
    return cell_quantity(text) is not None


def _written(placed: Sequence[_Placed], top: int) -> ParsedBlock:
    """Return the table as Markdown, each text once in the first row and column that it covers."""
    width = max(p.column + p.given.columns for p in placed)
    height = max(p.row for p in placed) + 1
    placed = _grouped(placed, top, width)
    side = _header_columns(placed, top, width)
    placed = _spread(placed, top, side)
    by_place = {(p.row, p.column): p for p in placed}
    text = ""
    cells: list[Cell] = []
    places: list[PlacedLine] = []
    for row in range(height):
        text += "\n|" if row else "|"
        for column in range(width):
            here = by_place.get((row, column))
            cell_text = here.given.text.replace("|", "\\|") if here else ""
            if here and cell_text:
                given, start = here.given, len(text) + 1
                header = row < top or column < side or given.header
                cells.append(
                    Cell(start=start, end=start + len(cell_text), row=row, column=column, rows=given.rows,
                         columns=given.columns, header=header)
                )  # fmt: skip
                if given.page and given.box:
                    places.append(PlacedLine(start=start, page=given.page, bbox=given.box))
            text += f" {cell_text} |"
        if row == 0:
            text += "\n|" + " --- |" * width
    table = Table(width=width, header_rows=top, header_columns=side, cells=tuple(cells))
    read = tuple(_read(cell, table, text) for cell in cells)
    return ParsedBlock(kind=BlockKind.TABLE, text=text, lines=tuple(places), table=table.with_cells(read))


def _read(cell: Cell, table: Table, text: str) -> Cell:
    """Return the cell with its number and unit; a header with the unit that it states."""
    if not table.is_value(cell):
        return cell.model_copy(update={"unit": header_unit(text[cell.start : cell.end])})
    heads = [(h.row < table.header_rows, text[h.start : h.end]) for h in table.headers(cell)]
    doses = any(top and (n := cell_quantity(head)) and not n.year for top, head in heads)  # a unit above is theirs
    found = cell_quantity(text[cell.start : cell.end], [head for top, head in heads if not (top and doses)])
    return cell.model_copy(update={"number": found.value, "unit": found.unit}) if found else cell


def _grouped(placed: Sequence[_Placed], top: int, width: int) -> list[_Placed]:
    """Return the cells, with one that is alone in its row below the header, and above a row of several, over the whole
    row, as a group's head."""
    filled: dict[int, list[_Placed]] = {}
    for p in placed:
        for row in range(p.row, p.row + p.given.rows):
            if p.given.text:
                filled.setdefault(row, []).append(p)
    last = max((row for row, cells in filled.items() if len(cells) > 1), default=0)
    alone = {
        row
        for row, cells in filled.items()
        if top <= row < last and len(cells) == 1 and cells[0].given.rows == 1 and not _is_number(cells[0].given.text)
        and (cells[0].given.columns >= width or cells[0].column == 0)
    }  # fmt: skip
    made = [p for p in placed if p.row not in alone or p.given.text]
    return [_Placed(replace(p.given, columns=width, header=True), p.row, 0) if p.row in alone else p for p in made]


def _spread(placed: Sequence[_Placed], top: int, side: int) -> list[_Placed]:
    """Return the cells, with the first header column over the rows below in which it is empty; a single one may be a
    sum, if it is not all in brackets."""
    result = list(placed)
    filled = {(p.row + y, p.column + x) for p in placed if p.given.text
              for y in range(p.given.rows) for x in range(p.given.columns)}  # fmt: skip
    rows = {row for row, _ in filled}
    bare = [row for row in rows if row >= top and (row, 0) not in filled]
    if side < 2 > len(bare) and not all(p.given.text.startswith("(") for p in placed if p.row in bare and p.given.text):
        return result
    for index, p in enumerate(result):
        if p.column == 0 and p.row >= top and p.given.text and p.given.columns == 1:
            below = p.row + p.given.rows
            while below in rows and (below, 0) not in filled and (side < 2 or (below, 1) in filled):
                below += 1
            result[index] = replace(p, given=replace(p.given, rows=below - p.row))
    return result
