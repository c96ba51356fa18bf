"""Reading order of a page: a recursive cut into columns and bands by the white space between lines.

Lines are grouped into horizontal strips; consecutive strips that leave the same vertical gutter free form a band of columns,
which is read column by column. It is an XY-cut (Nagy & Seth 1984) that prefers columns to rows where both are possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from scirgen.stages.parse.pdf.lines import Line

_MIN_GUTTER = 7.0
_MIN_SIDE = 0.15
_MIN_LINES = 3

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


def reading_order(lines: Sequence[Line]) -> list[Region]:
    """Columns of a page in the order in which they are read."""
    return _cut(list(lines), 0) if lines else []


def _cut(lines: list[Line], depth: int) -> list[Region]:
    x0, x1 = min(line.x0 for line in lines), max(line.x1 for line in lines)
    whole = Region(sorted(lines, key=lambda line: (round(line.middle), line.x0)), x0, x1)
    if depth > 4 or len(lines) < 2 * _MIN_LINES:
        return [whole]
    strips = _strips(lines)
    regions: list[Region] = []
    plain: list[Line] = []
    index = 0
    while index < len(strips):
        end, gutter = _band(strips, index, x0, x1)
        if gutter is None:
            plain += strips[index]
            index += 1
            continue
        if plain:
            regions.append(_plain(plain))
            plain = []
        band = [line for strip in strips[index:end] for line in strip]
        middle = (gutter[0] + gutter[1]) / 2
        for side in ([b for b in band if b.x1 <= middle], [b for b in band if b.x1 > middle]):
            regions += _cut(side, depth + 1)
        index = end
    if plain:
        regions.append(_plain(plain))
    return regions


def _plain(lines: list[Line]) -> Region:
    ordered = sorted(lines, key=lambda line: (round(line.middle), line.x0))
    return Region(ordered, min(line.x0 for line in lines), max(line.x1 for line in lines))


def _strips(lines: list[Line]) -> list[list[Line]]:
    """Groups of lines that overlap vertically, from top to bottom."""
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


def _band(strips: list[list[Line]], start: int, x0: float, x1: float) -> tuple[int, Interval | None]:
    """The longest run of strips from ``start`` that share a gutter with text columns on both sides, and the gutter."""
    free: list[Interval] = [(x0, x1)]
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
        gutter = _gutter([line for strip in strips[start:end] for line in strip], left, x0, x1)
        if gutter is not None:
            return end, gutter
    return start, None


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


def _gutter(lines: list[Line], free: list[Interval], x0: float, x1: float) -> Interval | None:
    """The widest free interval that has a text column on either side."""
    if len(lines) < 2 * _MIN_LINES:
        return None
    for a, b in sorted(free, key=lambda f: f[0] - f[1])[:6]:
        if a <= x0 or b >= x1:
            continue
        left = [line for line in lines if line.x1 <= a + 0.5]
        right = [line for line in lines if line.x0 >= b - 0.5]
        if _is_column(left, x1 - x0) and _is_column(right, x1 - x0):
            return (a, b)
    return None


def _is_column(lines: list[Line], width: float) -> bool:
    if len(lines) < _MIN_LINES:
        return False
    side = max(line.x1 for line in lines) - min(line.x0 for line in lines)
    if side < _MIN_SIDE * width:
        return False
    filled = median(line.x1 - line.x0 for line in lines) >= 0.4 * side
    return filled and median(len(line.text) for line in lines) >= 12
