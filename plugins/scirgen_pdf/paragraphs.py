"""Joins lines of a column into groups: paragraphs, headings, captions. Later steps classify the groups."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from scirgen import BlockKind, ParsedBlock
from scirgen.stages.parse.terms import kind_of_heading
from scirgen_pdf.page.lines import Line, Style, join, printed, same_row
from scirgen_pdf.page.order import Region

_END = re.compile(r"[.!?:;。？！：；][\"'”’)\]]*$")
_BULLET = re.compile(r"^(?:[•·▪◦‣●○■□–—-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})\)|\d{1,2}\.)$")
_ENTRY = re.compile(r"^[\[(]?\d{1,3}[\]).]\s+\S")
_SUBSECTION = re.compile(r"^(?:\d{1,2}|[A-H])(?:\.\d{1,2})+\.?\s+[A-ZÀ-Þ]")
_NUMBERED = re.compile(
    r"^(?:(?:Appendix|Section)\s+)?(?:\d{1,2}(?:\.\d{1,2})*|[A-Z](?:\.?\d{1,2})*|[IVX]{1,5}|[a-z]|[IVX]+-[A-Z]\d?)[.):]?\s+\S"
)
_TERM = re.compile(r"([^\s:.][^:.]{0,40}):\s")
_WORD = re.compile(r"[^\W\d_]{3}|[\u4e00-\u9fff]")
_LABEL = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2})*\.?|[IVX]{1,5}\.?|[A-Z]\.)$")


@dataclass
class Group:
    """Lines that belong together, in order, with their properties."""

    lines: list[Line]
    region: int
    x0: float
    x1: float
    above: float = 0.0
    below: float = 0.0
    kind: BlockKind = BlockKind.PARAGRAPH
    level: int | None = None
    continued: bool = False
    in_table: bool = False
    made: ParsedBlock | None = None
    refused: str = ""
    style: Style = field(default_factory=lambda: Style("", 0, False, False))
    share: float = 1.0

    @property
    def page(self) -> int:
        """The page of its first line, 1-based."""
        return self.lines[0].page

    @property
    def text(self) -> str:
        """Its lines joined by blanks; hyphenation is fixed later, with the whole document's vocabulary."""
        return " ".join(line.text for line in self.lines)

    def settle(self) -> Group:
        """Derive the typography from the lines."""
        weights: Counter[Style] = Counter()
        for line in self.lines:
            for run in line.runs:
                if not run.raised:
                    weights[run.style] += printed(run.text)
        if weights:
            self.style, most = weights.most_common(1)[0]
            self.share = most / max(1, sum(weights.values()))
        return self


def groups(regions: Sequence[Region], body_size: float) -> list[Group]:
    """Return the groups of all columns of a page, in reading order."""
    found: list[Group] = []
    for number, region in enumerate(regions):
        found += _column(region, number, body_size)
    return found


def split(group: Group, length: int) -> tuple[Group, Group]:
    """Return the group cut after ``length`` characters of its text; both parts keep the places of their lines."""
    head: list[Line] = []
    tail: list[Line] = []
    left = length
    for line in group.lines:
        if left <= 0:
            tail.append(line)
        elif left >= len(line.text):
            head.append(line)
        else:
            first, second = line.cut(left)
            head.append(first)
            tail.append(second)
        left -= len(line.text) + 1
    made = [replace(group, lines=lines).settle() for lines in (head, tail)]
    return made[0], made[1]


def _column(region: Region, number: int, body_size: float) -> list[Group]:
    lines = _rows(region.lines)
    start = next((i for i, line in enumerate(lines) if kind_of_heading(line.text) == "references"), len(lines))
    parts = [part for part in (lines[: start + 1], lines[start + 1 :]) if part]
    return [group for part in parts for group in _part(part, region, number, body_size)]


def _part(lines: list[Line], region: Region, number: int, body_size: float) -> list[Group]:
    left, right = _edges(lines, region, body_size)
    shape = _Shape(left, right, _pitches(lines), _hanging(lines, left), _usual_style(lines), _spacing(lines))
    result: list[Group] = [Group([lines[0]], number, left, right)]
    for before, line in pairwise(lines):
        gap = line.y0 - before.y1
        if _breaks(before, line, shape):
            result[-1].below = gap
            result.append(Group([line], number, left, right, above=gap))
        else:
            result[-1].lines.append(line)
    result[0].above = 99.0
    return [group.settle() for group in result]


@dataclass(frozen=True)
class _Shape:
    """A column's edges, the distance of its lines by size, whether its entries have hanging indents, and the style of
    most of its text."""

    left: float
    right: float
    pitches: dict[float, float]
    hanging: bool
    style: Style
    spacing: float


def _rows(lines: list[Line]) -> list[Line]:
    """Join pieces of a row that belong together: labels, bullets, drop capitals, near pieces."""
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
    rows = _rejustified(rows)
    _count_cells(rows)
    return rows


