"""Removes the line numbers in the margins of manuscripts, by their position, before lines are assembled.

A column of line numbers is a set of integers that share an edge, rise down the page by a constant step (1, 2, 5 or 10),
are level with lines of text, and are alone in their strip of the page. A number inside the text block never counts,
whatever its value.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Final

from scirgen_pdf.reading.page import Span, TextLine
from scirgen_pdf.units import Count, Points, Share, Times

_INTEGER: Final = re.compile(r"^\s*\d{1,4}\s*$")
_GLUED: Final = (re.compile(r"^\s*(\d{1,4})\s+(?=\S)"), re.compile(r"(?<=\S)\s+(\d{1,4})\s*$"))


@dataclass(frozen=True)
class LineNumbers:
    """Rules of the pass that drops the line numbers of manuscripts."""

    steps: Annotated[tuple[Count, ...], "by which the numbers rise from one to the next"] = (1, 2, 5, 10)
    regular: Annotated[Share, "the steps of a column that are its usual one; the rest skip a heading"] = 0.7
    on_page: Annotated[Count, "numbers of a column on a page; fewer are a list's"] = 5
    in_paper: Annotated[Count, "numbers of a column in a paper"] = 8
    tolerance: Annotated[Points, "how far a number stands out of its column"] = 2.5
    grid: Annotated[Points, "how far apart the edges of two columns are"] = 3
    spread: Annotated[Times, "the height of a column, in numbers; the rows of a small table are less"] = 12
    level: Annotated[Share, "the lines of a page that are level with the column; else heads count, too"] = 0.6
    inside: Annotated[Share, "the text in the column's strip; more is a column of a table"] = 0.06
    outside: Annotated[Share, "the text on one side of numbers in the margin"] = 0.9
    beside: Annotated[Share, "the text on either side of numbers in the gutter"] = 0.25
    sideways: Annotated[Share, "the rise of a base line that is not level"] = 0.1


_RULES = LineNumbers()
Lines = Sequence[TextLine]


@dataclass(frozen=True)
class _Number:
    page: int
    x0: float
    x1: float
    y: float
    height: float
    value: int


@dataclass(frozen=True)
class _Strip:
    """The horizontal extent of a column of numbers, in points."""

    x0: float
    x1: float

    def wider(self, by: float) -> _Strip:
        """Return the strip with room on both sides, in points."""
        return _Strip(self.x0 - by, self.x1 + by)

    def holds(self, x0: float, x1: float) -> bool:
        return x0 >= self.x0 and x1 <= self.x1


def without_line_numbers(pages: Sequence[Lines], rules: LineNumbers = _RULES) -> list[Lines]:
    """Return the pages' lines without the spans that are line numbers; pages without any are returned as they are."""
    numbers = [list(_numbers(lines, page, rules)) for page, lines in enumerate(pages)]
    strips = [strip.wider(rules.tolerance) for strip in _strips(numbers, pages, rules)]
    if not strips:
        return list(pages)
    return [[made for line in lines if (made := _line(line, strips, rules))] for lines in pages]


def _numbers(lines: Lines, page: int, rules: LineNumbers) -> Iterator[_Number]:
    """Integers that are a whole printed line, or its beginning or end."""
    for spans in _level(lines, rules):
        for span in {id(s): s for s in (spans[0], spans[-1])}.values():
            if _INTEGER.match(span.text):
                x0, y0, x1, y1 = span.box
                yield _Number(page, x0, x1, (y0 + y1) / 2, y1 - y0, int(span.text.strip()))


def _level(lines: Lines, rules: LineNumbers) -> Iterator[list[Span]]:
    """Yield the printed spans of each level line."""
    for line in lines:
        spans = [s for s in line.spans if s.text.strip()]
        if spans and abs(line.direction[1]) <= rules.sideways:
            yield spans


def _strips(numbers: Sequence[list[_Number]], pages: Sequence[Lines], rules: LineNumbers) -> list[_Strip]:
    """Return the strips of the paper's columns of line numbers; the numbers of a strip must rise on a page, and the
    strip must be free of text on all pages."""
    rising: dict[int, list[_Number]] = defaultdict(list)
    for members in numbers:
        for edge, column in _columns(members, rules):
            rising[edge].extend(column)
    found: list[_Strip] = []
    for edge in sorted(rising, key=lambda e: -len(rising[e])):
        column = rising[edge]
        if len(column) < rules.in_paper:
            continue
        strip = _Strip(min(n.x0 for n in column), max(n.x1 for n in column))
        if _beside_text(strip.wider(rules.tolerance), list(_level_with(column, pages, rules)), rules):
            found.append(strip)
    return found


