"""Ranks texts by the words they share with a query: BM25 (Robertson & Zaragoza 2009), computed by bm25s. The caller
splits texts into words."""

from __future__ import annotations

from collections.abc import Sequence


class BM25:
    """Texts as lists of words, ready to be ranked. `scirgen_bench.lexical` holds the retriever that reproduces
    Lucene."""

    def __init__(self, texts: Sequence[Sequence[str]], k1: float = 1.5, b: float = 0.75) -> None:
        import bm25s

        self._known = {w: i for i, w in enumerate(sorted({w for words in texts for w in words}))}
        self._count = len(texts)
        self._index = bm25s.BM25(k1=k1, b=b)
        if self._known:
            ids = [[self._known[w] for w in words] for words in texts]
            self._index.index(bm25s.tokenization.Tokenized(ids=ids, vocab=self._known), show_progress=False)

    def ranked(self, query: Sequence[str]) -> list[tuple[int, float]]:
        """Return (index, score) of all texts, best first. A text without a word of the query scores 0; texts with equal
        scores keep their order."""
        known = [w for w in query if w in self._known]
        scores = self._index.get_scores(known).tolist() if known else [0.0] * self._count
        return sorted(enumerate(scores), key=lambda found: (-found[1], found[0]))
