"""The interface of retrievers, and their names on the command line (``name`` or ``name:argument``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from scirgen.plugin import PluginError, Registry

CONTRACT = ("parameters", "index(documents)", "search(queries, depth)")
"""The members that a plugin of kind ``retriever`` must have."""


@dataclass(frozen=True)
class Ranking:
    """The best documents of each query, best first.

    Attributes:
        documents: int array (queries, depth) of positions in the corpus; -1 if fewer documents were found.
        scores: float array of the same shape, descending along a row; 0 if no document was found. Only their order
            counts, since scales differ between retrievers.
    """

    documents: NDArray[np.int32]
    scores: NDArray[np.float32]

    def hits(self, row: int, ids: Sequence[str]) -> list[tuple[str, float]]:
        """Return (document id, score) of one query, best first; ``ids`` are those of the corpus by position."""
        found = zip(self.documents[row].tolist(), self.scores[row].tolist(), strict=True)
        return [(ids[document], score) for document, score in found if document >= 0]


@runtime_checkable
class Retriever(Protocol):
    """Ranks documents for queries. Of documents with equal scores, the first in the corpus comes first (the corpus is
    sorted by id)."""

    def index(self, documents: Sequence[str]) -> None:
        """Index the corpus; a document's place in ``documents`` is its position in rankings."""

    def search(self, queries: Sequence[str], depth: int) -> Ranking:
        """Rank documents for each query: arrays of shape (queries, depth). A document that shares nothing with a query
        may be left out."""

    @property
    def parameters(self) -> dict[str, object]:
        """The retriever's settings (k1, b, a model's name), for the table."""


@runtime_checkable
class Tunable(Protocol):
    """A retriever that chooses its parameters on questions with known answers, never on those that it is measured
    on."""

    @property
    def wants_tuning(self) -> bool: ...

    def tune(self, queries: Sequence[str], gold: Sequence[int]) -> None:
        """Choose parameters by MRR@100; ``gold`` holds the position of each query's document."""


@runtime_checkable
class Identified(Protocol):
    """A retriever that needs the ids of queries and documents, not only their texts (a replayed run)."""

    def identify(self, queries: Sequence[str], known: frozenset[str], documents: Sequence[str]) -> None:
        """Receive, before `index`, the ids of the queries in the order in which they are asked, all ids of queries, and
        the ids of the documents by position."""


def make_retriever(registry: Registry, spec: str) -> Retriever:
    """Return a retriever from ``name`` or ``name:argument``. Its factory is called with the argument ("" for none).

    Raises:
        PluginError: an unknown name ("did you mean"), or an argument it does not take.
        MissingExtraError: it needs an optional dependency.
    """
    name, _, argument = spec.partition(":")
    factory = registry.get("retriever", name)
    if not callable(factory):
        raise PluginError(f"retriever {name!r} is not callable")
    return cast(Retriever, factory(argument, lambda inner: make_retriever(registry, inner)))


OPTIONS = ("maxsim", "meanmax", "bf16")
"""Words after a comma that belong to the retriever before it."""


def split_specs(text: str) -> list[str]:
    """Split ``"bm25,bm25:k1=1.2,b=0.75,tfidf"`` into three specs: ``b=0.75`` belongs to the spec before it."""
    specs: list[str] = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        if (specs and part in OPTIONS) or (specs and "=" in part and ":" not in part.partition("=")[0]):
            specs[-1] += f",{part}"
        else:
            specs.append(part)
    return specs


def complete_specs(specs: Sequence[str]) -> dict[str, str]:
    """Return a mapping: spec as written -> complete spec: ``hybrid`` alone fuses BM25 with the first ``st:MODEL`` of
    the same list.

    Duplicates are removed.
    """
    model = next((s.partition(":")[2] for s in specs if s.startswith("st:")), "")
    return {s: f"hybrid:{model}" if s == "hybrid" and model else s for s in specs}


_BATCH = 256


def ranked(
    scores: Callable[[slice], NDArray[np.float32]], count: int, depth: int, *, positive: bool, batch: int = _BATCH
) -> Ranking:
    """Rank documents for queries, batch by batch, so that the scores of all queries need not fit in memory.

    Args:
        scores: a slice of the queries -> their scores, shape (queries, documents).
        count: number of queries.
        depth: how many documents to keep.
        positive: see `top`.
        batch: number of queries scored together.
    """
    starts = range(0, count, batch)
    parts = [top(scores(slice(at, min(at + batch, count))), depth, positive=positive) for at in starts]
    if not parts:
        return Ranking(np.empty((0, depth), dtype=np.int32), np.empty((0, depth), dtype=np.float32))
    return Ranking(np.concatenate([p.documents for p in parts]), np.concatenate([p.scores for p in parts]))


def top(scores: NDArray[np.float32], depth: int, *, positive: bool) -> Ranking:
    """Return the ``depth`` best of each row of a (queries, documents) array; equal scores in the order of documents.

    Args:
        scores: dense scores.
        depth: how many to keep.
        positive: leave out documents whose score is not above zero (they share no term with the query).
    """
    rows, columns = scores.shape
    depth = min(depth, columns)
    documents = np.full((rows, depth), -1, dtype=np.int32)
    kept = np.zeros((rows, depth), dtype=np.float32)
    bounds = (
        np.partition(scores, columns - depth, axis=1)[:, columns - depth] if depth < columns else scores.min(axis=1)
    )
    for i in range(rows):
        row = scores[i]
        found = np.flatnonzero((row >= bounds[i]) & (row > 0)) if positive else np.flatnonzero(row >= bounds[i])
        order = found[np.argsort(-row[found], kind="stable")][:depth]
        documents[i, : len(order)] = order
        kept[i, : len(order)] = row[order]
    return Ranking(documents, kept)
