"""Finds printed text that is not part of the paper: running headers and footers, page numbers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from scirgen.stages.parse.pdf.page.lines import Line

_NUMBER = re.compile(
    r"^(?:p(?:age|\.|ágina|ag\.)?\s*)?[-–|]?\s*(?:\d{1,5}|[ivxl]{1,6})\s*[-–|]?(?:\s*(?:/|of|de)\s*\d{1,4})?$", re.I
)
_DIGITS = re.compile(r"\d+")
_TOP, _BOTTOM = 0.11, 0.88


def without_furniture(pages: Sequence[list[Line]], heights: Sequence[float]) -> list[list[Line]]:
    """The pages' lines, without texts that repeat at the margins and without page numbers."""
    where: dict[tuple[str, str], set[int]] = defaultdict(set)
    fixed: Counter[tuple[str, int, int]] = Counter()
    for number, (lines, height) in enumerate(zip(pages, heights, strict=True)):
        for line in lines:
            zone = _zone(line, height)
            if zone:
                where[(zone, _shape(line.text))].add(number)
            fixed[_place(line)] += 1
    often = max(3, 0.5 * len(pages))
    kept = []
    for lines, height in zip(pages, heights, strict=True):
        page = []
        for line in lines:
            zone = _zone(line, height)
            repeated = bool(zone) and len(where[(zone, _shape(line.text))]) >= 2
            outer = line.y1 < 0.13 * height or line.y0 > 0.85 * height
            if repeated or fixed[_place(line)] >= often or (outer and _NUMBER.match(line.text)):
                continue
            page.append(line)
        kept.append(page)
    return kept


def _place(line: Line) -> tuple[str, int, int]:
    return line.text, round(line.x0 / 4), round(line.y0 / 4)


def _zone(line: Line, height: float) -> str:
    if line.y1 < _TOP * height:
        return "top"
    return "bottom" if line.y0 > _BOTTOM * height else ""


def _shape(text: str) -> str:
    return _DIGITS.sub("#", text).lower().replace(" ", "")
