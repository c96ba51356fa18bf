"""Classifies groups other than headings: captions, tables, figure text, equations, footnotes, references."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise, takewhile
from statistics import median

from scirgen import BlockKind
from scirgen.stages.parse.terms import CAPTION, kind_of_heading, plain
from scirgen_pdf.page.characters import is_right_to_left
from scirgen_pdf.page.lines import Line, Style, printed
from scirgen_pdf.paragraphs import Group

_EQUATION_NUMBER = re.compile(r"\(\s*[A-Z]?\.?\d{1,3}[a-z]?\s*\)$")
_NUMBERED_HEADING = re.compile(r"^\d{1,2}(?:\.\d{1,2}){0,3}\.?\s+[A-ZÀ-Þ][^.=]{2,}$")
_LIST = re.compile(r"^(?:[•·▪◦‣●○■□]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})\)|[–—-])\s+\S")
_FOOTNOTE = re.compile(r"^(?:[*∗†‡§¶#]|\d{1,2}\s*[A-Za-z]|[a-z]\s[A-Z])")
_PUBLISHER = re.compile(
    r"©|\(c\)\s*\d{4}|creative commons|\bcc[- ]by\b|open access|published by|all rights reserved|\bissn\b"
    r"|correspond(?:ing|ence)"
    r"|e-?mail:|@\w+\.\w+|^received|^accepted|^citation:|^editor|^edited by|^reviewed by|^copyright|doi\.org/"
    r"|^available online"
    r"|^autor para correspond|^how to cite|^como citar|^recebido|^recibido|^aceito|orcid",
    re.I,
)
_MONOSPACED = re.compile(
    r"courier|mono|consol|cmtt|cmsltt|cmitt|lmtt|sftt|sfst|ectt|typewriter|menlo|inconsol|nimbusmon|beramono|txtt|pcrr",
    re.I,
)
_ADDRESS = re.compile(r"(?:doi:?\s*|https?://)?\S*(?:10\.\d{4,9}/|www\.|://)\S+")
_CONTENTS = re.compile(r"(?:\. ?){5}")
"""Dots that lead to a page's number, in a table of contents."""
_NAMES_OF_CONTENTS = frozenset(
    ["contents", "table of contents", "inhaltsverzeichnis", "table des matieres", "indice", "sumario", "目录"]
)
_LEAST_ENTRIES, _PROSE = 3, 200
"""Groups of a table of contents, and characters of a group that is none of them."""
_OPEN_END = re.compile(r"[^.!?:;。！？：]$")
_SMALL_LETTER = re.compile(r"[\"“‘'(\[]*[a-zà-ÿ]")
_YEAR = re.compile(r"\b(?:18|19|20)\d\d[a-z]?\b|in press", re.I)
_REFERENCE = re.compile(
    r"^(?:\[?\d{1,3}[\].]?\s+[A-ZÀ-Þ]|[A-ZÀ-Þ][\w'’À-ÿ-]+(?:\s[A-ZÀ-Þ][\w'’-]+)?,?\s+(?:[A-ZÀ-ÞČŠŽ]\.|[A-ZÀ-ÞČŠŽ]{1,3}\b|[A-Z][a-z]+,))"
)


