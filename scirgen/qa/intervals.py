"""Intervals: the bootstrap (Efron & Tibshirani 1993, chapter 13; whole clusters redrawn, percentile intervals), and Wilson's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Interval = tuple[float, float]
T = TypeVar("T")


def drawn_clusters(count: int, draws: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """``draws`` samples of ``count`` clusters with replacement, as indices."""
    random = np.random.default_rng(seed)
    for _ in range(draws):
        yield random.integers(0, count, count)


def redrawn(clusters: Sequence[Sequence[T]], draws: int, seed: int) -> Iterator[list[T]]:
    """The members of redrawn clusters."""
    for chosen in drawn_clusters(len(clusters), draws, seed):
        yield [member for i in chosen for member in clusters[i]]


def percentile_interval(values: Iterable[float | None], level: float = 0.95) -> Interval | None:
    """The interval that holds the middle of the values; None where no value is defined."""
    known = [v for v in values if v is not None]
    if not known:
        return None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def wilson(good: int, rows: int, z: float = 1.959964) -> Interval:
    """Wilson's score interval of a share (E. B. Wilson, 1927)."""
    share = good / rows
    middle = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    half = z * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows)) / (1 + z * z / rows)
    return max(0.0, middle - half), min(1.0, middle + half)
