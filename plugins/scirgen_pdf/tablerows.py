"""Puts the words of a table on a PDF page into printed lines, and the lines of its body into rows. Pure functions."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Annotated, Final

from scirgen.plugin import Box
from scirgen.stages.parse.grid import GivenCell
from scirgen_pdf.reading.page import Word, around
from scirgen_pdf.units import Count, Ems, Points, Share, Times

Ends = Sequence[tuple[float, float]]
"""The left and right ends of columns."""
NUMBER: Final = re.compile(r"[<>≤≥~−–+-]?\s?\d|[-–—]$")
_DEVIATION: Final = re.compile(r"[(\[]\s*(?:[<>~−–+-]?\s?[\d.]|$)")
_OPEN_END: Final = re.compile(r"(?<=.)[-–,(/&±]$|\b(?:and|or|of|the|in|for|with|by|de|et)$")


@dataclass(frozen=True)
class TableRows:
    """Limits of the reader of a table's rows."""

    same_line: Annotated[Ems, "by which a word of a line's size may be above or below its middle"] = 0.3
    index: Annotated[Ems, "likewise, an index"] = 0.5
    small: Annotated[Times, "the size of an index in its line's"] = 0.85
    tall: Annotated[Times, "the usual height, of the box of a sign that begins at its line's top"] = 1.4
    column_gap: Annotated[Ems, "the least blank between columns; a blank between words has 0.25"] = 0.5
    blank: Annotated[Ems, "the least blank between words"] = 0.2
    over: Annotated[Points, "in common of a text and a column that it is over"] = 0.5
    ruled: Annotated[Share, "the lines of a body that rules part if they part its rows"] = 0.3
    overlap: Annotated[Ems, "lines that are closer are not two of one cell, but cells set at middle height"] = 0.8
    closer: Annotated[Times, "the least step between lines: those of one row are closer, rows farther apart"] = 1.15
    level: Annotated[
        Points, "by which the place of a row may differ from that which the middle label of its group tells"
    ] = 4
    beside: Annotated[Count, "lines at most of a row whose label is beside the middle of its values"] = 3
    far: Annotated[Times, "the usual step between lines: no text goes on over a wider one"] = 1.5


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
    """A table's place: the level rules over its whole width, shorter ones, upright ones (``walls``), and where these
    part columns over most of its height."""

    box: Box
    rules: list[float]
    parts: list[Box] = field(default_factory=list)
    walls: list[Box] = field(default_factory=list)
    uprights: list[float] = field(default_factory=list)


def printed_rows(words: Iterable[Word]) -> list[Row]:
    """Words by printed line; a raised or lowered sign belongs to the line that it overlaps.

    The box of some signs, as TeX's minus, is much higher than their line and begins at its top; that of a word with a
    raised sign ends at its bottom.
    """
    words = list(words)
    rows: list[tuple[float, float, list[Word]]] = []
    order: list[tuple[float, int]] = []  # the middles of rows, from the top

    def nearest(middle: float) -> tuple[float, float, list[Word]] | None:
        at = bisect_left(order, (middle, 0))
        near = min(order[max(0, at - 1) : at + 1], key=lambda r: (abs(r[0] - middle), r[1]), default=None)
        return rows[near[1]] if near else None

    usual = median([w.box[3] - w.box[1] for w in words] or [0.0])
    tall = {id(w) for w in words if w.box[3] - w.box[1] >= _RULES.tall * usual}
    heights = {id(w): usual if id(w) in tall else w.box[3] - w.box[1] for w in words}
    # large type first, so that indices find their line, and as do then those that may belong to two
    for word in sorted(words, key=lambda w: (id(w) in tall, -heights[id(w)])):
        height = heights[id(word)]
        middle = word.box[1] + height / 2
        near = nearest(middle)
        if near and id(word) in tall and abs(near[0] - middle) >= _RULES.same_line * near[1]:
            middle = word.box[3] - height / 2
            near = nearest(middle)
        large = height > _RULES.small * (near[1] if near else 0)
        within = _RULES.same_line if large else _RULES.index
        if near and abs(near[0] - middle) < within * near[1]:
            near[2].append(word)
        else:
            insort(order, (middle, len(rows)))
            rows.append((middle, height, [word]))
    return sorted((Row(sorted(r[2], key=lambda w: w.box[0])) for r in rows), key=lambda r: r.middle)


