"""The metrics of published retrieval datasets, computed as their own scripts do, so that figures agree to the digit.

``trec`` is trec_eval's, ``csfcube`` is rank_eval.py of CSFCube (Mysore et al. 2021, arXiv:2103.12906), ``doris`` the
metric function of DORIS-MAE (Wang et al. 2023, arXiv:2310.04678). They differ in the grades that are relevant, in the
discount, and in the documents that are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scirgen import ConfigError
from scirgen.plugin import suggest

Scored = tuple[str, float]
"""A document's id and its score."""

Values = dict[str, float | None]
"""The value of each metric for one query; None if the query does not count for this metric."""


@dataclass(frozen=True)
class Judged:
    """The known grades of one query.

    Attributes:
        grades: document id -> grade.
        parts: number of different requirements over which the grades are added up, for a query of many parts;
            otherwise 1.
    """

    grades: Mapping[str, int]
    parts: int = 1


@dataclass(frozen=True)
class Profile:
    """One convention.

    Attributes:
        name: as on the command line.
        metrics: in the order of its tables.
        tested: those with intervals and paired tests.
        measure: computes the value of each metric for one query, from its ranking (best first) and its grades.
        per_facet: whether tables also have a row for each facet.
        whole_pool: whether only the judged pool is ranked, so that documents without a grade are removed first.
    """

    name: str
    metrics: tuple[str, ...]
    tested: tuple[str, ...]
    measure: Callable[[Sequence[Scored], Judged], Values]
    per_facet: bool = False
    whole_pool: bool = False


# -- trec_eval ---------------------------------------------------------------------------------------------------------


def _trec(found: Sequence[Scored], judged: Judged) -> Values:
    """trec_eval's convention: grades from 1 on are relevant; equal scores are sorted by falling document id; P@5 always
    divides by 5."""
    ordered = sorted(found, key=lambda hit: (hit[1], hit[0]), reverse=True)
    gains = np.asarray([max(0, judged.grades.get(d, 0)) for d, _ in ordered], dtype=np.float64)
    hits, relevant = gains >= 1, sum(g >= 1 for g in judged.grades.values())
    if not relevant:
        return dict.fromkeys(_TREC)
    ideal = np.sort(np.maximum(np.asarray(list(judged.grades.values()), dtype=np.float64), 0))[::-1]
    return {
        "P@5": float(hits[:5].sum()) / 5,
        "R@5": float(hits[:5].sum()) / relevant,
        "R@20": float(hits[:20].sum()) / relevant,
        "MAP": _precision_sum(hits) / relevant,
        "MRR": _reciprocal(hits),
        "NDCG@10": _ndcg(gains, ideal, 10),
    }


_TREC: Final = ("P@5", "R@5", "R@20", "MAP", "MRR", "NDCG@10")


# -- CSFCube -----------------------------------------------------------------------------------------------------------

_CSFCUBE: Final = (
    "R-Precision", "P@20", "R@20", "F1@20", "NDCG", "NDCG@20", "NDCG%20", "MAP", "MRR", "true R-Precision",
)  # fmt: skip


def _csfcube(found: Sequence[Scored], judged: Judged) -> Values:
    """rank_eval.py's convention: grades from 2 on are relevant; only ranked documents count, also as the base of recall
    and in the ideal ranking.

    "R-Precision" is the precision at the last relevant rank; the usual one is "true R-Precision". NDCG discounts rank i
    by log2 i, so ranks 1 and 2 are not discounted; NDCG%20 is cut at int(20 % of the ranked list).
    """
    grades = [judged.grades[d] for d, _ in found]
    hits = np.asarray(grades) >= 2
    total = int(hits.sum())
    precision = float(hits[:20].sum()) / 20
    recall = float(hits[:20].sum()) / total if total else 0.0
    last = int(hits.nonzero()[0][-1]) + 1 if total else 0
    return {
        "R-Precision": float(hits[:last].mean()) if total else 0.0,
        "P@20": precision,
        "R@20": recall,
        "F1@20": 2 * precision * recall / (precision + recall) if total and precision else 0.0,
        "NDCG": _undiscounted_ndcg(grades, len(grades)),
        "NDCG@20": _undiscounted_ndcg(grades, 20),
        "NDCG%20": _undiscounted_ndcg(grades, int(0.2 * len(grades))),
        "MAP": _precision_sum(hits) / total if total else 0.0,
        "MRR": _reciprocal(hits),
        "true R-Precision": float(hits[:total].mean()) if total else 0.0,
    }


