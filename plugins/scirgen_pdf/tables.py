"""Puts the tables of a PDF, read as cells, in the place of their lines, each behind its caption."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product, zip_longest
from typing import Annotated, Final

from scirgen import BlockKind, ParsedBlock
from scirgen.plugin import Box
from scirgen.stages.parse.grid import table_block
from scirgen_pdf.page.characters import composed
from scirgen_pdf.page.lines import LIGATURES, UNKNOWN, Line, Lines, Run, Style
from scirgen_pdf.paragraphs import Group
from scirgen_pdf.reading.page import Marks, Signs, TextLine, Word, around
from scirgen_pdf.tablegrid import Grid, PageTable, further_start, page_table
from scirgen_pdf.units import Chars, Ems

_CAPTION: Final = re.compile(
    r"\s*(?:tab(?:le|ela|la|elle|leau|\\.)?|quadro|cuadro|表)\s*\.?\s*(?:\d|[IVX]+\b|[A-Z]\.?\d)", re.I
)
_CONTINUED: Final = re.compile(r"\b(?:contin|cont(?:\.|['’]?d\b)|suite\b|forts|续)", re.I)


@dataclass(frozen=True)
class Tables:
    """Limits of the pass that puts tables in the place of their lines."""

    away: Annotated[Ems, "from the left edge of a caption to a line that is not its own"] = 10
    gap: Annotated[Ems, "a wider gap parts words"] = 0.5
    below: Annotated[Ems, "from a caption to its repetition in another language"] = 2
    long: Annotated[Chars, "of prose that ends a table; text behind a table that ends on its page"] = 200


_RULES = Tables()
_LEAST_RULE: Final = Grid().least_rule
_SIDEWAYS: Final = Lines().sideways


def has_caption(lines: Iterable[TextLine]) -> bool:
    """Check whether a line of a page may begin the caption of a table."""
    return any(_CAPTION.match("".join(span.text for span in line.spans)) for line in lines)


def page_words(lines: Iterable[TextLine], signs: Signs) -> list[Word]:
    """Return the words of level lines whose glyphs were read. ``signs`` replace what fonts give for them; an unnamed
    sign is U+FFFD."""
    found = []
    for line in lines:
        if line.direction[0] < 0 or abs(line.direction[1]) > _SIDEWAYS:
            continue
        characters = [
            (glyph.text.translate(signs[span.font]) if span.font in signs else glyph.text, glyph.box)
            for span in line.spans
            for glyph in span.glyphs
        ]
        for word in _words(characters):
            texts, boxes = zip(*word, strict=True)
            found.append(Word(_spelt("".join(texts)), around(boxes)))
    return found


def _spelt(text: str) -> str:
    """Return a word's text, with the halves of rare characters, which pdfium gives one by one, put together."""
    if text.isascii() and text.isprintable():
        return text
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return composed(UNKNOWN.sub("\ufffd", whole).translate(LIGATURES))


def _words(characters: Iterable[tuple[str, Box]]) -> Iterator[list[tuple[str, Box]]]:
    """Characters between blanks or gaps; pdfium gives no blank for some gaps between columns."""
    word: list[tuple[str, Box]] = []
    for text, box in characters:
        apart = word and box[0] - word[-1][1][2] > _RULES.gap * (box[3] - box[1])
        if word and (apart or text.isspace()):
            yield word
            word = []
        if not text.isspace():
            word.append((text, box))
    if word:
        yield word


def may_go_on(before: Sequence[Box], rules: Sequence[Box]) -> bool:
    """Check whether a table of the page before may go on: a rule of both pages has one length."""
    long = [[max(r[2] - r[0], r[3] - r[1]) for r in part] for part in (before, rules)]
    return any(abs(a - b) < 1 for a, b in product(*({n for n in part if n > _LEAST_RULE} for part in long)))


def with_tables(groups: list[Group], body: Style, marks: Callable[[int], Marks], count: int) -> list[Group]:
    """Return the groups of a paper, with the lines of each table replaced by one group behind its caption.

    A table that is not sure stays as it is printed, and its caption keeps the code of the refusal. ``marks`` gives
    those of each of the ``count`` pages; numbers are from 0.
    """
    sides = Counter[bool]()
    for number in range(1, count + 1):
        captions = [g for g in groups if g.page == number and g.kind is BlockKind.CAPTION]
        if not any(_CAPTION.match(g.text) for g in captions) or not (page := marks(number - 1)).words:
            continue
        captions = [
            one for one, below in zip_longest(captions, captions[1:])
            if _CAPTION.match(one.text) and not (below and _in_two_languages(one, below, number))
        ]  # fmt: skip
        claimed = _claimed(groups, body, captions, page, sides)
        for caption in captions:
            found = claimed.get(id(caption))
            parts = [found] if found else []
            while parts and not parts[-1].refused and (more := _further(groups, body, caption, parts, marks, count)):
                parts.append(more)
            made = _block(parts)
            if found is None or made is None or made.table is None or (found.columns and _holds_header(caption)):
                caption.refused = (made.refused if made else "") or ("table_header" if found else "table_columns")
                continue
            sides[_is_below(found, caption)] += 1
            for n, part in enumerate(parts, number):
                groups = list(_outside(groups, part, n))
            line = Line(number, found.box, [Run("table", caption.style)], 0).settle()
            table = Group(
                [line], caption.region, found.box[0], found.box[2], kind=BlockKind.TABLE, in_table=True, made=made
            )
            groups.insert(next(n for n, g in enumerate(groups) if g is caption) + 1, table)
    return groups


