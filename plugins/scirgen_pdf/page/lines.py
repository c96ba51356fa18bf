"""Lines of a PDF page with their typography, made from a reader's spans. Other modules interpret the lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby
from typing import Annotated, Final, NamedTuple

from scirgen.plugin import Box
from scirgen_pdf.page.characters import begins_with_accent, composed, ends_in_accent
from scirgen_pdf.reading.page import Span, TextLine
from scirgen_pdf.units import Chars, Count, Ems, Points, Share, Times

LIGATURES: Final = str.maketrans({
    "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "ft", "ﬆ": "st", "\u00a0": " ", "\u2010": "-",
    "\u2011": "-",
})  # fmt: skip
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u2028-\u202f\u2060\ufeff\ufffe\uffff\ud800-\udfff\ue000-\uf8ff]"
)
UNKNOWN: Final = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\ue000-\uf8ff\ufffd]")
"""Signs that a PDF does not name."""
_BEFORE_A_NUMBER = frozenset("0123456789^ (=<>~≈≤≥±×,;–-")
_EXPONENT = re.compile(r"[−–‒+-]?(?:\ufffd|\d)|[−–‒-]$")
_BOLD = re.compile(
    r"bold|black|heavy|semibold|demi|[-.,]b(?:d|i|o)?$|cmbx|cmssbx|-bx|medi$|\.b(?:i)?$|sfbx|nimbus\w*-medi", re.I
)
_ITALIC = re.compile(r"ital|obliq|[-.](?:it|i|bi|ri)$|cmti|cmmi|slant|sfti", re.I)
_MATH = re.compile(r"cmmi|cmsy|cmex|msam|msbm|math|symbol|mtsy|mtmi|mtex|rmtmi|stix.*math|eufm|mt-?extra|mth", re.I)
_SUBSETTED = re.compile(r"ff|fi|fl|ffi|ffl|[–—−\-°′’“”\d.,]{1,3}")
_CITATION = re.compile(r"^[\s\d,;–—\-−]*\d[\s\d,;–—\-−]*$")
_BLACKEST: Final = 0x30  # printers' black in a PDF's colours is #231f20
_IN_ONE_ROW: Final = 0.5  # of the lower piece
_NEXT_SIZE: Final = 0.6  # points
_IN_CAPITALS: Final = 0.97  # of a line's characters; the rest are marks
_SMALLEST_CAPITALS, _LARGEST_CAPITALS = 0.65, 0.9  # sizes of small capitals, in full ones
_SPACED = re.compile(r"[^\W\d_](?: [^\W\d_]){4,}(?: {2,}[^\W\d_](?: [^\W\d_])+)*")  # "A B S T R A C T"
_SPACE_WITHIN = re.compile(r"(?<! ) (?! )")
_CITED = re.compile(
    r"(?:[a-zà-ÿ]{4}|\b[A-Z]{2,}s|\b(?!RMSE|NRMSE)[A-Z]{4,}|[.,;:)\]”\"’']|\b(?:19\d\d|20[0-3]\d)|\d\.\d+\.\d+)\s*$"
)
"""Text behind which a raised number cites: a word, the plural of an acronym, a sign, a year, or a program's version."""
_MARK = re.compile(r"[\s\d,;–—−-]+")
_SEVERAL_CITED = re.compile(r"\s*\d{1,3}(?:\s*[,;–—−-]\s*\d{1,3})*\s*[,;]?\s*")
_WORD_END = re.compile(r"[^\W\d_]{2}\s*$")
_SOFT_HYPHEN = re.compile(r"\u00ad+(?=[^\s\u00ad])")
"""A soft hyphen inside a line: no word is broken there."""


