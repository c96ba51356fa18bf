"""Chooses the ruling lines of tables and of underlined headings among the strokes and bars that a page draws."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Final

from scirgen.plugin import Box
from scirgen_pdf.reading.page import Page, Point, TextLine
from scirgen_pdf.reading.signs import extent
from scirgen_pdf.units import Points

_THICKEST: Final[Annotated[Points, "of a rule; a thicker one is a bar of a figure"]] = 3.0
_SHORTEST: Final[Annotated[Points, "of a rule; shorter strokes are those of signs"]] = 4.0

_ENDS_OFF: Final[Annotated[Points, "by which a rule below a line may begin or end elsewhere, by a blank"]] = 4.0
_SHORT: Final[Annotated[Points, "from the end of an underlined heading to the right edge of the lines"]] = 20.0
_HEADING: Final = re.compile(r"[A-ZÀ-Þ](?=.*[^\W\d_]{4})[^=@]*[^\s.,;:@/=]")


def underlined(page: Page, rules: Callable[[], Sequence[Box]]) -> None:
    """Set lines that are underlined from end to end, short, alone in their rows and at the left edge of most lines in
    bold: both mark headings."""
    right = max((line.box[2] for line in page.lines), default=0.0)
    edges = Counter(round(line.box[0]) for line in page.lines)
    left = max(edges, key=lambda x: edges[x], default=0)
    for line in page.lines:
        x0, y0, x1, y1 = line.box
        inside = abs(x0 - left) < _ENDS_OFF and x1 < right - _SHORT
        text = "".join(span.text for span in line.spans).strip() if inside else ""
        if any(span.bold for span in line.spans) or not _HEADING.fullmatch(text) or not _is_alone(line, page):
            continue
        below = [r for r in rules() if (y0 + y1) / 2 < r[1] < y1 + _THICKEST]
        if any(max(abs(r[0] - x0), abs(r[2] - x1)) < _ENDS_OFF for r in below):
            for span in line.spans:
                span.bold = True


def _is_alone(line: TextLine, page: Page) -> bool:
    middle = (line.box[1] + line.box[3]) / 2
    return not any(other is not line and other.box[1] < middle < other.box[3] for other in page.lines)


def outlines(points: Sequence[Point]) -> list[Box]:
    """Return the box of a filled part of a path, and the upper and lower edges of a level one: a row may be shaded."""
    x0, y0, x1, y1 = box = extent(points)
    level = {round(x) for x, _ in points} == {round(x0), round(x1)}
    return [box, (x0, y0, x1, y0), (x0, y1, x1, y1)] if level and y1 - y0 > _THICKEST else [box]


def straight(strokes: Iterable[Box]) -> list[Box]:
    """Return the level and upright ones of strokes (from point to point) and bars (from corner to corner), as boxes."""
    found = []
    for a, b, c, d in strokes:
        x0, x1, y0, y1 = min(a, c), max(a, c), min(b, d), max(b, d)
        if min(x1 - x0, y1 - y0) <= _THICKEST and max(x1 - x0, y1 - y0) >= _SHORTEST:
            found.append((round(x0, 2), round(y0, 2), round(x1, 2), round(y1, 2)))
    return found
