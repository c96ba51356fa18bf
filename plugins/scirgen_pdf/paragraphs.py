"""Joins lines of a column into groups: paragraphs, headings, captions. Later steps classify the groups."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise, takewhile
from statistics import median
from typing import Annotated

from scirgen import BlockKind, ParsedBlock
from scirgen.stages.parse.terms import kind_of_heading
from scirgen_pdf.page.lines import Line, Style, join, printed, same_row, same_size
from scirgen_pdf.page.order import Region
from scirgen_pdf.units import Chars, Count, Ems, Points, Share, Times

_END = re.compile(r"[.!?:;。？！：；][\"'”’)\]]*$")
_BULLET = re.compile(r"^(?:[•·▪◦‣●○■□–—-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})\)|\d{1,2}\.)$")
_ENTRY = re.compile(r"^[\[(]?\d{1,3}[\]).]\s+\S")
_SUBSECTION = re.compile(r"^(?:\d{1,2}|[A-H])(?:\.\d{1,2})+\.?\s+[A-ZÀ-Þ]")
_NUMBERED = re.compile(
    r"^(?:(?:Appendix|Section)\s+)?(?:\d{1,2}(?:\.\d{1,2})*|[A-Z](?:\.?\d{1,2})*|[IVX]{1,5}|[a-z]|[IVX]+-[A-Z]\d?)[.):]?\s+\S"
)
_TERM = re.compile(r"([^\s:.][^:.]{0,40}):\s")
_WORD = re.compile(r"[^\W\d_]{3}|[\u4e00-\u9fff]")
_TOP = 99.0  # points above the first group of a column
_LABEL = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2})*\.?|[IVX]{1,5}\.?|[A-Z]\.)$")


@dataclass(frozen=True)
class Paragraphs:
    """Rules of the pass that joins lines to groups."""

    # Pieces of a row
    overlap: Annotated[Points, "the most by which a piece of a row begins before the end of the last one"] = 2
    capital: Annotated[Times, "the size of a drop capital, in lines beside it"] = 1.6
    word_gap: Annotated[Ems, "a gap within a row that is still a blank"] = 1.2
    label_gap: Annotated[Ems, "a gap behind a label or a bullet"] = 5
    heading_gap: Annotated[Ems, "a gap in a numbered heading larger than the body"] = 2.2
    even: Annotated[Ems, "how much the gaps of a stretched line may differ"] = 0.5
    # Edges and distances of a column
    at_edge: Annotated[Share, "the lines that begin or end where the column's edge is; indents are fewer"] = 0.12
    least_body: Annotated[Share, "the lines in the body's size that show a column's edges; else all lines do"] = 0.3
    ragged: Annotated[Ems, "a line ends at the edge if it lacks no more, though ragged or hyphenated"] = 0.5
    least_step: Annotated[Ems, "the least distance of two lines; less is an index"] = 0.8
    most_step: Annotated[Ems, "the widest distance of two lines of one paragraph, with double spacing"] = 3.2
    most_spacing: Annotated[Ems, "the widest distance that shows a column's spacing"] = 2.8
    least_steps: Annotated[Count, "distances that show the usual one of a size"] = 3
    least_spaced: Annotated[Count, "distances that show the usual one of a column"] = 5
    looser: Annotated[Times, "how much wider than usual the distance in a column may be"] = 1.15
    # Lists with hanging indents
    least_entries: Annotated[Count, "lines of a column that show hanging indents"] = 6
    least_indent: Annotated[Points, "the least hanging indent"] = 5
    most_indent: Annotated[Points, "the widest hanging indent"] = 40
    hanging: Annotated[Share, "the lines of a column with one hanging indent"] = 0.35
    edge: Annotated[Points, "how far from the column's edge a line still begins there"] = 2.5
    outdent: Annotated[Points, "an entry begins this far left of the line before it"] = 3
    # Distances that end a group
    wide_step: Annotated[Times, "a distance of lines, in usual ones, that ends a group"] = 1.32
    tight: Annotated[Ems, "no distance below it ends a group"] = 1.25
    loose: Annotated[Ems, "a distance that ends a group where the usual one is not known"] = 1.6
    stacked_brief: Annotated[Ems, "a distance that parts two headings of which the first is brief"] = 1.45
    stacked: Annotated[Ems, "a distance that parts two headings of which the first fills its line"] = 1.9
    brief: Annotated[Share, "the part of the column that a brief line leaves empty"] = 0.25
    short: Annotated[Share, "the part of the column that the last line of a paragraph leaves empty"] = 0.12
    short_by: Annotated[Ems, "the least that the last line of a paragraph leaves empty"] = 3
    # Indents
    indent: Annotated[Ems, "the least indent of a paragraph"] = 0.7
    most_first: Annotated[Ems, "the widest indent of a paragraph; more is centred"] = 6
    moved: Annotated[Ems, "how far from the edge the line before an indented one may begin"] = 0.6
    margin: Annotated[Ems, "how far from the edge a line without an indent may begin"] = 4
    # Headings of two lines, centred titles
    whole: Annotated[Share, "a line's characters in its main type, if it is in one"] = 0.9
    pure: Annotated[Share, "likewise, if no mark in another type may stand in it"] = 0.985
    half: Annotated[Share, "the part of the column that the first line of a heading of two fills"] = 0.5
    number_width: Annotated[Ems, "the widest number of a heading"] = 4.5
    off_centre: Annotated[Ems, "how far from the middle a centred line may be"] = 0.8
    centred: Annotated[Ems, "the least that a centred line leaves empty before it"] = 2.5
    lopsided: Annotated[Ems, "how unequal the rooms beside a centred line may be"] = 1.2
    fills: Annotated[Ems, "the most that the first line of a paragraph leaves empty"] = 4
    least_title: Annotated[Chars, "of a title in capitals; fewer are an acronym"] = 5
    # Formulas
    bit: Annotated[Chars, "of a number or a denominator of a displayed equation"] = 15
    away: Annotated[Ems, "how far from the edge it stands, and how much a line lacks that is not full"] = 2
    mathematical: Annotated[Share, "a line's characters in fonts for formulas, whose type says nothing"] = 0.3
    least_text: Annotated[Chars, "of a line whose type says something"] = 3
    other_size: Annotated[Points, "a change of size that counts in formulas, too"] = 2.5


_RULES = Paragraphs()


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
        """Its lines joined by spaces; hyphenation is fixed later, with the whole document's vocabulary."""
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