@dataclass(frozen=True)
class Lines:
    """Rules of the pass that makes lines of spans."""

    # Pieces of a line
    apart: Annotated[Ems, "the widest gap within a line; a gutter is wider"] = 1.15
    blank: Annotated[Ems, "the narrowest gap that is a blank"] = 0.12
    overlap: Annotated[Ems, "the most by which a piece begins before the end of the last one"] = 0.3
    back: Annotated[Ems, "the same for an index below an exponent, for which the file goes back"] = 2.5
    script: Annotated[Times, "the size of an index or exponent in that of its line, at most"] = 0.8
    smaller: Annotated[Times, "the size of raised or numbering text in that of its line, at most"] = 0.85
    power: Annotated[Times, "the size of a power in that of its base, at most"] = 0.9
    rise: Annotated[Ems, "how far above the base line raised text begins, at least"] = 0.15
    digits: Annotated[Chars, "of a manuscript's line number"] = 4
    touching: Annotated[Ems, "the gap between the pieces of one raised mark"] = 0.5
    cited: Annotated[Count, "digits of a raised mark that also cites behind a short word"] = 2
    sideways: Annotated[Share, "the rise of a base line that is not level"] = 0.1
    # Indices that stand in lines of their own
    index: Annotated[Chars, "of an index or exponent in a line of its own"] = 6
    index_in: Annotated[Chars, "of the line that it belongs to, at least"] = 20
    index_gap: Annotated[Ems, "how far behind its line it may end"] = 0.8
    index_overlap: Annotated[Share, "of its height: what it shares with its line"] = 0.25
    index_before: Annotated[Points, "it stands before what begins further right"] = 0.5
    # Drop capitals
    beside_capital: Annotated[Times, "the size of the lines beside a drop capital in its own, at most"] = 0.6
    capital_gap: Annotated[Ems, "of the capital: the widest gap to the lines beside it"] = 0.6
    capital_overlap: Annotated[Points, "the most by which these begin before its end"] = 2
    above_capital: Annotated[Ems, "of the capital: how far above it these may stand"] = 0.3
    lines_beside: Annotated[Count, "lines beside a drop capital; beside one there is a heading's letter"] = 2


_RULES = Lines()


class Style(NamedTuple):
    """The typography that distinguishes headings from body text. ``size`` in half points."""

    font: str
    size: float
    bold: bool
    italic: bool
    colour: int = 0


@dataclass(slots=True)
class Run:
    """A piece of a line in one style."""

    text: str
    style: Style
    raised: bool = False
    x0: float = 0.0


@dataclass(slots=True)
class Line:
    """A printed line, or a piece of one between wide gaps."""

    page: int
    box: Box
    runs: list[Run]
    block: int
    text: str = ""
    style: Style = field(default_factory=lambda: Style("", 0, False, False))
    share: float = 1.0
    math: float = 0.0
    cells: int = 1

    x0: float = field(init=False)
    y0: float = field(init=False)
    x1: float = field(init=False)
    y1: float = field(init=False)
    middle: float = field(init=False)  # the vertical one

    def __post_init__(self) -> None:
        self.x0, self.y0, self.x1, self.y1 = self.box
        self.middle = (self.y0 + self.y1) / 2

    @property
    def size(self) -> float:
        """The size of most of its characters, in points."""
        return self.style.size

    def cut(self, length: int) -> tuple[Line, Line]:
        """Return the line cut after ``length`` characters of its text; its place on the page is an estimate."""
        at = self.x0 + (self.x1 - self.x0) * length / max(1, len(self.text))
        halves: tuple[list[Run], list[Run]] = ([], [])
        left, blank = length, True
        for run in self.runs:
            place = 0
            for character in run.text:
                if left <= 0:
                    break
                left -= 0 if blank and character.isspace() else 1  # the line's text has single blanks
                blank = character.isspace()
                place += 1
            for half, text in zip(halves, (run.text[:place], run.text[place:]), strict=True):
                if text:
                    half.append(Run(text, run.style, run.raised))
        boxes = ((self.x0, self.y0, round(at, 2), self.y1), (round(at, 2), self.y0, self.x1, self.y1))
        first_line, second_line = (
            Line(self.page, box, runs, self.block).settle() for box, runs in zip(boxes, halves, strict=True)
        )
        return first_line, second_line

    def settle(self) -> Line:
        """Derive text and typography from the runs."""
        self.text = re.sub(r"\s+", " ", "".join(r.text for r in self.runs)).strip()
        weights: Counter[Style] = Counter()
        math = total = 0
        for run in self.runs:
            n = printed(run.text)
            total += n
            math += n if is_math(run.style.font) else 0
            if not run.raised:
                weights[run.style] += n
        if weights:
            self.style, most = weights.most_common(1)[0]
            self.share = most / max(1, sum(weights.values()))
        elif self.runs:
            self.style = self.runs[0].style
        self.math = math / max(1, total)
        self._open_small_capitals(weights)
        return self

    def _open_small_capitals(self, weights: Counter[Style]) -> None:
        """Small capitals count as the size of their full capitals: "I. INTRODUCTION" in 10 and 8 points is 10."""
        if len(weights) < 2 or self.share > _IN_CAPITALS or not self.text.isupper():
            return
        same = [
            s for s in weights if (s.font, s.bold, s.italic) == (self.style.font, self.style.bold, self.style.italic)
        ]
        largest = max(same, key=lambda s: s.size)
        if _SMALLEST_CAPITALS * largest.size <= self.style.size < _LARGEST_CAPITALS * largest.size:
            self.style, self.share = largest, sum(weights[s] for s in same) / max(1, sum(weights.values()))
            for run in self.runs:
                run.style = largest if run.style in same else run.style


