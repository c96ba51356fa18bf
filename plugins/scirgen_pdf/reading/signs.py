"""Reads mathematical signs by the shape of their glyphs where a font gives them other characters.

Some publishers' fonts hold a minus under the code of "2", of "{" or of a control character, and do not name it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Final, NamedTuple

from scirgen_pdf.units import Count, Ems, Share, Times

RIGHT: Final = {
    "−": "-‐‑‒–—―−_¯˗\u00ad─⁻₋", "=": "=═⁼", "+": "+⁺₊", "×": "×xX✕⨯", "±": "±", "<": "<‹〈", ">": ">›〉", "≤": "≤⩽",
    "≥": "≥⩾",
    "(": "(", ")": ")", "°": "°º˚", "≈": "≈≅≃", "∼": "~∼˜",
}  # fmt: skip

Point = tuple[float, float]
Outline = tuple[tuple[Point, ...], bool]
"""The corners of a closed curve, in parts of the type's size, and whether all of its sides are straight."""


@dataclass(frozen=True)
class Shapes:
    """Limits of the shapes of signs. Without any one of them, glyphs of the benchmark's papers are misread."""

    on_edge: Annotated[Ems, "how far a corner or tip may stand off the edge of its shape"] = 0.02
    aligned: Annotated[Ems, "how far the ends of two strokes differ, and the middles of a cross and its box"] = 0.03
    wide: Annotated[Ems, "of the narrowest minus, tilde or angle; a hyphen is narrower"] = 0.4
    flat: Annotated[Times, "the width of a bar or wave in its height; an arrow is higher"] = 3.5
    bar: Annotated[Ems, "of the highest bar with round ends; a tilde is higher"] = 0.08
    underscore: Annotated[Ems, "above the base line: a minus is higher"] = 0.1
    upper: Annotated[Ems, "above the base line: where a degree sign begins; an o begins on that line"] = 0.3
    slanted: Annotated[Count, "level or upright sides of the twelve of a multiplication sign; an H has more"] = 4
    tip: Annotated[Share, "of an angle's height: how far its tip may stand off the middle; an L's does more"] = 0.16
    below: Annotated[Ems, "where a bracket ends, above the base line; a 1 ends on it"] = -0.05
    tall: Annotated[Ems, "of the lowest bracket; a low quotation mark is lower"] = 0.7
    waist: Annotated[Share, "of a bracket's height: how far from its middle the points are that show its bend"] = 0.15
    edge: Annotated[Share, "of a bracket's width: how far from its edges its ends and its middle are"] = 0.35


_SHAPES = Shapes()
_CROSS: Final = 12  # corners


