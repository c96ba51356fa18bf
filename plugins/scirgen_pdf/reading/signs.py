"""Reads mathematical signs by the shape of their glyphs where a font gives them other characters.

Some publishers' fonts hold a minus under the code of "2", of "{" or of a control character, and say nothing of what it
is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

RIGHT: Final = {
    "−": "-‐‑‒–—―−_¯˗\u00ad─⁻₋", "=": "=═⁼", "+": "+⁺₊", "×": "×xX✕⨯", "±": "±", "<": "<‹〈", ">": ">›〉", "≤": "≤⩽",
    "≥": "≥⩾",
    "(": "(", ")": ")", "°": "°º˚", "≈": "≈≅≃", "∼": "~∼˜",
}  # fmt: skip

Point = tuple[float, float]
Outline = tuple[tuple[Point, ...], bool]
"""The corners of a closed curve, in parts of the type's size, and whether all of its sides are straight."""


def distinct(points: Iterable[Point]) -> tuple[Point, ...]:
    """Return the points without repetitions of the one before, and without the last where it is the first."""
    kept: list[Point] = []
    for x, y in points:
        if not kept or abs(kept[-1][0] - x) + abs(kept[-1][1] - y) > 0.004:
            kept.append((x, y))
    if len(kept) > 1 and abs(kept[0][0] - kept[-1][0]) + abs(kept[0][1] - kept[-1][1]) <= 0.004:
        kept.pop()
    return tuple(kept)


def sign_of(outlines: Sequence[Outline]) -> str:
    """Return the sign that a glyph of these outlines shows, or "" for any other glyph."""
    if not 1 <= len(outlines) <= 3:
        return ""
    boxes = [extent(points) for points, _ in outlines]
    if all(straight for _, straight in outlines):
        return _straight_sign([points for points, _ in outlines], boxes)
    if len(outlines) == 1 and not outlines[0][1]:
        return _bracket(outlines[0][0], boxes[0]) or _round_cross(outlines[0][0], boxes[0]) or _waves(boxes)
    if len(outlines) == 2 and not any(straight for _, straight in outlines):
        return _waves(boxes) or _ring(boxes)
    return ""


def _straight_sign(shapes: Sequence[Sequence[Point]], boxes: Sequence[tuple[float, float, float, float]]) -> str:
    bars = [i for i in range(len(shapes)) if _is_bar(shapes[i], boxes[i])]
    rest = [i for i in range(len(shapes)) if i not in bars]
    if not rest:
        low, high = boxes[min(bars, key=lambda i: boxes[i][1])], boxes[max(bars, key=lambda i: boxes[i][1])]
        if len(bars) == 1:
            return "−" if 0.1 < (low[1] + low[3]) / 2 < 0.55 and low[2] - low[0] > 0.4 else ""
        level = abs(low[0] - high[0]) < 0.03 and abs(low[2] - high[2]) < 0.03
        return "=" if len(bars) == 2 and level and low[1] > 0.05 and high[3] < 0.65 else ""
    if len(rest) != 1:
        return ""
    shape, box = shapes[rest[0]], boxes[rest[0]]
    sign = _cross(shape, box) or _angle(shape, box)
    if not bars:
        return sign
    below = len(bars) == 1 and boxes[bars[0]][3] <= box[1] + 0.08
    return {"+": "±", "<": "≤", ">": "≥"}.get(sign, "") if below else ""


def _is_bar(shape: Sequence[Point], box: tuple[float, float, float, float]) -> bool:
    x0, y0, x1, y1 = box
    corners = len(shape) == 4 and all(min(abs(x - x0), abs(x - x1)) < 0.01 for x, _ in shape)
    return corners and all(min(abs(y - y0), abs(y - y1)) < 0.01 for _, y in shape) and x1 - x0 > 4 * (y1 - y0)


def _cross(shape: Sequence[Point], box: tuple[float, float, float, float]) -> str:
    """Twelve corners around a centre: a plus where its sides are level or upright, a multiplication sign where none
    is."""
    x0, y0, x1, y1 = box
    width, height = x1 - x0, y1 - y0
    if len(shape) != 12 or not 0.8 < width / max(height, 0.01) < 1.25 or width < 0.3:
        return ""
    sides = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(shape, [*shape[1:], shape[0]], strict=True)]
    level = sum(min(abs(dx), abs(dy)) < 0.01 for dx, dy in sides)
    symmetric = (
        abs(sum(x for x, _ in shape) / 12 - (x0 + x1) / 2) < 0.03
        and abs(sum(y for _, y in shape) / 12 - (y0 + y1) / 2) < 0.03
    )
    corner = any(min(abs(x - x0), abs(x - x1)) < 0.01 and min(abs(y - y0), abs(y - y1)) < 0.01 for x, y in shape)
    if not symmetric or y0 < -0.2 or y1 > 0.75:
        return ""
    return "+" if level == 12 and not corner else "×" if level <= 4 else ""