def chunks_of(row: Row, gap: float) -> list[list[Word]]:
    """Return the words of a line, parted at wide blanks."""
    chunks = [[row.words[0]]]
    for before, word in pairwise(row.words):
        if word.box[0] - before.box[2] > gap * row.size:
            chunks.append([])
        chunks[-1].append(word)
    return chunks


def columns_under(chunk: Sequence[Word], columns: Ends) -> list[int]:
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
    body: Sequence[Row], columns: Ends, area: Area, page: int, *, further: bool = False
) -> list[tuple[GivenCell, ...]] | None:
    """Return the rows of the body, with the further lines of a cell joined to its first; None if they are not clear."""
    parts: list[_Part] = []
    for row in body:
        cells: dict[int, list[Word]] = {}
        chunks = chunks_of(row, _RULES.column_gap)
        for chunk in chunks:
            over = columns_under(chunk, columns)
            alone = len(chunks) == 1 and (len(over) > 1 or _heads_group(chunk, over[0], columns, area, row.size))
            whole = 0 if alone else over[0]
            for word in chunk:
                n = columns_under([word], columns)[0] if len(over) > 1 < len(chunks) else whole
                cells.setdefault(n, []).append(word)
        parts.append((row, cells))
    rows = _parted_rows(parts, columns, area)
    if rows is None:
        return None
    if not further:  # its first rows may be those of a label on the page before
        rows = _with_middle_labels(rows, area)
    made: list[tuple[GivenCell, ...]] = []
    covered = 0
    for cells, height in rows:
        given = [made_cell(cells[n], page) if n in cells else GivenCell("") for n in range(len(columns))]
        if height > 1:
            given[0] = replace(given[0], rows=height)
        made.append(tuple(given[1:] if covered else given))
        covered = height - 1 if height > 1 else max(0, covered - 1)
    return made


def _parted_rows(parts: Sequence[_Part], columns: Ends, area: Area) -> list[tuple[dict[int, list[Word]], int]] | None:
    """Return the rows of printed lines, each with the number of rows that its label covers: what rules part, else what
    wider steps part, else lines with those that go on with their texts. None if they are not clear."""
    blocks = _by_steps(parts, columns)
    cuts = _ruled(parts, area)
    if sum(cuts) >= _RULES.ruled * (len(blocks or parts) - 1):
        between = _split(parts, cuts)
        blocks = between if all(is_row(b) and not _is_several(b, columns) for b in between) else blocks
    if blocks:
        return [(_joined(block), 1) for block in blocks]
    if labelled := _labelled_blocks(parts, columns, area):
        return labelled
    merged = _at_middle_height(parts)
    if merged is None:
        return None
    lines = [(row, cells) for row, cells, _ in merged]
    anchor = _anchor(lines, columns)
    small: set[int] = set()
    for n in range(len(columns)):
        lower = [cells[n][0].text[0].islower() for _, cells in lines if n in cells]
        if lower and lower[0] and 2 * sum(lower) > len(lower):
            small.add(n)
    wraps = _wraps(lines, columns, small)
    rows = [(_joined(lines[:1]), merged[0][2])]
    steps = [b[0].middle - a[0].middle for a, b in pairwise(lines)]
    far = _RULES.far * median(steps or [0.0])
    near = min((step for step, line in zip(steps, lines[1:], strict=True) if 0 in line[1]), default=0.0)
    shares = any(_has_shares(a, b) and 0 not in b[1] for a, b in pairwise(lines))
    last_label = int(2 * sum(0 in cells for _, cells in lines) < sum(1 in cells for _, cells in lines))
    for (above, here), ruled, (*_, height) in zip(pairwise(lines), _ruled(lines, area), merged[1:], strict=True):
        keys = here[1].keys()
        if _is_deviation(above, here) and (here[0].middle - above[0].middle) * _RULES.closer > near:
            rows[-1] = (rows[-1][0], 2)
            rows.append((_joined([here]), 1))
            continue
        rest = _is_rest(above, here, columns)
        cut = ruled or here[0].middle - above[0].middle > far
        fewer = len(keys) < min(len(columns), max(len(above[1]), 3))  # three texts and more do not all go on
        # values here and there below others, none of them next to the labels
        loose = not {0, 1} & keys and 2 * len(keys) <= min(len(above[1]), 2 * (max(keys) - min(keys)))
        broken = fewer and ((rest and keys <= wraps) or _is_broken(above, here, columns, small))
        label = 0 in keys and not (shares and _is_full(above, (here[0], {0: here[1][0]}), columns))
        broken = broken or (not label and _has_shares(above, here))
        if not cut and (broken or (anchor >= 0 and anchor not in keys and keys != {0})):
            for n, words in here[1].items():
                rows[-1][0].setdefault(n, []).extend(words)
            rows[-1] = (rows[-1][0], max(1, rows[-1][1] - 1))
        elif (
            not cut and keys < above[1].keys() and keys != {0} and (rest or (loose and _is_full(above, here, columns)))
        ) or (not ruled and len(keys) == 1 and min(keys) > last_label and not _is_number(here, min(keys))):
            return None
        else:
            rows.append((_joined([here]), height))
    return rows


