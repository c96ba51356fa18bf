"""Where sentences begin and end. The splitting is sentencex's; what scientific prose does to full stops is put right here."""

from __future__ import annotations

import re
from collections.abc import Container

import sentencex

from scirgen.core.records import BlockKind, Document

PROSE = frozenset({BlockKind.PARAGRAPH, BlockKind.LIST_ITEM})
"""Blocks that hold sentences."""

_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:Eqs?|Figs?|Sects?|Secs?|Tabs?|Refs?|Nos?|Vols?|Suppl|App|Chap|Sch|approx|resp|avg|incl|excl|e\.g|i\.e"
    r"|cf|ca|viz|vs|spp?|subsp|var|Mts?|Dr|Drs|Prof|Univ|Dept|Inst|Lat|Lon|Alt|temp|obs|pers|comm)\.\s*$"
)
_AFTER_ET_AL = re.compile(r"\bet\s+al\.\s*$")
_GOES_ON = re.compile(r"[a-z0-9(\[,;:%°±–−]")


def sentence_spans(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Sentences of a text as [start, end), without the white space around them; together they hold all else of it."""
    pieces: list[tuple[int, int]] = []
    at = 0
    for piece in sentencex.segment(language, text):
        if pieces and _belongs(text[pieces[-1][0] : at], piece):
            pieces[-1] = (pieces[-1][0], at + len(piece))
        else:
            pieces.append((at, at + len(piece)))
        at += len(piece)
    trimmed = ((s + len(p) - len(p.lstrip()), s + len(p.rstrip())) for s, e in pieces for p in (text[s:e],))
    return [(s, e) for s, e in trimmed if s < e]


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


def _belongs(before: str, piece: str) -> bool:
    """Whether a piece goes on with the sentence before it."""
    first = piece.lstrip()[:1]
    if before.endswith("\n\n") or not first:
        return not first
    if _ABBREVIATION.search(before):
        return True
    return bool(_GOES_ON.match(first)) and (bool(_AFTER_ET_AL.search(before)) or first.islower())
