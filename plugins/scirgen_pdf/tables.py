"""Puts the tables of a PDF, read as cells, in the place of their lines, each behind its caption."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product, zip_longest
from typing import Annotated, Final

from scirgen import BlockKind, ParsedBlock
from scirgen.plugin import Box, PlacedLine
from scirgen.stages.parse.grid import table_block
from scirgen_pdf.page.characters import composed
from scirgen_pdf.page.lines import LIGATURES, UNKNOWN, Line, Lines, Run, Style, same_size
from scirgen_pdf.paragraphs import Group
from scirgen_pdf.reading.page import Marks, Signs, TextLine, Word, around
from scirgen_pdf.tablegrid import Grid, PageTable, further_start, level_rules, page_table
from scirgen_pdf.tablerows import made_cell, printed_rows
from scirgen_pdf.units import Chars, Ems

_CAPTION: Final = re.compile(
    r"\s*(?:tab(?:le|ela|la|elle|leau|\\.)?|quadro|cuadro|表)\s*\.?\s*(?:\d|[IVX]+\b|[A-Z]\.?\d)", re.I
)
_POWER: Final = re.compile(r"(?<![\d.,])10([-–−]?\d{1,2})[-)\],;]*$")
_CONTINUED: Final = re.compile(r"\b(?:contin|cont(?:\.|['’]?d\b)|suite\b|forts|续)", re.I)


@dataclass(frozen=True)
class Tables:
    """Limits of the pass that puts tables in the place of their lines."""

    away: Annotated[Ems, "from the left edge of a caption to a line that is not its own"] = 10
    gap: Annotated[Ems, "a wider gap parts words"] = 0.5
    raised: Annotated[Ems, "by which the last digit of a power of ten is higher than the ten, at least"] = 0.15
    below: Annotated[Ems, "from a caption to its repetition in another language"] = 2
    rest: Annotated[Chars, "of a caption that is a label alone, behind its first digit"] = 4
    long: Annotated[Chars, "of prose that ends a table; text behind a table that ends on its page"] = 200


_RULES = Tables()
_LEAST_RULE: Final = Grid().least_rule
_AWAY: Final = Grid().ends
_SIDEWAYS: Final = Lines().sideways


def has_caption(lines: Iterable[TextLine]) -> bool:
    """Check whether a line of a page may begin the caption of a table."""
    return any(_CAPTION.match("".join(span.text for span in line.spans)) for line in lines)


def page_words(lines: Iterable[TextLine], signs: Signs) -> list[Word]:
    """Return the words of lines whose glyphs were read; a sideways line is one word at its middle, as tall as it is
    wide. ``signs`` replace what fonts give for them; an unnamed sign is U+FFFD."""
    found: list[Word] = []
    for line in lines:
        across, down = line.direction
        if across < -_SIDEWAYS or min(abs(across), abs(down)) > _SIDEWAYS:
            continue
        characters = [
            (glyph.text.translate(signs[span.font]) if span.font in signs else glyph.text, glyph.box)
            for span in line.spans
            for glyph in span.glyphs
        ]
        if abs(down) > _SIDEWAYS:
            found += _sideways(characters, up=down < 0)
            continue
        for word in _words(characters):
            texts, boxes = zip(*word, strict=True)
            text = "".join(texts)
            power = _POWER.search(text) if len(text) == len(texts) else None
            if power and _is_raised(boxes[power.end(1) - 1], boxes[power.start(1) - 1]):
                text = f"{text[: power.start(1)]}^{text[power.start(1) :]}"
            found.append(Word(_spelt(text), around(boxes)))
    return found


def _sideways(characters: Iterable[tuple[str, Box]], *, up: bool) -> Iterator[Word]:
    """Yield the text of a sideways line as one word."""
    turned = [(text, (-y1, x0, -y0, x1) if up else (y0, x0, y1, x1)) for text, (x0, y0, x1, y1) in characters]
    words = list(_words(turned))
    if words:
        x0, y0, x1, y1 = around([box for _, box in characters])
        middle, half = (y0 + y1) / 2, (x1 - x0) / 2
        yield Word(
            _spelt(" ".join("".join(text for text, _ in word) for word in words)),
            (x0, middle - half, x1, middle + half),
        )


def _is_raised(digit: Box, ten: Box) -> bool:
    return ten[3] - digit[3] > _RULES.raised * (ten[3] - ten[1])


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
    """Check whether a table of the page before may go on, upright or sideways: a rule of both pages has one length."""
    turned = ([(y0, x0, y1, x1) for x0, y0, x1, y1 in part] for part in (before, rules))
    levels = ([*level_rules(part), *level_rules(other)] for part, other in zip((before, rules), turned, strict=True))
    long = [{r[2] - r[0] for r in level if r[2] - r[0] > _LEAST_RULE} for level in levels]
    return any(abs(a - b) < 1 for a, b in product(*long))


def with_tables(groups: list[Group], body: Style, marks: Callable[[int], Marks], count: int) -> list[Group]:
    """Return the groups of a paper, with the lines of each table replaced by one group behind its caption.

    A table that is not sure is one group of printed rows a page, and its caption keeps the code of the refusal.
    ``marks`` gives those of each of the ``count`` pages; numbers are from 0.
    """
    sides = Counter[bool]()
    groups = list(with_titles(groups))
    for number in range(1, count + 1):
        captions = [g for g in groups if g.page == number and g.kind is BlockKind.CAPTION]
        if not any(_CAPTION.match(g.text) for g in captions) or not (page := marks(number - 1)).words:
            continue
        captions = [
            one for one, below in zip_longest(captions, captions[1:])
            if _CAPTION.match(one.text) and not (below and _in_two_languages(one, below))
            and not _is_mention(one, captions)
        ]  # fmt: skip
        claimed = _claimed(groups, body, captions, page, sides)
        for caption in captions:
            found = claimed.get(id(caption))
            parts = [(number, found)] if found else []
            while parts and (more := _further(groups, body, caption, parts, marks, count)):
                parts.append(more)
            if found and _began_before(groups, caption, found):
                parts[0] = (number, replace(found, refused="table_columns"))
            held = [_held(groups, marks(n - 1).words, part.box, n) for n, part in parts]
            cells = [[cell.box for row in part.rows for cell in row if cell.box] for _, part in parts]
            used = [_used(*pair) for pair in zip(held, cells, strict=True)]
            own = [_taken(*pair) for pair in zip(held, used, strict=True)]
            rest = {
                line: [w for w in words if id(w) not in ids]
                for lines, ids in zip(own, used, strict=True) for line, words in lines.items()
            }  # fmt: skip
            if any(_within(w.box, part.box) for _, part in parts for words in rest.values() for w in words):
                parts[0] = (number, replace(parts[0][1], refused="table_columns"))  # a line has words beside its cells
            made = _block([part for _, part in parts])
            if found is None or made is None:
                caption.refused = "table_columns"
                continue
            blocks = [made]
            if made.table is None:
                caption.refused = made.refused
                if any(_has_headings(groups, body, part, n) for n, part in parts):
                    continue  # rules of something else
                own = [_taken(lines, _used(lines, [part.box])) for lines, (_, part) in zip(held, parts, strict=True)]
                blocks = [_printed(chain(*lines.values()), n) for lines, (n, _) in zip(own, parts, strict=True)]
                rest = {line: [] for lines in own for line in lines}
            else:
                sides[_is_below(found, caption)] += 1
            groups = list(_without(groups, rest, caption))
            at = next(n for n, g in enumerate(groups) if g is caption) + 1
            groups[at:at] = [_group(block, *part, caption) for block, part in zip(blocks, parts, strict=False)]
    return groups


def with_titles(groups: Iterable[Group]) -> Iterator[Group]:
    """Yield the groups, with the title below a table's label that is a line by itself, as "TABLE I", joined to it."""
    last: Group | None = None
    for group in groups:
        if last and last.kind is group.kind is BlockKind.CAPTION and _is_title(last, group):
            last.lines += group.lines
            last.settle()
        else:
            yield group
            last = group


