"""Makes blocks from groups: joins paragraphs across columns and pages, and rejoins hyphenated words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

from scirgen import BlockKind, ParsedBlock
from scirgen.plugin import PlacedLine
from scirgen_pdf.classify import is_program
from scirgen_pdf.page.lines import Line, same_size
from scirgen_pdf.paragraphs import Group
from scirgen_pdf.units import Chars, Count, Ems, Share

_FLOATS = frozenset({BlockKind.CAPTION, BlockKind.TABLE, BlockKind.FOOTNOTE, BlockKind.OTHER})
_RUNS = frozenset({BlockKind.EQUATION, BlockKind.TABLE, BlockKind.OTHER})
_PRINTED = frozenset({BlockKind.OTHER, BlockKind.TABLE})  # what a program prints may look like a table
_INITIAL = re.compile(r"\b[A-Z]\.$")  # of a person or a genus, before a small letter
_ENDED = re.compile(r"[.!?:。！？：][\"'”’)\]\d,–]*$")
_ABBREVIATED = re.compile(r"\b(?:et al|e\.g|i\.e|cf|vs|[Ff]igs?|[Ee]qs?|[Rr]efs?|[Tt]ab|[Ss]ect?|ca|approx|resp)\.$")
_GOES_ON = re.compile(r"^[a-zà-ÿß-ÿ(\[,;&=+%°]|^\d")
_SMALL = re.compile(r"^[a-zà-ÿ]")
_HANGS = re.compile(
    r"(?:,|\b(?:and|or|the|a|an|of|in|on|at|to|for|from|by|with|that|which|this|these|is|are|was|were|as|than|y|e|de|del|la|el|los|las|en|da|do|et|des|und|der|die))$"
)
_WORDS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_HYPHENATED = re.compile(r"([^\W\d_]+)[-\u00ad]$")
_KEEP = frozenset([
    "non", "self", "well", "high", "low", "long", "short", "mid", "post", "pre", "multi", "semi", "quasi", "half",
    "full", "cross", "co", "anti", "ex", "near", "sub", "inter",
])  # fmt: skip

_SYLLABLES = frozenset(["co", "ex", "pre", "sub", "inter", "anti", "semi", "multi"])
"""Those of them that are also plain syllables ("inter-ested"): a hyphen stays only before a word of the paper."""
_LAST = frozenset(["based", "driven", "wide", "scale", "level", "specific", "free", "dimensional", "year", "step"])
"""Second halves of compounds ("role-based"), which no syllable precedes."""


@dataclass(frozen=True)
class Flow:
    """Rules of the pass that makes blocks of groups."""

    between: Annotated[Count, "paragraphs, such as footnotes, among which the first half of one is sought"] = 12
    later: Annotated[Count, "pages between the two halves of a paragraph with others between them"] = 1
    label: Annotated[Count, "words of a line that stands alone: a name, a date, a figure's label"] = 7
    least_display: Annotated[Chars, "of a formula or program within a sentence; less is a torn index"] = 8
    most_display: Annotated[Chars, "of a formula within a sentence; more is a table or a figure"] = 400
    full: Annotated[Ems, "what a full line may lack"] = 2.5
    hangs: Annotated[Share, "of the column's width: a line that may end in a word that goes on"] = 0.6
    edge: Annotated[Ems, "how far from the column's edge a paragraph's half begins"] = 0.6
    distance: Annotated[Ems, "the widest distance of two halves in one column"] = 2.2


_RULES = Flow()
_LEAST_HALF, _OFTEN, _AGAIN = 4, 3, 2
"""Letters of half a compound, and how often a document has its first and its second half elsewhere."""


class Vocabulary:
    """The document's words, which distinguish a word hyphenated at a line's end from a compound."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._words: Counter[str] = Counter()
        broken = False
        for line in lines:
            words = _WORDS.findall(line.text.lower())[broken:]
            broken = line.text.endswith("-")
            self._words.update(words[:-1] if broken else words)

    def glue(self, left: str, right: str) -> str:
        """Join ``left`` (ending in a hyphen) and ``right`` as printed in one line."""
        match, head = _HYPHENATED.search(left), re.match(r"[^\W\d_]+", right)
        if not match or not head:
            return left + right
        a, b = match.group(1).lower(), head.group().lower()
        solid, compound = self._words[a + b], self._words[f"{a}-{b}"]
        if not right[0].islower():
            return left[:-1] + right if solid > compound else left + right  # a name with a capital inside: "openBUGS"
        halves = self._words[b] > 0 if a in _SYLLABLES else a in _KEEP or b in _LAST
        keep = compound > solid or (solid == 0 and (halves or self._both(a, b)))
        return left + right if keep else left[:-1] + right

    def _both(self, a: str, b: str) -> bool:
        """Return whether both halves are words that the document often has elsewhere."""
        long = min(len(a), len(b)) >= _LEAST_HALF
        return long and self._words[a] >= _OFTEN and self._words[b] >= _AGAIN


def blocks(groups: Sequence[Group], vocabulary: Vocabulary, rules: Flow = _RULES) -> list[ParsedBlock]:
    """Return the blocks in reading order; figures and tables between two halves of a paragraph follow the paragraph."""
    merged: list[tuple[Group, list[Line]]] = []
    prose: list[int] = []  # of the paragraphs since the last heading or equation
    for group in groups:
        before = _continued(merged, prose, group, rules) if group.kind is BlockKind.PARAGRAPH else None
        led = before if before is not None else _leading(merged, prose, group)
        if led is not None and _is_display(merged[led:], group, rules):
            for display, _ in merged[led + 1 :]:
                display.kind = BlockKind.EQUATION
        elif before is not None:
            merged[before][1].extend(group.lines)
            continue
        runs_on = (group.kind in _RUNS and not group.made) or group.continued
        if runs_on and merged and _same_run(merged[-1][0], group):
            merged[-1][1].extend(group.lines)
            continue
        merged.append((group, list(group.lines)))
        if group.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM):
            prose.append(len(merged) - 1)
        elif group.kind not in _FLOATS:
            prose = []
    _mark_labels(merged, rules)
    return [_block(group, lines, vocabulary) for group, lines in merged]