def _angle(shape: Sequence[Point], box: tuple[float, float, float, float]) -> str:
    """Return a sign like < or >: its point is in the middle of one side, its ends at the corners of the other."""
    x0, y0, x1, y1 = box
    if not 5 <= len(shape) <= 8 or x1 - x0 < 0.4 or not 0.7 < (x1 - x0) / max(y1 - y0, 0.01) < 2.2:
        return ""
    middle = (y0 + y1) / 2
    for sign, point, ends in (("<", x0, x1), (">", x1, x0)):
        tips = [y for x, y in shape if abs(x - point) < 0.02]
        corners = [y for x, y in shape if abs(x - ends) < 0.02]
        inside = tips and all(abs(y - middle) < 0.12 * (y1 - y0) + 0.02 for y in tips)
        if inside and corners and max(corners) > y1 - 0.02 and min(corners) < y0 + 0.02:
            return sign
    return ""


def _bracket(points: Sequence[Point], box: tuple[float, float, float, float]) -> str:
    """Return a round bracket: narrow, as high as the line, its ends on one side and its middle on the other."""
    x0, y0, x1, y1 = box
    if x1 - x0 > 0.45 * (y1 - y0) or y1 - y0 < 0.7 or y0 > -0.05 or len(points) > 14:
        return ""
    ends = [x for x, y in points if y > y1 - 0.03 or y < y0 + 0.03]
    middle = [x for x, y in points if abs(y - (y0 + y1) / 2) < 0.15 * (y1 - y0)]
    if not middle or len(ends) < 2:
        return ""
    third = (x1 - x0) / 3
    if min(ends) > x1 - third and min(middle) < x0 + third and max(middle) < x1 - third:
        return "("
    return ")" if max(ends) < x0 + third and max(middle) > x1 - third and min(middle) > x0 + third else ""


def _waves(boxes: Sequence[tuple[float, float, float, float]]) -> str:
    """One or two flat curves as wide as a sign, in the middle of the line: waves, or bars with round ends."""
    flat = all(x1 - x0 > 0.45 and x1 - x0 > 3.5 * (y1 - y0) and y0 > 0.05 and y1 < 0.65 for x0, y0, x1, y1 in boxes)
    level = abs(boxes[0][0] - boxes[-1][0]) < 0.03 and abs(boxes[0][2] - boxes[-1][2]) < 0.03
    bars = all(y1 - y0 < 0.08 for _, y0, _, y1 in boxes)
    return ("−=" if bars else "∼≈")[len(boxes) - 1] if flat and level else ""


def _round_cross(points: Sequence[Point], box: tuple[float, float, float, float]) -> str:
    """Return a multiplication sign with bent ends: its corners are those of a square, its notches near the centre."""
    x0, y0, x1, y1 = box
    width, x, y = x1 - x0, (x0 + x1) / 2, (y0 + y1) / 2
    if not 0.85 < width / max(y1 - y0, 0.01) < 1.18 or not 0.3 < width < 0.65 or y0 < -0.1:
        return ""
    far = [(a, b) for a, b in points if min(abs(a - x), abs(b - y)) > 0.3 * width]
    near = [(a, b) for a, b in points if max(abs(a - x), abs(b - y)) < 0.15 * width]
    everywhere = {(a > x, b > y) for a, b in far}
    return "×" if len(everywhere) == 4 and len(near) >= 4 and len(far) + len(near) >= 0.6 * len(points) else ""


def _ring(boxes: Sequence[tuple[float, float, float, float]]) -> str:
    """Return a degree sign: a small ring in the upper half of the line."""
    (a0, b0, a1, b1), (c0, d0, c1, d1) = sorted(boxes, key=lambda b: b[0])
    round_ = 0.85 < (a1 - a0) / max(b1 - b0, 0.01) < 1.15 and 0.2 < a1 - a0 < 0.5
    within = a0 < c0 and c1 < a1 and b0 < d0 and d1 < b1
    return "°" if round_ and within and b0 > 0.3 else ""


def extent(points: Sequence[Point]) -> tuple[float, float, float, float]:
    """Return the box around points."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)
