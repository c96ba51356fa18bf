"""Classifies groups other than headings: captions, tables, figure text, equations, footnotes, references."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, takewhile
from statistics import median
from typing import Annotated

from scirgen import BlockKind
from scirgen.stages.parse.terms import CAPTION, kind_of_heading, plain
from scirgen_pdf.page.characters import is_right_to_left
from scirgen_pdf.page.lines import Line, Style, printed, same_size
from scirgen_pdf.paragraphs import Group
from scirgen_pdf.units import Chars, Count, Ems, Points, Share

_NUMBERED_HEADING = re.compile(r"^\d{1,2}(?:\.\d{1,2}){0,3}\.?\s+[A-ZÀ-Þ][^.=]{2,}$")
_LIST = re.compile(r"^(?:[•·▪◦‣●○■□]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})\)|[–—-])\s+\S")
_FOOTNOTE = re.compile(r"^(?:[*∗†‡¶#]|§(?! ?\d)|\d{1,2}\s*[A-Za-z]|[a-z]\s[A-Z])")
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
_NAMES_OF_CONTENTS = re.compile(
    "(?:table of )?contents|inhalt(?:sverzeichnis)?|table des matieres|sommaire|indice|contenido|sumario|conteudo"
    "|содержание|оглавление|目录"
)
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
_OPENING = 300  # characters in which a publisher's text names itself
_PIECES = (BlockKind.PARAGRAPH, BlockKind.OTHER)
_OF_TABLE = re.compile(r"tab|quadro|cuadro|表", re.I)
_WORD = re.compile(r"[^\W\d_]{4,}")


@dataclass(frozen=True)
class Kinds:
    """Rules of the pass that tells captions, tables, formulas, notes and list items from paragraphs."""

    # Tables of contents, programs
    entries: Annotated[Count, "groups of a table of contents"] = 3
    no_entry: Annotated[Chars, "of a group that is none of its entries"] = 200
    typed: Annotated[Share, "a program's characters in a typewriter font; prose has names in it"] = 0.5
    # Captions
    brief: Annotated[Chars, "of the second part of a caption, at least"] = 25
    continues: Annotated[Ems, "the widest distance of the second part of a caption"] = 0.9
    rest_within: Annotated[Count, "groups among which the rest of an unfinished caption is sought"] = 11
    beside: Annotated[Points, "how far above the caption's first line its rest may begin"] = 2
    below: Annotated[Ems, "how far below the caption's last line its rest may begin"] = 0.8
    # Tables
    cells: Annotated[Count, "pieces of a row that make a table"] = 3
    cell: Annotated[Chars, "of a piece of a table's row; longer is a justified line"] = 60
    wide: Annotated[Share, "of the column's width: the median line of the prose that ends a table"] = 0.7
    # Formulas
    formula_lines: Annotated[Count, "lines of a formula"] = 8
    math: Annotated[Share, "a formula's characters in fonts for formulas"] = 0.35
    symbols: Annotated[Share, "characters of a formula other than letters"] = 0.3
    math_words: Annotated[Count, "words of a formula in fonts for formulas"] = 4
    formula_words: Annotated[Count, "words of a formula without these"] = 3
    torn: Annotated[Chars, "of a part of a formula that stands apart"] = 70
    torn_row: Annotated[Chars, "the same, if it looks like a table's row"] = 160
    torn_words: Annotated[Count, "words of such a part"] = 2
    near: Annotated[Count, "groups among which its formula is sought"] = 6
    distance: Annotated[Points, "from the middle of its formula"] = 30
    # Text of figures, notes, boxes
    smaller: Annotated[Points, "how much smaller than the body small type is"] = 0.9
    letters: Annotated[Share, "the letters of a group; fewer are an axis"] = 0.35
    no_axis: Annotated[Chars, "of a group that is prose, whatever it holds"] = 400
    label: Annotated[Chars, "of the median line of a figure's labels"] = 22
    short_label: Annotated[Chars, "of a label that is not small"] = 40
    low: Annotated[Points, "from the top of the page: where notes begin"] = 550
    note: Annotated[Chars, "in which a publisher's note names itself"] = 400
    first_pages: Annotated[Count, "pages with boxes beside the text: citation, dates, funding"] = 2
    narrow: Annotated[Share, "of the text's width: the widest such box"] = 0.55
    text: Annotated[Chars, "of a group that shows the text's width"] = 200


@dataclass(frozen=True)
class References:
    """Rules of the pass that marks references and the reviews behind them."""

    numbered: Annotated[Share, "the pieces of a list that begin with a number, if its entries have one"] = 0.5
    opening: Annotated[Chars, "in which an entry shows that it is the publisher's"] = 60
    capitals: Annotated[Chars, "that are capitals in a running head within the list"] = 25


_KINDS, _REFERENCES = Kinds(), References()


def mark_kinds(groups: list[Group], body: Style, rules: Kinds = _KINDS) -> None:
    """Set the kind of captions, figure and table text, equations, footnotes and list items."""
    _join_contents(groups, rules)
    for group in groups:
        if group.kind is BlockKind.PARAGRAPH:
            group.kind = _kind(group, body, rules)
    _continue_captions(groups, body, rules)
    _rejoin_captions(groups, rules)
    _mark_tables(groups, body, rules)
    _mark_equation_parts(groups, rules)
    _mark_sidebars(groups, body, rules)


def _kind(group: Group, body: Style, rules: Kinds) -> BlockKind:
    """Return the kind of a group by itself; the first that fits."""
    if _is_caption(group, body):
        return BlockKind.CAPTION
    if _is_code(group, body, rules) or _CONTENTS.search(group.text) or _ADDRESS.fullmatch(group.text):
        return BlockKind.OTHER
    if is_right_to_left(group.text):
        return BlockKind.OTHER
    if _is_table_row(group, rules):
        return BlockKind.TABLE
    if _is_equation(group, rules):
        return BlockKind.EQUATION
    if _is_scattered(group, body, rules):
        return BlockKind.OTHER
    if _is_footnote(group, body, rules):
        return BlockKind.FOOTNOTE
    return BlockKind.LIST_ITEM if _LIST.match(group.text) else BlockKind.PARAGRAPH


def _is_small(group: Group, body: Style, by: float) -> bool:
    return group.style.size <= body.size - by


def _join_contents(groups: list[Group], rules: Kinds) -> None:
    """Make a table of contents one group of other text: its entries are named as the headings are."""
    start = next((n for n, g in enumerate(groups) if _NAMES_OF_CONTENTS.fullmatch(plain(g.text))), None)
    if start is None:
        return
    below = groups[start + 1 :]
    last = {plain(g.text): n for n, g in enumerate(below)}
    end = 0
    listed_ones = takewhile(lambda g: len(g.text) < rules.no_entry or _CONTENTS.search(g.text), below)
    for n, group in enumerate(listed_ones, 1):
        name = plain(group.text)
        if not name or last.get(name, 0) >= n or _CONTENTS.search(group.text):
            end = n
    if end >= rules.entries:
        listed = groups[start : start + end + 1]
        whole = replace(listed[0], lines=[line for g in listed for line in g.lines], kind=BlockKind.OTHER)
        groups[start : start + end + 1] = [whole.settle()]


def _continue_captions(groups: list[Group], body: Style, rules: Kinds) -> None:
    """Mark the second part of a caption, in another weight than its first part or after a wide blank."""
    for before, group in pairwise(groups):
        if before.kind is not BlockKind.CAPTION or group.kind not in _PIECES:
            continue
        here = (group.page, group.region) == (before.page, before.region)
        close = here and group.above < rules.continues * before.style.size
        other = group.style.size < body.size or group.style.font != body.font
        if close and other and same_size(group.style.size, before.style.size) and len(group.text) > rules.brief:
            group.kind, group.continued = BlockKind.CAPTION, True


def _rejoin_captions(groups: list[Group], rules: Kinds) -> None:
    """Put the rest of a caption, which is in two columns or cut off at the edge of its figure, after its beginning."""
    for caption in [g for g in groups if g.kind is BlockKind.CAPTION]:
        at = groups.index(caption)
        for group in groups[at + 1 : at + 1 + rules.rest_within]:
            if not _OPEN_END.search(caption.text) or group.page != caption.page:
                break
            if group.kind in _PIECES and _completes(caption, group, rules):
                group.kind, group.continued = BlockKind.CAPTION, True
                groups.remove(group)
                groups.insert(at + 1, group)
                break


def _completes(caption: Group, group: Group, rules: Kinds) -> bool:
    """Return whether a group beside or right below an unfinished caption continues it: in the caption's type, with a
    small letter."""
    last = caption.lines[-1].style
    same = (group.style.size, group.style.font) == (last.size, last.font)
    top, bottom = caption.lines[0].y0, caption.lines[-1].y1
    near = top - rules.beside < group.lines[0].y0 < bottom + rules.below * caption.style.size
    return same and near and bool(_SMALL_LETTER.match(group.text))


def _is_code(group: Group, body: Style, rules: Kinds) -> bool:
    """Return whether a group is code: mostly monospaced, while the body text is not."""
    runs = [run for line in group.lines for run in line.runs]
    typed = sum(printed(run.text) for run in runs if _is_typewriter(run.style.font))
    return typed > 0 and typed > rules.typed * sum(printed(run.text) for run in runs) and not _is_typewriter(body.font)


def is_program(group: Group) -> bool:
    """Return whether most of a group is in a typewriter font without an address (footnotes have addresses)."""
    return _is_typewriter(group.style.font) and not _ADDRESS.search(group.text)


@lru_cache(maxsize=1024)
def _is_typewriter(font: str) -> bool:
    return bool(_MONOSPACED.search(font))


def _mark_equation_parts(groups: list[Group], rules: Kinds) -> None:
    """Separated parts of a displayed equation: short, almost without words, beside an equation or another part of
    it."""
    waiting = {index for index, group in enumerate(groups) if _is_torn(group, rules)}
    while taken := {index for index in waiting if _beside_equation(groups, index, rules)}:
        for index in taken:
            groups[index].kind = BlockKind.EQUATION
        waiting -= taken


def _is_torn(group: Group, rules: Kinds) -> bool:
    row = group.kind is BlockKind.TABLE and not group.in_table
    longest = rules.torn_row if row else rules.torn if group.kind in _PIECES else 0
    if len(group.text) > longest:
        return False
    return len(_WORD.findall(group.text)) <= rules.torn_words and not kind_of_heading(group.text)


def _beside_equation(groups: Sequence[Group], index: int, rules: Kinds) -> bool:
    ends = (groups[index].lines[0], groups[index].lines[-1])
    for other in groups[max(0, index - rules.near) : index + rules.near + 1]:
        if other.kind is BlockKind.EQUATION and other.page == groups[index].page:
            near = (other.lines[0].middle, other.lines[-1].middle)
            if any(abs(line.middle - middle) < rules.distance for line in ends for middle in near):
                return True
    return False


def _mark_sidebars(groups: list[Group], body: Style, rules: Kinds) -> None:
    """Mark the narrow column of small type beside the text of the first pages: citation, dates, funding, licence."""
    wide = [_width(g) for g in groups if len(g.text) > rules.text and same_size(g.style.size, body.size)]
    usual = median(wide) if wide else 0.0
    for group in takewhile(lambda g: g.page <= rules.first_pages, groups):
        narrow = len(group.lines) > 1 and _width(group) < rules.narrow * usual
        if group.kind is BlockKind.PARAGRAPH and narrow and _is_small(group, body, rules.smaller):
            group.kind = BlockKind.OTHER


def _width(group: Group) -> float:
    return max(line.x1 for line in group.lines) - min(line.x0 for line in group.lines)


def _is_table_row(group: Group, rules: Kinds) -> bool:
    # A justified line with a long address has gaps too, but the lines after it have none.
    split = sum(line.cells >= 2 for line in group.lines)
    row = group.lines[0].cells >= rules.cells and 2 * split >= len(group.lines)
    return row and max(len(line.text) for line in group.lines) < rules.cell


def _is_caption(group: Group, body: Style) -> bool:
    match = CAPTION.match(group.text)
    if not match:
        return False
    after = match.group("after")
    if not after.strip() or re.match(r"\s*[.:|]|\s+[–—-]\s|[—-]\s", after):  # not "Figure 1a–e shows"
        return True
    return group.style.size != body.size or group.lines[0].runs[0].style.bold


def _is_equation(group: Group, rules: Kinds) -> bool:
    if len(group.lines) > rules.formula_lines:
        return False
    text, words = group.text, len(_WORD.findall(group.text))
    math = sum(line.math * len(line.text) for line in group.lines) / max(1, len(text))
    if math > rules.math and words <= rules.math_words:
        return True
    if "=" not in text or words > rules.formula_words:
        return False
    return sum(not (c.isalpha() or c.isspace()) for c in text) > rules.symbols * len(text)


def _is_scattered(group: Group, body: Style, rules: Kinds) -> bool:
    """Return whether a group is an axis label, a table cell or the like: short pieces in another type than the
    body's."""
    text = group.text
    if kind_of_heading(text) or _NUMBERED_HEADING.match(text):
        return False
    if sum(map(str.isalpha, text)) < rules.letters * len(text.replace(" ", "")):
        return len(text) < rules.no_axis
    other = group.style.font != body.font and len(text) < rules.short_label and not text[:1].isupper()
    if not other and not _is_small(group, body, rules.smaller):
        return False
    return median(_printed_width(line.text) for line in group.lines) < rules.label


