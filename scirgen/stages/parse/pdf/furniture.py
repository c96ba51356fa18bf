"""What is printed on pages but is not part of the paper: running headers and footers, page and line numbers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from scirgen.stages.parse.pdf.lines import Line

_NUMBER = re.compile(
    r"^(?:p(?:age|\.|ágina|ag\.)?\s*)?[-–|]?\s*(?:\d{1,5}|[ivxl]{1,6})\s*[-–|]?(?:\s*(?:/|of|de)\s*\d{1,4})?$", re.I
)
_DIGITS = re.compile(r"\d+")
_TOP, _BOTTOM = 0.11, 0.88


def without_furniture(pages: Sequence[list[Line]], heights: Sequence[float]) -> list[list[Line]]:
    """The pages' lines without what repeats at their margins, page numbers and line numbers."""
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
    return without_line_numbers(kept)


def _place(line: Line) -> tuple[str, int, int]:
    return line.text, round(line.x0 / 4), round(line.y0 / 4)


def _zone(line: Line, height: float) -> str:
    if line.y1 < _TOP * height:
        return "top"
    return "bottom" if line.y0 > _BOTTOM * height else ""


def _shape(text: str) -> str:
    return _DIGITS.sub("#", text).lower().replace(" ", "")


def without_line_numbers(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """The pages without the columns of rising integers that manuscripts for review have beside their text."""
    columns = [
        _number_column([line for line in lines if line.text.isdigit() and len(line.text) <= 4]) for lines in pages
    ]
    found = [edge for edge in columns if edge is not None]
    if not found or len(found) < 0.4 * len(pages):
        return list(pages)
    kept = []
    for lines, own in zip(pages, columns, strict=True):
        edges = [own] if own is not None else found
        kept.append(
            [line for line in lines if not (line.text.isdigit() and any(abs(line.x1 - edge) < 5 for edge in edges))]
        )
    return kept


def _number_column(numbers: Sequence[Line]) -> float | None:
    """The right edge of a column of line numbers: five or more, rising from top to bottom by the same step."""
    by_edge: dict[int, list[Line]] = defaultdict(list)
    for number in numbers:
        by_edge[round(number.x1 / 4)].append(number)
    for edge, members in by_edge.items():
        near = members + by_edge.get(edge + 1, [])
        ordered = [int(n.text) for n in sorted(near, key=lambda n: n.y0)]
        steps = Counter(b - a for a, b in pairwise(ordered))
        step, times = max(steps.items(), key=lambda s: s[1], default=(0, 0))
        if len(ordered) >= 5 and step in (1, 2, 5, 10) and times >= 0.7 * (len(ordered) - 1):
            return sum(n.x1 for n in near) / len(near)
    return None
