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
    heads: Counter[int] = Counter()
    for lines, height in zip(pages, heights, strict=True):
        page = []
        rows = set()
        for line in lines:
            zone = _zone(line, height)
            repeated = bool(zone) and len(where[(zone, _shape(line.text))]) >= 2
            outer = line.y1 < 0.13 * height or line.y0 > 0.85 * height
            if repeated or fixed[_place(line)] >= often or (outer and _NUMBER.match(line.text)):
                rows |= {_row(line)} if zone == "top" else set()
                continue
            page.append(line)
        heads.update(rows)
        kept.append(page)
    row, times = max(heads.items(), key=lambda item: item[1], default=(0, 0))
    return _without_heads(kept, row) if times >= often else kept


def _without_heads(pages: list[list[Line]], row: int) -> list[list[Line]]:
    """The pages without running heads that name the section: they stand in the row of the page numbers or repeated texts.

    If a line in this row stands close above another, the text begins there, beside numbers in the margin.
    """
    if any(_is_close_above(line, lines) for lines in pages[1:] for line in lines if _in_row(line, row)):
        return pages
    return [pages[0], *([line for line in lines if not _in_row(line, row)] for lines in pages[1:])]


def _is_close_above(line: Line, lines: list[Line]) -> bool:
    return any(0.5 * line.size < other.middle - line.middle < 1.7 * line.size for other in lines)


def _in_row(line: Line, row: int) -> bool:
    return abs(_row(line) - row) <= 1


def _row(line: Line) -> int:
    return round(line.middle / 2)


def _place(line: Line) -> tuple[str, int, int]:
    return line.text, round(line.x0 / 4), round(line.y0 / 4)


def _zone(line: Line, height: float) -> str:
    if line.y1 < _TOP * height:
        return "top"
    return "bottom" if line.y0 > _BOTTOM * height else ""


def _shape(text: str) -> str:
    return _DIGITS.sub("#", text).lower().replace(" ", "")
