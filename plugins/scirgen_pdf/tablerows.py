"""Puts the words of a table on a PDF page into printed lines, and the lines of its body into rows. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Annotated, Final

from scirgen.plugin import Box
from scirgen.stages.parse.grid import GivenCell
from scirgen_pdf.reading.page import Word, around
from scirgen_pdf.units import Count, Ems, Points, Share, Times

NUMBER: Final = re.compile(r"[<>≤≥~−–+-]?\s?\d|[-–—]$")
_OPEN_END: Final = re.compile(r"[-,(/&]$|\b(?:and|or|of|the|in|for|with|by|de|e|y|et)$")


@dataclass(frozen=True)
class TableRows:
    """Limits of the reader of a table's rows."""

    same_line: Annotated[Ems, "by which a word of a line's size may be above or below its middle"] = 0.3
    index: Annotated[Ems, "likewise, an index"] = 0.5
    small: Annotated[Times, "the size of an index in its line's"] = 0.85
    column_gap: Annotated[Ems, "the least blank between columns; a blank between words has 0.25"] = 0.5
    blank: Annotated[Ems, "the least blank between words"] = 0.2
    over: Annotated[Points, "in common of a text and a column that it is over"] = 0.5
    ruled: Annotated[Share, "the lines of a body that rules part if they part its rows"] = 0.3
    overlap: Annotated[Ems, "lines that are closer are not two of one cell, but cells set at middle height"] = 0.8
    closer: Annotated[Times, "the least step between lines: those of one row are closer, rows farther apart"] = 1.2
    text: Annotated[Count, "words of two lines of a cell; more are text"] = 4


_RULES = TableRows()


@dataclass
class Row:
    """The words of one printed line, from left to right."""

    words: list[Word]

    @cached_property
    def middle(self) -> float:
        """Its height on the page."""
        return median((w.box[1] + w.box[3]) / 2 for w in self.words)

    @cached_property
    def size(self) -> float:
        """The height of its type."""
        return median(w.box[3] - w.box[1] for w in self.words)


@dataclass
class Area:
    """A table's place: the level rules over its whole width, shorter ones, and where upright ones part columns."""

    box: Box
    rules: list[float]
    parts: list[Box] = field(default_factory=list)
    uprights: list[float] = field(default_factory=list)


def printed_rows(words: Iterable[Word]) -> list[Row]:
    """Words by printed line; a raised or lowered sign belongs to the line that it overlaps."""
    rows: list[tuple[float, float, list[Word]]] = []
    for word in sorted(words, key=lambda w: w.box[1] - w.box[3]):  # large type first, so that indices find their line
        middle = (word.box[1] + word.box[3]) / 2
        near = min(rows, key=lambda r: abs(r[0] - middle), default=None)
        large = word.box[3] - word.box[1] > _RULES.small * (near[1] if near else 0)
        within = _RULES.same_line if large else _RULES.index
        if near and abs(near[0] - middle) < within * near[1]:
            near[2].append(word)
        else:
            rows.append((middle, word.box[3] - word.box[1], [word]))
    return sorted((Row(sorted(r[2], key=lambda w: w.box[0])) for r in rows), key=lambda r: r.middle)


def chunks_of(row: Row, gap: float) -> list[list[Word]]:
    """Return the words of a line, parted at wide blanks."""
    chunks = [[row.words[0]]]
    for before, word in pairwise(row.words):
        if word.box[0] - before.box[2] > gap * row.size:
            chunks.append([])
        chunks[-1].append(word)
    return chunks


def columns_under(chunk: Sequence[Word], columns: Sequence[tuple[float, float]]) -> list[int]:
    """Return the columns that a chunk is over; the nearest one if it is over none."""
    left, right = chunk[0].box[0], chunk[-1].box[2]
    over = [n for n, (a, b) in enumerate(columns) if min(right, b) - max(left, a) > _RULES.over]
    if over:
        return over
    middle = (left + right) / 2
    return [min(range(len(columns)), key=lambda n: min(abs(columns[n][0] - middle), abs(columns[n][1] - middle)))]