_ITEM_NUMBER = re.compile(r"^[\[(]?\d{1,3}(?:[\].)]|(?=\s+[A-ZÀ-Þ]))")
_PARTICLE = re.compile(r"^(?:(?:van|von|de|der|den|di|da|do|dos|del|la|le|el)\s+){1,2}(?=[A-ZÀ-Þ])")
_INITIALS = re.compile(
    r"^(?:[A-ZÀ-Þ]\.[ -]?){1,3}(?:(?:van|von|de|der|den|da|di|le|la)\s){0,2}[A-ZÀ-Þ][\w'’-]+(?:[,.]|\sand\s)"
)
_CORPORATE = re.compile(r"^[A-ZÀ-Þ][^\d.,:;()]{3,60}\.\s+[A-ZÀ-Þ]")
_DATED = re.compile(r"^[A-ZÀ-Þ][^.:]{1,90}[.,]?\s\(?(?:18|19|20)\d\d[a-z]?\)?[.,)]")
_RECEIVED = re.compile(
    r"(?:received|submitted|accepted|edited by|editor|associate editor|cite this|please cite)\b", re.I
)
_REVIEWS = re.compile(
    r"(?:open peer review|(?:referee|reviewers?['’]?|peer[- ]review(?:er)?) (?:reports?|comments)\b.{0,40}"
    r"|review history|decision letter"
    r"|authors?['’]? response\b.{0,40}|current (?:referee|peer review) status:?)",
    re.I,
)
"""The line above the reviews that open journals print behind the paper."""
_AMENDED = re.compile(r"(?:REVISED\s+)?Amendments from Version \d", re.I)
"""The line above the note on changes that such journals print before a revised paper."""
_MAY_BE_REFERENCE = (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM, BlockKind.OTHER, BlockKind.FOOTNOTE)


def mark_kinds(groups: list[Group], body: Style) -> None:
    """Set the kind of captions, figure and table text, equations, footnotes and list items."""
    _join_contents(groups)
    for group in groups:
        if group.kind is not BlockKind.PARAGRAPH:
            continue
        if _is_caption(group, body):
            group.kind = BlockKind.CAPTION
        elif (
            _is_code(group, body)
            or _CONTENTS.search(group.text)
            or _ADDRESS.fullmatch(group.text)
            or is_right_to_left(group.text)
        ):
            group.kind = BlockKind.OTHER
        elif _is_table_row(group):
            group.kind = BlockKind.TABLE
        elif _is_equation(group):
            group.kind = BlockKind.EQUATION
        elif _is_scattered(group, body):
            group.kind = BlockKind.OTHER
        elif _is_footnote(group, body):
            group.kind = BlockKind.FOOTNOTE
        elif _LIST.match(group.text) and group.style.size >= body.size - 0.6:
            group.kind = BlockKind.LIST_ITEM
    _continue_captions(groups, body)
    _rejoin_captions(groups)
    _mark_tables(groups, body)
    _mark_equation_parts(groups)
    _mark_sidebars(groups, body)


def _join_contents(groups: list[Group]) -> None:
    """Make a table of contents one group of other text: its entries are named as the headings are."""
    start = next((n for n, g in enumerate(groups) if plain(g.text) in _NAMES_OF_CONTENTS), None)
    if start is None:
        return
    below = groups[start + 1 :]
    last = {plain(g.text): n for n, g in enumerate(below)}
    end = 0
    for n, group in enumerate(takewhile(lambda g: len(g.text) < _PROSE or _CONTENTS.search(g.text), below), 1):
        name = plain(group.text)
        if not name or last.get(name, 0) >= n or _CONTENTS.search(group.text):
            end = n
    if end >= _LEAST_ENTRIES:
        listed = groups[start : start + end + 1]
        whole = replace(listed[0], lines=[line for g in listed for line in g.lines], kind=BlockKind.OTHER)
        groups[start : start + end + 1] = [whole.settle()]


def _continue_captions(groups: list[Group], body: Style) -> None:
    """Mark the second part of a caption, in another weight than its first part or after a wide blank."""
    for before, group in pairwise(groups):
        if before.kind is not BlockKind.CAPTION or group.kind not in (BlockKind.PARAGRAPH, BlockKind.OTHER):
            continue
        close = group.page == before.page and group.region == before.region and group.above < 0.9 * before.style.size
        other = group.style.size < body.size - 0.4 or group.style.font != body.font
        if close and other and abs(group.style.size - before.style.size) <= 0.6 and len(group.text) > 25:
            group.kind, group.continued = BlockKind.CAPTION, True


