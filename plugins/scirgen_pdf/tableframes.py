"""Reads a table whose cells rules frame: which rows and columns each cell covers. Pure functions."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from statistics import median
from typing import Annotated, Final

from scirgen.plugin import Box
from scirgen.stages.parse.grid import GivenCell
from scirgen_pdf.reading.page import Word
from scirgen_pdf.tablerows import NUMBER, Area, TableRows, chunks_of, is_row, made_cell, printed_rows
from scirgen_pdf.units import Count, Points


@dataclass(frozen=True)
class Frames:
    """Limits of the reader of framed cells."""

    near: Annotated[Points, "rules that are closer stand at one place"] = 3
    least: Annotated[Count, "rows of a framed table"] = 3


_RULES = Frames()
_ROWS: Final = TableRows()


@dataclass
class _Frame:
    """A cell between rules: its words, its first row and column, and those behind its last."""

    words: list[Word]
    row: int
    column: int
    bottom: int
    right: int


def framed_rows(
    words: Sequence[Word], area: Area, rules: Iterable[Box], page: int
) -> tuple[list[tuple[GivenCell, ...]], int]:
    """Return the rows of a table and how many are its header; nothing if rules do not frame each of its cells."""
    x0, y0, x1, y1 = area.box
    near = _RULES.near
    inside = [r for r in rules if x0 - near < r[0] and r[2] < x1 + near and y0 - near < r[1] and r[3] < y1 + near]
    upright = [r for r in inside if r[2] - r[0] < r[3] - r[1]]
    level = [r for r in inside if r[2] - r[0] > r[3] - r[1]]
    xs = _places([x0, x1, *(r[0] for r in upright)])
    level = [r for r in level if any(r[0] - near < x < r[2] + near for x in xs)]  # others are bars of fractions
    ys = _places([y0, y1, *(r[1] for r in level)])
    width, height = len(xs) - 1, len(ys) - 1
    if width < 2 or height < _RULES.least:
        return [], 0
    walls = [[(r[1], r[3]) for r in upright if abs(r[0] - x) < near] for x in xs]
    floors = [[(r[0], r[2]) for r in level if abs(r[1] - y) < near] for y in ys]
    held: dict[tuple[int, int], list[Word]] = {}
    for w in words:
        place = bisect(ys, (w.box[1] + w.box[3]) / 2) - 1, bisect(xs, (w.box[0] + w.box[2]) / 2) - 1
        held.setdefault(place, []).append(w)
    frames: list[_Frame] = []
    taken: set[tuple[int, int]] = set()
    for row, column in product(range(height), range(width)):
        if (row, column) not in taken:
            x, y = (xs[column] + xs[column + 1]) / 2, (ys[row] + ys[row + 1]) / 2
            right = next((n for n in range(column + 1, width) if _holds(walls[n], y)), width)
            bottom = next((n for n in range(row + 1, height) if _holds(floors[n], x)), height)
            covered = set(product(range(row, bottom), range(column, right)))
            if taken & covered:
                return [], 0
            taken |= covered
            own = [w for place in covered for w in held.get(place, ())]
            frames.append(_Frame(own, row, column, bottom, right))
    by_row = [[f for f in frames if f.row == row] for row in range(height)]
    top = _header_rows(by_row, width)
    one = not any(map(_is_several, frames)) and all(map(_is_one_row, by_row[top:]))
    if not one or not _is_named(by_row[:top], by_row[top:]):
        return [], 0
    return [tuple(_cell(f, page) for f in row) for row in by_row], top


def _places(values: Iterable[float]) -> list[float]:
    found: list[float] = []
    for value in sorted(values):
        if not found or value - found[-1] > _RULES.near:
            found.append(value)
    return found


def _holds(spans: Iterable[tuple[float, float]], value: float) -> bool:
    return any(a - _RULES.near < value < b + _RULES.near for a, b in spans)


def _header_rows(rows: Sequence[Sequence[_Frame]], width: int) -> int:
    """Return how many rows name columns: the first, those beside its higher cells, and those below that part its
    columns or have no label."""
    top, row = 0, rows[0]
    while True:
        wide = any(1 < f.right - f.column < width for f in row)
        top = max((f.bottom for f in row), default=top + 1)
        row = rows[top] if top < len(rows) else []
        texts = [f for f in row if f.words]
        bare = bool(texts) and texts[0].column > 0
        numbers = any(NUMBER.match(f.words[0].text) for f in texts)
        if len(texts) < 2 or not (wide or bare) or (numbers and not (wide and bare)):
            return top


def _is_named(head: Iterable[Sequence[_Frame]], body: Iterable[Sequence[_Frame]]) -> bool:
    """Check that each column with texts, except those of labels, has a name of its own."""
    lowest = {n: f.right - f.column for row in head for f in row if f.words for n in range(f.column, f.right)}
    return all(lowest.get(f.column) == 1 for row in body for f in row if f.words and f.column > min(lowest, default=0))


def _is_one_row(row: Sequence[_Frame]) -> bool:
    """Check that a row does not hold several: three lines with a text in each cell, or with numbers below each other in
    several columns behind the labels."""
    own = [f for f in row if f.words and f.bottom - f.row == 1]
    lines = printed_rows(w for f in own for w in f.words)
    parts = [(line, {f.column: [w for w in line.words if w in f.words] for f in own}) for line in lines]
    full = len(parts) > 2 and len(own) > 1 and all(all(cells.values()) for _, cells in parts)
    block = [(line, {n: words for n, words in cells.items() if words and n > row[0].column}) for line, cells in parts]
    block = [part for part in block if part[1]]
    return not full and (not block or is_row(block))


def _is_several(cell: _Frame) -> bool:
    """Check whether a cell holds several rows or columns: wide blanks between its lines or in several of them."""
    lines = printed_rows(cell.words)
    steps = [b.middle - a.middle for a, b in pairwise(lines)]
    far = bool(steps) and max(steps) > _ROWS.far * median(steps)
    return far or sum(len(chunks_of(line, _ROWS.column_gap)) > 1 for line in lines) > 1


def _cell(frame: _Frame, page: int) -> GivenCell:
    words = [w for line in printed_rows(frame.words) for w in line.words]
    made = (
        made_cell(words, page, frame.right - frame.column)
        if words
        else GivenCell("", columns=frame.right - frame.column)
    )
    return replace(made, rows=frame.bottom - frame.row)
