"""Reading order of a page: a recursive cut into columns and bands by the white space between lines.

Lines are grouped into horizontal strips; consecutive strips that leave the same vertical gutter free form a band of
columns, which is read column by column. It is an XY-cut (Nagy & Seth 1984) that prefers columns to rows where both are
possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from scirgen.stages.parse.terms import kind_of_heading
from scirgen_pdf.page.lines import Line

_MIN_GUTTER = 7.0
_MIN_SIDE = 0.12
_MIN_LINES = 3
_BOX_GUTTER = 12.0

Interval = tuple[float, float]


@dataclass
class Region:
    """Lines of one column, from top to bottom, and the column's horizontal extent."""

    lines: list[Line]
    x0: float
    x1: float

    @property
    def width(self) -> float:
        return self.x1 - self.x0


def reading_order(lines: Sequence[Line], known: Interval | None = None) -> list[Region]:
    """Columns of a page in the order in which they are read.

    Args:
        lines: the page's lines, in any order.
        known: the gutter that most pages of the paper share (`common_gutter`); it also shows short bands of columns.
    """
    return _cut(list(lines), 0, known) if lines else []


def common_gutter(pages: Sequence[Sequence[Region]]) -> Interval | None:
    """Return the gutter between the two text columns of a paper, from its pages' columns; None if it has one column."""
    found: list[Interval] = []
    for regions in pages:
        for a, b in pairwise(regions):
            beside = a.x1 < b.x0 and min(a.lines[-1].y1, b.lines[-1].y1) > max(a.lines[0].y0, b.lines[0].y0)
            if beside and min(len(a.lines), len(b.lines)) >= 8 and 0.6 < a.width / max(1.0, b.width) < 1.6:
                found.append((a.x1, b.x0))
    if len(found) < max(2, 0.3 * len(pages)):
        return None
    gutter = median(a for a, _ in found), median(b for _, b in found)
    return gutter if gutter[1] - gutter[0] >= _MIN_GUTTER else None


def _cut(lines: list[Line], depth: int, known: Interval | None) -> list[Region]:
    x0, x1 = min(line.x0 for line in lines), max(line.x1 for line in lines)
    inside = known if known and x0 < known[0] and x1 > known[1] else None
    if depth > 4 or len(lines) < (2 if inside else 2 * _MIN_LINES):
        return [Region(_by_rows(lines), x0, x1)]
    strips = _strips(lines)
    regions: list[Region] = []
    plain: list[Line] = []
    index = 0
    while index < len(strips):
        end, gutter = _band(strips, index, (x0, x1), inside)
        if gutter is None:
            plain += strips[index]
            index += 1
            continue
        if _ends_paragraph(strips, index, gutter):
            plain += strips[index]
            index += 1
        if plain:
            regions.append(_plain(plain))
            plain = []
        band = [line for strip in strips[index:end] for line in strip]
        middle = (gutter[0] + gutter[1]) / 2
        for side in ([b for b in band if b.x1 <= middle], [b for b in band if b.x1 > middle]):
            regions += _cut(side, depth + 1, known)
        index = end
    if plain:
        regions.append(_plain(plain))
    return regions


def _plain(lines: list[Line]) -> Region:
    return Region(_by_rows(lines), min(line.x0 for line in lines), max(line.x1 for line in lines))


def _by_rows(lines: list[Line]) -> list[Line]:
    """Return the lines from top to bottom; those of one row (middles less than a third of a line apart) from left to
    right."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.middle):
        first = rows[-1][0] if rows else None
        if first is not None and line.middle - first.middle < 0.3 * min(line.y1 - line.y0, first.y1 - first.y0):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in sorted(row, key=lambda line: line.x0)]


def _strips(lines: list[Line]) -> list[list[Line]]:
    """Return the groups of lines that overlap vertically, from top to bottom."""
    strips: list[list[Line]] = []
    bottom = float("-inf")
    for line in sorted(lines, key=lambda line: line.y0):
        height = line.y1 - line.y0
        if line.y0 + 0.25 * height < bottom and strips:
            strips[-1].append(line)
        else:
            strips.append([line])
        bottom = max(bottom, line.y1 - 0.25 * height)
    return strips


def _band(strips: list[list[Line]], start: int, page: Interval, known: Interval | None) -> tuple[int, Interval | None]:
    """Return the longest run of strips from ``start`` that share a gutter between text columns, and the gutter."""
    free: list[Interval] = [page]
    stages: list[tuple[int, list[Interval]]] = []
    for end in range(start, len(strips)):
        left = [f for f in _without(free, strips[end]) if f[1] - f[0] >= _MIN_GUTTER]
        if not left:
            break
        if stages and left == free:
            stages[-1] = (end + 1, left)
        else:
            stages.append((end + 1, left))
        free = left
    for end, left in reversed(stages):
        inside = [f for f in left if f[0] > page[0] and f[1] < page[1]]
        if not inside:
            continue
        gutter = _gutter([line for strip in strips[start:end] for line in strip], inside, page, known)
        if gutter is not None:
            end = _without_next_columns(strips, start, end, gutter, known)
            return _without_next_heading(strips, start, end, gutter), gutter
    return start, None


def _ends_paragraph(strips: list[list[Line]], start: int, gutter: Interval) -> bool:
    """Return whether the band's first line is the short last line of a paragraph that crosses the gutter right above
    it."""
    first, above = strips[start], strips[start - 1] if start else []
    if len(first) != 1 or first[0].x1 > gutter[0] or not any(b.x0 < gutter[0] and b.x1 > gutter[1] for b in above):
        return False
    last = max(above, key=lambda line: line.y1)
    close = first[0].y0 - last.y1 < 0.5 * first[0].size
    return close and first[0].style == last.style and abs(first[0].x0 - last.x0) < 3


def _without_next_columns(
    strips: list[list[Line]], start: int, end: int, gutter: Interval, known: Interval | None
) -> int:
    """Return the end of a band beside the paper's own gutter (keywords beside the abstract), before strips in the
    paper's own columns."""
    if known is None or gutter[0] < (known[0] + known[1]) / 2 < gutter[1]:
        return end
    crossing = [any(a.x0 < known[0] and a.x1 > known[1] for a in strip) for strip in strips[start:end]]
    while any(crossing) and not crossing[-1] and any(line.x0 >= known[1] - 0.5 for line in strips[end - 1]):
        crossing.pop()
        end -= 1
    return end