def _wraps(lines: Sequence[_Part], columns: Ends, small: Collection[int]) -> set[int]:
    """Return the columns whose texts go on in lines below them."""
    wraps = {
        n for a, b in pairwise(lines) if b[1].keys() <= a[1].keys() for n in b[1]
        if _is_broken(a, (b[0], {n: b[1][n]}), columns, small)
    }  # fmt: skip
    alone = [(a, b) for a, b in pairwise(lines) if b[1].keys() == {0}]
    names = {tuple(w.text for w in b[1][0]) for _, b in alone}
    if (
        0 not in small
        and all(_is_full(a, b, columns) for a, b in alone)
        and (len(names) < len(alone) or lines[-1][1].keys() == {0})
    ):
        wraps.add(0)  # two groups have two names, and no name stands behind all rows
    return wraps


def _labelled_blocks(parts: Sequence[_Part], columns: Ends, area: Area) -> list[tuple[dict[int, list[Word]], int]]:
    """Return the rows, with the label of each block between two rules over all its rows; nothing if a block has no
    label or several, or none is below the first of several lines."""
    blocks = _split(parts, _ruled(parts, area))
    lines = [[n for n, (_, cells) in enumerate(block) if 0 in cells] for block in blocks]
    below = any(at and at[0] and len(block) > _RULES.beside for at, block in zip(lines, blocks, strict=True))
    if len(blocks) < 2 or not below or not all(at and at[-1] - at[0] < len(at) for at in lines):
        return []
    rest = [(row, {n - 1: words for n, words in cells.items() if n}) for row, cells in parts]
    rows = _parted_rows([part for part in rest if part[1]], columns[1:], area) or []
    rules = sorted(area.rules)
    tops, ends = ([bisect_left(rules, block[at][0].middle) for block in blocks] for at in (0, -1))
    within: list[list[dict[int, list[Word]]]] = [[] for _ in blocks]
    for cells, height in rows:
        above = bisect_left(rules, _height(cells[min(cells)][:1]))
        at = bisect_right(tops, above) - 1
        if height == 1 and at >= 0 and above <= ends[at]:
            within[at].append({n + 1: words for n, words in cells.items()})
    made: list[tuple[dict[int, list[Word]], int]] = []
    for block, own in zip(blocks, within, strict=True):
        made += [({0: _joined(block)[0], **(own[0] if own else {})}, len(own)), *((cells, 1) for cells in own[1:])]
    return made if len(made) == len(rows) + sum(not height for _, height in made) else []


def _with_middle_labels(
    rows: Sequence[tuple[dict[int, list[Word]], int]], area: Area
) -> list[tuple[dict[int, list[Word]], int]]:
    """Return the rows with each label that stands in the middle of several, the first of them without one, over all of
    them, if such labels divide all rows between two rules."""
    result = list(rows)
    places = [_height([w for n, words in cells.items() if n or len(cells) == 1 for w in words]) for cells, _ in rows]
    cuts = [n for n, (a, b) in enumerate(pairwise(places), 1) if any(a < y < b for y in area.rules)]
    for start, end in pairwise([0, *cuts, len(rows)]):
        top, groups = start, []
        for n in range(start, end):
            label = rows[n][0].get(0)
            middle = label and _height(label)
            last = next(
                (
                    m
                    for m in range(n, end)
                    if middle and top <= n and abs(places[top] + places[m] - 2 * middle) < _RULES.level
                ),
                None,
            )
            if last is not None:
                groups.append((top, n, last + 1))
                top = last + 1
            elif label:
                break
        if top == end and 0 not in rows[start][0]:
            for first, n, behind in groups:
                cells = result[n][0]
                label = cells.pop(0)
                result[first] = ({**result[first][0], 0: label}, behind - first)
    return result