class _Extent(NamedTuple):
    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    @property
    def middle(self) -> Point:
        return (self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2


_Shape = tuple[Sequence[Point], _Extent]


def distinct(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the points without repetitions of the one before, and without the last where it is the first."""
    kept = [point for point, before in zip(points, [None, *points], strict=False) if point != before]
    return tuple(kept[:-1] if len(kept) > 1 and kept[0] == kept[-1] else kept)


def sign_of(outlines: Sequence[Outline], limits: Shapes = _SHAPES) -> str:
    """Return the sign that a glyph of these outlines shows, or "" for any other glyph."""
    shapes = [(points, extent(points)) for points, _ in outlines]
    boxes = [box for _, box in shapes]
    straight = {sides for _, sides in outlines}
    if straight == {True}:
        return _straight_sign(shapes, limits)
    if straight != {False} or len(shapes) > 2:
        return ""
    other = _bracket(*shapes[0], limits) if len(shapes) == 1 else _ring(boxes, limits)
    return other or _waves(boxes, limits)


def _straight_sign(shapes: Sequence[_Shape], limits: Shapes) -> str:
    bars = [box for points, box in shapes if _is_bar(points, box, limits)]
    rest = [shape for shape in shapes if shape[1] not in bars]
    if not rest:
        if len(bars) == 1:
            return "−" if bars[0].middle[1] > limits.underscore and bars[0].width > limits.wide else ""
        return "=" if len(bars) == 2 and _is_aligned(bars, limits) else ""
    if len(rest) > 1 or len(bars) > 1:
        return ""
    sign = _cross(*rest[0], limits) or _angle(*rest[0], limits)
    if not bars:
        return sign
    return {"+": "±", "<": "≤", ">": "≥"}.get(sign, "") if bars[0].y0 < rest[0][1].y0 else ""


def _is_bar(points: Sequence[Point], box: _Extent, limits: Shapes) -> bool:
    corners = len(points) == 4 and all(_is_corner(x, y, box, limits) for x, y in points)
    return corners and box.width > limits.flat * box.height


def _is_corner(x: float, y: float, box: _Extent, limits: Shapes) -> bool:
    off = max(min(abs(x - box.x0), abs(x - box.x1)), min(abs(y - box.y0), abs(y - box.y1)))
    return off < limits.on_edge


def _is_aligned(boxes: Sequence[_Extent], limits: Shapes) -> bool:
    return max(abs(boxes[0].x0 - boxes[-1].x0), abs(boxes[0].x1 - boxes[-1].x1)) < limits.aligned


def _cross(points: Sequence[Point], box: _Extent, limits: Shapes) -> str:
    """Twelve corners around a centre: a plus where its sides are level or upright, a multiplication sign where few
    are."""
    if len(points) != _CROSS:
        return ""
    level = sum(min(abs(b[0] - a[0]), abs(b[1] - a[1])) < limits.on_edge for a, b in pairwise([*points, points[0]]))
    off = (sum(held) / _CROSS - middle for held, middle in zip(zip(*points, strict=True), box.middle, strict=True))
    if max(map(abs, off)) >= limits.aligned:
        return ""
    plus = level == _CROSS and not any(_is_corner(x, y, box, limits) for x, y in points)
    return "+" if plus else "×" if level <= limits.slanted else ""


def _angle(points: Sequence[Point], box: _Extent, limits: Shapes) -> str:
    """Return a sign like < or >: its tip is in the middle of one side, its ends at the corners of the other."""
    for sign, point, ends in (("<", box.x0, box.x1), (">", box.x1, box.x0)):
        tips = [y for x, y in points if abs(x - point) < limits.on_edge]
        corners = [y for x, y in points if abs(x - ends) < limits.on_edge]
        pointed = all(abs(y - box.middle[1]) < limits.tip * box.height for y in tips)
        spread = corners and max(corners) > box.y1 - limits.on_edge and min(corners) < box.y0 + limits.on_edge
        if box.width > limits.wide and pointed and spread:
            return sign
    return ""


def _bracket(points: Sequence[Point], box: _Extent, limits: Shapes) -> str:
    """Return a round bracket: it reaches below the line, its ends are on one side and its middle on the other."""
    ends = [x for x, y in points if min(box.y1 - y, y - box.y0) < limits.aligned]
    middle = [x for x, y in points if abs(y - box.middle[1]) < limits.waist * box.height]
    if not middle or box.y0 > limits.below or box.height < limits.tall:
        return ""
    left, right = box.x0 + limits.edge * box.width, box.x1 - limits.edge * box.width
    if min(ends) > right and min(middle) < left and max(middle) < right:
        return "("
    return ")" if max(ends) < left and max(middle) > right and min(middle) > left else ""


def _waves(boxes: Sequence[_Extent], limits: Shapes) -> str:
    """Return the sign of one or two flat curves: waves, or bars with round ends."""
    flat = all(box.width > max(limits.wide, limits.flat * box.height) for box in boxes)
    bars = all(box.height < limits.bar for box in boxes)
    return ("−=" if bars else "∼≈")[len(boxes) - 1] if flat and _is_aligned(boxes, limits) else ""


def _ring(boxes: Sequence[_Extent], limits: Shapes) -> str:
    """Return a degree sign: a ring in the upper half of the line."""
    outer, inner = sorted(boxes)
    within = inner.x1 < outer.x1 and outer.y0 < inner.y0 and inner.y1 < outer.y1
    return "°" if within and outer.y0 > limits.upper else ""


def extent(points: Sequence[Point]) -> _Extent:
    """Return the box around points: its lowest and its highest coordinates."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return _Extent(min(xs), min(ys), max(xs), max(ys))