def _claimed(
    groups: Sequence[Group], body: Style, captions: Sequence[Group], page: Marks, sides: Mapping[bool, int]
) -> dict[int, PageTable]:
    """Return the tables of a page's captions, by their ids.

    Of two captions that reach one table, one gets another that no caption has reached. If there is none, the table
    goes to the caption that stands above it, or below it, as most captions before; if as many stood above as below,
    neither gets it.
    """

    def read(caption: Group, without: Collection[Box] = ()) -> PageTable | None:
        words = [w for w in page.words if not any(_within(w.box, box) for box in without)]
        rules = [r for r in page.rules if not any(_within(r, box) for box in without)]
        return page_table(_box(caption, caption.page), _ends(groups, body, caption), words, rules, caption.page)

    found = {id(c): table for c in captions if (table := read(c))}
    for pair in combinations(captions, 2):
        one, other = (found.get(id(c)) for c in pair)
        if one is None or other is None or not (_within(one.box, other.box) or _within(other.box, one.box)):
            continue
        taken = [table.box for table in found.values()]
        free = {id(c): table for c in pair if (table := read(c, taken)) and not table.refused}
        for caption in pair if not free else ():
            below = _is_below(found[id(caption)], caption)
            if sides[below] <= sides[not below]:
                del found[id(caption)]
        found.update([*free.items()][:1])
    return found


def _is_below(table: PageTable, caption: Group) -> bool:
    return table.box[3] > _box(caption, caption.page)[3]


def _within(box: Box, other: Box) -> bool:
    """Check whether a box's middle is in another one."""
    return (
        other[0] - 1 <= (box[0] + box[2]) / 2 <= other[2] + 1 and other[1] - 1 <= (box[1] + box[3]) / 2 <= other[3] + 1
    )


def _block(parts: Sequence[PageTable]) -> ParsedBlock | None:
    if not parts:
        return None
    rows = [row for n, part in enumerate(parts) for row in part.rows[part.header_rows if n else 0 :]]
    return table_block(rows, parts[0].header_rows, parts[-1].refused)


def _ends(groups: Sequence[Group], body: Style, caption: Group, page: int = 0) -> list[Box]:
    """Return the boxes of a page's other captions and of prose, where a table ends."""
    number = page or caption.page
    here = [g for g in groups if g.page == number and g is not caption]
    return [
        _box(g, number) for g in here
        if (g.kind is BlockKind.CAPTION and _is_labelled(g))
        or (g.kind is BlockKind.PARAGRAPH and len(g.text) > _RULES.long and g.style.size == body.size)
    ]  # fmt: skip


def _further(
    groups: Sequence[Group],
    body: Style,
    caption: Group,
    parts: Sequence[PageTable],
    marks: Callable[[int], Marks],
    count: int,
) -> PageTable | None:
    """Return the part of a table on the page after its last part; None if it ends there.

    It ends where text follows it, or where the next page has text or another caption above its first wide rule.
    """
    number = caption.page + len(parts)
    last = parts[-1]
    below = [g for g in groups if g.page == number - 1 and _box(g, number - 1)[1] > last.box[3] - 1]
    if number > count or _size(below) > _RULES.long or not (page := marks(number - 1)).words:
        return None
    start = further_start(last, page.rules)
    above = [g for g in groups if g.page == number and start and _box(g, number)[1] < start[1]]
    label = (m := _CAPTION.match(caption.text)) and m.group()
    same = [
        g for g in above if g.kind is BlockKind.CAPTION and g.text.startswith(str(label)) and _CONTINUED.search(g.text)
    ]
    rest = [g for g in above if g not in same]
    if (
        start is None
        or _size(rest) > _RULES.long
        or any(_CAPTION.match(g.text) and not _CONTINUED.search(g.text) for g in (*rest, *below))
    ):
        return None
    found = page_table(start, _ends(groups, body, caption, number), page.words, page.rules, number, parts[0])
    for group in same if found else ():
        group.kind = BlockKind.OTHER
    return found


def _size(groups: Iterable[Group]) -> int:
    return sum(len(g.text) for g in groups)


def _outside(groups: Iterable[Group], table: PageTable, page: int) -> Iterator[Group]:
    """Yield the groups without the lines in a table."""
    for group in groups:
        outside = [line for line in group.lines if group.page != page or not _inside(line, table.box)]
        if len(outside) == len(group.lines) or group.made or not (outside or group.kind is not BlockKind.CAPTION):
            yield group
        elif outside:
            group.lines = outside
            yield group.settle()


def _is_labelled(caption: Group) -> bool:
    return re.match(r"\s*(?:fig|图)", caption.text, re.I) is not None or _CAPTION.match(caption.text) is not None


def _in_two_languages(caption: Group, below: Group, page: int) -> bool:
    """Check whether a caption is repeated directly below it in another language; the table belongs to the second."""
    near = 0 <= _box(below, page)[1] - _box(caption, page)[3] < _RULES.below * caption.style.size
    return near and _CAPTION.match(below.text) is not None


def _inside(line: Line, box: Box) -> bool:
    return box[0] - 1 <= (line.x0 + line.x1) / 2 <= box[2] + 1 and box[1] - 1 <= line.middle <= box[3] + 1


def _holds_header(caption: Group) -> bool:
    """Check whether a caption's last line begins away from its left edge, as the first line of a header does."""
    first, last = caption.lines[0], caption.lines[-1]
    return (
        last.y0 > first.y1
        and last.x0 > first.x0 + _RULES.away * caption.style.size
        and first.x1 - last.x1 < last.x0 - first.x0
    )


def _box(group: Group, page: int) -> Box:
    return around([line.box for line in group.lines if line.page == page])