def _rejoin_captions(groups: list[Group]) -> None:
    """Put the rest of a caption, which is in two columns or cut off at the edge of its figure, after its beginning."""
    for caption in [g for g in groups if g.kind is BlockKind.CAPTION]:
        at = groups.index(caption)
        for group in groups[at + 1 : at + 12]:
            if not _OPEN_END.search(caption.text) or group.page != caption.page:
                break
            if group.kind in (BlockKind.PARAGRAPH, BlockKind.OTHER) and _completes(caption, group):
                group.kind, group.continued = BlockKind.CAPTION, True
                groups.remove(group)
                groups.insert(at + 1, group)
                break


def _completes(caption: Group, group: Group) -> bool:
    """Return whether a group beside or right below an unfinished caption continues it: in the caption's type, with a
    small letter."""
    last = caption.lines[-1].style
    same = (group.style.size, group.style.font) == (last.size, last.font)
    top, bottom = caption.lines[0].y0, caption.lines[-1].y1
    near = top - 2 < group.lines[0].y0 < bottom + 0.8 * caption.style.size
    return same and near and bool(_SMALL_LETTER.match(group.text))


def _is_code(group: Group, body: Style) -> bool:
    """Return whether a group is code: mostly monospaced, while the body text is not."""
    runs = [run for line in group.lines for run in line.runs]
    typed = sum(printed(run.text) for run in runs if _is_typewriter(run.style.font))
    return typed > 0 and typed > 0.5 * sum(printed(run.text) for run in runs) and not _is_typewriter(body.font)


def is_program(group: Group) -> bool:
    """Return whether most of a group is in a typewriter font and it holds no address, as a footnote may."""
    return _is_typewriter(group.style.font) and not _ADDRESS.search(group.text)


@lru_cache(maxsize=1024)
def _is_typewriter(font: str) -> bool:
    return bool(_MONOSPACED.search(font))


def _mark_equation_parts(groups: list[Group]) -> None:
    """Separated parts of a displayed equation: short, almost without words, beside an equation or another part of
    it."""
    waiting = {index for index, group in enumerate(groups) if _is_torn(group)}
    while taken := {index for index in waiting if _beside_equation(groups, index)}:
        for index in taken:
            groups[index].kind = BlockKind.EQUATION
        waiting -= taken


def _is_torn(group: Group) -> bool:
    longest = {BlockKind.PARAGRAPH: 70, BlockKind.OTHER: 70, BlockKind.TABLE: 0 if group.in_table else 160}
    if len(group.text) > longest.get(group.kind, 0):
        return False
    return len(re.findall(r"[^\W\d_]{4,}", group.text)) <= 2 and not kind_of_heading(group.text)


def _beside_equation(groups: Sequence[Group], index: int) -> bool:
    ends = (groups[index].lines[0], groups[index].lines[-1])
    for other in groups[max(0, index - 6) : index + 7]:
        if other.kind is BlockKind.EQUATION and other.page == groups[index].page:
            near = (other.lines[0].middle, other.lines[-1].middle)
            if any(abs(line.middle - middle) < 30 for line in ends for middle in near):
                return True
    return False


def _mark_sidebars(groups: list[Group], body: Style) -> None:
    """Mark the narrow column of small type beside the text of the first pages: citation, dates, funding, licence."""
    wide = [_width(g) for g in groups if len(g.text) > 200 and abs(g.style.size - body.size) < 0.6]
    usual = median(wide) if wide else 0.0
    for group in groups:
        narrow = len(group.lines) > 1 and _width(group) < 0.55 * usual
        if group.kind is BlockKind.PARAGRAPH and group.page <= 2 and narrow and group.style.size <= body.size - 0.9:
            group.kind = BlockKind.OTHER


def _width(group: Group) -> float:
    return max(line.x1 for line in group.lines) - min(line.x0 for line in group.lines)


def _is_table_row(group: Group) -> bool:
    # A justified line with a long address has gaps too, but the lines after it have none.
    split = sum(line.cells >= 2 for line in group.lines)
    return group.lines[0].cells >= 3 and 2 * split >= len(group.lines) and max(len(li.text) for li in group.lines) < 60