def groups(regions: Sequence[Region], body_size: float, rules: Paragraphs = _RULES) -> list[Group]:
    """Return the groups of all columns of a page, in reading order."""
    found: list[Group] = []
    for number, region in enumerate(regions):
        found += _column(region, number, body_size, rules)
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


def _column(region: Region, number: int, body_size: float, rules: Paragraphs) -> list[Group]:
    lines = _rows(region.lines, body_size, rules)
    start = next((i for i, line in enumerate(lines) if kind_of_heading(line.text) == "references"), len(lines))
    parts = [part for part in (lines[: start + 1], lines[start + 1 :]) if part]
    return [group for part in parts for group in _part(part, region, number, body_size, rules)]


def _part(lines: list[Line], region: Region, number: int, body_size: float, rules: Paragraphs) -> list[Group]:
    left, right = _edges(lines, region, body_size, rules)
    hanging = _hanging(lines, left, rules)
    shape = _Shape(left, right, _pitches(lines, rules), hanging, _usual_style(lines), _spacing(lines, rules))
    result: list[Group] = [Group([lines[0]], number, left, right)]
    for before, line in pairwise(lines):
        gap = line.y0 - before.y1
        if _breaks(before, line, shape, rules):
            result[-1].below = gap
            result.append(Group([line], number, left, right, above=gap))
        else:
            result[-1].lines.append(line)
    result[0].above = _TOP
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