def _group(made: ParsedBlock, page: int, table: PageTable, caption: Group) -> Group:
    line = Line(page, table.box, [Run("table", caption.style)], 0).settle()
    x0, _, x1, _ = table.box
    return Group([line], caption.region, x0, x1, kind=BlockKind.TABLE, in_table=True, made=made)


def _has_headings(groups: Iterable[Group], body: Style, table: PageTable, page: int) -> bool:
    """Check whether a text in larger type than the body stands in a table's place."""
    inside = (g.style.size for g in groups if g.page == page and _inside(g.lines[0], table.box))
    return any(size > body.size and not same_size(size, body.size) for size in inside)


def _held(groups: Iterable[Group], words: Sequence[Word], box: Box, page: int) -> dict[int, list[Word]]:
    """Return the words of each line of a page that reaches a table's box, by the line's id."""
    lines = [
        line for group in groups if group.page <= page and not group.made for line in group.lines
        if line.page == page and line.y1 > box[1] - 1 and line.y0 < box[3] + 1
        and line.x1 > box[0] - _AWAY and line.x0 < box[2] + _AWAY
    ]  # fmt: skip
    nearest: dict[int, tuple[float, int]] = {}
    for line, inside in zip(lines, _inside_each(words, [(n.x0, n.y0, n.x1, n.y1) for n in lines]), strict=True):
        for word in inside:
            away = abs(line.middle - _middle(word))
            if id(word) not in nearest or away < nearest[id(word)][0]:
                nearest[id(word)] = away, id(line)
    held: dict[int, list[Word]] = {}
    for word in words:
        if id(word) in nearest:
            held.setdefault(nearest[id(word)][1], []).append(word)
    return held


