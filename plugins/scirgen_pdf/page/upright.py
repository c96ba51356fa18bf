"""Turns pages whose text is sideways or upside down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Annotated, Final

from scirgen.plugin import Box
from scirgen_pdf.reading.page import Glyph, Page, Point
from scirgen_pdf.units import Chars, Share

_CHARS: Final[Annotated[Chars, "of a page in one direction; fewer are a figure's"]] = 100
_TURNED: Final[Annotated[Share, "of the page's characters that are in this direction"]] = 0.7


def upright(page: Page) -> Page:
    """Turn a page's lines and rules if most of its text is sideways or upside down.

    Boxes on such a page are those of the turned page.
    """
    width, height = page.width, page.height
    weights: Counter[tuple[int, int]] = Counter()
    for line in page.lines:
        x, y = line.direction
        weights[(round(x), round(y))] += sum(len(span.text.strip()) for span in line.spans)
    most = max(weights, key=lambda direction: weights[direction], default=(1, 0))
    turns: dict[tuple[int, int], Callable[[float, float], Point]] = {
        (0, -1): lambda x, y: (height - y, x),
        (0, 1): lambda x, y: (y, width - x),
        (-1, 0): lambda x, y: (width - x, height - y),
    }
    if most not in turns or weights[most] < max(_CHARS, _TURNED * weights.total()):
        return page
    turn = turns[most]
    for line in page.lines:
        end, start = turn(*line.direction), turn(0.0, 0.0)
        line.direction = (end[0] - start[0], end[1] - start[1])
        line.box = _turned(line.box, turn)
        for span in line.spans:
            span.box = _turned(span.box, turn)
            span.base = turn(*span.base)
            span.glyphs = tuple(Glyph(g.text, _turned(g.box, turn)) for g in span.glyphs)
    page.rules = [_turned(rule, turn) for rule in page.rules]
    if most[1]:
        page.width, page.height = height, width
    return page


def _turned(box: Box, turn: Callable[[float, float], Point]) -> Box:
    (x0, y0), (x1, y1) = turn(box[0], box[1]), turn(box[2], box[3])
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
