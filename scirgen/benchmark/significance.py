"""How sure a difference is: bootstrap intervals and paired randomisation tests, with questions of one dataset kept together.

Questions about one dataset rise and fall together, so the dataset, not the question, is what is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


class Clusters:
    """Queries grouped by their gold dataset.

    Args:
        of: one cluster name a query.
        seed: of all draws.
        draws: number of bootstrap or randomisation draws.
    """

    def __init__(self, of: Sequence[str], seed: int = 0, draws: int = 2000) -> None:
        names, self._of = np.unique(np.asarray(of), return_inverse=True)
        self._n = len(names)
        self._sizes = np.bincount(self._of, minlength=self._n).astype(float)
        self._seed, self._draws = seed, draws

    def _sums(self, values: Values) -> Values:
        return np.bincount(self._of, weights=values, minlength=self._n).astype(np.float64)

    def interval(self, values: Values, level: float = 0.95) -> tuple[float, float]:
        """Percentile bootstrap interval of the mean (Efron & Tibshirani 1993, chapter 13), clusters redrawn."""
        random = np.random.default_rng(self._seed)
        sums = self._sums(values)
        means = np.empty(self._draws)
        for i in range(self._draws):
            drawn = random.integers(0, self._n, self._n)
            means[i] = sums[drawn].sum() / self._sizes[drawn].sum()
        low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
        return round(float(low), 6), round(float(high), 6)

    def paired_p(self, left: Values, right: Values) -> float:
        """Two-sided paired randomisation test of equal means (Smucker et al., CIKM 2007), signs flipped by cluster."""
        random = np.random.default_rng(self._seed)
        sums = self._sums(left - right)
        observed = abs(sums.sum())
        signs = random.integers(0, 2, (self._draws, self._n)) * 2 - 1
        extreme = int((np.abs(signs @ sums) >= observed - 1e-12).sum())
        return (extreme + 1) / (self._draws + 1)


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """Holm's (1979) step-down adjusted p-values."""
    adjusted: dict[str, float] = {}
    running = 0.0
    for i, (name, value) in enumerate(sorted(p.items(), key=lambda t: (t[1], t[0]))):
        running = max(running, min(1.0, (len(p) - i) * value))
        adjusted[name] = running
    return {name: adjusted[name] for name in p}
