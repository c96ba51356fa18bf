"""Finds the rows and columns of a table on a PDF page from words with boxes and from rules. Pure functions.

A table lies between rules of one width near its caption. Blanks through all rows of its body part its columns. What
is not clear is refused with a code of `scirgen.stages.parse.grid.REFUSED`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from statistics import median
from typing import Annotated, Final

from scirgen.plugin import Box
from scirgen.stages.parse.grid import GivenCell
from scirgen_pdf.reading.page import Word, around
from scirgen_pdf.tableframes import framed_rows
from scirgen_pdf.tableheads import Heads, head_rows, is_aligned
from scirgen_pdf.tablerows import (
    NUMBER,
    Area,
    Ends,
    Row,
    TableRows,
    body_rows,
    chunks_of,
    columns_under,
    made_cell,
    printed_rows,
)
from scirgen_pdf.units import Count, Ems, Points, Share, Times


@dataclass(frozen=True)
class Grid:
    """Limits of the reader of a table's place, header and columns."""

    # Rules
    thin: Annotated[Points, "the thickness of a rule; it is longer than that"] = 4
    least_rule: Annotated[Points, "the length of the first rule of a table"] = 60
    ends: Annotated[Points, "by which the ends of the rules of one table may differ"] = 6
    joined: Annotated[Points, "between the pieces of a rule that is drawn cell by cell, without its crossings"] = 1.6
    padding: Annotated[Points, "between a long cell and the rules above and below it"] = 7
    slack: Annotated[Points, "by which a rule may miss the box or the rule that it belongs to"] = 2
    # Place
    near: Annotated[Points, "from a caption to its table's first rule; a caption of several lines is one box"] = 45
    close: Annotated[Points, "from the first rule of a table to a caption below it"] = 15
    caption: Annotated[Points, "the part of a caption above a rule across it, at least"] = 4
    beside: Annotated[Points, "in common of the widths of a table and of text that ends it"] = 10
    lowest: Annotated[Points, "a table's height, at least"] = 20
    wide_step: Annotated[Times, "the usual step of lines, of one behind which a table without a last rule ends"] = 2.2
    upright: Annotated[Share, "of a table's height: the rules that part two columns"] = 0.8
    # Header
    most_head: Annotated[Count, "lines of a header that no rule ends"] = 3
    valued: Annotated[Share, "the lines with numbers below such a header"] = 0.8
    # Body
    least_lines: Annotated[Count, "lines of a table"] = 3
    least_body: Annotated[Count, "lines of a table's body"] = 2
    in_line: Annotated[Points, "by which texts that begin or end at one place may differ"] = 1
    named: Annotated[Ems, "the least blank between columns if a line of the header has a name for each"] = 0.25


_RULES = Grid()
_GAP: Final = TableRows().column_gap
_OVERLAP: Final = TableRows().overlap
_HEAD_GAP: Final = Heads().chunk_gap


@dataclass(frozen=True)
class PageTable:
    """A table of a page: its box, and its rows, or the code of its refusal. ``head``: the lines of its header;
    ``columns``: their left and right ends."""

    box: Box
    rows: tuple[tuple[GivenCell, ...], ...] = ()
    header_rows: int = 0
    refused: str = ""
    head: tuple[str, ...] = ()
    columns: tuple[tuple[float, float], ...] = ()


def page_table(
    caption: Box,
    others: Sequence[Box],
    words: Sequence[Word],
    rules: Sequence[Box],
    page: int,
    first: PageTable | None = None,
) -> PageTable | None:
    """Return the table that belongs to a caption; None if no rules are near it.

    Args:
        caption: its box; of a further part of a table, what `further_start` gives.
        others: boxes of other captions and of prose, where it ends.
        words: all of the page.
        rules: all of the page.
        page: its number.
        first: the first part of a table that goes on here; None is returned too if it does not.
    """
    wide = [r for r in rules if r[2] - r[0] > _RULES.least_rule and r[3] - r[1] < _RULES.thin]
    caption, *others = (_above_rules(box, wide) for box in (caption, *(o for o in others if not _is_framed(o, rules))))
    found: PageTable | None = None
    for area in _areas(caption, others, rules, words):
        if any(_crosses(w, wall) for wall in area.walls for w in words):
            read: PageTable | None = PageTable(area.box, refused="table_columns")  # texts of two cells touch
        else:
            read = _framed(words, area, rules, page, first) or (
                _further_rows(words, area, page, first) if first else _rows(words, area, page)
            )
        if read and not read.refused:
            return read
        place = [t.box for t in (found, read) if t and _alike(t.box, area.box)]
        found = found or read
        found = replace(found, box=around(place)) if found and place else found
    return found