def _printed_width(text: str) -> int:
    """Return the number of Latin letters that would take as much room."""
    return len(text) if text.isascii() else sum(2 if "\u3000" <= c <= "\u9fff" else 1 for c in text)


def _is_footnote(group: Group, body: Style, rules: Kinds) -> bool:
    if not _is_small(group, body, rules.smaller):
        return False
    low, marked = group.lines[0].y0 > rules.low, _FOOTNOTE.match(group.text)
    return bool((low and marked) or _PUBLISHER.search(group.text[: rules.note]))


def _mark_tables(groups: list[Group], body: Style, rules: Kinds) -> None:
    """Mark a table: after a table's caption, everything in small type or short pieces, up to the next body
    paragraph."""
    inside = 0
    for index, group in enumerate(groups):
        if group.kind is BlockKind.CAPTION:
            inside = group.page if _OF_TABLE.match(group.text) else 0
            continue
        if inside != group.page:
            continue
        group.in_table = group.kind is BlockKind.TABLE
        below = groups[index + 1].text if index + 1 < len(groups) else ""
        listed = kind_of_heading(group.text) == "references" and _begins_entry(below)  # not a column of a table
        if listed or _ends_table(group, body, rules):
            inside = 0
        elif group.kind in (*_PIECES, BlockKind.EQUATION):
            group.kind, group.in_table = BlockKind.TABLE, True