def page_lines(raw: Iterable[TextLine], page: int, rules: Lines = _RULES) -> list[Line]:
    """Return the lines of one page (1-based number) from a reader's; only upright text."""
    found: list[Line] = []
    for number, block in groupby(raw, key=lambda line: line.block):
        found += _stitched([line for one in block if (line := _line(one, page, number, rules)) is not None], rules)
    printed_ones = [line.settle() for line in found if any(r.text.strip() for r in line.runs)]
    return _with_drop_capitals(_with_scripts_inside(printed_ones, rules), rules)


def _with_drop_capitals(lines: list[Line], rules: Lines) -> list[Line]:
    """Return the lines, with each drop capital put before the line that it begins, which is beside its top."""
    capitals = [line for line in lines if len(line.text) == 1 and line.text.isupper()]
    for capital in capitals:
        beside = [
            line
            for line in lines
            if line.size < rules.beside_capital * capital.size
            and -rules.capital_overlap < line.x0 - capital.x1 < rules.capital_gap * capital.size
            and capital.y0 - rules.above_capital * capital.size < line.middle < capital.y1
        ]
        if len(beside) >= rules.lines_beside:
            first = min(beside, key=lambda line: line.middle)
            glue = "" if first.text[:1].islower() or first.text[1:2].isupper() or first.text[1:2] == " " else " "
            letter = Run(capital.text + glue, first.runs[0].style, x0=capital.x0)
            place = lines.index(first)
            box = (capital.x0, first.y0, first.x1, first.y1)
            lines[place] = Line(first.page, box, [letter, *first.runs], first.block).settle()
            lines = [line for line in lines if line is not capital]
    return lines


def _with_scripts_inside(lines: list[Line], rules: Lines) -> list[Line]:
    """Return the lines, with separate indices and exponents ("3" of CO3) put back into their lines."""
    small = [line for line in lines if len(line.text) <= rules.index and " " not in line.text]
    if not small:
        return lines
    inside: set[int] = set()
    for piece in small:
        for line in lines:
            if (
                line.y1 < piece.y0
                or line.y0 > piece.y1
                or line is piece
                or id(line) in inside
                or not _holds(line, piece, rules)
            ):
                continue
            at = next((i for i, run in enumerate(line.runs) if run.x0 > piece.x0 + rules.index_before), len(line.runs))
            line.runs[at:at] = [replace(run, raised=True) for run in piece.runs]
            line.settle()
            inside.add(id(piece))
            break
    return [line for line in lines if id(line) not in inside]


def _holds(line: Line, piece: Line, rules: Lines) -> bool:
    """Return whether a piece is an index or exponent within a line: smaller, between its ends, and overlapping it in
    height."""
    if piece.size > rules.script * line.size or len(line.text) < rules.index_in or line.page != piece.page:
        return False
    overlap = min(line.y1, piece.y1) - max(line.y0, piece.y0)
    inside = line.x0 < piece.x0 and piece.x1 < line.x1 + rules.index_gap * line.size
    return inside and overlap > rules.index_overlap * (piece.y1 - piece.y0)