def _crosses(word: Word, wall: Box) -> bool:
    x0, y0, x1, y1 = word.box
    return x0 + _RULES.slack < wall[0] < x1 - _RULES.slack and wall[1] < (y0 + y1) / 2 < wall[3]


def _areas(caption: Box, others: Sequence[Box], rules: Sequence[Box], words: Sequence[Word]) -> Iterator[Area]:
    """Yield the places that a caption's table may have, the likely one first."""
    ruled = _area(caption, others, rules)
    opened = _open_area(caption, others, rules, words)
    if ruled and opened and _alike(ruled.box, opened.box):
        if opened.box[1] < ruled.box[1] - _RULES.thin < opened.box[3]:
            ruled = None  # it lacks its header
        elif _goes_on(ruled, opened):
            ruled, opened = opened, ruled
        elif opened.box[3] > ruled.box[3] and len(ruled.rules) > 4 * _RULES.least_lines:
            opened = None  # it takes in text below the last rule
    yield from filter(None, (ruled, opened))


def _goes_on(ruled: Area, opened: Area) -> bool:
    """Check whether a last row stands below the rules that part rows, as the one below the last that is shaded."""
    return 0 < opened.box[3] - ruled.box[3] < max((b - a for a, b in pairwise(ruled.rules[1:])), default=0)


def further_start(table: PageTable, rules: Sequence[Box]) -> Box | None:
    """Return the place above the first rule of the next page that is as wide as a table."""
    level = level_rules(rules)
    alike = [r for r in level if abs((r[2] - r[0]) - (table.box[2] - table.box[0])) < _RULES.ends]
    top = min(alike, key=lambda r: r[1], default=None)
    return (top[0], top[1] - 1, top[2], top[1] - 1) if top else None


def _lines(words: Sequence[Word], area: Area) -> list[Row]:
    x0, y0, x1, y1 = area.box
    inside = [
        w for w in words
        if x0 - _RULES.ends < (w.box[0] + w.box[2]) / 2 < x1 + _RULES.ends
        and y0 - 1 < (w.box[1] + w.box[3]) / 2 < y1 + 1
    ]  # fmt: skip
    return _without_notes(printed_rows(inside), area)


def _framed(
    words: Sequence[Word], area: Area, rules: Sequence[Box], page: int, first: PageTable | None
) -> PageTable | None:
    """Read a table whose cells rules frame, or a further part of one, which may repeat its header."""
    rows, top = framed_rows(words, area, rules, page)
    table = PageTable(area.box, tuple(rows), top)
    if not first:
        return table if rows else None
    if not rows or first.columns or _width(table) != _width(first):
        return None
    repeated = all(map(_same, rows, first.rows[: first.header_rows]))
    return replace(table, header_rows=first.header_rows if repeated else 0)


def _same(row: Sequence[GivenCell], other: Sequence[GivenCell]) -> bool:
    return [cell.text for cell in row] == [cell.text for cell in other]


def _rows(words: Sequence[Word], area: Area, page: int) -> PageTable:
    lines = _lines(words, area)
    if len(lines) < _RULES.least_lines:
        return PageTable(area.box, refused="table_shape")
    refused = "table_header"
    for head, body in _partings(lines, area):
        wide, closer = _columns(body, area.uprights), _columns(body, area.uprights, gap=_RULES.named)
        closer = _named_columns(closer, head, body)
        for columns in map(tuple, (closer, wide) if _are_flush(body, closer) else (wide, closer)):
            if len(columns) > 1 and _text(head[-1]) not in map(_text, body):  # else two tables
                top = head_rows(head, columns, _cells(body, columns, area), area, page)
                below = body_rows(body, columns, area, page)
                if below and _is_sure(below, top):
                    return PageTable(area.box, (*top, *below), len(top), head=tuple(map(_text, head)), columns=columns)
        refused = "table_columns"
    return PageTable(area.box, refused=refused)