def _ends_table(group: Group, body: Style, rules: Kinds) -> bool:
    """Return whether a group is prose in the body's type, as wide as the column."""
    typed = same_size(group.style.size, body.size) and group.style.font == body.font
    return typed and median(line.x1 - line.x0 for line in group.lines) > rules.wide * max(1.0, group.x1 - group.x0)


def mark_references(groups: list[Group], rules: References = _REFERENCES) -> list[Group]:
    """Mark the groups from a references heading to the next heading as references, if possible with one group per
    entry.

    Groups after a heading "Keywords" are not prose.
    """
    part = ""
    result: list[Group] = []
    entries: list[Group] = []
    for group in groups:
        if group.kind is BlockKind.HEADING:
            part = kind_of_heading(group.text)
        elif part == "references" and group.kind in _MAY_BE_REFERENCE:
            entries += _entries(group)
            continue
        elif part == "keywords" and group.kind is BlockKind.PARAGRAPH and _OPEN_END.search(group.text):
            group.kind = BlockKind.OTHER
        result += _whole_entries(entries, rules)
        entries = []
        result.append(group)
    return result + _whole_entries(entries, rules)


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


def _whole_entries(parts: Sequence[Group], rules: References) -> list[Group]:
    """Return the references from their pieces, one group per entry, without the publisher's text after the list."""
    if not any(_YEAR.search(part.text) or _ADDRESS.search(part.text) for part in parts):
        return list(parts)  # prose about references
    begins = [bool(_ITEM_NUMBER.match(part.text)) for part in parts]
    numbered = sum(begins) > rules.numbered * len(parts)
    if not numbered:
        begins = [_begins_entry(part.text) for part in parts]
    last = max((i for i, new in enumerate(begins) if new), default=len(parts))
    whole: list[Group] = []
    for index, part in enumerate(parts):
        before = whole[-1] if whole and whole[-1].kind is BlockKind.REFERENCE else None
        goes_on = before is not None and (not begins[index] or (not numbered and _is_cut_off(before.text)))
        head = not begins[index] and part.text[: rules.capitals].isupper()
        if head or is_publishers(part.text[: rules.opening]):
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
    """Return whether an entry with authors and year is cut within the authors."""
    return entry.endswith(("&", ",", "-"))


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
    return bool(_PUBLISHER.search(text[:_OPENING]))
