"""Reads the authors' names from the lines below the title.

Names are found by their typography: cells of a row in the first names' type, with raised marks as separators. The text
of the paper is not changed. `frontmatter` reads the rest of the front matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, islice, pairwise, takewhile
from typing import Annotated, Final

from scirgen_pdf.page.characters import begins_with_accent, composed
from scirgen_pdf.page.lines import Lines
from scirgen_pdf.reading.page import Span, TextLine
from scirgen_pdf.units import Chars, Count, Ems, Points, Times

_PARTICLE = r"(?:van|von|der|den|de|da|do|dos|das|del|della|di|du|la|le|ten|ter|zu|bin|ibn|al|el|y|e)"
_WORD = r"(?:(?:d|l|al|el|O)['’-])?[^\W\d_a-z][^\W\d_]*(?:[.'’-]+[^\W\d_]+)*[.'’-]*"
_NAME = re.compile(rf"(?:{_PARTICLE}\s+)*{_WORD}(?:\s+(?:{_PARTICLE}|{_WORD})){{1,5}}")
_INITIALS = re.compile(r"(?:[^\W\d_a-z]\.[\s-]?){1,4}")
_INITIAL = re.compile(r"\b[^\W\d_a-z]\.")
_SEPARATOR = re.compile(r"[,;&|·•\x00\x01]|(?<![^\s,;&\x00])(?:and|AND|und|et|e|y)(?=\s)")
_MARKS = re.compile(
    r"[\d*∗⁎†‡§¶#✉\u2070-\u209f\ue000-\uf8ff]+|\b\d{4}-\d{4}-\d{4}-\d{3}[\dX]\b|\([^()]{1,60}\)|<[^<>]*>"
)
_MARK = re.compile(r"(?:[\d*∗⁎†‡§¶#✉,\s]|ID|iD|\b[a-z]\b)+")
_DEGREE = re.compile(
    r"(?i)(?:ph\.?\s?d|m\.?\s?d|m\.?sc|b\.?sc|m\.?p\.?h|m\.?a|m\.?s|b\.?a|dr|prof|jr|rn|mba|dphil|d\.?sc|sc\.?d"
    r"|(?:senior |student )?(?:member|fellow)|ieee|asce|asme|acm|others)\.?"
)
_NO_NAME = re.compile(
    r"(?i)@|\b(?:\w*universi\w+|institut\w*|dep(?:artmen)?t|depart\w+|dipartimento|dpto|\w*hochschule|faculty|school|cent(?:re|er)|laborator\w+|college"
    r"|academy|hospital|ministry|agency|society|corporation|research|sciences?|article|open|access|paper|report|review"
    r"|team|group|clinic|association|foundation|mathematics|statistics|updated|revised|modified|inc|ltd|box|gmbh|llc|labs?|blvd|systems|letter|table|fig(?:ure)?|contents|issue|volume|journal|version|editor|edited|received|accepted|published"
    r"|correspond\w*|subject|abstract|summary|copyright|keywords?|key|points|supplement\w*|states|street|road|data|introduction"
    r"|information|number|board|project|the|of|for|in|on)\b"
)
_ADDRESS = re.compile(r"\S*@|https?://|\bwww\.")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_DATE = re.compile(r"[\s,;(]*(?:\b[a-z]+ )?(?:\d\d?[ ./-]+)?(?:[A-Z][a-z]{2,8}[ .,-]+)?(?:\d\d?, *)?(?:19|20)\d\d\b")
_BY = re.compile(r"^\W*(?:[Bb]y|[Pp]ar|[Pp]or|[Vv]on|(?i:authors?:))\s+(?=[^\W\d_a-z])")
_ORDER = re.compile(r",\s*(?:[^\W\d_a-z]\.){2}(?![\w.])")  # behind a name: "S.J."
_AFTER_NAME = re.compile(r"\s*(?:,|\(|\s[–—−-]\s)\s*")  # before an affiliation in the same row
_SECTION = re.compile(r"\d\.\d")
_GLUED = re.compile(r"(?<=\b[^\W\d_a-z]\.)(?=[^\W\d_a-z][^\W\d_A-Z])")  # between an initial and a name
_LOOSE = re.compile(rf"(?<=[À-ɏ]) (?!{_PARTICLE}\b)(?=[a-z])")  # a blank that an accent leaves in a word
_HALF = re.compile(r"(?:and|und|&)\x01|\x01(?=(?:and|und|&)\b)")  # a wide blank beside a separator
_PRINTED = re.compile(r"[^\s—–-]")


@dataclass(frozen=True)
class Authors:
    """Limits of the reader of authors."""

    lowest: Annotated[Points, "from the title to the last names, where no abstract is below them"] = 330
    above: Annotated[Ems, "how far names may begin above the title's end"] = 0.3
    smaller: Annotated[Times, "the names' size in the title's"] = 0.97
    as_large: Annotated[Times, "likewise, in another font"] = 1.03
    first: Annotated[Count, "texts in one type before the names: a date, the kind of the article"] = 2
    double_spaced: Annotated[Times, "from a row of a list to the next, in heights"] = 2.4
    in_row: Annotated[Times, "between base lines of a row's cells, in heights"] = 0.4
    beside: Annotated[Times, "between the cells of a row, in heights"] = 3.5
    rise: Annotated[Ems, "between base lines of a row's spans"] = 0.25
    raised: Annotated[Ems, "from a row's base line up to that of a mark"] = 0.65
    mark: Annotated[Times, "a raised mark's size in the row's"] = 0.85
    small: Annotated[Times, "a mark's size in its cell's"] = 0.88
    lifted: Annotated[Ems, "from a cell's base line up to that of a mark"] = 0.1
    accent: Annotated[Ems, "from the letter's left edge to that of its accent"] = 0.3
    step: Annotated[Times, "between base lines of two rows, in heights"] = 0.5
    level: Annotated[Points, "between rows of columns that are one"] = 4
    cut: Annotated[Ems, "a gap between cells"] = 2
    blank: Annotated[Ems, "between words"] = 0.12
    wide_blank: Annotated[Ems, "between names"] = 0.9
    most: Annotated[Count, "spans of the names; a paper of a large collaboration has a thousand"] = 2000
    longest: Annotated[Chars, "a name"] = 60
    surname: Annotated[Chars, "the last word of a name that ends a row, at least"] = 3
    before: Annotated[Count, "the spans before a gap whose size counts"] = 3


_RULES = Authors()
_SIDEWAYS: Final = Lines().sideways


@dataclass(frozen=True)
class _Cell:
    """A piece of a row between wide gaps. Marks in ``text`` are NUL, wide blanks \\x01."""

    text: str
    style: tuple[str, float]
    box: tuple[float, float, float, float]


def printed_authors(
    lines: Sequence[TextLine], top: float, size: float, bottom: float | None, font: str
) -> tuple[str, ...]:
    """Return the names below a title.

    Args:
        lines: the lines of the title's page.
        top: where the title ends, in points from the top of the page.
        size: the title's type size, in points.
        bottom: where the abstract begins; None if it is not below the title.
        font: the title's; names in another one may be as large.
    """
    lowest = top + _RULES.lowest if bottom is None else bottom
    inside = (s for s in _spans(lines) if top - _RULES.above * size < s.box[1] and s.box[3] < lowest + s.size)
    below = [c for c in _cells(islice(inside, _RULES.most)) if c.box[3] < lowest]
    below = [c for cell in below for c in _without_address(cell)]
    limits = {font: _RULES.smaller * size}
    for style in dict.fromkeys(c.style for c in below if c.style[1] < limits.get(c.style[0], _RULES.as_large * size)):
        parts = _joined([c for c in below if c.style == style])
        found = [_names(_text(part)) or _above_affiliation(part) or _before_affiliation(part) for part in parts]
        start = next((n for n, names in enumerate(found[: _RULES.first]) if names), None)
        if start is not None:
            more = (
                names or _beside(parts[start], part) for part, names in zip(parts[start:], found[start:], strict=True)
            )
            lists = list(takewhile(lambda names: names is not None, more))
            return tuple(dict.fromkeys(_by_rows(parts[start:], [names or [] for names in lists])))
    return ()


def _without_address(cell: _Cell) -> Iterator[_Cell]:
    """Yield a cell that may have names: up to an address or a date, after a year that begins it, and not if it is a
    numbered heading or a year stands in it without a name before it."""
    text = _MARKS.sub("\0", cell.text)
    year = _YEAR.search(cell.text)
    if address := _ADDRESS.search(text):
        before = text[: address.start()]
        if _names(before):
            yield replace(cell, text=before)
    elif _SECTION.match(cell.text):
        return
    elif (date := _DATE.search(cell.text)) and _names(before := cell.text[: date.start()]):
        yield replace(cell, text=before)
    elif not year or _NAME.search(cell.text, 0, year.start()):
        yield cell
    elif not cell.text[: year.start()].strip() and _names(after := cell.text[year.end() :].lstrip(" -–—,:")):
        yield replace(cell, text=after)


def _by_rows(parts: Sequence[Sequence[_Cell]], lists: Sequence[Sequence[str]]) -> list[str]:
    """Return names in the order of the page: by rows where each cell of the columns has one name."""
    columns = [list(zip(part, names, strict=False)) for part, names in zip(parts, lists, strict=False)]
    if len(lists) == 1 or any(len(part) != len(names) for part, names in zip(parts, lists, strict=False)):
        return [name for names in lists for name in names]
    cells = [pair for column in columns for pair in column]
    return [name for _, name in sorted(cells, key=lambda pair: (round(pair[0].box[3] / _RULES.level), pair[0].box[0]))]


def _before_affiliation(part: Sequence[_Cell]) -> list[str] | None:
    """Return the names that open each row, or each entry between semicolons, with an affiliation behind them."""
    rows = [_text(list(row)) for _, row in groupby(part, key=lambda c: round(c.box[3]))]
    whole = " ".join(rows)
    entries = [e for e in (whole.split(";") if ";" in whole else rows) if e.strip()]
    pieces = [_AFTER_NAME.split(" ".join(entry.replace("\0", " ").split()), maxsplit=1) for entry in entries]
    if not pieces or any(len(p) == 1 or len(p[0]) > _RULES.longest for p in pieces):
        return None
    names = [_names(p[0]) for p in pieces]
    if not all(names) or not any(_NO_NAME.search(p[1]) for p in pieces):
        return None
    return [name for found in names for name in found or ()]


def _above_affiliation(part: Sequence[_Cell]) -> list[str] | None:
    """Return the names in the rows above an affiliation in the same type."""
    rows = [list(row) for _, row in groupby(part, key=lambda c: round(c.box[3]))]
    names = [_names(_text(row)) for row in rows]
    last = next((n for n, held in enumerate(names) if held is None), 0)
    if not last or not any(_NO_NAME.search(_text(row)) for row in rows[last:]):
        return None
    return [name for held in names[:last] for name in held or ()]


def _beside(first: Sequence[_Cell], part: Sequence[_Cell]) -> list[str] | None:
    """Return the names in the first row of a column that begins beside the first names."""
    level = [c for c in part if abs(c.box[3] - first[0].box[3]) < _RULES.in_row * c.style[1]]
    return _names(_text(level)) if level else None


def is_list_of_names(text: str) -> bool:
    """Return whether a text is names of persons: several, or one with an initial."""
    found = _names(text) or []
    return len(found) > 1 or any(_INITIAL.search(name) for name in found)


def are_authors(group: Sequence[str]) -> bool:
    """Return whether the lines of a text begin with a name and go on with an affiliation."""
    return bool(_names(group[0])) and any(_NO_NAME.search(line) for line in group[1:])


def _names(text: str) -> list[str] | None:
    """Return the names in a text; None if one of its pieces is no name."""
    text = _GLUED.sub(" ", _MARKS.sub("\0", _BY.sub("", text, count=1)))
    if _NO_NAME.search(text):
        return None
    pieces = [" ".join(p.split()).strip(" .:-–") for p in _SEPARATOR.split(text)]
    found: list[str] = []
    surname = ""
    for piece, printed in ((p, p + ".") for p in pieces if p and not _DEGREE.fullmatch(p)):
        if len(piece) <= _RULES.longest and _NAME.fullmatch(piece) and not _INITIALS.fullmatch(printed):
            found.append(piece)
        elif surname and _INITIALS.fullmatch(printed):
            found.append(f"{printed} {surname}")
        elif found and not surname and _INITIALS.fullmatch(printed):
            continue  # an order's letters
        elif not surname and " " not in piece and re.fullmatch(_WORD, piece):
            surname = piece
            continue
        else:
            return None
        surname = ""
    return None if surname else found


def _joined(cells: Sequence[_Cell]) -> list[list[_Cell]]:
    """Return the cells of each list of names: rows that follow closely."""
    parts: list[list[_Cell]] = []
    for cell in cells:
        last = next((p for p in parts if _follows(p[-1], cell)), None)
        parts.append([cell]) if last is None else last.append(cell)
    return parts


def _text(cells: Sequence[_Cell]) -> str:
    """Return the text of cells; a row ends a name where no separator does."""
    listed = any(_SEPARATOR.search(_ORDER.sub("", c.text).replace("\x01", " ")) for c in cells)
    text = ""
    for last, cell in zip((None, *cells), cells, strict=False):
        whole = last is None or not listed or (_ends_whole(last.text) and _begins_whole(cell.text))
        text += ("" if last is None else "\0" if whole else " ") + cell.text
    return _HALF.sub(" and ", text) if listed else text


def _ends_whole(text: str) -> bool:
    """Return whether a row of a list ends with a whole name, not with its first part."""
    pieces = [piece.strip() for piece in _SEPARATOR.split(_MARKS.sub("", text))]
    last = next((p for p in reversed(pieces) if not _DEGREE.fullmatch(p)), "")
    words = last.split()
    name = len(last) <= _RULES.longest and _NAME.fullmatch(last) is not None
    return name and len(words) > 1 and len(words[-1]) >= _RULES.surname


def _begins_whole(text: str) -> bool:
    return len(_SEPARATOR.split(_MARKS.sub("\0", text))[0].split()) > 1


def _follows(last: _Cell, cell: _Cell) -> bool:
    """Return whether a cell continues another: in its row, or in the row below it and over or under it."""
    height = last.style[1]
    same_row = abs(cell.box[3] - last.box[3]) < _RULES.in_row * height
    below = 0 < cell.box[3] - last.box[3] < _RULES.double_spaced * height
    overlap = min(last.box[2], cell.box[2]) - max(last.box[0], cell.box[0])
    return (same_row and cell.box[0] - last.box[2] < _RULES.beside * height) or (below and overlap > 0)


def _cells(spans: Iterable[Span]) -> list[_Cell]:
    """Return the cells of the spans' rows, from the top."""
    rows: list[list[Span]] = []
    for span in sorted(spans, key=lambda s: -s.size):
        row = next((r for r in rows if _in_row(r[0], span)), None)
        rows.append([span]) if row is None else row.append(span)
    found = [cell for row in rows for cell in _cut(sorted(row, key=_place))]
    found.sort(key=lambda c: c.box[3])
    steps = (b.box[3] - a.box[3] > _RULES.step * min(a.style[1], b.style[1]) for a, b in pairwise(found))
    numbers = accumulate(steps, initial=0)
    return [c for _, c in sorted(zip(numbers, found, strict=False), key=lambda pair: (pair[0], pair[1].box[0]))]