def _further_rows(words: Sequence[Word], area: Area, page: int, first: PageTable) -> PageTable | None:
    """Read rows below the header of another page, which may be repeated; another header begins another table."""
    lines = _lines(words, area)
    repeated = tuple(map(_text, lines[: len(first.head)])) == first.head != ()
    other = len(area.rules) <= len(lines) and any(_partings(lines, area))  # and rules do not part its rows
    body = lines[len(first.head) :] if repeated else [] if other else lines
    moved = area.box[0] - first.box[0]
    columns = _columns(body, area.uprights, [(a + moved, b + moved) for a, b in first.columns]) if body else []
    below = body_rows(body, columns, area, page, further=True) if len(columns) == _width(first) else None
    if below:
        head = [(made_cell(row.words, page),) for row in lines[: len(lines) - len(body)]]
        return replace(first, box=area.box, rows=(*head, *below), header_rows=len(head))
    return PageTable(area.box, refused="table_columns") if repeated else None


def _text(row: Row) -> str:
    return " ".join(w.text for w in row.words)


def _width(table: PageTable) -> int:
    return max(sum(cell.columns for cell in row) for row in table.rows)


def _is_framed(box: Box, rules: Iterable[Box]) -> bool:
    """Check whether upright rules stand on both sides of a text: it is a long cell."""
    middle = (box[1] + box[3]) / 2
    beside = [r for r in rules if r[2] - r[0] < _RULES.thin and r[1] - 1 < middle < r[3] + 1]
    return any(r[2] < box[0] + 1 for r in beside) and any(r[0] > box[2] - 1 for r in beside)


def _above_rules(box: Box, wide: Iterable[Box]) -> Box:
    """Return the part of a text's box above the first rule across it: the lines below are a table's header."""
    ys = [r[1] for r in wide if box[1] + _RULES.caption < r[1] < box[3] - 1 and r[0] < box[2] and box[0] < r[2]]
    return (box[0], box[1], box[2], min([*ys, box[3]]))


def _without_notes(lines: list[Row], area: Area) -> list[Row]:
    """Return the lines without those between the last two rules, if these are notes."""
    notes = [r for r in lines if r.middle > area.rules[-2]] if area.rules[1:-1] else []
    return lines[: len(lines) - len(notes)] if _are_notes(notes, lines) else lines


def _are_notes(notes: Sequence[Row], lines: Iterable[Row]) -> bool:
    """Check whether lines of a table have no blank as between columns, and most begin where its labels do; cells at
    other heights are no such lines."""
    if 2 * sum(b.middle - a.middle < _OVERLAP * a.size for a, b in pairwise(notes)) > len(notes):
        return False
    values = min((chunks[1][0].box[0] for r in lines if len(chunks := chunks_of(r, _HEAD_GAP)) > 1), default=math.inf)
    flush = sum(r.words[0].box[0] < values - _RULES.in_line for r in notes)
    return 2 * flush > len(notes) and all(len(chunks_of(r, _HEAD_GAP)) == 1 for r in notes)


def _area(caption: Box, others: Sequence[Box], rules: Sequence[Box]) -> Area | None:
    """Return the rules of a caption's table: those of one width below it, or else above it, up to other text."""
    level = level_rules(rules)
    below = _near([r for r in level if -_RULES.slack < r[1] - caption[3] < _RULES.near], caption, down=True)
    above = _near([r for r in level if -_RULES.slack < caption[1] - r[3] < _RULES.near], caption, down=False)
    found = [*((r, True) for r in below), *((r, False) for r in above)]
    if below and above and 2 * (caption[1] - above[0][3]) < below[0][1] - caption[3]:
        found.sort(key=lambda r: r[1])
    for first, down in found:
        chain = [first]
        for rule in sorted((r for r in level if _alike(r, first)), key=lambda r: r[1] if down else -r[1]):
            if (rule[1] > first[1]) if down else (rule[1] < first[1]):
                span = (first[0], min(chain[-1][1], rule[1]), first[2], max(chain[-1][1], rule[1]))
                parting = len(chain) > _RULES.least_lines
                if text := [o for o in others if _overlap(span, o) and not (parting and _fills(o, span))]:
                    if any((o[1] - span[1] if down else span[3] - o[3]) < _RULES.slack for o in text):
                        return None  # a text that touches a rule is a cell, not prose between two tables
                    break
                chain.append(rule)
        ys = sorted(r[1] for r in chain)
        if ys[-1] - ys[0] < _RULES.lowest:
            continue
        x0, x1 = min(r[0] for r in chain), max(r[2] for r in chain)
        return _placed((x0, ys[0], x1, ys[-1]), ys, rules)
    return None