def _height(words: Sequence[Word]) -> float:
    return (min(w.box[1] for w in words) + max(w.box[3] for w in words)) / 2


def _ruled(parts: Sequence[_Part], area: Area) -> list[bool]:
    return [any(a[0].middle < y < b[0].middle for y in area.rules) for a, b in pairwise(parts)]


def _split(parts: Sequence[_Part], cuts: Iterable[bool]) -> list[list[_Part]]:
    blocks = [[parts[0]]]
    for part, cut in zip(parts[1:], cuts, strict=True):
        if cut:
            blocks.append([])
        blocks[-1].append(part)
    return blocks


def _joined(block: Iterable[_Part]) -> dict[int, list[Word]]:
    cells: dict[int, list[Word]] = {}
    for _, found in block:
        for n, words in found.items():
            cells.setdefault(n, []).extend(words)
    return cells


def _by_steps(parts: Sequence[_Part], columns: Ends) -> list[list[_Part]]:
    """Return the rows that wider steps part, if the lines of each look like one row, and at least half of the further
    lines go on with texts that had no room; else nothing."""
    steps = [b[0].middle - a[0].middle for a, b in pairwise(parts)]
    for low, high in reversed(list(pairwise(sorted(steps)))):
        blocks = _split(parts, [step > (low + high) / 2 for step in steps])
        if high >= _RULES.closer * low and all(is_row(b) and not _is_several(b, columns) for b in blocks):
            going_on = [
                not _is_top(block) or (_is_full(*pair, columns) and len(pair[1][1]) < len(columns))
                for block in blocks for pair in pairwise(block)
            ]  # fmt: skip
            if sum(going_on) >= len(going_on) / 2:
                return blocks
    return []


def _is_top(block: Sequence[_Part]) -> bool:
    return all(cells.keys() <= block[0][1].keys() for _, cells in block)


def is_row(block: Sequence[_Part]) -> bool:
    """Check whether some lines may be one row: its first line has all texts, or all are at one middle height; and at
    most one column, not that of labels, has numbers below each other."""
    cells = _joined(block)
    middles = [(min(w.box[1] for w in words) + max(w.box[3] for w in words)) / 2 for words in cells.values()]
    level = _is_top(block) or max(middles) - min(middles) < _RULES.same_line * block[0][0].size
    values = {
        n for n in cells for a, b in pairwise([p for p in block if n in p[1]]) if _is_number(b, n) and _ends(a, n)
    }
    return level and len(values) < 2 and 0 not in values


def _is_several(block: Sequence[_Part], columns: Ends) -> bool:
    """Check whether some lines are several rows: a further one has all texts, one of which had room above."""
    keys = _joined(block).keys()
    whole = [part for part in block if part[1].keys() == keys]
    return len(keys) > 1 and 0 in keys and any(_has_room(n, a, b, columns) for a, b in pairwise(whole) for n in keys)


def _is_number(part: _Part, column: int) -> bool:
    return NUMBER.match(part[1][column][0].text) is not None


def _ends(part: _Part, column: int) -> bool:
    """Check whether a text is a number that does not go on."""
    return _is_number(part, column) and not is_open(part[1][column])


def _anchor(lines: Sequence[_Part], columns: Ends) -> int:
    """Return the column that has a text in each row, if all other lines may be the rest of those above them: the
    fullest of numbers, or that of the labels; else -1."""
    count = {n: sum(n in cells for _, cells in lines) for n in range(len(columns))}
    rows = [here for above, here in pairwise(lines) if here[1].keys() != {0} and not _is_rest(above, here, columns)]
    found = [
        n for n in count
        if all(n in row[1] for row in (lines[0], *rows))
        and (n == 0 or all(_is_number(line, n) for line in lines if n in line[1]))
    ]  # fmt: skip
    return max(found, key=lambda n: count[n], default=-1)