def _is_caption(group: Group, body: Style) -> bool:
    match = CAPTION.match(group.text)
    if not match:
        return False
    after = match.group("after")
    if re.match(r"\s*[.:|]|\s+[–—-]\s|[—-]\s", after):  # not "Figure 1a–e shows"
        return True
    first = group.lines[0].runs[0].style
    distinct = abs(group.style.size - body.size) >= 0.5 or first.bold != group.style.bold or first.bold
    return distinct or len(group.text) < 25 or (bool(re.match(r"\s+[A-ZÀ-Þ(]", after)) and group.above > body.size)


def _is_equation(group: Group) -> bool:
    text = group.text
    if len(group.lines) > 8:
        return False
    words = re.findall(r"[^\W\d_]{4,}", text)
    math = sum(line.math * len(line.text) for line in group.lines) / max(1, len(text))
    if math > 0.35 and len(words) <= 4:
        return True
    numbered = _EQUATION_NUMBER.search(text) and re.search(r"[=≈≤≥<>∑∫]", text)
    symbols = sum(not (c.isalpha() or c.isspace()) for c in text) > 0.3 * len(text)
    return bool((numbered and (len(words) <= 6)) or ("=" in text and symbols and len(words) <= 3))


def _is_scattered(group: Group, body: Style) -> bool:
    """Return whether a group is an axis label, a table cell or the like: short pieces in another type than the
    body's."""
    text = group.text
    if kind_of_heading(text) or _NUMBERED_HEADING.match(text):
        return False
    small = group.style.size <= body.size - 0.9
    letters = sum(map(str.isalpha, text))
    per_line = median(_printed_width(line.text) for line in group.lines)
    if letters < 0.35 * len(text.replace(" ", "")):
        return len(text) < 400
    return per_line < 22 and (small or (group.style.font != body.font and len(text) < 40 and not text[:1].isupper()))


def _printed_width(text: str) -> int:
    """Return the number of Latin letters that would take as much room."""
    return len(text) if text.isascii() else sum(2 if "\u3000" <= c <= "\u9fff" else 1 for c in text)


def _is_footnote(group: Group, body: Style) -> bool:
    if group.style.size > body.size - 0.9:
        return False
    low, marked = group.lines[0].y0 > 550, _FOOTNOTE.match(group.text)
    return bool((low and marked) or _PUBLISHER.search(group.text[:400]))


def _mark_tables(groups: list[Group], body: Style) -> None:
    """Mark a table: after a table's caption, everything in small type or short pieces, up to the next body
    paragraph."""
    inside = 0
    for index, group in enumerate(groups):
        if group.kind is BlockKind.CAPTION:
            inside = group.page if re.match(r"tab|quadro|cuadro|表", group.text, re.I) else 0
            continue
        if inside != group.page:
            continue
        group.in_table = group.kind is BlockKind.TABLE
        chinese = sum("\u4e00" <= c <= "\u9fff" for c in group.text) > 0.4 * len(group.text)
        prose = abs(group.style.size - body.size) < 0.6 and (group.style.font == body.font or chinese)
        wide = median(line.x1 - line.x0 for line in group.lines) > 0.7 * max(1.0, group.x1 - group.x0)
        below = groups[index + 1].text if index + 1 < len(groups) else ""
        listed = kind_of_heading(group.text) == "references" and _begins_entry(below)  # not a column of a table
        if group.kind is BlockKind.HEADING or listed or (prose and wide and _printed_width(group.text) > 80):
            inside = 0
        elif group.kind in (BlockKind.OTHER, BlockKind.PARAGRAPH, BlockKind.EQUATION) and not kind_of_heading(
            group.text
        ):
            group.kind, group.in_table = BlockKind.TABLE, True