def _placed(box: Box, ys: list[float], rules: Iterable[Box]) -> Area:
    """Return a table's place, with the shorter rules in it: as drawn, and with touching ones joined."""
    drawn = [
        r for r in rules
        if _is_level(r) and box[0] - _RULES.ends <= r[0] and r[2] <= box[2] + _RULES.ends and box[1] < r[3] < box[3]
        and not any(abs(r[1] - y) < _RULES.slack for y in ys)
    ]  # fmt: skip
    walls = [
        r for r in rules
        if r[2] - r[0] < _RULES.thin < r[3] - r[1]
        and box[0] - 1 < r[0] < box[2] + 1 and r[1] < box[3] and box[1] < r[3]
    ]  # fmt: skip
    lengths: dict[int, float] = {}
    for r in walls:
        lengths[round(r[0])] = lengths.get(round(r[0]), 0.0) + min(r[3], box[3]) - max(r[1], box[1])
    uprights = [float(x) for x, length in lengths.items() if length > _RULES.upright * (box[3] - box[1])]
    return Area(box, ys, [*level_rules(drawn), *drawn], walls, uprights)


def _open_area(caption: Box, others: Sequence[Box], rules: Sequence[Box], words: Sequence[Word]) -> Area | None:
    """Return the place of a table without a first or a last rule, below a caption, or above it if no rule is below."""
    level = level_rules(rules)
    below = _near([r for r in level if -_RULES.slack < r[1] - caption[3] < _RULES.near], caption, down=True)
    above = _near([r for r in level if r[1] < caption[1] - _RULES.lowest], caption, down=False)
    down = bool(below)
    if not below and not above:
        return None
    x0, y, x1, _ = first = max(below, key=lambda r: r[2] - r[0]) if down else above[0]
    text = [o for o in (*others, caption) if min(o[2], x1) - max(o[0], x0) > _RULES.beside]
    top = max((o[3] for o in text if o[1] < y), default=0.0)
    end = min((o[1] for o in text if o[1] > y), default=math.inf)
    ruled = sorted(r[1] for r in level if _alike(r, first) and (y if down else top) - 1 < r[1] < end)
    if not ruled or (not down and (end < caption[1] - _RULES.thin or ruled[0] - top < _RULES.slack)):
        return None  # a text that touches a rule is a cell
    inside = [w for w in words if top < (w.box[1] + w.box[3]) / 2 < end]
    own = [w for w in inside if x0 - _RULES.ends < w.box[0] and w.box[2] < x1 + _RULES.ends]
    lines = printed_rows(own)
    body = [r for r in lines if r.middle > ruled[0]]
    steps = [b.middle - a.middle for a, b in pairwise(body)]
    usual = median([x for x in steps if x > _OVERLAP * body[0].size] or [0.0])
    wide = _RULES.wide_step * usual
    free = [n for n, step in enumerate(steps) if step > wide and body[n + 1].middle > ruled[-1]]
    last = min([*free, len(steps)])
    while last and body[last].middle > ruled[-1] and _are_notes(body[last : last + 1], body):
        last -= 1
    head: list[Row] = []
    for row in reversed(lines[: len(lines) - len(body)]):
        step = (head[-1].middle if head else ruled[0]) - row.middle
        beside = any(abs(w.box[3] - row.words[0].box[3]) < 1 for w in inside if w not in own)
        if step > (wide if head else usual) or beside or not (head or len(chunks_of(row, _HEAD_GAP)) > 1):
            break
        head.append(row)
    if last + 1 < _RULES.least_body or last + 1 + len(head) < _RULES.least_lines:
        return None
    y, bottom = min([ruled[0], *(w.box[1] for r in head for w in r.words)]), max(w.box[3] for w in body[last].words)
    if not down and (free or caption[1] - bottom > _RULES.near):
        return None
    return _placed((x0, y, x1, bottom), sorted({y, bottom, *(r for r in ruled if r < bottom - _RULES.thin)}), rules)


