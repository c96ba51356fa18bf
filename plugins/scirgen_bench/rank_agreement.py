"""Two sets of queries over one corpus: do they rank retrieval systems alike?

A set that does not rank systems as people's queries do measures nothing. Cheap systems (retrievers on titles, texts or
both) search the corpus for both sets. The result is nDCG@10 of each, Kendall's tau and Spearman's rho of the two
rankings with a bootstrap over queries, and the tau of two halves of the first set, which is what it reaches with
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scirgen import InputError, Release
from scirgen.plugin import Registry, open_qa, read_objects, require
from scirgen_bench.intervals import percentile_interval
from scirgen_bench.metrics import Figures, per_query
from scirgen_bench.retriever import make_retriever

Means = NDArray[np.float64]
_CUT = 10
_DRAWS = 300
_HALVES = 200
_METRIC = "NDCG@10"
FIELDS = ("all", "title", "text")
SYSTEMS = (
    "bm25", "bm25:k1=1.2,b=0.75", "bm25:k1=2,b=0.9", "bm25:norms=byte", "tfidf", "bm25@title", "tfidf@title",
    "bm25@text", "bm25:k1=2,b=0.9@text", "tfidf@text",
)  # fmt: skip
"""Systems that need no model; SPEC@FIELD indexes titles or texts alone."""
_HINT = "Lines have `question` (or `query`, `text`) and `gold` (or `dataset_ids`, `dataset_id`): ids of the corpus."


class SystemScore(Figures):
    """nDCG@10 of one system for both sets."""

    system: str
    first: float
    second: float


class RankStatistics(Figures):
    """The agreement of two sets of queries in ranking systems, with 95 % bootstrap intervals over queries. ``halves``
    is the mean tau of two random halves of the first set."""

    kendall: float | None
    kendall_95: tuple[float, float] | None
    spearman: float | None
    spearman_95: tuple[float, float] | None
    halves: float | None


class RankAgreement(RankStatistics):
    """The output of ``scirgen benchmark agree --json``."""

    documents: int
    queries: tuple[int, int]
    left_out: tuple[int, int]
    systems: list[SystemScore]


@dataclass(frozen=True)
class Searched:
    """One document of the corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Query:
    """A query and the documents that answer it."""

    text: str
    gold: tuple[str, ...]


def read_corpus(path: Path) -> list[Searched]:
    """Return documents of a release, a BEIR folder, or JSON Lines with ``id`` (``_id``), ``title`` and ``text``, by id.

    Raises:
        InputError: it has none, or a line has no id.
    """
    if path.is_dir() and not (path / "corpus.jsonl").is_file():
        return sorted((Searched(d.id, d.title, d.text) for d in Release(path).corpus()), key=lambda d: d.id)
    file = path / "corpus.jsonl" if path.is_dir() else path
    found: dict[str, Searched] = {}
    for number, value in read_objects(file, hint="Lines have `id`, `title` and `text`."):
        identity = str(value.get("_id") or value.get("id") or "")
        if not identity:
            raise InputError(f"{file}, line {number}: no id", hint="Lines have `id`, `title` and `text`.")
        names = value.get("aliases")
        called = " ".join(map(str, names)) if isinstance(names, list) else ""
        title = f"{called} {value.get('title') or ''}".strip()
        found.setdefault(identity, Searched(identity, title, str(value.get("text") or "")))
    if not found:
        raise InputError(f"{file} has no documents", hint="Lines have `id`, `title` and `text`.")
    return [found[id] for id in sorted(found)]


def read_queries(path: Path) -> list[Query]:
    """Return the queries of a release, a BEIR folder or JSON Lines.

    Raises:
        InputError: a line has no question or no gold.
    """
    if path.is_dir():
        return [Query(row.question, row.dataset_ids) for row in open_qa(path).rows()]
    found: list[Query] = []
    for number, value in read_objects(path, hint=_HINT):
        text = next((str(value[key]) for key in ("question", "query", "text") if value.get(key)), "")
        gold = next((value[key] for key in ("gold", "dataset_ids", "dataset_id") if value.get(key)), None)
        if not text or gold is None:
            raise InputError(f"{path}, line {number}: no {'gold' if text else 'question'}", hint=_HINT)
        found.append(Query(text, tuple(map(str, gold)) if isinstance(gold, list) else (str(gold),)))
    return found