def _level_with(column: Sequence[_Number], pages: Sequence[Lines], rules: LineNumbers) -> Iterator[list[Span]]:
    """Yield the numbered pages' lines, as spans, without headers and footers (unnumbered if most lines are)."""
    extents: dict[int, list[float]] = defaultdict(list)
    for number in column:
        extents[number.page] += [number.y - number.height, number.y + number.height]
    for page, ys in extents.items():
        lines = [line for line in _level(pages[page], rules) if not all(_INTEGER.match(s.text) for s in line)]
        level = [line for line in lines if min(ys) <= (line[0].box[1] + line[0].box[3]) / 2 <= max(ys)]
        yield from level if len(level) > rules.level * len(lines) else lines


def _columns(numbers: Sequence[_Number], rules: LineNumbers) -> Iterator[tuple[int, list[_Number]]]:
    """Numbers of one page that share their right or left edge and rise by one step: (which edge, numbers)."""
    for side in (1, 0):
        by_edge: dict[int, list[_Number]] = defaultdict(list)
        for number in numbers:
            by_edge[round((number.x1 if side else number.x0) / rules.grid)].append(number)
        for edge, own in by_edge.items():
            near = sorted(own + by_edge.get(edge + 1, []), key=lambda n: n.y)
            steps = Counter(b.value - a.value for a, b in pairwise(near))
            step, times = max(steps.items(), key=lambda s: s[1], default=(0, 0))
            rising = step in rules.steps and times >= rules.regular * (len(near) - 1)
            if len(near) >= rules.on_page and rising and _spread(near, rules):
                yield (edge * 2 + side), near


def _spread(column: Sequence[_Number], rules: LineNumbers) -> bool:
    """Return whether the distances are those of lines of text and not of the rows of a small table."""
    return column[-1].y - column[0].y > rules.spread * column[0].height


def _beside_text(strip: _Strip, lines: Sequence[Sequence[Span]], rules: LineNumbers) -> bool:
    """Return whether almost no text enters the strip, and all text is on one side of it or in columns on both sides."""
    inside = total = left = right = 0
    for spans in lines:
        words = [s for s in spans if not _INTEGER.match(s.text)]
        if not words:
            continue
        x0, x1 = words[0].box[0], words[-1].box[2]
        size = sum(len(s.text) for s in words)
        total += size
        if x1 <= strip.x0 + 2 * rules.tolerance:
            left += size
        elif x0 >= strip.x1 - 2 * rules.tolerance:
            right += size
        else:
            inside += size
    if not total or inside > rules.inside * total:
        return False
    outside = max(left, right) > rules.outside * total
    gutter = min(left, right) > rules.beside * total
    return outside or gutter


def _line(line: TextLine, strips: Sequence[_Strip], rules: LineNumbers) -> TextLine | None:
    """Return the raw line without its line number; None if it holds nothing else."""
    spans = line.spans
    solid = [s for s in spans if s.text.strip()]
    drop = {
        id(s)
        for s in (solid[:1] + solid[-1:] if solid else [])
        if _INTEGER.match(s.text) and any(strip.holds(s.box[0], s.box[2]) for strip in strips)
    }
    rest = [s for s in spans if id(s) not in drop]
    rest = [_unglued(s, strips, rules) for s in rest]
    if not any(s.text.strip() for s in rest):
        return None if drop else line
    if not drop and rest == list(spans):
        return line
    boxes = [s.box for s in rest if s.text.strip()]
    x0, x1 = min(b[0] for b in boxes), max(b[2] for b in boxes)
    return replace(line, spans=rest, box=(x0, line.box[1], x1, line.box[3]))


def _unglued(span: Span, strips: Sequence[_Strip], rules: LineNumbers) -> Span:
    """Return a span that begins or ends with a number in a strip, without the number; its box is estimated from the
    text's length."""
    x0, y0, x1, y1 = span.box
    text = span.text
    for pattern, at_start in zip(_GLUED, (True, False), strict=True):
        match = pattern.search(text)
        if not match:
            continue
        edge = x0 if at_start else x1
        strip = next((s for s in strips if s.x0 <= edge <= s.x1), None)
        if strip is None:
            continue
        if at_start:
            return replace(span, text=text[match.end() :], box=(strip.x1 + rules.tolerance, y0, x1, y1))
        return replace(span, text=text[: match.start()], box=(x0, y0, strip.x0 - rules.tolerance, y1))
    return span
