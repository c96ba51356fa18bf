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
from typing import Annotated

from scirgen.stages.parse.terms import kind_of_heading
from scirgen_pdf.page.lines import Line
from scirgen_pdf.units import Chars, Count, Points, Share, Times

Interval = tuple[float, float]


@dataclass(frozen=True)
class Columns:
    """Rules of the pass that puts a page's columns in reading order."""

    # Rows
    same_row: Annotated[Share, "of the lower of two lines: how far apart the middles of one row's lines are"] = 0.3
    touching: Annotated[Share, "of a line's height: the most by which lines of two strips overlap"] = 0.25
    # Gutters
    gutter: Annotated[Points, "the narrowest gutter; narrower gaps are blanks of a justified line"] = 7.0
    box_gutter: Annotated[Points, "the narrowest gap beside a box; its few lines may leave a gap by chance"] = 12.0
    tried: Annotated[Count, "the widest gaps of a band that are looked at"] = 6
    deepest: Annotated[Count, "columns within columns"] = 4
    slack: Annotated[Points, "how far a line may reach into a gutter, since boxes are rounded"] = 0.5
    # A column
    least_lines: Annotated[Count, "of a column; fewer are the row of a table"] = 3
    least_side: Annotated[Share, "of the page's width: the narrowest column"] = 0.12
    filled: Annotated[Share, "of the column's width: what the median line fills"] = 0.4
    least_text: Annotated[Chars, "of the median line of a column; a table's cells have fewer"] = 12
    # The gutter that most pages share
    long_column: Annotated[Count, "lines of a column that shows the paper's gutter"] = 8
    narrower: Annotated[Times, "the least ratio of the widths of a paper's two columns"] = 0.6
    wider: Annotated[Times, "the highest ratio of these widths"] = 1.6
    shared: Annotated[Share, "the pages that show the paper's gutter"] = 0.3
    overhang: Annotated[Points, "how far a long line of code or a table may reach into the column beside it"] = 2.0
    # Prose and boxes
    full: Annotated[Share, "of the column's width: a line of prose"] = 0.8
    least_prose: Annotated[Chars, "of a line of prose"] = 20
    in_prose: Annotated[Share, "a column's characters in lines of prose; formulas are many lines with few"] = 0.55
    beside_box: Annotated[Share, "likewise, of a column beside a box"] = 0.7
    smaller: Annotated[Points, "how much smaller than the prose a box is set"] = 0.4
    in_box: Annotated[Share, "a box's characters for one of the prose, at most"] = 0.35
    of_letters: Annotated[Share, "a box's characters that are letters; a table beside prose has figures"] = 0.5
    # Where a band begins and ends
    heading: Annotated[Chars, "of a heading below two columns"] = 80


_RULES = Columns()


@dataclass
class Region:
    """Lines of one column, from top to bottom, and the column's horizontal extent."""

    lines: list[Line]
    x0: float
    x1: float

    @property
    def width(self) -> float:
        return self.x1 - self.x0


def reading_order(lines: Sequence[Line], known: Interval | None = None, rules: Columns = _RULES) -> list[Region]:
    """Return the columns of a page in reading order.

    Args:
        lines: the page's lines, in any order.
        known: the gutter that most pages of the paper share (`common_gutter`); it also shows short bands of columns.
    """
    return _cut(list(lines), 0, known, rules) if lines else []


def common_gutter(pages: Sequence[Sequence[Region]], rules: Columns = _RULES) -> Interval | None:
    """Return the gutter between the two text columns of a paper, from its pages' columns; None if it has one column."""
    found: list[Interval] = []
    for regions in pages:
        for a, b in pairwise(regions):
            alike = rules.narrower < a.width / max(1.0, b.width) < rules.wider
            if a.x1 < b.x0 and alike and min(len(a.lines), len(b.lines)) >= rules.long_column:
                found.append((a.x1, b.x0))
    if len(found) < max(2, rules.shared * len(pages)):
        return None
    gutter = median(a for a, _ in found), median(b for _, b in found)
    return gutter if gutter[1] - gutter[0] >= rules.gutter else None


