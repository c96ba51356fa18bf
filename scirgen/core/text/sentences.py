"""Sentences of scientific prose with their offsets.

Where a sentence may end is found by sentencex (Wikimedia Foundation); what papers do beyond it is decided here: citations, figure
and equation references, abbreviations of the field, reference marks glued to a full stop.
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache
from typing import Final

import sentencex

from scirgen.core.records import BlockKind, Document

PROSE: Final = frozenset({BlockKind.PARAGRAPH, BlockKind.LIST_ITEM})
"""Blocks that hold sentences."""

_NEVER_LAST: Final = re.compile(
    r"(?:\b(?:figs?|eqs?|eqns?|refs?|tabs?|secs?|sect|ch|chap|vols?|nos?|pp|approx|ca|cf|viz|vs|i\.e|e\.g|subsp|var|ssp|dr|prof|mr|mrs|aprox|núm|n[º°]|p[áa]g)"
    r")\.$",
    re.I,
)
_INITIAL: Final = re.compile(r"(?:^|[\s(\[,;&.])[A-ZÀ-Þ]\.$")
_LOWER: Final = re.compile(r"^[\"“'(\[]*[a-zà-öø-ÿ]")
_CITED: Final = re.compile(r"^\(?[\[(]?\d{4}[a-z]?[\])]")
_MARKED: Final = re.compile(
    r"(?<=[a-zà-ÿ)%\]][.!?])(?:\[\d[\d,–\-\s]*\]|\d{1,3}(?:[,–-]\d{1,3})*)(?=\s+[A-ZÀ-Þ\"“(¿¡])"
)
_UNIT: Final = re.compile(
    r"(?<=\d)\s?(?:[µμkcmdhnGMT]?(?:m|g|s|W|J|Pa|Hz|L|l)|ha|h|d|yr|K|°C|ppm|ppb|dia|dias|días)(?:[−-]?[1-4²³])?\.(?=\s+[A-ZÀ-Þ¿¡])"
)
_TERMINAL: Final = re.compile(r"[.!?…。！？][^\w\s]*(?:\[?\d[\d,–\-\s]*\]?)?\s*$")


def sentence_spans(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Offsets (start, end) of the sentences of ``text``, in order, not overlapping, without the space around them.

    Every character that is not white space lies in exactly one sentence. A blank line always ends a sentence.

    Args:
        text: running text, any length.
        language: ``en``, ``pt``, ``es`` or ``zh``; another one is treated as ``en``.
    """
    found: list[tuple[int, int]] = []
    for match in re.finditer(r"(?:(?!\n\s*\n).)+", text, re.S):
        found += _paragraph(match.group(), match.start(), language)
    return found


def document_sentences(
    document: Document,
    start: int = 0,
    end: int | None = None,
    kinds: Container[BlockKind] = PROSE,
) -> list[tuple[int, int]]:
    """Sentences of a document's blocks of certain kinds, as offsets into its text, that begin in [start, end)."""
    stop = len(document.text) if end is None else end
    found: list[tuple[int, int]] = []
    for block in document.blocks:
        if block.kind in kinds and block.end > start and block.start < stop:
            spans = sentence_spans(document.text[block.start : block.end], document.language)
            found += [(block.start + s, block.start + e) for s, e in spans if start <= block.start + s < stop]
    return found


def _paragraph(text: str, offset: int, language: str) -> list[tuple[int, int]]:
    cuts = _cuts(text, language)
    spans: list[tuple[int, int]] = []
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        piece = text[start:end]
        lead = len(piece) - len(piece.lstrip())
        if piece.strip():
            spans.append((offset + start + lead, offset + start + len(piece.rstrip())))
    return spans


@lru_cache(maxsize=4096)
def _cuts(text: str, language: str) -> tuple[int, ...]:
    ends = {match.end() for pattern in (_MARKED, _UNIT) for match in pattern.finditer(text)}
    position = 0
    for piece in sentencex.segment(language, text):
        position += len(piece)
        ends.add(position)
    return tuple(sorted(end for end in ends if 0 < end < len(text) and _is_end(text, end)))


def _is_end(text: str, end: int) -> bool:
    match = _TERMINAL.search(text, max(0, end - 40), end)
    if match is None:
        return False
    if text[match.start()] in "…。！？":
        return True
    return _ends(text, match.start(), end)


def _ends(text: str, at: int, end: int) -> bool:
    """Whether the punctuation in [at, end) ends a sentence."""
    before = text[max(0, at - 30) : at + 1]
    after = text[end:].lstrip()[:40]
    if not after:
        return True
    if _open_bracket(text, at):
        return False
    if text[at] in "!?":
        return not _LOWER.match(after)
    if _NEVER_LAST.search(before) or _LOWER.match(after):
        return False
    if _INITIAL.search(before) and not re.search(
        r"\b(?:vitamin|type|figure|table|panel|appendix|class|group)\s[A-Z]\.$", before, re.I
    ):
        return False
    if re.search(r"\b(?:et al|spp?|cv|etc|al)\.$", before, re.I):
        return bool(re.match(r"[\"“(]?(?:[A-ZÀ-Þ][a-zà-ÿ]+|[A-Z]\b)", after)) and not _CITED.match(after)
    return not re.match(r"^[,;:)\]]", after) and bool(
        re.match(r"[\"“‘'(\[¿¡–—•*<>~≈±+\-−]*[A-ZÀ-Þ\dα-ωΑ-Ωа-яА-Я$€£§#]", after) or not after[0].isalnum()
    )


def _open_bracket(text: str, at: int) -> bool:
    """Whether position ``at`` lies inside a bracket that closes within 300 characters."""
    window = text[max(0, at - 300) : at]
    depth = 0
    for character in reversed(window):
        if character in ")]":
            depth += 1
        elif character in "([":
            if depth == 0:
                closing = re.search(r"[)\]]", text[at : at + 300])
                return closing is not None
            depth -= 1
    return False