def _rows(lines: list[Line], body_size: float, rules: Paragraphs) -> list[Line]:
    """Join pieces of a row that belong together: labels, bullets, drop capitals, near pieces."""
    rows: list[Line] = []
    for line in lines:
        last = rows[-1] if rows else None
        if last is None or not same_row(last, line) or line.x0 < last.x1 - rules.overlap:
            rows.append(line)
            continue
        gap = line.x0 - last.x1
        size = max(last.size, line.size)
        label = _LABEL.match(last.text) or _BULLET.match(last.text)
        heading = last.size > body_size and last.style == line.style and _NUMBERED.match(last.text)
        near = rules.heading_gap if heading else rules.word_gap
        capital = len(last.text) == 1 and last.text.isupper() and last.size > rules.capital * line.size
        if capital:
            rows[-1] = join(last, line, "")
        elif gap < near * size or (label and gap < rules.label_gap * size):
            rows[-1] = join(last, line)
        else:
            rows.append(line)
    rows = _rejustified(rows, rules)
    _count_cells(rows)
    return rows


def _rejustified(lines: list[Line], rules: Paragraphs) -> list[Line]:
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
    edges = min((line.x0 for line in whole), default=0.0), max((line.x1 for line in whole), default=0.0)
    for index, row in enumerate(rows):
        beside = [rows[i] for i in (index - 1, index + 1) if 0 <= i < len(rows)]
        if len(row) > 1 and _is_stretched(row, beside, edges, rules):
            row[:] = [reduce(join, row)]
    return [line for row in rows for line in row]


def _is_stretched(
    row: Sequence[Line], beside: Sequence[Sequence[Line]], edges: tuple[float, float], rules: Paragraphs
) -> bool:
    """Return whether the pieces of a row are one justified line, in the type of the whole lines ``beside`` it."""
    size = row[0].size
    one_type = all(piece.style == row[0].style for piece in row)
    if not one_type or any(len(other) > 1 or not same_size(other[0].size, size) for other in beside):
        return False
    gaps = [b.x0 - a.x1 for a, b in pairwise(row)]
    words = all(" " not in piece.text for piece in row) and max(gaps) - min(gaps) < rules.even * size

    def full(first: Line, last: Line) -> bool:
        return first.x0 < edges[0] + rules.centred * size and last.x1 > edges[1] - rules.ragged * size

    within = len(beside) == 2 and all(full(*other, *other) for other in beside)
    return full(row[0], row[-1]) and (words or within)


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


def _edges(lines: list[Line], region: Region, body_size: float, rules: Paragraphs) -> tuple[float, float]:
    """Left and right edge of the column's body text, at which most lines begin and end."""
    body = [line for line in lines if same_size(line.size, body_size)]
    if len(body) < rules.least_body * len(lines):
        body = lines
    starts = Counter(round(line.x0) for line in body)
    ends = Counter(round(line.x1) for line in body)
    least = rules.at_edge * len(body)
    left = min((x for x, n in starts.items() if n >= least), default=region.x0)
    right = max((x for x, n in ends.items() if n >= least), default=region.x1)
    return float(left), float(max(right, left + 1))


def _pitches(lines: list[Line], rules: Paragraphs) -> dict[float, float]:
    """Return the usual distance of lines of each size, in points."""
    steps: dict[float, list[float]] = defaultdict(list)
    for a, b in pairwise(lines):
        step = b.middle - a.middle
        if same_size(a.size, b.size) and rules.least_step * a.size < step < rules.most_step * a.size:
            steps[a.size].append(step)
    return {size: median(values) for size, values in steps.items() if len(values) >= rules.least_steps}