def _cut(lines: list[Line], depth: int, known: Interval | None, rules: Columns) -> list[Region]:
    x0, x1 = min(line.x0 for line in lines), max(line.x1 for line in lines)
    inside = known if known and x0 < known[0] and x1 > known[1] else None
    if depth > rules.deepest or len(lines) < (2 if inside else 2 * rules.least_lines):
        return [_plain(lines, rules)]
    strips = _strips(lines, rules)
    sums = _sums(strips, rules)
    regions: list[Region] = []
    plain: list[Line] = []
    index = 0
    while index < len(strips):
        end, gutter = _band(strips, sums, index, (x0, x1), inside, rules)
        if gutter is None or end <= index:
            plain += strips[index]
            index += 1
            continue
        if _ends_paragraph(strips, index, gutter):
            plain += strips[index]
            index += 1
        if index >= end:
            continue  # the band was the paragraph's last line
        if plain:
            regions.append(_plain(plain, rules))
            plain = []
        band = [line for strip in strips[index:end] for line in strip]
        middle = (gutter[0] + gutter[1]) / 2
        for side in ([b for b in band if b.x0 <= middle], [b for b in band if b.x0 > middle]):
            regions += _cut(side, depth + 1, known, rules) if side else []
        index = end
    if plain:
        regions.append(_plain(plain, rules))
    return regions


def _plain(lines: list[Line], rules: Columns) -> Region:
    return Region(_by_rows(lines, rules), min(line.x0 for line in lines), max(line.x1 for line in lines))


def _by_rows(lines: list[Line], rules: Columns) -> list[Line]:
    """Return the lines from top to bottom; those of one row (middles less than a third of a line apart) from left to
    right."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.middle):
        first = rows[-1][0] if rows else None
        height = min(line.y1 - line.y0, first.y1 - first.y0) if first else 0.0
        if first is not None and line.middle - first.middle < rules.same_row * height:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in sorted(row, key=lambda line: line.x0)]


def _strips(lines: list[Line], rules: Columns) -> list[list[Line]]:
    """Return the groups of lines that overlap vertically, from top to bottom."""
    strips: list[list[Line]] = []
    bottom = float("-inf")
    for line in sorted(lines, key=lambda line: line.y0):
        touching = rules.touching * (line.y1 - line.y0)
        if line.y0 + touching < bottom and strips:
            strips[-1].append(line)
        else:
            strips.append([line])
        bottom = max(bottom, line.y1 - touching)
    return strips


def _sums(strips: list[list[Line]], rules: Columns) -> list[tuple[int, int, int]]:
    """Return, for each number of strips from the top, their lines, those long enough for a column, and those of
    prose."""
    sums = [(0, 0, 0)]
    for strip in strips:
        lengths = [len(line.text) for line in strip]
        long, prose = sum(n >= rules.least_text for n in lengths), sum(n > rules.least_prose for n in lengths)
        sums.append((sums[-1][0] + len(strip), sums[-1][1] + long, sums[-1][2] + prose))
    return sums


def _band(
    strips: list[list[Line]],
    sums: list[tuple[int, int, int]],
    start: int,
    page: Interval,
    known: Interval | None,
    rules: Columns,
) -> tuple[int, Interval | None]:
    """Return the longest run of strips from ``start`` that share a gutter between text columns, and the gutter."""
    free: list[Interval] = [page]
    stages: list[tuple[int, list[Interval]]] = []
    for end in range(start, len(strips)):
        left = [f for f in _without(free, strips[end], known, rules) if f[1] - f[0] >= rules.gutter]
        if not left:
            break
        if stages and left == free:
            stages[-1] = (end + 1, left)
        else:
            stages.append((end + 1, left))
        free = left
    for end, left in reversed(stages):
        inside = [f for f in left if f[0] > page[0] and f[1] < page[1]]
        count, long, prose = (b - a for a, b in zip(sums[start], sums[end], strict=True))
        # Neither two columns, of which half the lines are long, nor prose beside a box: `_gutter` would find none.
        short = prose < 2 * rules.least_lines and (count < 2 * rules.least_lines or 2 * long < count)
        if not inside or (short and not any(_is_own(f, known) for f in inside)):
            continue
        gutter = _gutter([line for strip in strips[start:end] for line in strip], inside, page, known, rules)
        if gutter is not None:
            end = _without_next_columns(strips, start, end, gutter, known, rules)
            return _without_next_heading(strips, start, end, gutter, rules), gutter
    return start, None


def _ends_paragraph(strips: list[list[Line]], start: int, gutter: Interval) -> bool:
    """Return whether the band's first line is the short last line of a paragraph that crosses the gutter right above
    it."""
    first, above = strips[start], strips[start - 1] if start else []
    if len(first) != 1 or first[0].x1 > gutter[0] or not any(b.x0 < gutter[0] and b.x1 > gutter[1] for b in above):
        return False
    last = max(above, key=lambda line: line.y1)
    return first[0].style == last.style


def _without_next_columns(
    strips: list[list[Line]], start: int, end: int, gutter: Interval, known: Interval | None, rules: Columns
) -> int:
    """Return the end of a band beside the paper's own gutter (keywords beside the abstract), before strips in the
    paper's own columns."""
    if known is None or gutter[0] < (known[0] + known[1]) / 2 < gutter[1]:
        return end
    crossing = [any(a.x0 < known[0] and a.x1 > known[1] for a in strip) for strip in strips[start:end]]
    while crossing and not crossing[-1] and any(line.x0 >= known[1] - rules.slack for line in strips[end - 1]):
        crossing.pop()
        end -= 1
    return end


