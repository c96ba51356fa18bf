"""Reads the list of references: entries, their numbers, and the places in the body that cite them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from scirgen.core.records import BlockKind, Document, SectionLabel

_HEADING = re.compile(
    r"references?|bibliography|literature cited|works cited|refer[êe]ncias|bibliograf[íi]a|参考文献", re.I
)
_NUMBER = re.compile(r"\s*[\[(]?(\d{1,3})[\]).]?[\s.]")
_YEAR = re.compile(r"\b(1[89]\d\d|20\d\d)[a-z]?\b")
_SURNAME = re.compile(r"[A-Z][^\W\d_]+(?:[-'’ ][A-Z][^\W\d_]+)*")
_BRACKETED = re.compile(r"\[(\d{1,3}(?:\s*[,;–—-]\s*\d{1,3})*)\]")
_RAISED = re.compile(r"(?:(?<=[a-z]{3})|(?<=[a-z]{3}[.,])|(?<=[a-z]\)))(\d{1,3}(?:[,–—-]\d{1,3})*)(?=[\s.,;:)]|$)")
_LEAST_BRACKETS = 3
_LONGEST_RANGE = 60


@dataclass(frozen=True)
class Reference:
    """An entry [start, end) of the list; ``number`` is printed (``printed``), or else the entry's place in the list.

    ``doi`` comes from the parser, which repairs DOIs that are broken at the end of a line.
    """

    start: int
    end: int
    number: int
    text: str
    printed: bool = True
    doi: str | None = None


def find_references(document: Document, labels: Sequence[SectionLabel]) -> list[Reference]:
    """Return all entries, in order: the blocks that the parser marks as references, or else the paragraphs under such a
    heading."""
    blocks = [b for b in document.blocks if b.kind is BlockKind.REFERENCE]
    if not blocks:
        under = [x for x in labels if _HEADING.fullmatch(x.heading.strip().strip(".:").lstrip("0123456789. "))]
        prose = (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM)
        blocks = [b for x in under for b in document.blocks_in(x.start, x.end) if b.kind in prose]
    found: list[Reference] = []
    for place, block in enumerate(blocks, 1):
        text = document.text[block.start : block.end]
        printed = _NUMBER.match(text)
        found.append(
            Reference(
                block.start, block.end, int(printed.group(1)) if printed else place, text, bool(printed), block.doi
            )
        )
    return found


def body_ranges(document: Document, references: Sequence[Reference]) -> list[tuple[int, int]]:
    """Return the ranges of the text outside of the list of references."""
    ranges: list[tuple[int, int]] = []
    at = 0
    for entry in references:
        if entry.start > at:
            ranges.append((at, entry.start))
        at = max(at, entry.end)
    if at < len(document.text):
        ranges.append((at, len(document.text)))
    return ranges


def citing_offsets(document: Document, body: Sequence[tuple[int, int]], entry: Reference) -> list[int]:
    """Return the offsets in the body at which an entry is cited, by bracketed number, raised number, or author and
    year."""
    text = document.text
    found = [
        s + m.start()
        for s, e in body
        for m in _numbers(text[s:e], entry.printed)
        if entry.number in _expanded(m.group(1))
    ]
    years = "|".join(sorted({m.group(1) for m in _YEAR.finditer(entry.text)}))
    surname = _SURNAME.search(entry.text)
    if years and surname:
        by_name = re.compile(
            rf"\b{re.escape(surname.group())}\b[^.;()]{{0,50}}?(?:\bet al\.)?[\s,(]{{0,4}}(?:{years})(?!\d)"
        )
        found += [s + m.start() for s, e in body for m in by_name.finditer(text[s:e])]
    return sorted(set(found))


def _numbers(text: str, printed: bool) -> list[re.Match[str]]:
    """Return the numbers in brackets; raised numbers only if the list of references is numbered and the paper uses no
    brackets."""
    bracketed = list(_BRACKETED.finditer(text))
    if len(bracketed) >= _LEAST_BRACKETS or not printed:
        return bracketed
    return [*bracketed, *_RAISED.finditer(text)]


def _expanded(written: str) -> set[int]:
    """Expand ``18–20,22`` to {18, 19, 20, 22}."""
    numbers: set[int] = set()
    for part in re.split(r"\s*[,;]\s*", written):
        ends = [int(n) for n in re.split(r"\s*[–—-]\s*", part) if n]
        if len(ends) == 2 and 0 <= ends[1] - ends[0] <= _LONGEST_RANGE:
            numbers.update(range(ends[0], ends[1] + 1))
        else:
            numbers.update(ends)
    return numbers