def _inside_each(words: Iterable[Word], boxes: Iterable[Box]) -> Iterator[list[Word]]:
    """Yield the words in each box; only those at its height are looked at."""
    placed = sorted(words, key=_middle)
    heights = [_middle(word) for word in placed]
    for box in boxes:
        level = placed[bisect_left(heights, box[1] - 1) : bisect_right(heights, box[3] + 1)]
        yield [word for word in level if _within(word.box, box)]


def _middle(word: Word) -> float:
    return (word.box[1] + word.box[3]) / 2


def _used(held: Mapping[int, list[Word]], boxes: Iterable[Box]) -> set[int]:
    """Return the ids of the words of lines that are in one of some boxes."""
    return {id(word) for inside in _inside_each(chain(*held.values()), boxes) for word in inside}


def _taken(held: Mapping[int, list[Word]], used: Collection[int]) -> dict[int, list[Word]]:
    """Return the lines that have a used word."""
    return {line: words for line, words in held.items() if any(id(w) in used for w in words)}


def _printed(words: Iterable[Word], page: int) -> ParsedBlock:
    """Return the printed rows of words as a block without cells."""
    text, lines = "", []
    for row in printed_rows(words):
        cell = made_cell(row.words, page)
        assert cell.box
        lines.append(PlacedLine(start=len(text), page=page, bbox=cell.box))
        text += f"{cell.text}\n"
    return ParsedBlock(kind=BlockKind.TABLE, text=text.strip(), lines=tuple(lines))


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
        return page_table(_own_box(caption), _ends(groups, body, caption), words, rules, caption.page)

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
    top = parts[0].header_rows
    named = [cell.text for cell in rows[0]] if top == 1 else []  # where a column ends, its head may be repeated
    rows = [row for n, row in enumerate(rows) if not n or [cell.text for cell in row] != named]
    return table_block(rows, top, next((part.refused for part in parts if part.refused), ""))


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
    parts: Sequence[tuple[int, PageTable]],
    marks: Callable[[int], Marks],
    count: int,
) -> tuple[int, PageTable] | None:
    """Return the part of a table in the next column of its last part's page, or else on the next page, and the page;
    None if it ends there.

    It ends where text follows it, or where the next column or page has text or another caption above its first wide
    rule.
    """
    number, last = parts[-1]
    label = (m := _CAPTION.match(caption.text)) and m.group()
    for here, left in ((number, last.box[2]), (number + 1, 0.0)):
        if here > count or not (page := marks(here - 1)).words:
            continue
        start = further_start(last, [r for r in page.rules if r[0] > left])
        below = [
            g for g in groups
            if g.page == number and (box := _box(g, number))[1] > last.box[3] - 1 and (not left or box[0] < left)
        ]  # fmt: skip
        above = [
            g for g in groups
            if g.page == here and start and (box := _box(g, here))[1] < start[1] and box[2] > max(left, start[0])
        ]  # fmt: skip
        told = any(_CONTINUED.search(g.text) for g in above)
        same = [g for g in above if told and g.kind is BlockKind.CAPTION and g.text.startswith(str(label))]
        rest = [g for g in above if g not in same]
        if (
            start is None
            or max(_size(rest), _size(below)) > _RULES.long
            or any(_CAPTION.match(g.text) and not _CONTINUED.search(g.text) for g in (*rest, *below))
        ):
            continue
        words = [w for w in page.words if w.box[0] > left]
        first = None if last.refused else parts[0][1]
        found = page_table(start, _ends(groups, body, caption, here), words, page.rules, here, first)
        for group in same if found else ():
            group.kind = BlockKind.OTHER
        if found:
            return here, found
    return None


