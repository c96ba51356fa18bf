"""Lines of a column become groups: a paragraph, a heading, a caption. What a group is, is decided later."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from scirgen.core.records import BlockKind
from scirgen.stages.parse.pdf.lines import Line, Style, join, same_row
from scirgen.stages.parse.pdf.order import Region

_END = re.compile(r"[.!?:;。？！：；][\"'”’)\]]*$")
_BULLET = re.compile(r"^(?:[•·▪◦‣●○■□–—-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})\)|\d{1,2}\.)$")
_LABEL = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2})*\.?|[IVX]{1,5}\.?|[A-Z]\.)$")


@dataclass
class Group:
    """Lines that belong together, in order, and what is known of them."""

    lines: list[Line]
    region: int
    x0: float
    x1: float
    above: float = 0.0
    below: float = 0.0
    kind: BlockKind = BlockKind.PARAGRAPH
    level: int | None = None
    style: Style = field(default_factory=lambda: Style("", 0, False, False))
    share: float = 1.0

    @property
    def page(self) -> int:
        """Of its first line, 1-based."""
        return self.lines[0].page

    @property
    def text(self) -> str:
        """Its lines joined by blanks; hyphenation is mended later, with the whole document's vocabulary."""
        return " ".join(line.text for line in self.lines)

    def settle(self) -> Group:
        """Derive the typography from the lines."""
        weights: Counter[Style] = Counter()
        for line in self.lines:
            for run in line.runs:
                if not run.raised:
                    weights[run.style] += sum(not c.isspace() for c in run.text)
        if weights:
            self.style, most = weights.most_common(1)[0]
            self.share = most / max(1, sum(weights.values()))
        return self


def groups(regions: Sequence[Region], body_size: float) -> list[Group]:
    """Groups of all columns of a page, in reading order."""
    found: list[Group] = []
    for number, region in enumerate(regions):
        found += _column(region, number, body_size)
    return found


def _column(region: Region, number: int, body_size: float) -> list[Group]:
    lines = _rows(region.lines)
    if not lines:
        return []
    left, right = _edges(lines, region, body_size)
    pitch = _pitch(lines, body_size)
    hanging = _hanging(lines, left)
    result: list[Group] = [Group([lines[0]], number, left, right)]
    for before, line in pairwise(lines):
        gap = line.y0 - before.y1
        if _breaks(before, line, left, right, pitch, hanging):
            result[-1].below = gap
            result.append(Group([line], number, left, right, above=gap))
        else:
            result[-1].lines.append(line)
    result[0].above = 99.0
    return [group.settle() for group in result]


def _rows(lines: list[Line]) -> list[Line]:
    """Pieces of a row become one line where they belong together: labels, bullets, drop capitals, near pieces."""
    rows: list[Line] = []
    for line in lines:
        last = rows[-1] if rows else None
        if last is None or not same_row(last, line) or line.x0 < last.x1 - 2:
            rows.append(line)
            continue
        gap = line.x0 - last.x1
        size = max(last.size, line.size)
        label = _LABEL.match(last.text) or _BULLET.match(last.text)
        capital = len(last.text) == 1 and last.text.isupper() and last.size > 1.6 * line.size
        if capital:
            rows[-1] = join(last, line, "")
        elif gap < 1.2 * size or (label and gap < 4 * size):
            rows[-1] = join(last, line)
        else:
            rows.append(line)
    return rows


def _edges(lines: list[Line], region: Region, body_size: float) -> tuple[float, float]:
    """Left and right edge of the column's body text: where most lines begin and end."""
    body = [line for line in lines if abs(line.size - body_size) <= 0.6] or lines
    starts = Counter(round(line.x0) for line in body)
    ends = Counter(round(line.x1) for line in body)
    left = min((x for x, n in starts.items() if n >= 0.12 * len(body)), default=region.x0)
    right = max((x for x, n in ends.items() if n >= 0.12 * len(body)), default=region.x1)
    return float(left), float(max(right, left + 1))


def _pitch(lines: list[Line], body_size: float) -> float:
    steps = [
        b.middle - a.middle
        for a, b in pairwise(lines)
        if abs(a.size - b.size) < 0.6 and 0.8 * a.size < b.middle - a.middle < 3.2 * a.size
    ]
    return median(steps) if steps else 1.25 * body_size


def _hanging(lines: list[Line], left: float) -> bool:
    """Whether entries begin at the edge and their further lines are indented (reference lists)."""
    if len(lines) < 6:
        return False
    at_edge = sum(abs(line.x0 - left) < 2.5 for line in lines)
    indents = Counter(round(line.x0 - left) for line in lines if 5 < line.x0 - left < 40)
    common = max(indents.values(), default=0)
    return common >= 0.35 * len(lines) and at_edge >= 2 and common >= at_edge * 0.6


def _breaks(a: Line, b: Line, left: float, right: float, pitch: float, hanging: bool) -> bool:
    step = b.middle - a.middle
    size = max(a.size, b.size, 1.0)
    if same_row(a, b):
        return True
    if step < 0 or (step > max(1.32 * pitch, pitch + 0.3 * size) and step > 1.25 * size):
        return True
    if _differs(a, b):
        return True
    if hanging:
        return abs(b.x0 - left) < 2.5 and (a.x0 - b.x0 > 3 or _END.search(a.text) is not None)
    indent = b.x0 - max(left, min(a.x0, b.x0))
    if 0.7 * size < indent < 6 * size and b.x0 - a.x0 > 0.6 * size and abs(a.x0 - left) < 0.6 * size:
        return True
    if indent > 0.7 * size and abs(b.x0 - a.x0) < 2 and a.x1 < right - 2 * size and _END.search(a.text):
        return True
    short = a.x1 < right - max(3 * size, 0.12 * (right - left))
    return bool(short and _END.search(a.text) and not b.text[:1].islower() and b.x0 <= left + 4 * size)


def _differs(a: Line, b: Line) -> bool:
    """Whether a new typography begins: size, weight or (for lines set in one font) the font."""
    if min(len(a.text), len(b.text)) < 3 or (max(a.math, b.math) > 0.3):
        return abs(a.size - b.size) > 2.5
    if abs(a.size - b.size) > 0.6:
        return True
    pure = a.share > 0.9 and b.share > 0.9
    if a.style.bold != b.style.bold and (pure or (a.share > 0.9 and _END.search(a.text) is None and len(a.text) < 90)):
        return True
    return pure and (a.style.font != b.style.font or (a.style.italic != b.style.italic))