def _rejustified(lines: list[Line]) -> list[Line]:
    """Join a justified line with few words, which a long address in the next line causes, so that it does not count as
    a table's row.

    Its words have equal gaps from edge to edge, or full lines above and below. A table's cells hold more than a word,
    have unequal gaps, or have another row of cells above or below.
    """
    rows: list[list[Line]] = []
    for line in lines:
        if rows and same_row(rows[-1][-1], line) and line.x0 > rows[-1][-1].x1:
            rows[-1].append(line)
        else:
            rows.append([line])
    whole = [row[0] for row in rows if len(row) == 1]
    left = min((line.x0 for line in whole), default=0.0)
    right = max((line.x1 for line in whole), default=0.0)
    result: list[Line] = []
    for index, row in enumerate(rows):
        beside = [
            r for r in (rows[index - 1] if index else None, rows[index + 1] if index + 1 < len(rows) else None) if r
        ]
        gaps = [b.x0 - a.x1 for a, b in pairwise(row)]
        size = row[0].size
        words = all(" " not in piece.text for piece in row) and max(gaps, default=0) - min(gaps, default=0) < 0.5 * size
        within = (
            all(other[0].x0 < left + 2.5 * size and other[0].x1 > right - 0.5 * size for other in beside)
            and len(beside) == 2
        )
        stretched = (
            len(row) > 1
            and all(len(other) == 1 and abs(other[0].size - size) < 0.6 for other in beside)
            and all(piece.style == row[0].style for piece in row)
            and (words or (within and max(gaps) < 4 * size))
            and row[0].x0 < left + 2.5 * size
            and row[-1].x1 > right - 0.5 * size
        )
        if stretched:
            for piece in row[1:]:
                row[0] = join(row[0], piece)
            row = row[:1]
        result += row
    return result


def _count_cells(rows: list[Line]) -> None:
    """Count the pieces in the row of each line: three or more make a table's row."""
    row: list[Line] = []
    for line in [*rows, None]:
        if line is not None and row and same_row(row[-1], line):
            row.append(line)
            continue
        for piece in row:
            piece.cells = len(row)
        row = [line] if line is not None else []


def _edges(lines: list[Line], region: Region, body_size: float) -> tuple[float, float]:
    """Left and right edge of the column's body text, at which most lines begin and end."""
    body = [line for line in lines if abs(line.size - body_size) <= 0.6]
    if len(body) < 0.3 * len(lines):
        body = lines
    starts = Counter(round(line.x0) for line in body)
    ends = Counter(round(line.x1) for line in body)
    left = min((x for x, n in starts.items() if n >= 0.12 * len(body)), default=region.x0)
    right = max((x for x, n in ends.items() if n >= 0.12 * len(body)), default=region.x1)
    return float(left), float(max(right, left + 1))


def _pitches(lines: list[Line]) -> dict[float, float]:
    """Return the usual distance of lines of each size, in points."""
    steps: dict[float, list[float]] = defaultdict(list)
    for a, b in pairwise(lines):
        step = b.middle - a.middle
        if abs(a.size - b.size) < 0.6 and 0.8 * a.size < step < 3.2 * a.size:
            steps[a.size].append(step)
    return {size: median(values) for size, values in steps.items() if len(values) >= 3}


def _hanging(lines: list[Line], left: float) -> bool:
    """Return whether entries begin at the edge and their further lines are indented (reference lists)."""
    if len(lines) < 6:
        return False
    at_edge = sum(abs(line.x0 - left) < 2.5 for line in lines)
    indents = Counter(round(line.x0 - left) for line in lines if 5 < line.x0 - left < 40)
    common = max(indents.values(), default=0)
    return common >= 0.35 * len(lines) and at_edge >= 2 and common >= at_edge * 0.6


def _breaks(a: Line, b: Line, shape: _Shape) -> bool:
    """Return whether ``b``, the line after ``a``, begins a new group."""
    left, right = shape.left, shape.right
    step = b.middle - a.middle
    size = max(a.size, b.size, 1.0)
    pitch = shape.pitches.get(a.size)
    if (
        same_row(a, b)
        or step < 0
        or step > (max(1.32 * pitch, 1.25 * size) if pitch else max(1.6, shape.spacing) * size)
    ):
        return True
    brief = a.x1 < right - 0.25 * (right - left)
    if _stacked(a, b) and step > (1.45 if brief else max(1.9, shape.spacing)) * size:
        return True
    if _is_centred_title(a, b, shape) or (_is_bit_of_equation(a, shape) and _WORD.search(b.text)):
        return True
    short = a.x1 < right - max(3 * size, 0.12 * (right - left))
    if (_differs(a, b, short) and (short or not _runs_on(a, b))) or (short and _SUBSECTION.match(b.text)):
        return True
    if (_ENTRY.match(b.text) and b.x0 < a.x0 - 3) or (_END.search(a.text) and _is_labelled(b)):
        return True
    if _wraps(a, b, shape):
        return False
    if shape.hanging:
        return abs(b.x0 - left) < 2.5 and (a.x0 - b.x0 > 3 or _END.search(a.text) is not None)
    if _ENTRY.match(a.text) and b.x0 > a.x0 + 3:
        return False
    indent = b.x0 - max(left, min(a.x0, b.x0))
    if 0.7 * size < indent < 6 * size and b.x0 - a.x0 > 0.6 * size and abs(a.x0 - left) < 0.6 * size:
        return True
    if indent > 0.7 * size and abs(b.x0 - a.x0) < 2 and a.x1 < right - 2 * size and _END.search(a.text):
        return True
    return bool(short and _END.search(a.text) and not b.text[:1].islower() and b.x0 <= left + 4 * size)


