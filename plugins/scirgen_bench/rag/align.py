"""Aligns chunks of any parser and chunker with the texts of a release, by their letters and digits alone."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

_SEED = 12
_SHORTEST = 20
"""Letters and digits that a piece of a span must have in common with a chunk to count, unless the span is shorter."""
_GAP, _NEAR = 12, 6
"""A shorter piece, of at least 6, counts beside one that counts, with at most 12 characters between them in both: a
reference mark, a page number."""
_WINDOW, _STRIDE = 24, 8
WHOLE = 0.9
"""A span counts as found from this share on: a page number or a reference mark inside it may be missing."""

Interval = tuple[int, int]


def squeezed(text: str) -> str:
    """Return the letters and digits of a text in lower case, without accents.

    Hyphens at line ends, ligatures, spaces, signs and ways to write an accent differ between parsers; this does not.
    """
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if c.isalnum())


def covered(span: str, chunk: str) -> list[Interval]:
    """Return the parts of a squeezed span that a squeezed chunk contains, in order."""
    if span in chunk:
        return [(0, len(span))]
    starts = range(0, max(1, len(span) - _SEED + 1), _SEED // 2)
    if len(span) < _SHORTEST or not any(span[at : at + _SEED] in chunk for at in starts):
        return []
    blocks = SequenceMatcher(None, chunk, span, autojunk=False).get_matching_blocks()
    kept = [block.size >= _SHORTEST for block in blocks]
    for order in (range(1, len(blocks)), range(len(blocks) - 2, -1, -1)):
        step = 1 if order.step < 0 else -1
        for n in order:
            first, second = sorted((blocks[n], blocks[n + step]))
            gaps = (second.a - first.a - first.size, second.b - first.b - first.size)
            kept[n] |= kept[n + step] and max(gaps) <= _GAP and blocks[n].size >= _NEAR
    return [(block.b, block.b + block.size) for block, keep in zip(blocks, kept, strict=True) if keep]


def length(intervals: Iterable[Interval]) -> int:
    """Return the number of characters in at least one of the intervals."""
    total, end = 0, 0
    for first, last in sorted(intervals):
        total += max(0, last - max(first, end))
        end = max(end, last)
    return total


def spans_of(texts: Iterable[str]) -> list[str]:
    """Return the squeezed spans, without those inside another."""
    found = sorted({s for s in map(squeezed, texts) if s}, key=lambda s: (-len(s), s))
    kept: list[str] = []
    for span in found:
        if not any(span in longer for longer in kept):
            kept.append(span)
    return kept


def shares(spans: Sequence[str], chunks: Sequence[str]) -> list[float]:
    """Return the share of each squeezed span that the squeezed chunks contain together."""
    return [length(i for chunk in chunks for i in covered(span, chunk)) / len(span) for span in spans]


class Texts:
    """All texts of a release, to measure how much of a chunk is in them."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Index the texts; neighbours that belong together may be given as one."""
        self._windows: set[int] = set()
        for text in texts:
            plain = squeezed(text)
            self._windows.update(hash(plain[at : at + _WINDOW]) for at in range(0, len(plain) - _WINDOW + 1, _STRIDE))

    def aligned(self, chunk: str) -> int:
        """Return the number of characters of a squeezed chunk that occur in the texts, in pieces of at least 31."""
        found = ((at, at + _WINDOW) for at in range(len(chunk) - _WINDOW + 1)
                 if hash(chunk[at : at + _WINDOW]) in self._windows)  # fmt: skip
        return length(found)
