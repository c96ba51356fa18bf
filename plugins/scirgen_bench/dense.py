"""Embedding models (bi-encoders) and cross-encoders through sentence-transformers, and fusion with BM25."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from scirgen.plugin import PluginError, sentence_spans
from scirgen_bench.retriever import OPTIONS, Ranking, Retriever, Tunable, ranked
from scirgen_local.embeddings import CROSS, load, open_embedder

_RRF_K = 60
_POOL = 100


class Dense:
    """Cosine of sentence embeddings. The model cuts texts that are longer than its window.

    Args:
        model: embeds documents and queries.
        bf16: embed in bfloat16.
    """

    def __init__(self, model: str, bf16: bool = False) -> None:
        self._embedder, self._bf16 = open_embedder(model, bf16), bf16
        self._vectors: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)

    @property
    def parameters(self) -> dict[str, object]:
        """The model, and the window in tokens."""
        how = {"bf16": True} if self._bf16 else {}
        return {"model": self._embedder.name, "window": self._embedder.window, **how}

    def index(self, documents: Sequence[str]) -> None:
        """Embed the corpus."""
        self._vectors = self._embedder.embed(documents)

    def search(self, queries: Sequence[str], depth: int) -> Ranking:
        """Embed the queries and rank by cosine."""
        embed, vectors = self._embedder.embed, self._vectors.T
        return ranked(
            lambda part: (embed(queries[part], "query") @ vectors).astype(np.float32),
            len(queries), depth, positive=False,
        )  # fmt: skip


class MaxSim:
    """Compares sentences: each one of the query has the largest cosine with one of the document.

    Args:
        model: embeds sentences.
        mean: score a document by the mean over the query's sentences (DORIS-MAE, equation 4), or by the best one
            (CSFCube, section 5.1).
        bf16: embed in bfloat16.
    """

    def __init__(self, model: str, mean: bool = False, bf16: bool = False) -> None:
        self._embedder, self._mean = open_embedder(model, bf16), mean
        self._vectors: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)
        self._starts: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    @property
    def parameters(self) -> dict[str, object]:
        """The model, and how texts are compared."""
        return {"model": self._embedder.name, "compared": f"sentences, {'mean of maxima' if self._mean else 'maximum'}"}

    def index(self, documents: Sequence[str]) -> None:
        """Embed every sentence of the corpus."""
        sentences = [_sentences(d) for d in documents]
        self._starts = np.cumsum([0, *(len(s) for s in sentences[:-1])])
        self._vectors = self._embedder.embed([s for found in sentences for s in found])

    def search(self, queries: Sequence[str], depth: int) -> Ranking:
        """Rank by the best pair of sentences, or the mean of each sentence's best."""
        return ranked(lambda part: self._scores(queries[part]), len(queries), depth, positive=False, batch=1)

    def _scores(self, queries: Sequence[str]) -> NDArray[np.float32]:
        asked = self._embedder.embed(_sentences(queries[0]), "query")
        best: NDArray[np.float32] = np.maximum.reduceat(asked @ self._vectors.T, self._starts, axis=1)
        scores: NDArray[np.float32] = (best.mean if self._mean else best.max)(axis=0, keepdims=True).astype(np.float32)
        return scores


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text; one, even if the text is empty, so that every document has a row."""
    return [text[start:end] for start, end in sentence_spans(text)] or [text]


class Hybrid:
    """Reciprocal rank fusion (Cormack et al., SIGIR 2009): sum over retrievers of 1 / (60 + rank)."""

    def __init__(self, retrievers: Sequence[Retriever]) -> None:
        self._retrievers = list(retrievers)
        self._size = 0

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters of the fused retrievers."""
        return {"fused": [r.parameters for r in self._retrievers], "k": _RRF_K}

    @property
    def wants_tuning(self) -> bool:
        """True if one of the fused retrievers needs it."""
        return any(isinstance(r, Tunable) and r.wants_tuning for r in self._retrievers)

    def tune(self, queries: Sequence[str], gold: Sequence[int]) -> None:
        """Tune each fused retriever that can be tuned, separately."""
        for retriever in self._retrievers:
            if isinstance(retriever, Tunable) and retriever.wants_tuning:
                retriever.tune(queries, gold)

    def index(self, documents: Sequence[str]) -> None:
        """Index the corpus with each fused retriever."""
        self._size = len(documents)
        for retriever in self._retrievers:
            retriever.index(documents)

    def search(self, queries: Sequence[str], depth: int) -> Ranking:
        """Fuse the rankings to ``depth``."""
        rankings = [r.search(queries, depth).documents for r in self._retrievers]

        def fused(part: slice) -> NDArray[np.float32]:
            scores = np.zeros((part.stop - part.start, self._size), dtype=np.float32)
            for ranking in rankings:
                found = ranking[part]
                rows, ranks = np.nonzero(found >= 0)
                np.add.at(scores, (rows, found[rows, ranks]), 1.0 / (_RRF_K + 1 + ranks))
            return scores

        return ranked(fused, len(queries), depth, positive=True)


class Rerank:
    """A cross-encoder that reranks the first 100 documents of another retriever; the others follow in their order."""

    def __init__(self, model: str, first: Retriever) -> None:
        self._name = model
        self._model = load(CROSS, model)
        self._first = first
        self._documents: Sequence[str] = ()

    @property
    def parameters(self) -> dict[str, object]:
        """The model, and the retriever whose documents it reranks."""
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


def dense(argument: str, make: Callable[[str], Retriever]) -> Dense | MaxSim:
    """Make ``st:MODEL_OR_DIR``; ``,maxsim`` and ``,meanmax`` compare sentences, ``,bf16`` computes in bfloat16."""
    model, *options = _needed("st", argument).split(",")
    unknown = next((o for o in options if o not in OPTIONS), "")
    compared = [o for o in options if o != "bf16"]
    if unknown or len(compared) > 1:
        raise PluginError(
            f"st does not accept {unknown or ','.join(compared)!r}",
            hint="st:MODEL_OR_DIR or st:MODEL,maxsim|meanmax; each also with ,bf16",
        )
    bf16 = "bf16" in options
    return MaxSim(model, compared == ["meanmax"], bf16) if compared else Dense(model, bf16)


def hybrid(argument: str, make: Callable[[str], Retriever]) -> Hybrid:
    """Make ``hybrid:MODEL_OR_DIR``, BM25 and an embedding model; ``hybrid:a+b`` fuses retrievers given by name."""
    if not argument:
        raise PluginError(
            "hybrid needs an embedding model",
            hint="Name it (hybrid:MODEL_OR_DIR), or put st:MODEL_OR_DIR into the same list.",
        )
    names = argument.split("+") if "+" in argument else ["bm25", f"st:{argument}"]
    return Hybrid([make(name) for name in names])


def rerank(argument: str, make: Callable[[str], Retriever]) -> Rerank:
    """Make ``rerank:MODEL_OR_DIR``, a cross-encoder over BM25's first 100."""
    return Rerank(_needed("rerank", argument), make("bm25"))


def _needed(name: str, argument: str) -> str:
    if not argument:
        raise PluginError(f"{name} needs a model", hint=f"{name}:MODEL_OR_DIR")
    return argument