def _is_labelled(line: Line) -> bool:
    """Return whether a line begins with a label and a colon in another type, as an item of a list of terms does."""
    first = line.runs[0].style
    label = _TERM.match(line.text)
    return label is not None and first != line.style and line.runs[0].text.strip() in (label[1], label[0].strip())


def _wraps(a: Line, b: Line, shape: _Shape) -> bool:
    """Return whether ``b`` is the second line of a heading: it hangs below a number, or both lines are centred, in a
    rare type."""
    if a.style != b.style or min(a.share, b.share) < 0.9 or a.style == shape.style or _END.search(a.text):
        return False
    if a.style.size < shape.style.size - 0.6 or a.x1 - a.x0 < 0.5 * (shape.right - shape.left):
        return False
    hangs = 5 < b.x0 - a.x0 < 4.5 * a.size and bool(_NUMBERED.match(a.text)) and not _NUMBERED.match(b.text)
    centre = (shape.left + shape.right) / 2
    centred = all(abs((line.x0 + line.x1) / 2 - centre) < 0.8 * line.size for line in (a, b)) and b.x0 > a.x0 + 5
    return hangs or centred


def _is_bit_of_equation(line: Line, shape: _Shape) -> bool:
    """Return whether a line is a number or a denominator of a displayed equation: short, without a word, away from the
    left edge."""
    return len(line.text) < 15 and line.x0 > shape.left + 2 * line.size and not _WORD.search(line.text)


def _is_centred_title(a: Line, b: Line, shape: _Shape) -> bool:
    """Return whether ``a`` is a centred line or one in capitals above a paragraph that begins at the left edge."""
    before, after = a.x0 - shape.left, shape.right - a.x1
    centred = before > 2.5 * a.size and abs(before - after) < 1.2 * a.size
    capitals = a.text.isupper() and len(a.text) > 4 and not b.text.isupper() and after > 2 * a.size
    at_edge = b.x0 < shape.left + 2.5 * b.size and b.x1 > shape.right - 4 * b.size
    return (centred or capitals) and at_edge and not _END.search(a.text) and a.math < 0.3


def _spacing(lines: Sequence[Line]) -> float:
    """Return a little more than the usual distance of the column's lines, relative to their size: 1.4 for single and
    2.3 for double spacing."""
    steps = [(b.middle - a.middle) / a.size for a, b in pairwise(lines) if a.size and abs(a.size - b.size) < 0.6]
    near = [step for step in steps if 0.8 < step < 2.8]
    return 1.15 * median(near) if len(near) >= 5 else 1.0


def _usual_style(lines: Sequence[Line]) -> Style:
    styles: Counter[Style] = Counter()
    for line in lines:
        styles[line.style] += len(line.text)
    return styles.most_common(1)[0][0]


def _stacked(a: Line, b: Line) -> bool:
    """Return whether both lines are completely in one bold or italic type, as two headings in a row are."""
    return a.share > 0.9 and b.share > 0.9 and a.style == b.style and (a.style.bold or a.style.italic)


def _runs_on(a: Line, b: Line) -> bool:
    """Return whether ``b`` begins in the type in which ``a``, a full line, ends, and one of them changes its type: a
    run-in heading."""
    last, first = a.runs[-1].style, b.runs[0].style
    same = (last.font, last.bold, last.italic) == (first.font, first.bold, first.italic)
    return same and abs(last.size - first.size) <= 0.6 and min(a.share, b.share) < 0.985


def _is_bold(line: Line) -> bool:
    """Return whether all words of a line are bold, also those in another slant."""
    return line.style.bold and all(run.style.bold for run in line.runs if _WORD.search(run.text))


def _differs(a: Line, b: Line, short: bool) -> bool:
    """Return whether a new typography begins: size, weight or (for lines set in one font) the font."""
    if min(len(a.text), len(b.text)) < 3 or (max(a.math, b.math) > 0.3):
        return abs(a.size - b.size) > 2.5
    if abs(a.size - b.size) > 0.6:
        return True
    if short and a.share > 0.985 and a.style.font != b.style.font and b.math < 0.2:
        return True
    pure = a.share > 0.9 and b.share > 0.9
    title = a.share > 0.9 or (short and _is_bold(a))
    if a.style.bold != b.style.bold and (pure or (title and _END.search(a.text) is None and len(a.text) < 90)):
        return True
    return pure and (a.style.font != b.style.font or (a.style.italic != b.style.italic))