def _is_level(rule: Box) -> bool:
    return rule[3] - rule[1] < _RULES.thin <= rule[2] - rule[0]


def _near(rules: Iterable[Box], caption: Box, down: bool) -> list[Box]:
    """Return the rules that are wide enough and in a caption's column, the next one first."""
    fit = [r for r in rules if r[2] - r[0] > _RULES.least_rule and r[0] < caption[2] and caption[0] < r[2]]
    return sorted(fit, key=lambda r: (abs(r[1] - caption[3 if down else 1]), r[0] - r[2]))


def level_rules(rules: Iterable[Box]) -> list[Box]:
    """Return the level rules, with the pieces of one that is drawn cell by cell joined."""
    result: list[Box] = []
    for rule in sorted(filter(_is_level, rules), key=lambda r: (round(r[1]), r[0])):
        last = result[-1] if result else None
        if last and abs(last[1] - rule[1]) < _RULES.joined and rule[0] - last[2] < _RULES.joined:
            result[-1] = (last[0], last[1], max(last[2], rule[2]), last[3])
        else:
            result.append(rule)
    return result


def _alike(a: Box, b: Box) -> bool:
    return abs(a[0] - b[0]) < _RULES.ends and abs(a[2] - b[2]) < _RULES.ends


def _fills(text: Box, place: Box) -> bool:
    """Check whether a text is as close to the rules above and below it as a cell is."""
    return max(text[1] - place[1], place[3] - text[3]) < _RULES.padding


def _overlap(a: Box, b: Box) -> bool:
    return min(a[2], b[2]) - max(a[0], b[0]) > _RULES.beside and a[1] < (b[1] + b[3]) / 2 < a[3]


def _partings(lines: Sequence[Row], area: Area) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yield the lines of the header and of the body: those above and below the first rule between lines, or a further
    one, below several texts, if no line up to it has numbers. Without such rules: those above the first line with a
    number behind its first text, if nearly all lines from there on have one."""
    rest = [[chunk[0].text for chunk in chunks_of(r, _HEAD_GAP)[1:]] for r in lines]
    valued = [any(NUMBER.match(text) for text in texts) for texts in rest]
    first = valued.index(True) if any(valued) else 0
    ends = sorted({sum(r.middle < y for r in lines) for y in area.rules})
    ends = [end for end in ends if 0 < end < len(lines) - 1]
    few = 0 < first <= _RULES.most_head and any(rest[:first])
    if few and any(sum(r.middle < rule[1] for r in lines) == first for rule in area.parts):
        ends = [end for end in ends if end <= _RULES.most_head] or [first]  # short rules end the header
    if not ends and few and sum(valued[first:]) >= _RULES.valued * (len(lines) - first):
        ends = [first]
    for end in ends:
        if end == ends[0] or (end <= first and rest[end - 1]):
            yield list(lines[:end]), list(lines[end:])


def _columns(
    body: Sequence[Row], uprights: Sequence[float], known: Iterable[tuple[float, float]] = (), gap: float = _GAP
) -> list[tuple[float, float]]:
    """Return the left and right ends of the columns: of the body's text, between blanks or upright rules
    through all lines. ``known``: those of the table's first part."""
    size = median(r.size for r in body)
    beside = {id(r) for a, b in pairwise(body) if b.middle - a.middle < _OVERLAP * size for r in (a, b)}
    several = [r for r in body if id(r) in beside or len(chunks_of(r, _HEAD_GAP)) > 1]
    counted = several if len(several) > 1 else body
    spans = sorted([*known, *((w.box[0], w.box[2]) for r in counted for w in r.words)])
    columns: list[tuple[float, float]] = []
    for left, right in spans:
        ruled = columns and any(columns[-1][1] - 1 < x < left + 1 for x in uprights)
        if columns and not ruled and left - columns[-1][1] < gap * size:
            columns[-1] = (columns[-1][0], max(columns[-1][1], right))
        else:
            columns.append((left, right))
    for chunk in (r.words for r in body if r not in counted):  # a long label, or a part of one
        over = columns_under(chunk, columns)
        if over == [0] and len(columns) > 1 and chunk[-1].box[2] < columns[1][0] - gap * size:
            columns[0] = (columns[0][0], max(columns[0][1], chunk[-1].box[2]))
    return columns


