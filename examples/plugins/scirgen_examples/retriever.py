"""A retriever for ``scirgen benchmark retrieval --retrievers shortest``. Called with the text after ``:`` and a maker
of others."""

from collections.abc import Callable, Sequence

import numpy as np

from scirgen_bench import Ranking


class Shortest:
    """Ranks the shortest documents first, whatever is asked: a baseline that any other should beat."""

    def __init__(self, argument: str, make: Callable[[str], object]) -> None:
        self._lengths = np.zeros(0, dtype=np.float32)

    def index(self, documents: Sequence[str]) -> None:
        self._lengths = np.array([len(d) for d in documents], dtype=np.float32)

    def search(self, queries: Sequence[str], depth: int) -> Ranking:
        order = np.argsort(self._lengths, kind="stable")[:depth].astype(np.int32)
        scores = (1 / (1 + self._lengths[order])).astype(np.float32)
        return Ranking(np.tile(order, (len(queries), 1)), np.tile(scores, (len(queries), 1)))

    @property
    def parameters(self) -> dict[str, object]:
        return {}
