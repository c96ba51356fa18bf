"""How well a score tells faithful from unfaithful answers: precision, recall, ROC-AUC, thresholds, reliability. Pure numbers.

`scirgen.commands.calibrate.calibrate` measures the scores, `scirgen.commands.calibrate.page` draws them.
"""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Interval = tuple[float, float]

LENGTHS: Final = (("1 word", 1), ("2-5 words", 5), ("6-20 words", 20), ("over 20 words", 10**9))
"""Classes of answer length: one-word answers behave differently from paragraphs."""

FEWEST: Final = 10
"""A type gets a threshold of its own with at least this many faithful and as many unfaithful labels."""


@dataclass(frozen=True)
class Judged:
    """One labelled answer and its score."""

    score: float
    faithful: bool
    question_type: str = ""
    words: int = 0

    @property
    def length(self) -> str:
        """Its class of `LENGTHS`."""
        return next(name for name, most in LENGTHS if self.words <= most)


@dataclass(frozen=True)
class Quality:
    """What keeping the answers above a threshold gives; None where it is not defined (nothing kept, nothing faithful)."""

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
class Bin:
    """One bar of the reliability plot: among ``rows`` answers scored in [low, high], the share that is faithful."""

    low: float
    high: float
    rows: int
    faithful: float
    interval: Interval


def roc_auc(rows: Sequence[Judged]) -> float | None:
    """The probability that a faithful answer scores above an unfaithful one, ties counting half; None with one kind only."""
    bad = sorted(r.score for r in rows if not r.faithful)
    good = [r.score for r in rows if r.faithful]
    if not bad or not good:
        return None
    won = sum(bisect.bisect_left(bad, g) + bisect.bisect_right(bad, g) for g in good)
    return won / (2 * len(bad) * len(good))


def quality(rows: Sequence[Judged], threshold: float, *, resamples: int = 0, seed: int = 0) -> Quality:
    """Precision, recall and F1 of keeping what scores above ``threshold``.

    Args:
        rows: labelled answers.
        threshold: in the score's own unit; -inf keeps all.
        resamples: bootstrap resamples for the 95 % intervals (percentile method); 0: none.
        seed: of the resampling.
    """
    kept, precision, recall, f1 = _quality([(r.score > threshold, r.faithful) for r in rows])
    if not resamples or not rows:
        return Quality(threshold, kept, len(rows), precision, recall, f1)
    generator = random.Random(seed)
    flags = [(r.score > threshold, r.faithful) for r in rows]
    drawn = [_quality(generator.choices(flags, k=len(flags)))[1:] for _ in range(resamples)]
    intervals = [_percentiles([d[i] for d in drawn]) for i in range(3)]
    return Quality(threshold, kept, len(rows), precision, recall, f1, *intervals)


def auc_interval(rows: Sequence[Judged], *, resamples: int = 500, seed: int = 0) -> Interval | None:
    """Bootstrap 95 % interval of `roc_auc`."""
    generator = random.Random(seed)
    return _percentiles([roc_auc(generator.choices(rows, k=len(rows))) for _ in range(resamples)]) if rows else None


def threshold_for(rows: Sequence[Judged], precision: float) -> float | None:
    """The lowest threshold that keeps answers with at least this precision (the most of them, then); None: there is none.

    It is fitted to these labels: on others it will do a little worse. Lies half-way between two scores.
    """
    ordered = sorted(rows, key=lambda r: -r.score)
    best: float | None = None
    good = 0
    for i, row in enumerate(ordered):
        good += row.faithful
        following = ordered[i + 1].score if i + 1 < len(ordered) else None
        if following == row.score:
            continue
        if good and good / (i + 1) >= precision:
            best = (row.score + following) / 2 if following is not None else row.score - 1e-6 - abs(row.score) * 1e-6
    return best


def thresholds_by_type(rows: Sequence[Judged], precision: float) -> dict[str, float]:
    """Question type -> threshold, where it has enough labels of both kinds; "*" for all others."""
    found: dict[str, float] = {}
    for kind, group in grouped(rows, lambda r: r.question_type).items():
        good = sum(r.faithful for r in group)
        if kind and min(good, len(group) - good) >= FEWEST:
            own = threshold_for(group, precision)
            if own is not None:
                found[kind] = own
    common = threshold_for(rows, precision)
    return {**found, "*": common} if common is not None else found


def reliability(rows: Sequence[Judged], bins: int = 10) -> list[Bin]:
    """Bins of about equal size by score, lowest first, with Wilson's 95 % interval of the faithful share."""
    ordered = sorted(rows, key=lambda r: r.score)
    count = max(1, min(bins, len(ordered)))
    found = []
    for b in range(count):
        part = ordered[b * len(ordered) // count : (b + 1) * len(ordered) // count]
        if part:
            good = sum(r.faithful for r in part)
            found.append(Bin(part[0].score, part[-1].score, len(part), good / len(part), wilson(good, len(part))))
    return found


def wilson(good: int, rows: int, z: float = 1.959964) -> Interval:
    """Wilson's score interval of a share (E. B. Wilson, 1927)."""
    share = good / rows
    middle = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    half = z * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows)) / (1 + z * z / rows)
    return max(0.0, middle - half), min(1.0, middle + half)


def grouped(rows: Sequence[Judged], key: Callable[[Judged], str]) -> Mapping[str, list[Judged]]:
    """Rows by a key, keys sorted."""
    groups: dict[str, list[Judged]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return dict(sorted(groups.items()))


def _quality(flags: Sequence[tuple[bool, bool]]) -> tuple[int, float | None, float | None, float | None]:
    kept = sum(k for k, _ in flags)
    hits = sum(k and good for k, good in flags)
    wanted = sum(good for _, good in flags)
    precision = hits / kept if kept else None
    recall = hits / wanted if wanted else None
    if precision is None or recall is None:
        return kept, precision, recall, None
    return kept, precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _percentiles(values: Sequence[float | None]) -> Interval | None:
    known = sorted(v for v in values if v is not None)
    if not known:
        return None
    return known[int(0.025 * (len(known) - 1))], known[math.ceil(0.975 * (len(known) - 1))]