def _without_next_heading(strips: list[list[Line]], start: int, end: int, gutter: Interval, rules: Columns) -> int:
    """Return the end of a band of columns, before a line in another type below both, the next heading."""
    while end - start > 1 and end < len(strips):
        last, rest = strips[end - 1], [line for strip in strips[start : end - 1] for line in strip]
        right = max((line.y1 for line in rest if line.x0 >= gutter[1] - rules.slack), default=0.0)
        left = [line for line in rest if line.x1 <= gutter[0] + rules.slack]
        above = max(left, key=lambda line: line.y1, default=None)
        alone = len(last) == 1 and last[0].x1 <= gutter[0] + rules.slack and last[0].y0 > right
        if not alone or len(last[0].text) >= rules.heading or above is None:
            break
        if (last[0].style.bold, last[0].size) == (above.style.bold, above.size):
            break
        if end - start <= 2 * rules.least_lines and not kind_of_heading(last[0].text):
            break  # a few lines show too little of the columns' type
        end -= 1
    return end


def _without(free: list[Interval], lines: Sequence[Line], known: Interval | None, rules: Columns) -> list[Interval]:
    for line in lines:
        over = known is not None and line.x0 < known[0] < line.x1 <= known[1] + rules.overhang
        end = known[0] if known and over else line.x1
        left: list[Interval] = []
        for a, b in free:
            if end <= a or line.x0 >= b:
                left.append((a, b))
                continue
            if line.x0 > a:
                left.append((a, line.x0))
            if end < b:
                left.append((end, b))
        free = left
    return free


def _gutter(
    lines: list[Line], free: list[Interval], page: Interval, known: Interval | None, rules: Columns
) -> Interval | None:
    """Return the widest free interval that has a text column on either side; at the paper's own gutter, one text column
    is enough."""
    many = len(lines) >= 2 * rules.least_lines
    for a, b in sorted(free, key=lambda f: f[0] - f[1])[: rules.tried]:
        own = known if _is_own((a, b), known) else None
        if not (many or own):
            continue
        left = [line for line in lines if line.x1 <= a + rules.slack]
        right = [line for line in lines if line.x0 >= b - rules.slack]
        if many and all(_is_column(side, page[1] - page[0], rules) for side in (right, left)):
            return (a, b)
        if b - a >= rules.box_gutter and _is_box(left, right, rules):
            return (a, b)
        if own and left and right:
            width = min(own[0] - page[0], page[1] - own[1])
            if any(_is_prose(side, width, rules) for side in (left, right)):
                return (a, b)
    return None


def _is_own(free: Interval, known: Interval | None) -> bool:
    """Return whether a free interval holds the middle of the paper's own gutter."""
    return known is not None and free[0] < (known[0] + known[1]) / 2 < free[1]


def _is_box(left: list[Line], right: list[Line], rules: Columns) -> bool:
    """Return whether the right lines are a box beside prose: few words in smaller type, such as referees beside an
    abstract."""
    prose = [line for line in left if len(line.text) > rules.least_prose]
    if min(len(right), len(prose) - rules.least_lines) < rules.least_lines:
        return False
    if median(line.size for line in right) >= median(line.size for line in prose) - rules.smaller:
        return False
    said, beside = _length(left), "".join(line.text for line in right)
    if _length(prose) < rules.beside_box * said or len(beside) >= rules.in_box * said:
        return False
    return sum(map(str.isalpha, beside)) > rules.of_letters * len(beside)


def _length(lines: Sequence[Line]) -> int:
    return sum([len(line.text) for line in lines])


def _is_prose(lines: list[Line], width: float, rules: Columns) -> bool:
    """Return whether most characters are in lines that fill a column of this width, as in paragraphs and not in tables.

    Characters are counted because displayed equations are many short lines with few characters.
    """
    wide = [line for line in lines if line.x1 - line.x0 > rules.full * width and len(line.text) > rules.least_prose]
    return len(wide) >= 2 and _length(wide) > rules.in_prose * _length(lines)


def _is_column(lines: list[Line], width: float, rules: Columns) -> bool:
    if len(lines) < rules.least_lines or median([len(line.text) for line in lines]) < rules.least_text:
        return False
    side = max(line.x1 for line in lines) - min(line.x0 for line in lines)
    if side < rules.least_side * width:
        return False
    return median([line.x1 - line.x0 for line in lines]) >= rules.filled * side
