"""Embedding models (bi-encoders) and cross-encoders through sentence-transformers, and fusion with BM25."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from scirgen.benchmark.lexical import joined
from scirgen.benchmark.retriever import Ranking, Retriever, Tunable, top
from scirgen.core.errors import PluginError
from scirgen.llm.encoders.embeddings import CROSS, load, open_embedder

_BATCH = 256
_RRF_K = 60
_POOL = 100


class Dense:
    """Cosine of sentence embeddings. Texts longer than the model's window are cut there."""

    def __init__(self, model: str) -> None:
        self._embedder = open_embedder(model)
        self._vectors: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)

    @property
    def parameters(self) -> dict[str, object]:
        """The model and its window in tokens."""
        return {"model": self._embedder.name, "window": self._embedder.window}

    def index(self, documents: Sequence[str]) -> None:
        """Embed the corpus."""
        self._vectors = self._embedder.embed(documents)

    def search(self, queries: Sequence[str], depth: int) -> Ranking:
        """Embed the queries and rank by cosine."""
        parts = []
        for at in range(0, len(queries), _BATCH):
            scores = self._embedder.embed(queries[at : at + _BATCH], "query") @ self._vectors.T
            parts.append(top(scores.astype(np.float32), depth, positive=False))
        return joined(parts, depth)


class Hybrid:
    """Reciprocal rank fusion (Cormack et al., SIGIR 2009): sum over retrievers of 1 / (60 + rank)."""

    def __init__(self, retrievers: Sequence[Retriever]) -> None:
        self._retrievers = list(retrievers)
        self._size = 0

    @property
    def parameters(self) -> dict[str, object]:
        """Those of what it fuses."""
        return {"fused": [r.parameters for r in self._retrievers], "k": _RRF_K}

    @property
    def wants_tuning(self) -> bool:
        """Whether one of those it fuses does."""
        return any(_wants_tuning(r) for r in self._retrievers)

    def tune(self, queries: Sequence[str], gold: Sequence[int]) -> None:
        """Tune those that want it, each for itself."""
        for retriever in self._retrievers:
            if isinstance(retriever, Tunable) and retriever.wants_tuning:
                retriever.tune(queries, gold)

    def index(self, documents: Sequence[str]) -> None:
        """Index with each."""
        self._size = len(documents)
        for retriever in self._retrievers:
            retriever.index(documents)

    def search(self, queries: Sequence[str], depth: int) -> Ranking:
        """Fuse the rankings to ``depth``."""
        rankings = [r.search(queries, depth).documents for r in self._retrievers]
        parts = []
        for at in range(0, len(queries), _BATCH):
            scores = np.zeros((len(queries[at : at + _BATCH]), self._size), dtype=np.float32)
            for ranking in rankings:
                found = ranking[at : at + _BATCH]
                rows, ranks = np.nonzero(found >= 0)
                np.add.at(scores, (rows, found[rows, ranks]), 1.0 / (_RRF_K + 1 + ranks))
            parts.append(top(scores, depth, positive=True))
        return joined(parts, depth)


class Rerank:
    """A cross-encoder over the first 100 documents of another retriever; the rest keep their order below."""

    def __init__(self, model: str, first: Retriever) -> None:
        self._name = model
        self._model = load(CROSS, model)
        self._first = first
        self._documents: Sequence[str] = ()

    @property
    def parameters(self) -> dict[str, object]:
        """The model, and what it reranks."""
        return {"model": self._name, "first": self._first.parameters, "pool": _POOL}

    def index(self, documents: Sequence[str]) -> None:
        """Index with the first retriever."""
        self._documents = documents
        self._first.index(documents)

    def search(self, queries: Sequence[str], depth: int) -> Ranking:
        """Rank, then score each (query, document) of the pool again."""
        ranking = self._first.search(queries, depth)
        documents, scores = ranking.documents.copy(), ranking.scores.copy()
        for i, query in enumerate(queries):
            pool = documents[i, :_POOL]
            pool = pool[pool >= 0]
            if not len(pool):
                continue
            pairs = [(query, self._documents[int(d)]) for d in pool]
            new = np.asarray(self._model.predict(pairs, show_progress_bar=False), dtype=np.float32).reshape(len(pool))
            order = np.argsort(-new, kind="stable")
            documents[i, : len(pool)] = pool[order]
            scores[i] -= scores[i].max() - new.min() + 1.0
            scores[i, : len(pool)] = new[order]
        return Ranking(documents, scores)


def _wants_tuning(retriever: Retriever) -> bool:
    return isinstance(retriever, Tunable) and retriever.wants_tuning


def dense(argument: str, make: Callable[[str], Retriever]) -> Dense:
    """``st:MODEL_OR_DIR``."""
    return Dense(_needed("st", argument))


def hybrid(argument: str, make: Callable[[str], Retriever]) -> Hybrid:
    """``hybrid:MODEL_OR_DIR``: BM25 and an embedding model; ``hybrid:a+b`` fuses retrievers given by name."""
    if not argument:
        raise PluginError(
            "hybrid needs an embedding model",
            hint="Name it (hybrid:MODEL_OR_DIR), or put st:MODEL_OR_DIR into the same list.",
        )
    names = argument.split("+") if "+" in argument else ["bm25", f"st:{argument}"]
    return Hybrid([make(name) for name in names])


def rerank(argument: str, make: Callable[[str], Retriever]) -> Rerank:
    """``rerank:MODEL_OR_DIR``: a cross-encoder over BM25's first 100."""
    return Rerank(_needed("rerank", argument), make("bm25"))


def _needed(name: str, argument: str) -> str:
    if not argument:
        raise PluginError(f"{name} needs a model", hint=f"{name}:MODEL_OR_DIR")
    return argument
