"""Selects the part of a dataset's context against which a pair is scored: all of it, or the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from scirgen.core.records import QAPair
from scirgen.core.text.bm25 import BM25
from scirgen.core.text.passages import count_words, windows
from scirgen.core.text.sentences import sentence_spans
from scirgen.core.text.words import words_and_numbers
from scirgen.stages.filter.base import Material

WindowKind = Literal["full", "evidence"]

PASSAGE_WORDS = 90
"""Sentences are joined to passages of at most this many words. Chosen on the 177 pairs of ``shared/data/pairs``: the
three best passages hold 264 of 267 quotes in 219 words; those of at least 60 words, as before, 259 in 234."""


@lru_cache(maxsize=256)
def passages(text: str, words: int = PASSAGE_WORDS) -> tuple[str, ...]:
    """Return the text in order as passages of at most ``words`` words, cut between sentences and lines, on one line."""
    found = windows(text, words, pieces=lambda t: _pieces(t, words))
    return tuple(" ".join(text[start:end].split("\n")) for start, end in found)


def _pieces(text: str, words: int) -> list[str]:
    """Return the lines; one of more than ``words`` words cut into sentences. Blank lines belong to the piece before."""
    pieces: list[str] = []
    for line in text.splitlines(keepends=True):
        starts = [start for start, _ in sentence_spans(line)][1:] if count_words(line) > words else []
        for start, end in pairwise([0, *starts, len(line)]):
            if line[start:end].strip() or not pieces:
                pieces.append(line[start:end])
            else:
                pieces[-1] += line[start:end]
    return pieces


def chosen_window(kind: WindowKind, pair: QAPair, material: Material) -> str:
    """Return the text against which a pair is scored: its evidence if the window is `evidence` and it has spans,
    otherwise the whole context."""
    return evidence_window(pair, material) if kind == "evidence" and pair.evidence else material.context


def evidence_window(pair: QAPair, material: Material, budget: int = 3) -> str:
    """Return the sentences that the pair's spans touch; without usable spans, the ``budget`` passages most similar to
    the pair."""
    if found := "\n".join(dict.fromkeys(text for text in span_texts(pair, material) if text)):
        return found
    every = passages(material.context)
    return "\n".join(every[i] for i in sorted(rank(f"{pair.question} {pair.answer}", every)[:budget]))


def span_texts(pair: QAPair, material: Material) -> list[str]:
    """Return the sentences that each span touches, span by span."""
    record = material.dataset.id if material.dataset else None
    return [
        s.shown
        if s.medium in ("table", "header")
        else _sentences(material.sources.get(s.document_id, ""), s.start, s.end, in_line=s.document_id == record)
        or s.text.strip()
        for s in pair.evidence
    ]


def rank(query: str, texts: Sequence[str]) -> list[int]:
    """Return the indices of the texts, by descending BM25 (k1 = 1.2, b = 0.75) with the query over lower-cased
    words."""
    wanted = sorted(set(words_and_numbers(query)))
    return [i for i, _ in BM25([words_and_numbers(t) for t in texts], k1=1.2).ranked(wanted)]


def _sentences(text: str, start: int, end: int, *, in_line: bool) -> str:
    """Return the sentences of a source that the span touches; ``in_line``: each ends with its line."""
    if not text or end > len(text):
        return ""
    # Looking at a few thousand characters is enough, and a whole paper's text is not split for each span.
    low, high = max(0, start - 2000), min(len(text), end + 2000)
    if in_line:
        low = max(low, text.rfind("\n", 0, start) + 1)
        high = min(high, (text + "\n").index("\n", end))
    spans = [(a + low, b + low) for a, b in sentence_spans(text[low:high])]
    touched = [i for i, (a, b) in enumerate(spans) if a < end and start < b]
    if not touched:
        return text[start:end]
    return text[spans[touched[0]][0] : spans[touched[-1]][1]].strip()
