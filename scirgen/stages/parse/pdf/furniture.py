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
    pages = [_without_line_numbers(lines) for lines in pages]
    where: dict[tuple[str, str], set[int]] = defaultdict(set)
    fixed: Counter[tuple[str, int, int]] = Counter()
    for number, (lines, height) in enumerate(zip(pages, heights, strict=True)):
        for line in lines:
            zone = _zone(line, height)
            if zone:
                where[(zone, _shape(line.text))].add(number)
            fixed[(line.text, round(line.x0 / 4), round(line.y0 / 4))] += 1
    often = max(3, 0.5 * len(pages))
    kept = []
    for lines, height in zip(pages, heights, strict=True):
        page = []
        for line in lines:
            zone = _zone(line, height)
            repeated = bool(zone) and len(where[(zone, _shape(line.text))]) >= 2
            everywhere = fixed[(line.text, round(line.x0 / 4), round(line.y0 / 4))] >= often
            number = (line.y1 < 0.13 * height or line.y0 > 0.85 * height) and _NUMBER.match(line.text)
            if repeated or everywhere or number:
                continue
            page.append(line)
        kept.append(page)
    return kept


def _zone(line: Line, height: float) -> str:
    if line.y1 < _TOP * height:
        return "top"
    return "bottom" if line.y0 > _BOTTOM * height else ""


def _shape(text: str) -> str:
    return _DIGITS.sub("#", text).lower().replace(" ", "")


def _without_line_numbers(lines: list[Line]) -> list[Line]:
    """Drop a column of rising integers left (or right) of all text, as manuscripts for review have."""
    numbers = [line for line in lines if line.text.isdigit() and len(line.text) <= 4]
    if len(numbers) < 5:
        return lines
    text = [line for line in lines if len(line.text) > 15]
    if not text:
        return lines
    left, right = min(line.x0 for line in text), max(line.x1 for line in text)
    for outside in (
        [n for n in numbers if n.x1 <= left + 2],
        [n for n in numbers if n.x0 >= right - 2],
    ):
        values = [int(n.text) for n in sorted(outside, key=lambda n: n.y0)]
        rising = sum(b > a for a, b in pairwise(values))
        if len(values) >= 5 and rising >= 0.9 * (len(values) - 1):
            drop = {id(n) for n in outside}
            return [line for line in lines if id(line) not in drop]
    return lines