def _hanging(lines: list[Line], left: float, rules: Paragraphs) -> bool:
    """Return whether entries begin at the edge and their further lines are indented (reference lists)."""
    if len(lines) < rules.least_entries:
        return False
    indents = Counter(
        round(line.x0 - left) for line in lines if rules.least_indent < line.x0 - left < rules.most_indent
    )
    common = max(indents.values(), default=0)
    return common >= rules.hanging * len(lines)


def _breaks(a: Line, b: Line, shape: _Shape, rules: Paragraphs) -> bool:
    """Return whether ``b``, the line after ``a``, begins a new group."""
    if same_row(a, b) or _is_far(a, b, shape, rules) or _is_centred_title(a, b, shape, rules):
        return True
    if _is_bit_of_equation(a, shape, rules) and _WORD.search(b.text):
        return True
    if _END.search(a.text) and (_is_labelled(b) or _is_led(a, b)):
        return True
    short = a.x1 < shape.right - max(rules.short_by * _size(a, b), rules.short * (shape.right - shape.left))
    if (_differs(a, b, short, rules) and (short or not _runs_on(a, b))) or (short and _SUBSECTION.match(b.text)):
        return True
    if _ENTRY.match(b.text) and b.x0 < a.x0 - rules.outdent:
        return True
    if _wraps(a, b, shape, rules):
        return False
    if shape.hanging:
        outdented = a.x0 - b.x0 > rules.outdent or _END.search(a.text) is not None
        return abs(b.x0 - shape.left) < rules.edge and outdented
    if _ENTRY.match(a.text) and b.x0 > a.x0 + rules.outdent:
        return False
    return _is_indented(a, b, shape, short, rules)


def _size(a: Line, b: Line) -> float:
    return max(a.size, b.size, 1.0)


def _is_far(a: Line, b: Line, shape: _Shape, rules: Paragraphs) -> bool:
    """Return whether ``b`` stands further below ``a`` than the next line of a group does."""
    step, size, pitch = b.middle - a.middle, _size(a, b), shape.pitches.get(a.size)
    widest = max(rules.wide_step * pitch, rules.tight * size) if pitch else max(rules.loose, shape.spacing) * size
    if step > widest:
        return True
    brief = a.x1 < shape.right - rules.brief * (shape.right - shape.left)
    return _stacked(a, b, rules) and step > (rules.stacked_brief if brief else max(rules.stacked, shape.spacing)) * size


def _is_indented(a: Line, b: Line, shape: _Shape, short: bool, rules: Paragraphs) -> bool:
    """Return whether ``b`` begins a paragraph by its indent, or because ``a`` ends a sentence and is not full."""
    size, left = _size(a, b), shape.left
    if len(a.runs[0].text) == 1 and a.text[:1].isupper() and [run.style for run in a.runs[:2]] == [a.style] * 2:
        return False  # the second line beside a drop capital
    indent = b.x0 - max(left, min(a.x0, b.x0))
    if rules.indent * size < indent < rules.most_first * size and abs(a.x0 - left) < rules.moved * size:
        return True
    return short and bool(_END.search(a.text)) and not b.text[:1].islower() and b.x0 <= left + rules.margin * size


def _is_labelled(line: Line) -> bool:
    """Return whether a line begins with a label and a colon in another type, as an item of a list of terms does."""
    first = line.runs[0].style
    label = _TERM.match(line.text)
    return label is not None and first != line.style


def _is_led(a: Line, b: Line) -> bool:
    """Return whether a line begins with a bold heading that ends in a stop, below one that is not bold at its end."""
    lead = "".join(run.text for run in takewhile(lambda run: run.style.bold or not run.text.strip(), b.runs)).strip()
    rest = len(b.text) > len(lead) > 1 and not b.style.bold
    return rest and lead[:1].isupper() and lead[-1:] in ".:" and not a.runs[-1].style.bold