def _leading(merged: Sequence[tuple[Group, list[Line]]], prose: Sequence[int], group: Group) -> int | None:
    """Return the last paragraph, if it ends in a colon and ``group`` goes on with a small letter."""
    goes_on = group.kind is BlockKind.PARAGRAPH and _SMALL.match(group.text)
    return prose[-1] if goes_on and prose and merged[prose[-1]][1][-1].text.endswith(":") else None


def _is_display(since: Sequence[tuple[Group, list[Line]]], group: Group, rules: Flow) -> bool:
    """Return whether what stands between two halves of a sentence is a formula or a program set in the column, not a
    float."""
    (first, lines), *between = since
    last = lines[-1]
    if between and all(found.kind in _PRINTED and is_program(found) for found, _ in between):
        return not last.text.endswith("-")  # a program may be long, and go on on the next page
    length = sum(len(found.text) for found, _ in between)
    whole = rules.least_display <= length <= rules.most_display and not last.text.endswith("-")
    return whole and all(
        found.kind in (BlockKind.OTHER, BlockKind.TABLE)
        and not found.made
        and (found.page, found.region) == (last.page, first.region) == (group.page, group.region)
        and last.y0 < found.lines[0].y0 < group.lines[0].y0
        for found, _ in between
    )


def _mark_labels(merged: Sequence[tuple[Group, list[Line]]], rules: Flow) -> None:
    """Mark as other text the single lines of a few words without an end that stand alone: names, dates, labels of
    figures."""
    for (group, lines), (below, _) in pairwise([*merged, (Group([], 0, 0, 0, kind=BlockKind.OTHER), [])]):
        text = lines[0].text
        alone = group.kind is BlockKind.PARAGRAPH and len(lines) == 1 and below.kind is not BlockKind.EQUATION
        few = len(text.split()) <= rules.label and not _han(text[:1], text[-1:])
        if alone and few and not _ENDED.search(text) and not _SMALL.match(text):
            group.kind = BlockKind.OTHER


def _same_run(before: Group, group: Group) -> bool:
    return before.kind is group.kind and before.page == group.page and not before.made


def _continued(
    merged: Sequence[tuple[Group, list[Line]]], prose: Sequence[int], group: Group, rules: Flow
) -> int | None:
    """Return the earlier paragraph that ``group`` continues: the last one, or an unfinished one before notes and
    affiliations."""
    if prose and _continues(merged[prose[-1]], group, rules):
        return prose[-1]
    if _leading(merged, prose, group) is not None:
        return None
    for index in reversed(prose[-rules.between : -1]):
        first, lines = merged[index]
        same = first.style.size == group.style.size and first.style.font == group.style.font
        open_end = _HANGS.search(lines[-1].text) and not lines[-1].text.endswith(",")
        begun = _SMALL.match(group.text) or open_end
        near = group.page - lines[-1].page <= rules.later
        if begun and same and near and _continues(merged[index], group, rules):
            return index
    return None


def _continues(before: tuple[Group, list[Line]], group: Group, rules: Flow) -> bool:
    first, lines = before
    end, text = lines[-1], lines[-1].text
    if not _is_alike(first, group):
        return False
    moved = end.page != group.page or group.region != first.region
    lower = bool(_GOES_ON.match(group.text))
    if text.endswith("-"):
        return lower or first.kind is BlockKind.LIST_ITEM
    if _ENDED.search(text) and not _ABBREVIATED.search(text) and not (lower and _INITIAL.search(text)):
        return False
    if lower:
        return True
    full = end.x1 > first.x1 - rules.full * end.size
    at_edge = group.lines[0].x0 < group.x0 + rules.edge * end.size
    if moved:
        hangs = bool(_HANGS.search(text)) and end.x1 - end.x0 > rules.hangs * (first.x1 - first.x0)
        return (full or hangs) and at_edge
    near = group.above < rules.distance * end.size and first.style == group.style
    return full and near and (at_edge or text.endswith(","))


def _is_alike(first: Group, group: Group) -> bool:
    return same_size(first.style.size, group.style.size) and first.style.bold == group.style.bold


def _block(group: Group, lines: Sequence[Line], vocabulary: Vocabulary) -> ParsedBlock:
    if group.made:
        return group.made
    text = ""
    placed: list[PlacedLine] = []
    for line in lines:
        if text.endswith("-") or text.endswith("\u00ad"):
            text = vocabulary.glue(text, line.text)
            start = len(text) - len(line.text)
        else:
            text = f"{text} {line.text}" if text and not _han(text[-1], line.text[:1]) else text + line.text
            start = len(text) - len(line.text)
        placed.append(PlacedLine(start=start, page=line.page, bbox=line.box))
    return ParsedBlock(kind=group.kind, text=text, lines=tuple(placed), level=group.level, refused=group.refused)


def _han(a: str, b: str) -> bool:
    """Chinese text has no blanks between lines."""
    return "一" <= a <= "鿿" and "一" <= b <= "鿿"