def _line(raw: TextLine, page: int, block: int, rules: Lines) -> Line | None:
    if abs(raw.direction[1]) > rules.sideways or raw.direction[0] < 0:
        return None
    spans = [s for s in raw.spans if s.text]
    if not any(s.text.strip() for s in spans):
        return None
    runs = _runs(spans, rules)
    _drop_unknown(runs)
    if _SPACED.fullmatch("".join(run.text for run in runs).strip()):
        for run in runs:
            run.text = _SPACE_WITHIN.sub("", run.text)
    _, y0, _, y1 = raw.box
    solid = [s.box for s in spans if s.text.strip()]
    left, right = min(b[0] for b in solid), max(b[2] for b in solid)
    box = (round(left, 2), round(y0, 2), round(right, 2), round(y1, 2))
    return Line(page, box, runs, block) if runs else None


def _runs(spans: Sequence[Span], rules: Lines) -> list[Run]:
    """Return the pieces of a line's text with accents composed, exponents marked and raised citations left out."""
    solid = [s for s in spans if s.text.strip()]
    full, base = max(s.size for s in solid), max(solid, key=lambda s: len(s.text.strip()))
    runs: list[Run] = []
    for span in _whole_marks(spans, base, full, rules):
        text = span.text
        if not (text.isascii() and text.isprintable()):
            text = _INVISIBLE.sub("", UNKNOWN.sub("\ufffd", _SOFT_HYPHEN.sub("", text.translate(LIGATURES))))
        if not text:
            continue
        raised = _raised(span, base, full, rules)
        if runs and not raised and (ends_in_accent(runs[-1].text) or begins_with_accent(text)):
            runs[-1].text = composed(runs[-1].text + text)
            continue
        waits = ends_in_accent(text)  # its letter may begin the next span
        text = composed(text.rstrip()[:-1]) + text.rstrip()[-1] if waits else composed(text)
        if raised and _is_citation(text, runs[-1].text if runs else "", rules):
            continue
        if raised and runs and _is_exponent(text, span.size, runs[-1], rules):
            text = f"^{text}"
        runs.append(Run(text, _run_style(span, text, runs), raised, span.box[0]))
    if runs and ends_in_accent(runs[-1].text):
        runs[-1].text = composed(runs[-1].text)
    return runs


def _whole_marks(spans: Sequence[Span], base: Span, full: float, rules: Lines) -> list[Span]:
    """Return the spans, with the pieces of one raised mark joined: publishers set "18", "–", "21" of a citation
    apart."""
    joined: list[Span] = []
    for span in spans:
        last = joined[-1] if joined else None
        one_mark = last is not None and _is_one_mark(last, span, rules)
        if last is not None and one_mark and all(_raised(s, base, full, rules) for s in (last, span)):
            box = (*last.box[:2], *span.box[2:])
            joined[-1] = replace(last, text=last.text + span.text, box=box)
        else:
            joined.append(span)
    return joined


def _is_one_mark(left: Span, right: Span, rules: Lines) -> bool:
    """Return whether two spans of numbers, commas and dashes touch on one base line, so that they are one mark."""
    near = abs(right.box[0] - left.box[2]) < rules.touching * left.size and left.base[1] == right.base[1]
    return near and all(_MARK.fullmatch(span.text) for span in (left, right))


def _is_citation(text: str, before: str, rules: Lines) -> bool:
    """Return whether raised text is a citation, not an exponent: numbers without a minus behind a word or sign; several
    numbers, or one of two digits, also behind a short word or an acronym."""
    if not _CITATION.match(text) or text.lstrip()[:1] in "–—−-":
        return False
    several = _SEVERAL_CITED.fullmatch(text) and len(re.findall(r"\d", text)) >= rules.cited
    return bool(_CITED.search(before) or (several and _WORD_END.search(before)))


def _is_exponent(text: str, size: float, base: Run, rules: Lines) -> bool:
    """Return whether raised text is the power of the number before it, as in 10 to the -8th; a small number before it
    is an index."""
    return base.text[-1:].isdigit() and size < rules.power * base.style.size and bool(_EXPONENT.match(text))