def _heads_group(chunk: Sequence[Word], at: int, columns: Ends, area: Area, size: float) -> bool:
    """Check whether a text that is alone in its line names the rows below: it is in the middle of the table or of its
    values, and wider than its column, not at an end of it, or in a row that upright rules do not part."""
    (left, right), column = (chunk[0].box[0], chunk[-1].box[2]), columns[at]
    places = (area.box[0], area.box[2]), (columns[min(1, at)][0], columns[-1][1])
    middle = any(abs(left + right - a - b) / 2 < size for a, b in places)
    within = left > column[0] + size and abs(right - column[1]) > 1
    walls = [r for r in area.walls if area.box[0] + size < r[0] < area.box[2] - size]
    whole = bool(walls) and not any(r[1] < (chunk[0].box[1] + chunk[0].box[3]) / 2 < r[3] for r in walls)
    return middle and (left < column[0] - 1 or right > column[1] + 1 or within or whole)


_Part = tuple[Row, dict[int, list[Word]]]


def _at_middle_height(parts: Sequence[_Part]) -> list[tuple[Row, dict[int, list[Word]], int]] | None:
    """Return the lines, with those of overlapping heights put together: a label of two lines beside a line of values,
    and a label beside the middle of two such lines, which then covers both (the third item). None for other
    overlaps."""
    groups = _split(
        parts, [b[0].middle - a[0].middle >= _RULES.overlap * max(a[0].size, b[0].size) for a, b in pairwise(parts)]
    )
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


def _is_rest(above: _Part, here: _Part, columns: Ends) -> bool:
    """Check whether a line may be the rest of the one above it: no text had room there, at most half are below numbers,
    and none is a number below one."""
    ended = _is_full(above, here, columns) and [
        n for n, words in here[1].items() if _ends(above, n) and words[0].text[0] not in "(["
    ]
    return ended is not False and 2 * len(ended) <= len(here[1]) and not any(_is_number(here, n) for n in ended)


def _is_deviation(above: _Part, here: _Part) -> bool:
    """Check whether a line has no label, and numbers in brackets below those of the one above it."""
    return 0 in above[1] and all(
        n and _DEVIATION.match(words[0].text) and n in above[1] and _is_number(above, n) for n, words in here[1].items()
    )


def _has_shares(above: _Part, here: _Part) -> bool:
    """Check whether a line has shares below all values of the one above it."""
    values, upper = ({n: words for n, words in part[1].items() if n} for part in (here, above))
    shares, counts = ({words[-1].text[-1] == "%" for words in part.values()} for part in (values, upper))
    return 0 in above[1] and values.keys() == upper.keys() and shares == {True} and counts == {False}


def _is_broken(above: _Part, here: _Part, columns: Ends, small: Collection[int]) -> bool:
    """Check whether all texts of a line look like the rest of those above them, which had no room for more.

    ``small``: columns whose first text begins with a small letter, as in lists of functions.
    """
    return _is_full(above, here, columns) and all(
        is_open(above[1][n])
        or (words[0].text[:1].islower() and "_" not in words[0].text and n not in small)
        or (n == 0 and words[0].text[0] in "([")
        for n, words in here[1].items()
    )


def _is_full(above: _Part, here: _Part, columns: Ends) -> bool:
    """Check whether no first word of a line's texts had room behind the texts above them."""
    return here[1].keys() <= above[1].keys() and all(
        _width(words) < columns[n][1] - columns[n][0] + 1
        and (is_open(above[1][n]) or not _has_room(n, above, here, columns))
        for n, words in here[1].items()
    )


def _has_room(column: int, above: _Part, here: _Part, columns: Ends) -> bool:
    left, right = columns[column]
    room = right - left - _width(above[1][column])
    return room >= _RULES.blank * here[0].size + _width(here[1][column][:1])


def is_open(words: Sequence[Word]) -> bool:
    """Check whether a text ends in a hyphen, a comma or a small word, or in brackets that it does not close."""
    text = " ".join(w.text for w in words)
    return _OPEN_END.search(text) is not None or text.count("(") > text.count(")")


def _width(words: Sequence[Word]) -> float:
    return words[-1].box[2] - words[0].box[0]
