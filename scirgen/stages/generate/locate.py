"""Finds a reply's quote verbatim in its material."""

from __future__ import annotations

from collections.abc import Sequence

from scirgen.core.records import Dataset, Span
from scirgen.core.text.verbatim import find_verbatim
from scirgen.stages.generate.strategy import Passage

_MIN_WORDS = 3
"""Shorter quotes occur by chance and prove nothing."""


def locate(quote: str, passages: Sequence[Passage], dataset: Dataset) -> Span | None:
    """Return the span of a quote in one of the passages or in the metadata; None if it is not there verbatim.

    `scirgen.core.text.verbatim` defines verbatim; a final full stop is not compared.
    """
    words = quote.strip().rstrip(".").strip()
    if len(words.split()) < _MIN_WORDS:
        return None
    for passage in (p for p in passages if not p.cells):
        found = find_verbatim(passage.text, words)
        if found:
            start, end = found
            place = {"start": passage.span.start + start, "end": passage.span.start + end}
            return passage.span.model_copy(update={**place, "text": passage.text[start:end]})
    found = find_verbatim(dataset.text, words)
    if found is None:
        return None
    return Span(document_id=dataset.id, start=found[0], end=found[1], text=dataset.text[found[0] : found[1]])