def made_cell(words: Sequence[Word], page: int, columns: int = 1) -> GivenCell:
    """Return the cell of some words, line by line."""
    box = around([w.box for w in words])
    text = ""
    for word in words:
        broken = text.endswith("\u00ad") or (text.endswith("-") and text[-2:-1].isalpha() and word.text[:1].islower())
        text = text[:-1] + word.text if broken else f"{text} {word.text}".strip()
    return GivenCell(text, columns=columns, page=page, box=tuple(round(v, 2) for v in box))  # type: ignore[arg-type]


def body_rows(
    body: Sequence[Row], columns: Sequence[tuple[float, float]], area: Area, page: int
) -> list[tuple[GivenCell, ...]] | None:
    """Return the rows of the body, with the further lines of a cell joined to its first; None if they are not clear."""
    parts: list[_Part] = []
    for row in body:
        cells: dict[int, list[Word]] = {}
        chunks = chunks_of(row, _RULES.column_gap)
        for chunk in chunks:
            over = columns_under(chunk, columns)
            alone = len(chunks) == 1 and (len(over) > 1 or _heads_group(chunk, columns[over[0]], area, row.size))
            whole = 0 if alone else over[0]
            for word in chunk:
                n = columns_under([word], columns)[0] if len(over) > 1 < len(chunks) else whole
                cells.setdefault(n, []).append(word)
        parts.append((row, cells))
    merged = _at_middle_height(parts)
    if merged is None:
        return None
    rows: list[dict[int, list[Word]]] = []
    heights: list[int] = []
    lines = [m[:2] for m in merged]
    apart = _row_step(lines, columns)
    labelled = sum(0 in cells for _, cells in lines) > len(lines) / 2
    wraps = {n for a, b in pairwise(lines) for n in b[1] if _is_broken(a, (b[0], {n: b[1][n]}), columns)}
    for at, (_, cells, height) in enumerate(merged):
        if at and _goes_on(lines[at - 1], lines[at], lines, columns, area, apart, wraps):
            for n, words in cells.items():
                rows[-1].setdefault(n, []).extend(words)
        elif at and _is_loose(lines[at - 1], lines[at], columns) and labelled:
            return None
        else:
            rows.append({n: list(words) for n, words in cells.items()})
            heights.append(height)
    made: list[tuple[GivenCell, ...]] = []
    covered = 0
    for cells, height in zip(rows, heights, strict=True):
        given = [made_cell(cells[n], page) if n in cells else GivenCell("") for n in range(len(columns))]
        if height > 1:
            given[0] = replace(given[0], rows=height)
        made.append(tuple(given[1:] if covered else given))
        covered = height - 1 if height > 1 else max(0, covered - 1)
    return made


def _is_loose(above: _Part, here: _Part, columns: Sequence[tuple[float, float]]) -> bool:
    """Check whether a line may be the rest of the one above it: a few texts without a label, or a label below one that
    is alone, that had no room there."""
    if here[1].keys() == above[1].keys() == {0}:
        return _is_full(above, here, columns)
    few = 0 not in here[1] and len(here[1]) <= len(columns) / 2 and _is_full(above, here, columns)
    return few and any(len(words) + len(above[1][n]) > _RULES.text for n, words in here[1].items())


def _heads_group(chunk: Sequence[Word], column: tuple[float, float], area: Area, size: float) -> bool:
    """Check whether a text that is alone in its line names the rows below: it is in the middle of the table, and wider
    than its column."""
    left, right = chunk[0].box[0], chunk[-1].box[2]
    middle = abs((left + right) / 2 - (area.box[0] + area.box[2]) / 2) < size
    return middle and (left < column[0] - 1 or right > column[1] + 1 or left > column[0] + size)


_Part = tuple[Row, dict[int, list[Word]]]


def _at_middle_height(parts: Sequence[_Part]) -> list[tuple[Row, dict[int, list[Word]], int]] | None:
    """Return the lines, with those of overlapping heights put together: a label of two lines beside a line of values,
    and a label beside the middle of two such lines, which then covers both (the third item). None for other
    overlaps."""
    groups: list[list[_Part]] = []
    for part in parts:
        close = groups and part[0].middle - groups[-1][-1][0].middle < _RULES.overlap * max(
            part[0].size, groups[-1][-1][0].size
        )
        if close:
            groups[-1].append(part)
        else:
            groups.append([part])
    result: list[tuple[Row, dict[int, list[Word]], int]] = []
    for group in groups:
        if len(group) == 1:
            result.append((*group[0], 1))
            continue
        values = [p for p in group if set(p[1]) - {0}]
        labels = [p for p in group if set(p[1]) == {0}]
        if len(values) == 2 and len(labels) == 1 and not any(0 in p[1] for p in values):
            first, second = values
            result += [(first[0], {**first[1], 0: labels[0][1][0]}, len(values)), (*second, 1)]
        elif len(values) == 1 and (0 not in values[0][1] or not labels):
            cells = dict(values[0][1])
            if labels:
                cells[0] = [w for p in labels for w in p[1][0]]
            result.append((values[0][0], cells, 1))
        else:
            return None
    return result