def _place(span: Span) -> float:
    """Return where a span stands in its row; an accent stands before its letter."""
    return span.box[0] - _RULES.accent * span.size * begins_with_accent(span.text)


def _spans(lines: Sequence[TextLine]) -> Iterator[Span]:
    for line in lines:
        if abs(line.direction[1]) < _SIDEWAYS:
            yield from (s for s in line.spans if s.size > 0 and _PRINTED.search(s.text))


def _in_row(base: Span, span: Span) -> bool:
    """Return whether a span stands on the base line of a row, or is a mark raised above it."""
    rise = (base.base[1] - span.base[1]) / base.size
    return -_RULES.rise < rise < (_RULES.raised if span.size < _RULES.mark * base.size else _RULES.rise)


def _cut(row: Sequence[Span]) -> Iterator[_Cell]:
    """Cut a row at wide gaps."""
    piece: list[Span] = []
    for span in row:
        if piece and span.box[0] - piece[-1].box[2] > _RULES.cut * max(s.size for s in piece[-_RULES.before :]):
            yield _cell(piece)
            piece = []
        piece.append(span)
    if piece:
        yield _cell(piece)


def _cell(spans: Sequence[Span]) -> _Cell:
    base = max(spans, key=lambda s: (round(s.size), len(s.text)))
    text, end = "", spans[0].box[0]
    for span in spans:
        small = span.size < _RULES.small * base.size
        raised = small and span.base[1] < base.base[1] - _RULES.lifted * base.size
        gap = (span.box[0] - end) / base.size
        text += "" if gap <= _RULES.blank else " " if gap <= _RULES.wide_blank else "\x01"
        text += "\0" if raised or (small and _MARK.fullmatch(span.text.strip())) else span.text
        end = span.box[2]
    boxes = [s.box for s in spans]
    box = (boxes[0][0], min(b[1] for b in boxes), max(b[2] for b in boxes), base.base[1])
    return _Cell(
        _LOOSE.sub("", composed(" ".join(text.replace("\u202f", " ").split()))),
        (base.font.split("+")[-1], round(base.size * 2) / 2),
        box,
    )
