"""Measures how well a score separates faithful from unfaithful answers: precision, recall, ROC-AUC, thresholds. Pure
functions; `scirgen_bench.calibrate.calibrate` measures the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from scirgen.plugin import grouped, require
from scirgen_bench.intervals import Interval, percentile_interval, redrawn

LENGTHS: Final = (("1 word", 1), ("2-5 words", 5), ("6-20 words", 20), ("over 20 words", 10**9))
"""Classes of answer length: one-word answers behave differently from paragraphs."""

FEWEST: Final = 10
"""A type gets its own threshold with at least this many faithful and as many unfaithful labels."""


@dataclass(frozen=True)
class Judged:
    """One labelled answer and its score."""

    score: float
    faithful: bool
    question_type: str = ""
    words: int = 0
    weight: float = 1.0
    """Number of answers in the population that it represents."""
    cluster: str = ""
    """The dataset it is about; if given, the bootstrap resamples whole datasets."""
    part: str = ""
    """dev or test, if the labels have such parts."""

    @property
    def length(self) -> str:
        """The class of `LENGTHS` that its answer belongs to."""
        return next(name for name, most in LENGTHS if self.words <= most)


@dataclass(frozen=True)
class Quality:
    """Quality of keeping the answers above a threshold; None if undefined (nothing kept, nothing faithful)."""

    threshold: float
    kept: int
    rows: int
    precision: float | None
    recall: float | None
    f1: float | None
    precision_interval: Interval | None = None
    recall_interval: Interval | None = None
    f1_interval: Interval | None = None


@dataclass(frozen=True)
class GroupQuality:
    """Figures of one question type or answer length; ``threshold_wanted`` is fitted to the wanted precision, or
    None."""

    rows: int
    faithful: int
    auc: float | None
    threshold_wanted: float | None


def fitting(rows: Sequence[Judged]) -> list[Judged]:
    """Return the rows for fitting thresholds: the dev part if there are both parts, else all."""
    dev = [r for r in rows if r.part == "dev"]
    return dev if 0 < len(dev) < len(rows) else list(rows)


def reported(rows: Sequence[Judged]) -> list[Judged]:
    """Return the rows for measuring figures: the test part if there are both parts, else all."""
    test = [r for r in rows if r.part == "test"]
    return test if 0 < len(test) < len(rows) else list(rows)


def roc_auc(rows: Sequence[Judged]) -> float | None:
    """Return the probability that a faithful answer scores above an unfaithful one, ties counting half; None if all
    labels are equal.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    labels, scores, weights = _columns(rows)
    return float(_sklearn().roc_auc_score(labels, scores, sample_weight=weights)) if len(set(labels)) > 1 else None


def quality(rows: Sequence[Judged], threshold: float, *, resamples: int = 0) -> Quality:
    """Return precision, recall and F1 of keeping answers that score above ``threshold``.

    Args:
        rows: labelled answers.
        threshold: in the score's own unit; -inf keeps all.
        resamples: bootstrap resamples for the 95 % intervals (percentile method); 0: none.
    """
    flags = [(r.score > threshold, r.faithful, r.weight) for r in rows]
    kept, precision, recall, f1 = _quality(flags)
    if not resamples or not rows:
        return Quality(threshold, kept, len(rows), precision, recall, f1)
    drawn = [
        _quality([(r.score > threshold, r.faithful, r.weight) for r in again])[1:]
        for again in redrawn(_clusters(rows), resamples)
    ]
    intervals = [percentile_interval(d[i] for d in drawn) for i in range(3)]
    return Quality(threshold, kept, len(rows), precision, recall, f1, *intervals)


def auc_interval(rows: Sequence[Judged]) -> Interval | None:
    """Return the bootstrap 95 % interval of `roc_auc`."""
    return percentile_interval(roc_auc(again) for again in redrawn(_clusters(rows), 500)) if rows else None


def _clusters(rows: Sequence[Judged]) -> list[list[Judged]]:
    """Return the groups that the bootstrap redraws: a cluster's rows if all rows name theirs, else single rows."""
    if all(r.cluster for r in rows) and len({r.cluster for r in rows}) > 1:
        return [found for _, found in sorted(grouped((r.cluster, r) for r in rows).items())]
    return [[r] for r in rows]


def threshold_for(rows: Sequence[Judged], precision: float) -> float | None:
    """Return the lowest threshold with at least this precision, which keeps the most answers; None if there is none.

    It is fitted to these labels, so it will be slightly worse on others. It lies half-way between two scores.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    if not any(r.faithful for r in rows):
        return None
    labels, scores, weights = _columns(rows)
    reached, recall, limits = _sklearn().precision_recall_curve(labels, scores, sample_weight=weights)
    at = next((i for i in range(len(limits)) if reached[i] >= precision and recall[i] > 0), None)
    if at is None:
        return None
    lowest = float(limits[at])  # a score must exceed the threshold
    if not at:
        return lowest - 1e-6 - abs(lowest) * 1e-6
    below = float(limits[at - 1])
    half_way = (lowest + below) / 2
    return half_way if half_way < lowest else below  # two scores with no number between them


def thresholds_by_type(rows: Sequence[Judged], precision: float) -> dict[str, float]:
    """Return a mapping: question type -> threshold, for types with enough labels of both kinds; "*" for all others."""
    found: dict[str, float] = {}
    for kind, group in sorted(grouped((r.question_type, r) for r in rows).items()):
        good = sum(r.faithful for r in group)
        if kind and min(good, len(group) - good) >= FEWEST:
            own = threshold_for(group, precision)
            if own is not None:
                found[kind] = own
    common = threshold_for(rows, precision)
    return {**found, "*": common} if common is not None else found


def _columns(rows: Sequence[Judged]) -> tuple[list[bool], list[float], list[float]]:
    return [r.faithful for r in rows], [r.score for r in rows], [r.weight for r in rows]


def _sklearn() -> Any:
    with require("labels", "calibration"):
        from sklearn import metrics
    return metrics


def _quality(flags: Sequence[tuple[bool, bool, float]]) -> tuple[int, float | None, float | None, float | None]:
    """From (kept, faithful, weight): the rows kept, and weighted precision, recall and F1.

    It does not use scikit-learn, since intervals need thousands of values and scikit-learn's checks take a millisecond
    each; a test compares the two.
    """
    kept = sum(w for k, _, w in flags if k)
    hits = sum(w for k, good, w in flags if k and good)
    wanted = sum(w for _, good, w in flags if good)
    rows = sum(k for k, _, _ in flags)
    precision = hits / kept if kept else None
    recall = hits / wanted if wanted else None
    if precision is None or recall is None:
        return rows, precision, recall, None
    return rows, precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0