def _row_step(parts: Sequence[_Part], columns: Sequence[tuple[float, float]]) -> float:
    """Return the step to the next line from which on it begins a row, if the lines of a row are closer than rows; else
    0.

    Closer lines are rows of a group if they have values of their own, or if few of them go on with broken texts.
    """
    steps = [b[0].middle - a[0].middle for a, b in pairwise(parts)]
    ordered = sorted(steps)
    ratio, low, high = max(((b / a, a, b) for a, b in pairwise(ordered)), default=(0.0, 0.0, 0.0))
    apart = (low + high) / 2
    close = [pair for pair, step in zip(pairwise(parts), steps, strict=True) if step < apart]
    if ratio < _RULES.closer or low > _RULES.closer * ordered[0] or any(_numbers(here) > 1 for _, here in close):
        return 0.0
    going_on = sum(_is_full(above, here, columns) and len(here[1]) < len(columns) for above, here in close)
    return apart if going_on >= len(close) / 2 else 0.0


def _goes_on(
    above: _Part,
    here: _Part,
    parts: Sequence[_Part],
    columns: Sequence[tuple[float, float]],
    area: Area,
    apart: float,
    wraps: set[int],
) -> bool:
    """Check whether a line continues the cells of the line above it: where rules part lines, those that no rule parts;
    else a line that is closer than ``apart``; else one that only goes on with broken texts, or with texts that had no
    room in columns with broken texts."""
    if _numbers(here) > 1:
        return False
    ruled = [any(a[0].middle < y < b[0].middle for y in area.rules) for a, b in pairwise(parts)]
    between = any(above[0].middle < y < here[0].middle for y in area.rules)
    if between or sum(ruled) >= _RULES.ruled * len(ruled):
        return not between
    if apart:
        closer = here[0].middle - above[0].middle < apart
        return closer and (here[1].keys() != {0} or _is_full(above, here, columns))
    fewer = len(here[1]) < len(columns)
    full = here[1].keys() <= wraps and len(here[1]) < len(above[1]) and _is_full(above, here, columns)
    return fewer and (full or _is_broken(above, here, columns))


def _numbers(part: _Part) -> int:
    """Return the number of a line's cells that begin with a number, without its label."""
    return sum(NUMBER.match(words[0].text) is not None for n, words in part[1].items() if n)


def _is_broken(above: _Part, here: _Part, columns: Sequence[tuple[float, float]]) -> bool:
    """Check whether all texts of a line look like the rest of those above them, which had no room for more."""
    return _is_full(above, here, columns) and all(
        _is_open(above[1][n]) or words[0].text[:1].islower() for n, words in here[1].items()
    )


def _is_full(above: _Part, here: _Part, columns: Sequence[tuple[float, float]]) -> bool:
    """Check whether no first word of a line's texts had room behind the texts above them."""
    return here[1].keys() <= above[1].keys() and all(
        _width(words) < columns[n][1] - columns[n][0] + 1
        and (_is_open(above[1][n]) or _room(above[1][n], columns[n]) < _RULES.blank * here[0].size + _width(words[:1]))
        for n, words in here[1].items()
    )


def _is_open(words: Sequence[Word]) -> bool:
    """Check whether a text ends in a hyphen, a comma or a small word, or in brackets that it does not close."""
    text = " ".join(w.text for w in words)
    return _OPEN_END.search(text) is not None or text.count("(") > text.count(")")


def _room(words: Sequence[Word], column: tuple[float, float]) -> float:
    return min(column[1] - words[-1].box[2], column[1] - column[0] - _width(words))


def _width(words: Sequence[Word]) -> float:
    return words[-1].box[2] - words[0].box[0]