def _wraps(a: Line, b: Line, shape: _Shape, rules: Paragraphs) -> bool:
    """Return whether ``b`` is the second line of a heading: it hangs below a number, or both lines are centred, in a
    rare type."""
    if a.style != b.style or min(a.share, b.share) < rules.whole or a.style == shape.style or _END.search(a.text):
        return False
    smaller = a.style.size < shape.style.size and not same_size(a.style.size, shape.style.size)
    if smaller or a.x1 - a.x0 < rules.half * (shape.right - shape.left):
        return False
    beside = rules.least_indent < b.x0 - a.x0 < rules.number_width * a.size
    hangs = beside and bool(_NUMBERED.match(a.text))
    centre = (shape.left + shape.right) / 2
    centred = all(abs((line.x0 + line.x1) / 2 - centre) < rules.off_centre * line.size for line in (a, b))
    return hangs or (centred and b.x0 > a.x0 + rules.least_indent)


def _is_bit_of_equation(line: Line, shape: _Shape, rules: Paragraphs) -> bool:
    """Return whether a line is a number or a denominator of a displayed equation: short, without a word, away from the
    left edge."""
    apart = line.x0 > shape.left + rules.away * line.size
    return apart and len(line.text) < rules.bit and not _WORD.search(line.text)


def _is_centred_title(a: Line, b: Line, shape: _Shape, rules: Paragraphs) -> bool:
    """Return whether ``a`` is a centred line or one in capitals above a paragraph that begins at the left edge."""
    before, after = a.x0 - shape.left, shape.right - a.x1
    centred = before > rules.centred * a.size and abs(before - after) < rules.lopsided * a.size
    upper = a.text.isupper() and not b.text.isupper()
    capitals = upper and len(a.text) >= rules.least_title and after > rules.away * a.size
    full = b.x1 > shape.right - rules.fills * b.size or (
        b.style == shape.style != a.style and bool(_NUMBERED.match(a.text))
    )
    at_edge = b.x0 < shape.left + rules.centred * b.size and full
    return (centred or capitals) and at_edge and not _END.search(a.text)


def _spacing(lines: Sequence[Line], rules: Paragraphs) -> float:
    """Return a little more than the usual distance of the column's lines, relative to their size: 1.4 for single and
    2.3 for double spacing."""
    steps = [(b.middle - a.middle) / a.size for a, b in pairwise(lines) if a.size and same_size(a.size, b.size)]
    near = [step for step in steps if rules.least_step < step < rules.most_spacing]
    return rules.looser * median(near) if len(near) >= rules.least_spaced else 1.0


def _usual_style(lines: Sequence[Line]) -> Style:
    styles: Counter[Style] = Counter()
    for line in lines:
        styles[line.style] += len(line.text)
    return styles.most_common(1)[0][0]


def _stacked(a: Line, b: Line, rules: Paragraphs) -> bool:
    """Return whether both lines are completely in one bold or italic type, as two headings in a row are."""
    return min(a.share, b.share) > rules.whole and a.style == b.style and (a.style.bold or a.style.italic)


def _runs_on(a: Line, b: Line) -> bool:
    """Return whether ``b`` begins in the type in which ``a``, a full line, ends: a run-in heading."""
    last, first = a.runs[-1].style, b.runs[0].style
    same = (last.font, last.bold, last.italic) == (first.font, first.bold, first.italic)
    return same and same_size(last.size, first.size)


def _differs(a: Line, b: Line, short: bool, rules: Paragraphs) -> bool:
    """Return whether a new typography begins: size, weight or (for lines set in one font) the font."""
    if min(len(a.text), len(b.text)) < rules.least_text or max(a.math, b.math) > rules.mathematical:
        return abs(a.size - b.size) > rules.other_size
    if not same_size(a.size, b.size):
        return True
    other_font = a.style.font != b.style.font
    if (short and a.share > rules.pure and other_font) or (a.style.bold != b.style.bold and a.share > rules.whole):
        return True
    return min(a.share, b.share) > rules.whole and other_font
