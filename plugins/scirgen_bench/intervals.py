"""Confidence intervals: the bootstrap (Efron & Tibshirani 1993, chapter 13; it redraws whole clusters and takes
percentiles), and Wilson's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from scirgen.plugin import require

Interval = tuple[float, float]
T = TypeVar("T")


def drawn_clusters(count: int, draws: int) -> Iterator[NDArray[np.int64]]:
    """Yield ``draws`` samples of ``count`` clusters with replacement, as indices of shape (count,); always the same."""
    random = np.random.default_rng(0)
    for _ in range(draws):
        yield random.integers(0, count, count)


def redrawn(clusters: Sequence[Sequence[T]], draws: int) -> Iterator[list[T]]:
    """Yield the members of redrawn clusters."""
    for chosen in drawn_clusters(len(clusters), draws):
        yield [member for i in chosen for member in clusters[i]]


def percentile_interval(values: Iterable[float | None]) -> Interval | None:
    """Return the interval that holds the middle 95 % of the values; None if no value is defined."""
    known = [v for v in values if v is not None]
    if not known:
        return None
    low, high = np.quantile(known, [(1 - 0.95) / 2, (1 + 0.95) / 2])
    return float(low), float(high)


def wilson(good: int, rows: int) -> Interval:
    """Return Wilson's 95 % score interval of a share (E. B. Wilson, 1927).

    Raises:
        MissingExtraError: scipy is not installed.
    """
    with require("labels", "intervals"):
        from scipy.stats import binomtest
    found = binomtest(good, rows).proportion_ci(method="wilson")
    return float(found.low), float(found.high)