def _without_next_heading(strips: list[list[Line]], start: int, end: int, gutter: Interval) -> int:
    """Return the end of a band of columns, before a line in another type below both, the next heading."""
    while end - start > 1 and end < len(strips):
        last, rest = strips[end - 1], [line for strip in strips[start : end - 1] for line in strip]
        right = max((line.y1 for line in rest if line.x0 >= gutter[1] - 0.5), default=0.0)
        above = max((line for line in rest if line.x1 <= gutter[0] + 0.5), key=lambda line: line.y1, default=None)
        heading = len(last) == 1 and last[0].x1 <= gutter[0] + 0.5 and last[0].y0 > right and len(last[0].text) < 80
        if not heading or above is None or (last[0].style.bold, last[0].size) == (above.style.bold, above.size):
            break
        if end - start <= 2 * _MIN_LINES and not kind_of_heading(last[0].text):
            break  # a few lines show too little of the columns' type
        end -= 1
    return end


def _without(free: list[Interval], lines: Sequence[Line]) -> list[Interval]:
    for line in lines:
        left: list[Interval] = []
        for a, b in free:
            if line.x1 <= a or line.x0 >= b:
                left.append((a, b))
                continue
            if line.x0 > a:
                left.append((a, line.x0))
            if line.x1 < b:
                left.append((line.x1, b))
        free = left
    return free


def _gutter(lines: list[Line], free: list[Interval], page: Interval, known: Interval | None) -> Interval | None:
    """Return the widest free interval that has a text column on either side; at the paper's own gutter, one text column
    is enough."""
    for a, b in sorted(free, key=lambda f: f[0] - f[1])[:6]:
        left = [line for line in lines if line.x1 <= a + 0.5]
        right = [line for line in lines if line.x0 >= b - 0.5]
        if len(lines) >= 2 * _MIN_LINES and all(_is_column(side, page[1] - page[0]) for side in (left, right)):
            return (a, b)
        if b - a >= _BOX_GUTTER and _is_box(left, right):
            return (a, b)
        if known and left and right and a < (known[0] + known[1]) / 2 < b:
            width = min(known[0] - page[0], page[1] - known[1])
            if any(_is_prose(side, width) for side in (left, right)):
                return (a, b)
    return None


def _is_box(left: list[Line], right: list[Line]) -> bool:
    """Return whether the right lines are a box beside prose: few words in smaller type, such as referees beside an
    abstract."""
    prose = [line for line in left if len(line.text) > 20]
    said = sum(len(line.text) for line in left)
    if min(len(right), len(prose) - _MIN_LINES) < _MIN_LINES or sum(len(line.text) for line in prose) < 0.7 * said:
        return False
    small = median(line.size for line in right) < median(line.size for line in prose) - 0.4
    beside = "".join(line.text for line in right)
    return small and len(beside) < 0.35 * said and sum(c.isalpha() for c in beside) > 0.5 * len(beside)


def _is_prose(lines: list[Line], width: float) -> bool:
    """Return whether most characters are in lines that fill a column of this width, as in paragraphs and not in tables.

    Characters are counted because displayed equations are many short lines with few characters.
    """
    wide = [line for line in lines if line.x1 - line.x0 > 0.8 * width and len(line.text) > 20]
    return len(wide) >= 2 and sum(len(line.text) for line in wide) > 0.55 * sum(len(line.text) for line in lines)


def _is_column(lines: list[Line], width: float) -> bool:
    if len(lines) < _MIN_LINES:
        return False
    side = max(line.x1 for line in lines) - min(line.x0 for line in lines)
    if side < _MIN_SIDE * width:
        return False
    filled = median(line.x1 - line.x0 for line in lines) >= 0.4 * side
    return filled and median(len(line.text) for line in lines) >= 12
