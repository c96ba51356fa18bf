"""Finds printed text that is not part of the paper: running headers and footers, page numbers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache

from scirgen_pdf.page.lines import Line

_NUMBER = re.compile(
    r"^(?:p(?:age|\.|ágina|ag\.)?\s*)?[-–|]?\s*(?:\d{1,5}|[ivxl]{1,6})\s*[-–|]?(?:\s*(?:/|of|de)\s*\d{1,4})?$", re.I
)
_DIGITS = re.compile(r"\d+")
_TOP, _BOTTOM = 0.11, 0.88
_LEAST_TIMES = {"top": 2, "bottom": 2, "first": 3, "last": 3}


def without_furniture(pages: Sequence[list[Line]], heights: Sequence[float]) -> list[list[Line]]:
    """Return the pages' lines, without texts that repeat at the margins and without page numbers."""
    zones = [_zones(lines, height) for lines, height in zip(pages, heights, strict=True)]
    where: dict[tuple[str, str], set[int]] = defaultdict(set)
    fixed: Counter[tuple[str, int, int]] = Counter()
    numbered: Counter[str] = Counter()
    for number, (lines, zone) in enumerate(zip(pages, zones, strict=True)):
        for line in lines:
            if id(line) in zone:
                where[(zone[id(line)], _shape(line.text))].add(number)
            fixed[_place(line)] += 1
        numbered.update({zone[id(line)] for line in lines if id(line) in zone and _NUMBER.match(line.text)})
    often = max(3, 0.5 * len(pages))
    kept = []
    heads: Counter[int] = Counter()
    for lines, height, zone in zip(pages, heights, zones, strict=True):
        page = []
        rows = set()
        for line in lines:
            at = zone.get(id(line), "")
            repeated = bool(at) and len(where[(at, _shape(line.text))]) >= _LEAST_TIMES[at]
            outer = line.y1 < 0.13 * height or line.y0 > 0.85 * height or (bool(at) and numbered[at] >= often)
            if repeated or fixed[_place(line)] >= often or (outer and _NUMBER.match(line.text)):
                rows |= {_row(line)} if at in ("top", "first") else set()
                continue
            page.append(line)
        heads.update(rows)
        kept.append(page)
    row, times = max(heads.items(), key=lambda item: item[1], default=(0, 0))
    return _without_heads(kept, row) if times >= often else kept


def _zones(lines: Sequence[Line], height: float) -> dict[int, str]:
    """Where the lines at the edges stand: in the margin of the page, or, with wide margins, in its first or last
    row."""
    if not lines:
        return {}
    first, last = min(line.middle for line in lines), max(line.middle for line in lines)
    times = Counter(_shape(line.text) for line in lines)
    found: dict[int, str] = {}
    for line in lines:
        if line.y1 < _TOP * height:
            found[id(line)] = "top"
        elif line.y0 > _BOTTOM * height:
            found[id(line)] = "bottom"
        elif times[_shape(line.text)] > 1:
            continue
        elif line.middle < first + 0.5 * line.size:
            found[id(line)] = "first"
        elif line.middle > last - 0.5 * line.size:
            found[id(line)] = "last"
    return found


def _without_heads(pages: list[list[Line]], row: int) -> list[list[Line]]:
    """Return the pages without running heads that name the section: they stand in the row of the page numbers or
    repeated texts.

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


@lru_cache(maxsize=8192)
def _shape(text: str) -> str:
    return _DIGITS.sub("#", text).lower().replace(" ", "")
