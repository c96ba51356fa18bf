"""Per-query retrieval metrics through ir-measures, and their means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from scirgen.plugin import require
from scirgen_bench.intervals import drawn_clusters, percentile_interval
from scirgen_bench.retriever import Ranking


class Figures(BaseModel):
    """Base of measured figures."""

    model_config = ConfigDict(frozen=True)


# Name in our tables -> ir-measures' notation.
MEASURES: dict[str, str] = {
    "R@1": "R@1", "R@5": "R@5", "R@20": "R@20", "R@100": "R@100", "MRR@10": "RR@10", "MRR@100": "RR@100", "MAP": "AP",
    "R-Prec": "Rprec", "P@1": "P@1", "P@5": "P@5", "NDCG@10": "nDCG@10", "NDCG@100": "nDCG@100",
    "judged@10": "Judged@10",
}  # fmt: skip


RELEVANT = 2
"""From this grade on, a document counts as relevant in the binary metrics."""


def _with_level(measure: str) -> str:
    name, at, cut = measure.partition("@")
    return f"{name}(rel={RELEVANT}){at}{cut}"


PerQuery = dict[str, NDArray[np.float64]]


# The same with graded judgements: grades 2 and 3 are relevant, and NDCG uses the grades.
_GRADED = {
    ours: theirs if theirs.startswith(("nDCG", "Judged")) else _with_level(theirs) for ours, theirs in MEASURES.items()
}


def per_query(
    ranking: Ranking,
    queries: Sequence[str],
    documents: Sequence[str],
    qrels: Mapping[str, Mapping[str, int]],
    *,
    graded: bool = False,
) -> PerQuery:
    """Measure each query with ir-measures.

    The order of the ranking decides, also between equal scores (trec_eval would sort these by document id).

    Args:
        ranking: positions in ``documents``, one row per query.
        queries: ids, in the order of the ranking's rows.
        documents: ids by position.
        qrels: query id -> document id -> grade; every query must be in it.
        graded: whether grades go from 0 to 3, so that grades from 2 on are relevant; otherwise those from 1 on.

    Returns:
        Metric -> array (queries,) of fractions from 0 to 1. A query without a relevant document has 0.
    """
    with require("benchmark", "benchmarks"):
        import ir_measures
    chosen = _GRADED if graded else MEASURES
    measures = {ir_measures.parse_measure(theirs): ours for ours, theirs in chosen.items()}
    depth = ranking.documents.shape[1]
    judged = {q: dict(qrels[q]) for q in queries}
    run = {
        query: {documents[d]: float(depth - rank) for rank, d in enumerate(row) if d >= 0}
        for query, row in zip(queries, ranking.documents.tolist(), strict=True)
        if row and row[0] >= 0  # a query without results keeps its zeros; Judged would divide by their number
    }
    position = {query: i for i, query in enumerate(queries)}
    table: PerQuery = {name: np.zeros(len(queries)) for name in MEASURES}
    for value in ir_measures.iter_calc(list(measures), judged, run):
        table[measures[value.measure]][position[value.query_id]] = value.value
    return table


def means(table: PerQuery, chosen: NDArray[np.bool_] | None = None) -> dict[str, float]:
    """Return a mapping: metric -> mean over the (chosen) queries, rounded to six digits."""
    return {name: round(float((v if chosen is None else v[chosen]).mean()), 6) for name, v in table.items()}


Values = NDArray[np.float64]
_DRAWS = 2000
"""Bootstrap or randomisation draws."""


class Clusters:
    """Intervals and tests that redraw groups of queries, since the results of one dataset's queries are correlated. A
    query whose value is nan does not count.

    Args:
        of: the cluster name of each query.
    """

    def __init__(self, of: Sequence[str]) -> None:
        names, self._of = np.unique(np.asarray(of), return_inverse=True)
        self._n = len(names)

    def _sums(self, values: Values) -> Values:
        return np.bincount(self._of, weights=np.nan_to_num(values), minlength=self._n).astype(np.float64)

    def interval(self, values: Values) -> tuple[float, float]:
        """Return the percentile bootstrap interval of the mean (Efron & Tibshirani 1993, chapter 13), which redraws
        clusters."""
        sums, sizes = self._sums(values), self._sums(~np.isnan(values))
        drawn = drawn_clusters(self._n, _DRAWS)
        found = percentile_interval(float(sums[d].sum() / n) for d in drawn if (n := sizes[d].sum()))
        low, high = found or (float("nan"), float("nan"))
        return round(low, 6), round(high, 6)

    def intervals(self, table: Mapping[str, Values]) -> dict[str, tuple[float, float]]:
        """Return the interval of each metric; none of a single cluster, whose samples are all the same."""
        return {name: self.interval(values) for name, values in table.items()} if self._n > 1 else {}

    def paired_p(self, left: Values, right: Values) -> float:
        """Return the p-value of the two-sided paired randomisation test of equal means (Smucker et al., CIKM 2007),
        which flips signs by cluster."""
        random = np.random.default_rng(0)
        sums = self._sums(left - right)
        observed = abs(sums.sum())
        signs = random.integers(0, 2, (_DRAWS, self._n)) * 2 - 1
        extreme = int((np.abs(signs @ sums) >= observed - 1e-12).sum())
        return (extreme + 1) / (_DRAWS + 1)


FEW = 10
"""Fewer clusters than this make intervals and tests meaningless."""


def too_few(queries: int, clusters: int, of: str = "dataset(s)") -> list[str]:
    """Return a warning if a table's intervals rest on few clusters; at most one sentence."""
    if clusters >= FEW:
        return []
    return [f"The {queries} question(s) are about {clusters} {of}: too few for intervals and tests to mean anything."]


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """Return Holm's (1979) step-down adjusted p-values."""
    adjusted: dict[str, float] = {}
    running = 0.0
    for i, (name, value) in enumerate(sorted(p.items(), key=lambda t: (t[1], t[0]))):
        running = max(running, min(1.0, (len(p) - i) * value))
        adjusted[name] = running
    return {name: adjusted[name] for name in p}