def measure_agreement(
    corpus: Sequence[Searched],
    first: Sequence[Query],
    second: Sequence[Query],
    *,
    registry: Registry,
    systems: Sequence[str] = SYSTEMS,
    progress: Callable[[str], None] = lambda line: None,
) -> RankAgreement:
    """Rank systems by both sets, and compare the rankings.

    Args:
        corpus: the documents, by id.
        first: the queries to agree with (people's); its halves are compared too.
        second: the queries to be judged. Gold documents outside the corpus are left out, and queries without any other.
        registry: where retrievers are looked up.
        systems: ``SPEC`` or ``SPEC@FIELD``, FIELD one of `FIELDS`.
        progress: called with a line for each system.

    Raises:
        InputError: fewer than three systems, an unknown field, or a set without usable queries.
        PluginError: an unknown retriever.
    """
    if len(set(systems)) < 3:
        raise InputError(
            "comparing rankings needs at least three systems", hint=f"For example: {';'.join(SYSTEMS[:4])}"
        )
    known = {d.id for d in corpus}
    sets = [_usable(queries, known) for queries in (first, second)]
    for queries, name in zip(sets, ("first", "second"), strict=True):
        if not queries:
            raise InputError(f"no query of the {name} set has a gold document in the corpus", hint=_HINT)
    scores = [_scores(corpus, queries, systems, registry, progress) for queries in sets]
    means = [s.mean(axis=1) for s in scores]
    return RankAgreement(
        documents=len(corpus),
        queries=(len(sets[0]), len(sets[1])),
        left_out=(len(first) - len(sets[0]), len(second) - len(sets[1])),
        systems=[
            SystemScore(system=name, first=round(float(a), 6), second=round(float(b), 6))
            for name, a, b in zip(systems, *means, strict=True)
        ],
        **dict(rank_statistics(*scores)),
    )


def rank_statistics(first: NDArray[np.float64], second: NDArray[np.float64]) -> RankStatistics:
    """Compare the rankings by the mean scores of two sets of queries.

    Args:
        first: scores of the queries to agree with, shape (systems, queries); its halves are compared too.
        second: scores of the other set, of the same systems, shape (systems, queries).
    """
    scores = (first, second)
    draw = np.random.default_rng(0)
    taus: list[float | None] = []
    rhos: list[float | None] = []
    for _ in range(_DRAWS):
        left, right = (s[:, draw.integers(0, s.shape[1], s.shape[1])].mean(axis=1) for s in scores)
        taus.append(_kendall(left, right))
        rhos.append(_spearman(left, right))
    size = scores[0].shape[1]
    halves = []
    for _ in range(_HALVES if size > 1 else 0):
        order = draw.permutation(size)
        parts = (order[: size // 2], order[size // 2 :])
        halves.append(_kendall(*(scores[0][:, part].mean(axis=1) for part in parts)))
    usable = [tau for tau in halves if tau is not None]
    means = [s.mean(axis=1) for s in scores]
    return RankStatistics(
        kendall=_kendall(*means),
        kendall_95=percentile_interval(taus),
        spearman=_spearman(*means),
        spearman_95=percentile_interval(rhos),
        halves=round(float(np.mean(usable)), 4) if usable else None,
    )


def _correlation(of: Literal["kendall", "spearman"], left: Means, right: Means) -> float | None:
    """Return Kendall's tau-b or Spearman's rho of two lists of scores; None if all of one list are equal."""
    with require("benchmark", "rank correlations"):
        from scipy.stats import kendalltau, spearmanr
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return None
    found = kendalltau(left, right, method="asymptotic") if of == "kendall" else spearmanr(left, right)
    return round(float(found.statistic), 6)


_kendall, _spearman = partial(_correlation, "kendall"), partial(_correlation, "spearman")


def _usable(queries: Iterable[Query], known: set[str]) -> list[Query]:
    held = (Query(q.text, tuple(g for g in q.gold if g in known)) for q in queries)
    return [q for q in held if q.gold]


def _scores(
    corpus: Sequence[Searched],
    queries: Sequence[Query],
    systems: Sequence[str],
    registry: Registry,
    progress: Callable[[str], None],
) -> NDArray[np.float64]:
    """nDCG@10, shape (systems, queries)."""
    ids = [d.id for d in corpus]
    names = [str(n) for n in range(len(queries))]
    qrels: Mapping[str, Mapping[str, int]] = {
        name: dict.fromkeys(query.gold, 1) for name, query in zip(names, queries, strict=True)
    }
    rows = []
    for system in systems:
        spec, _, field = system.partition("@")
        retriever = make_retriever(registry, spec)
        retriever.index(list(_texts(corpus, field or "all")))
        ranking = retriever.search([q.text for q in queries], min(_CUT, len(corpus)))
        rows.append(per_query(ranking, names, ids, qrels)[_METRIC])
        progress(f"{system}: {len(queries)} queries, nDCG@10 {rows[-1].mean():.3f}")
    return np.asarray(rows)


def _texts(corpus: Sequence[Searched], field: str) -> Iterator[str]:
    if field not in FIELDS:
        raise InputError(f"unknown field {field!r} of a system", hint=f"SPEC@FIELD, FIELD one of {', '.join(FIELDS)}.")
    for d in corpus:
        yield {"all": f"{d.title} {d.text}", "title": d.title, "text": d.text}[field]
