"""Finds printed text that is not part of the paper: running headers and footers, page numbers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from scirgen_pdf.page.lines import Line
from scirgen_pdf.units import Count, Ems, Points, Share

_NUMBER = re.compile(
    r"^(?:p(?:age|\.|ágina|ag\.)?\s*)?[-–|]?\s*(?:\d{1,5}|[ivxl]{1,6})\s*[-–|]?(?:\s*(?:/|of|de)\s*\d{1,4})?$", re.I
)
_DIGITS = re.compile(r"\d+")
_LABEL = re.compile(r"(?:fig|tab)[a-z]*\.?\s*\d", re.I)


@dataclass(frozen=True)
class Furniture:
    """Rules of the pass that drops running heads, feet and page numbers."""

    top: Annotated[Share, "of the page's height: a head ends above"] = 0.11
    bottom: Annotated[Share, "of the page's height: a foot begins below"] = 0.88
    number_top: Annotated[Share, "of the page's height: a page number ends above"] = 0.13
    number_bottom: Annotated[Share, "of the page's height: a page number begins below"] = 0.85
    in_margin: Annotated[Count, "pages with one text in the margin"] = 2
    in_row: Annotated[Count, "pages with one text in their first or last row, where the margin is wide"] = 3
    often: Annotated[Share, "the pages with a text in one place, or with numbers in one margin"] = 0.5
    least_often: Annotated[Count, "the least number of these pages"] = 3
    same_row: Annotated[Ems, "how far apart the middles of one row's lines are"] = 0.5
    next_row: Annotated[Ems, "how far below its first line a text goes on"] = 1.7
    larger: Annotated[Points, "than its repeats on later pages is a title"] = 1
    grid: Annotated[Points, "how far apart two places are that differ"] = 4


_RULES = Furniture()


def without_furniture(
    pages: Sequence[list[Line]], heights: Sequence[float], rules: Furniture = _RULES
) -> list[list[Line]]:
    """Return the pages' lines, without texts that repeat at the margins and without page numbers."""
    zones = [_zones(lines, height, rules) for lines, height in zip(pages, heights, strict=True)]
    where: dict[tuple[str, str], set[int]] = defaultdict(set)
    sizes: dict[str, float] = {}
    fixed: Counter[tuple[str, int, int]] = Counter()
    numbered: Counter[str] = Counter()
    for number, (lines, zone) in enumerate(zip(pages, zones, strict=True)):
        for line in lines:
            if id(line) in zone:
                where[(zone[id(line)], _shape(line.text))].add(number)
                sizes[_shape(line.text)] = min(line.size, sizes.get(_shape(line.text), line.size))
            fixed[_place(line, rules.grid)] += 1
        numbered.update({zone[id(line)] for line in lines if id(line) in zone and _NUMBER.match(line.text)})
    often = max(rules.least_often, rules.often * len(pages))
    least = {"top": rules.in_margin, "bottom": rules.in_margin, "first": rules.in_row, "last": rules.in_row}
    kept = []
    heads: Counter[int] = Counter()
    for lines, height, zone in zip(pages, heights, zones, strict=True):
        page = []
        rows = set()
        for line in lines:
            at = zone.get(id(line), "")
            repeated = bool(at) and len(where[(at, _shape(line.text))]) >= least[at]
            repeated = repeated and not (lines is pages[0] and line.size > sizes[_shape(line.text)] + rules.larger)
            outer = line.y1 < rules.number_top * height or line.y0 > rules.number_bottom * height
            outer = outer or (bool(at) and numbered[at] >= often)
            if repeated or fixed[_place(line, rules.grid)] >= often or (outer and _NUMBER.match(line.text)):
                rows |= {_row(line)} if at in ("top", "first") else set()
                continue
            page.append(line)
        heads.update(rows)
        kept.append(page)
    row, times = max(heads.items(), key=lambda item: item[1], default=(0, 0))
    return _without_heads(kept, row, rules) if times >= often else kept


def _zones(lines: Sequence[Line], height: float, rules: Furniture) -> dict[int, str]:
    """Where the lines at the edges stand: in the margin of the page, or, with wide margins, in its first or last
    row."""
    if not lines:
        return {}
    first, last = min(line.middle for line in lines), max(line.middle for line in lines)
    times = Counter(_shape(line.text) for line in lines)
    found: dict[int, str] = {}
    for line in lines:
        if line.y1 < rules.top * height:
            found[id(line)] = "top"
        elif line.y0 > rules.bottom * height:
            found[id(line)] = "bottom"
        elif times[_shape(line.text)] > 1:
            continue
        elif line.middle < first + rules.same_row * line.size:
            found[id(line)] = "first"
        elif line.middle > last - rules.same_row * line.size:
            found[id(line)] = "last"
    return found


def _without_heads(pages: list[list[Line]], row: int, rules: Furniture) -> list[list[Line]]:
    """Return the pages without running heads that name the section: they stand in the row of the page numbers or
    repeated texts.

    If a line in this row stands close above another, the text begins there, beside numbers in the margin.
    """
    if any(_is_close_above(line, lines, rules) for lines in pages[1:] for line in lines if _in_row(line, row)):
        return pages
    return [pages[0], *([line for line in lines if not _in_row(line, row)] for lines in pages[1:])]


def _is_close_above(line: Line, lines: list[Line], rules: Furniture) -> bool:
    least, most = rules.same_row * line.size, rules.next_row * line.size
    return any(least < other.middle - line.middle < most for other in lines)


def _in_row(line: Line, row: int) -> bool:
    return abs(_row(line) - row) <= 1


def _row(line: Line) -> int:
    return round(line.middle / 2)


def _place(line: Line, grid: float) -> tuple[str, int, int]:
    return line.text, round(line.x0 / grid), round(line.y0 / grid)


@lru_cache(maxsize=8192)
def _shape(text: str) -> str:
    shape = text if _LABEL.match(text) else _DIGITS.sub("#", text)  # "Table 1" and "Table 2" are two texts
    return shape.lower().replace(" ", "")