def mark_references(groups: list[Group]) -> list[Group]:
    """Mark the groups from a references heading to the next heading as references, if possible with one group per
    entry.

    Groups after a heading "Keywords" are not prose.
    """
    part = ""
    result: list[Group] = []
    entries: list[Group] = []
    for group in groups:
        if group.kind is BlockKind.HEADING:
            name = kind_of_heading(group.text)
            inside = part == "references" and name == "" and bool(_REFERENCE.match(group.text))
            part = "references" if inside else name
        elif part == "references" and group.kind in _MAY_BE_REFERENCE:
            entries += _entries(group)
            continue
        elif part == "keywords" and group.kind is BlockKind.PARAGRAPH and _OPEN_END.search(group.text):
            group.kind = BlockKind.OTHER
        result += _whole_entries(entries)
        entries = []
        result.append(group)
    return result + _whole_entries(entries)


def mark_reviews(groups: list[Group]) -> None:
    """Mark as other text the reviews behind the references, and the note on a version's changes up to the next
    heading."""
    listed = noted = reviews = False
    for group in groups:
        heading = group.kind is BlockKind.HEADING
        listed = listed or group.kind is BlockKind.REFERENCE
        reviews = reviews or (listed and _REVIEWS.fullmatch(group.text.strip()) is not None)
        noted = _AMENDED.match(group.text) is not None or (noted and not heading)
        if reviews or (noted and group.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM, BlockKind.HEADING)):
            group.kind, group.level = BlockKind.OTHER, None


def _whole_entries(parts: Sequence[Group]) -> list[Group]:
    """Return the references from their pieces, one group per entry, without the publisher's text after the list."""
    if not any(_YEAR.search(part.text) or _ADDRESS.search(part.text) for part in parts):
        return list(parts)  # prose about references
    begins = [bool(_ITEM_NUMBER.match(part.text)) for part in parts]
    numbered = sum(begins) > 0.5 * len(parts)
    if not numbered:
        begins = [_begins_entry(part.text) for part in parts]
    last = max((i for i, new in enumerate(begins) if new), default=len(parts))
    whole: list[Group] = []
    for index, part in enumerate(parts):
        before = whole[-1] if whole and whole[-1].kind is BlockKind.REFERENCE else None
        goes_on = before is not None and (not begins[index] or (not numbered and _is_cut_off(before.text)))
        if (
            is_publishers(part.text[:60])
            or _RECEIVED.match(part.text)
            or (not begins[index] and part.text[:25].isupper())
        ):
            goes_on = False
        if goes_on and before is not None and (index <= last or _OPEN_END.search(before.text)):
            before.lines = [*before.lines, *part.lines]
            continue
        part.kind = BlockKind.REFERENCE if begins[index] or last == len(parts) else BlockKind.OTHER
        whole.append(part)
    return whole


def _begins_entry(text: str) -> bool:
    text = _PARTICLE.sub("", text)
    return any(pattern.match(text) for pattern in (_REFERENCE, _INITIALS, _DATED, _CORPORATE))


def _is_cut_off(entry: str) -> bool:
    """Return whether an entry with authors and year ends before its year, so that it is cut within the authors."""
    return bool(re.search(r"[&,-]$", entry) or (not _YEAR.search(entry) and re.search(r"\b[A-Z]\.$", entry)))


def _entries(group: Group) -> list[Group]:
    """Return the group, cut at lines that begin like an entry after an entry that has its year."""
    parts: list[list[Line]] = [[]]
    for line in group.lines:
        said = " ".join(entry.text for entry in parts[-1])
        whole = _YEAR.search(said) and re.search(r"[.\d/)]$", said)
        if whole and (_DATED.match(line.text) or _REFERENCE.match(_PARTICLE.sub("", line.text))):
            parts.append([])
        parts[-1].append(line)
    return [replace(group, lines=lines) for lines in parts]


def is_publishers(text: str) -> bool:
    """Return whether a first page's text is the publisher's: licence, dates, correspondence."""
    return bool(_PUBLISHER.search(text[:300]))
