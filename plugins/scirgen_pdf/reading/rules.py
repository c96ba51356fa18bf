"""Chooses the ruling lines of tables among the strokes and bars that a page draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

from scirgen.plugin import Box
from scirgen_pdf.reading.page import Point
from scirgen_pdf.reading.signs import extent
from scirgen_pdf.units import Points

_THICKEST: Final[Annotated[Points, "of a rule; a thicker one is a bar of a figure"]] = 3.0
_SHORTEST: Final[Annotated[Points, "of a rule; shorter strokes are those of signs"]] = 4.0


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