def _began_before(groups: Sequence[Group], caption: Group, table: PageTable) -> bool:
    """Check whether a table above its caption may be the rest of one: it stands at the top of its page, and several
    cells at the bottom of the page before."""
    above = [g for g in groups if g.page == caption.page and _box(g, g.page)[3] < table.box[1] + 1]
    before = [g for g in groups if g.page == caption.page - 1 and g.kind is not BlockKind.OTHER]
    end = max((_box(g, g.page)[3] for g in before), default=0.0)
    last = [g.kind is BlockKind.TABLE for g in before if end - _box(g, g.page)[3] < 1]
    return not _is_below(table, caption) and _size(above) < _RULES.long and len(last) > 1 and all(last)


def _size(groups: Iterable[Group]) -> int:
    return sum(len(g.text) for g in groups)


def _without(groups: Iterable[Group], taken: Mapping[int, Sequence[Word]], caption: Group) -> Iterator[Group]:
    """Yield the groups without the lines of a table, except its caption; of a line that goes on beside the table, the
    words there stay."""
    for group in groups:
        rest = [_beside(line, taken.get(id(line))) for line in group.lines if taken.get(id(line)) != []]
        if not taken.keys() & {id(line) for line in group.lines} or (group is caption and not rest):
            yield group
        elif rest:
            group.lines = rest
            yield group.settle()


def _beside(line: Line, words: Sequence[Word] | None) -> Line:
    """Return a line as it is, or with some of its words alone."""
    if words is None:
        return line
    run = Run(" ".join(w.text for w in words), line.style)
    return Line(line.page, around([w.box for w in words]), [run], line.block).settle()


def _is_labelled(caption: Group) -> bool:
    return re.match(r"\s*(?:fig|图)", caption.text, re.I) is not None or _CAPTION.match(caption.text) is not None


def _is_title(caption: Group, below: Group) -> bool:
    """Check whether a group stands directly below a caption that is a label alone."""
    label = _CAPTION.match(caption.text)
    alone = label is not None and len(caption.text) - label.end() < _RULES.rest
    return alone and below.page == caption.page and not _is_labelled(below) and _is_near(caption, below)


def _in_two_languages(caption: Group, below: Group) -> bool:
    """Check whether a caption is repeated directly below it in another language; the table belongs to the second."""
    return _is_near(caption, below) and _CAPTION.match(below.text) is not None


def _is_mention(caption: Group, others: Iterable[Group]) -> bool:
    """Check whether a text is a sentence that begins with the label of another caption."""
    *label, first = [*caption.text.split()[:3], ""][:3]
    same = (o for o in others if o is not caption and [w.rstrip(".:") for w in o.text.split()[:2]] == label)
    return first[:1].islower() and any(same)


def _is_near(caption: Group, below: Group) -> bool:
    (x0, _, x1, y), (left, top, right, _) = _box(caption, caption.page), _box(below, caption.page)
    return abs(top - y) < _RULES.below * caption.style.size and left < x1 and x0 < right


def _inside(line: Line, box: Box) -> bool:
    return box[0] - 1 <= (line.x0 + line.x1) / 2 <= box[2] + 1 and box[1] - 1 <= line.middle <= box[3] + 1


def _own_box(caption: Group) -> Box:
    """Return the box of a caption up to a line that begins away from its left edge, as the first of a header does."""
    first = caption.lines[0]
    away = [
        n for n, line in enumerate(caption.lines)
        if line.y0 > first.y1
        and line.x0 > first.x0 + _RULES.away * caption.style.size
        and first.x1 - line.x1 < line.x0 - first.x0
    ]  # fmt: skip
    return around([line.box for line in caption.lines[: min(away, default=None)] if line.page == caption.page])


def _box(group: Group, page: int) -> Box:
    return around([line.box for line in group.lines if line.page == page])