def _undiscounted_ndcg(grades: Sequence[int], cut: int) -> float:
    def dcg(values: Sequence[int]) -> float:
        gains = np.asarray(values[:cut], dtype=np.float64)
        if not len(gains):
            return 0.0
        return float(gains[0] + (gains[1:] / np.log2(np.arange(2, len(gains) + 1))).sum())

    ideal = dcg(sorted(grades, reverse=True))
    return dcg(grades) / ideal if ideal else 0.0


# -- DORIS-MAE ---------------------------------------------------------------------------------------------------------

_DORIS: Final = ("R@5", "R@20", "RP", "NDCG10%", "NDCG10%exp", "MRR@10", "MAP")


def _doris(found: Sequence[Scored], judged: Judged) -> Values:
    """DORIS-MAE's convention: a document is relevant with at least one point per requirement; MRR@10 looks for the
    documents with the best sum.

    NDCG is cut at int(10 % of the ranked list); its gain is the sum s of points, or 2^s (not 2^s - 1).
    A query without a relevant document counts for NDCG and MRR only.
    """
    sums = np.asarray([judged.grades[d] for d, _ in found], dtype=np.float64)
    values: Values = dict.fromkeys(_DORIS)
    if not len(sums):
        return values
    hits = sums / judged.parts >= 1
    total = int(hits.sum())
    if total:
        values["R@5"] = float(hits[:5].sum()) / total
        values["R@20"] = float(hits[:20].sum()) / total
        values["RP"] = float(hits[:total].mean())
        values["MAP"] = _precision_sum(hits) / total
    cut = int(0.1 * len(sums))
    values["MRR@10"] = _reciprocal((sums == sums.max())[:10])
    if not cut:  # a pool of fewer than ten documents has no tenth
        return values
    values["NDCG10%"] = _ndcg(sums, np.sort(sums)[::-1], cut)
    values["NDCG10%exp"] = _ndcg(2**sums, np.sort(2**sums)[::-1], cut)
    return values


def _ndcg(gains: NDArray[np.float64], ideal: NDArray[np.float64], cut: int) -> float:
    """NDCG cut at a rank, with rank i discounted by log2(i + 1)."""

    def dcg(values: NDArray[np.float64]) -> float:
        return float((values[:cut] / np.log2(np.arange(2, len(values[:cut]) + 2))).sum())

    best = dcg(ideal)
    return dcg(gains) / best if best else 0.0


# -- shared ------------------------------------------------------------------------------------------------------------


def _precision_sum(hits: NDArray[np.bool_]) -> float:
    """Sum of the precisions at the ranks of relevant documents; divided by their number it is average precision."""
    ranks = hits.nonzero()[0]
    return float(((np.arange(len(ranks)) + 1) / (ranks + 1)).sum())


def _reciprocal(hits: NDArray[np.bool_]) -> float:
    ranks = hits.nonzero()[0]
    return 1 / (int(ranks[0]) + 1) if len(ranks) else 0.0


PROFILES: Final[Mapping[str, Profile]] = {
    p.name: p
    for p in (
        Profile("trec", _TREC, ("R@20", "MRR"), _trec),
        Profile("csfcube", _CSFCUBE, ("NDCG%20", "MAP"), _csfcube, per_facet=True, whole_pool=True),
        Profile("doris", _DORIS, ("R@20", "NDCG10%"), _doris, whole_pool=True),
    )
}


def profile(name: str) -> Profile:
    """Return a profile by name.

    Raises:
        ConfigError: no profile has that name.
    """
    try:
        return PROFILES[name]
    except KeyError:
        raise ConfigError(f"unknown retrieval profile {name!r}", hint=suggest(name, list(PROFILES))) from None


def average(rows: Sequence[Values]) -> dict[str, float]:
    """Map each metric to its mean over the queries that count for it, unrounded; a metric for which none does is left
    out."""
    names = dict.fromkeys(name for row in rows for name in row)
    means: dict[str, float] = {}
    for name in names:
        if values := [v for row in rows if (v := row.get(name)) is not None]:
            means[name] = float(np.mean(values))
    return means
