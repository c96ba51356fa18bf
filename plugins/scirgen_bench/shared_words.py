"""The entailment model ``lexical:words``: a baseline that only counts words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from scirgen import Entailment, ModelError, ModelURI
from scirgen.core.text.words import words_and_numbers

_EMPTY = frozenset([
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is", "it", "its", "of", "on", "or", "that",
    "the", "this", "to", "was", "were", "which", "with",
])  # fmt: skip


class SharedWords:
    """The share of the hypothesis's words, except the most common, that occur in the premise. Asks no model."""

    counts_words: ClassVar[bool] = True

    def __init__(self, uri: ModelURI, *_: object) -> None:
        self.identity = str(uri)

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment | ModelError]:
        """Return one result per pair, in order."""
        return [_share(premise, hypothesis) for premise, hypothesis in pairs]


def _share(premise: str, hypothesis: str) -> Entailment:
    held = set(words_and_numbers(premise))
    words = Counter(w for w in words_and_numbers(hypothesis) if w not in _EMPTY)
    share = sum(n for w, n in words.items() if w in held) / words.total() if words else 0.0
    return Entailment(share, 1.0 - share)