def _drop_unknown(runs: Sequence[Run]) -> None:
    """Leave out signs that the PDF does not name, but keep a mark for one before a digit: it may be a minus or a
    point."""
    for index, run in enumerate(runs):
        if "\ufffd" not in run.text:
            continue
        before = "".join(r.text for r in runs[:index])
        after = "".join(r.text for r in runs[index + 1 :])
        length = len(before)
        whole = before + run.text + after
        run.text = "".join(
            c
            for i, c in enumerate(run.text, length)
            if c != "\ufffd" or (i and whole[i - 1] in _BEFORE_A_NUMBER and whole[i + 1 : i + 2].isdigit())
        )


def _run_style(span: Span, text: str, runs: Sequence[Run]) -> Style:
    """Return the span's typography; a ligature or a dash that a font subset of its own provides takes that of the text
    before it."""
    style = _style(span)
    if not _SUBSETTED.fullmatch(text.strip()) or is_math(style.font):
        return style
    for run in reversed(runs[-2:]):
        if not run.raised and same_size(run.style.size, style.size):
            return run.style
    return style


def _raised(span: Span, base: Span, full: float, rules: Lines) -> bool:
    if span is base or not span.text.strip():
        return False
    small = span.size < rules.smaller * full
    if span.raised and small:
        return True
    return bool(small and span.base[1] < base.base[1] - rules.rise * full)


def _style(span: Span) -> Style:
    return _made_style(span.font, span.size, span.bold, span.italic, span.colour)


@lru_cache(maxsize=4096)
def _made_style(font: str, size: float, bold: bool, italic: bool, colour: int) -> Style:
    font = font.split("+")[-1]
    colour = colour if max(colour.to_bytes(4, "big")) > _BLACKEST else 0
    bold, italic = bold or bool(_BOLD.search(font)), italic or bool(_ITALIC.search(font))
    return Style(font, round(size * 2) / 2, bold, italic, colour)


@lru_cache(maxsize=1024)
def is_math(font: str) -> bool:
    """Return whether a font is one for formulas, by its name."""
    return bool(_MATH.search(font))


def printed(text: str) -> int:
    """Return the number of characters that are not white space."""
    return len("".join(text.split()))


def same_size(a: float, b: float) -> bool:
    """Return whether two sizes of type differ by no more than the half point to which sizes are rounded."""
    return abs(a - b) < _NEXT_SIZE


def _stitched(lines: Sequence[Line], rules: Lines) -> list[Line]:
    """Join pieces of a justified line that the reader cut at wide word gaps. Column gutters are wider than that."""
    joined: list[Line] = []
    for line in lines:
        last = joined[-1] if joined else None
        if last is not None and same_row(last, line):
            gap = line.x0 - last.x1
            size = max(r.style.size for r in line.runs)
            if _is_line_number(last, line, rules) or _is_line_number(line, last, rules):
                joined.append(line)
                continue
            # An index below an exponent: the file goes back and begins a line.
            script = line.runs[0].style.size < rules.script * size
            if -(rules.back if script else rules.overlap) * size < gap < rules.apart * size:
                joined[-1] = join(last, line, " " if gap > rules.blank * size else "")
                continue
        joined.append(line)
    return joined


def _is_line_number(number: Line, text: Line, rules: Lines) -> bool:
    """Return whether a piece may be a manuscript's line number: digits only, in smaller or other type than the text
    beside it."""
    digits = "".join(r.text for r in number.runs).strip()
    a, b = number.runs[0].style, text.runs[0].style
    return digits.isdigit() and len(digits) <= rules.digits and (a.size < rules.smaller * b.size or a.font != b.font)


def join(left: Line, right: Line, glue: str = " ") -> Line:
    """Join two pieces of a row into one line."""
    box = (left.x0, min(left.y0, right.y0), right.x1, max(left.y1, right.y1))
    runs = [*left.runs]
    if glue and runs and not runs[-1].text.endswith(" "):
        runs[-1] = replace(runs[-1], text=runs[-1].text + glue)
    return Line(left.page, box, runs + right.runs, left.block).settle()


def same_row(a: Line, b: Line) -> bool:
    """Return whether two pieces are in the same row: they overlap by half of the lower one."""
    overlap = min(a.y1, b.y1) - max(a.y0, b.y0)
    return overlap > _IN_ONE_ROW * min(a.y1 - a.y0, b.y1 - b.y0)
