"""``knn:tfidf`` and ``knn:st:MODEL``: the datasets of the nearest training queries (DataFinder, ACL 2023, section
5.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from scirgen.core.errors import PluginError
from scirgen_bench.retriever import Ranking, Retriever, top

_NEIGHBOURS = 50


class NearestQueries:
    """Ranks documents by the training queries that they answer: the nearest query's documents first.

    A document's score is the similarity of the nearest training query that it answers. A document that answers none is
    not found.
    """

    def __init__(self, similar: Retriever, name: str) -> None:
        self._similar, self._name = similar, name
        self._size = 0
        self._gold: list[Sequence[int]] = []

    @property
    def parameters(self) -> dict[str, object]:
        """The way in which queries are compared, and the number of neighbours."""
        return {"similarity": self._name, "neighbours": _NEIGHBOURS, "training_queries": len(self._gold)}

    def index(self, documents: Sequence[str]) -> None:
        """Note the number of documents. Their texts are not indexed, since they are found through training queries."""
        self._size = len(documents)

    def learn(self, queries: Sequence[str], gold: Sequence[Sequence[int]]) -> None:
        """Take in the training queries and the documents that answer them."""
        self._gold = list(gold)
        self._similar.index(list(queries))

    def search(self, queries: Sequence[str], depth: int) -> Ranking:
        """Rank for many queries."""
        if not self._gold:
            raise PluginError(
                "knn has no training queries", hint="It learns from a task's train split: use it with --task."
            )
        near = self._similar.search(queries, min(_NEIGHBOURS, len(self._gold)))
        scores = np.full((len(queries), self._size), -np.inf, dtype=np.float32)
        for row, (neighbours, similarity) in enumerate(zip(near.documents, near.scores, strict=True)):
            for neighbour, value in zip(neighbours.tolist(), similarity.tolist(), strict=True):
                for document in self._gold[neighbour] if neighbour >= 0 else ():
                    scores[row, document] = max(scores[row, document], value)
        found = top(scores, depth, positive=False)
        found.documents[np.isneginf(found.scores)] = -1
        found.scores[np.isneginf(found.scores)] = 0.0
        return found


def knn(argument: str, make: Callable[[str], Retriever]) -> NearestQueries:
    """``knn:tfidf``, ``knn:bm25`` or ``knn:st:MODEL_OR_DIR``."""
    if not argument:
        raise PluginError("knn needs a way to compare queries", hint="knn:tfidf or knn:st:MODEL_OR_DIR")
    return NearestQueries(make(argument), argument)