def _named_columns(columns: Ends, head: Iterable[Row], body: Sequence[Row]) -> list[tuple[float, float]]:
    """Return the columns, with those joined whose blank is narrow and at which no two names of a header's line part."""
    least = _GAP * median(r.size for r in body)
    result = [columns[0]]
    for column in columns[1:]:
        left = result[-1]
        named = any(_name_parts(row.words, left, column) for row in head)
        if named or column[0] - left[1] >= least:
            result.append(column)
        else:
            result[-1] = (left[0], column[1])
    return result


def _name_parts(words: Sequence[Word], left: tuple[float, float], right: tuple[float, float]) -> bool:
    """Check whether a text of a header's line ends, begins or has its middle where a column does beside a blank that no
    word crosses."""
    before = [w.box[2] for w in words if w.box[0] < left[1] - _RULES.in_line]
    behind = [w for w in words if w.box[0] >= left[1] - _RULES.in_line]
    if not behind or max(before, default=0.0) > right[0] + _RULES.in_line:
        return False
    own = [w for w in behind if (w.box[0] + w.box[2]) / 2 < right[1]] or behind[:1]
    return is_aligned(own, right) or abs(max(before, default=0.0) - left[1]) < _RULES.in_line


def _are_flush(body: Sequence[Row], columns: Ends) -> bool:
    """Check whether all texts on both sides of each narrow blank between columns end and begin at its edges."""
    for (_, end), (start, _) in pairwise(columns):
        if start - end < _GAP * median(r.size for r in body):
            sides = [([w.box[2] for w in r.words if w.box[2] < start], [w.box[0] for w in r.words if w.box[0] > end])
                     for r in body]  # fmt: skip
            apart = [max(end - max(a), min(b) - start) for a, b in sides if a and b]
            if 2 * len(apart) < len(body) or max(apart, default=0.0) > _RULES.in_line:
                return False
    return True


def _cells(body: Sequence[Row], columns: Ends, area: Area) -> list[tuple[float, float]]:
    """Return the ends of the columns' cells: texts that begin or end at one place leave the rest of the cell free."""
    texts = [(columns_under(chunk, columns), chunk) for row in body for chunk in chunks_of(row, _GAP)]
    gap = min(b[0] - a[1] for a, b in pairwise(columns))
    cells = list(columns)
    for n, (left, right) in enumerate(columns):
        own = [(c[0].box[0], c[-1].box[2]) for over, c in texts if over == [n]]
        begin, end = (bool(own) and max(x) - min(x) < _RULES.in_line for x in zip(*own, strict=True)) if own else (1, 1)
        if begin and not end:
            cells[n] = (left, columns[n + 1][0] - gap if n + 1 < len(columns) else area.box[2])
        elif end and not begin:
            cells[n] = (columns[n - 1][1] + gap if n else area.box[0], right)
    return cells


def _is_sure(body: Sequence[Sequence[GivenCell]], head: Sequence[Sequence[GivenCell]]) -> bool:
    """Check that the columns look right: all with content are named."""
    if not head or len(body) < _RULES.least_body:
        return False
    filled = [n for row in body for n, cell in enumerate(row) if cell.text]
    named: set[int] = set()
    for row in reversed(head):
        column = 0
        for cell in row:
            over = set(range(column, column + cell.columns)) & set(filled)
            if cell.text and len(over - {0}) > 1 and not over <= named | {0}:
                return False  # a name over several columns, some without a name of their own
            column += cell.columns
        named |= _named(row)
    return not any(n > min(named, default=0) and n not in named and not _is_label(body, n) for n in filled)


def _is_label(body: Sequence[Sequence[GivenCell]], column: int) -> bool:
    """Check whether a column goes on with the labels: it has a text in each row, and the one before it in fewer."""
    before, own = ([bool(row[n].text) for row in body if len(row) == len(body[0])] for n in (0, column))
    return column == 1 and all(own) and sum(before) <= len(before) / 2


def _named(row: Sequence[GivenCell]) -> set[int]:
    ends = list(accumulate(cell.columns for cell in row))
    return {n for cell, end in zip(row, ends, strict=True) if cell.text for n in range(end - cell.columns, end)}
