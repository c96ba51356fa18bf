"""Histograms of a report's scores as places on a drawing of 100 x 100; the page's template draws them as SVG."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scirgen.core.grouped import grouped
from scirgen.report.data import ScoreRow


@dataclass(frozen=True)
class Panel:
    """The pairs of one verdict: their number, the highest bar's number, and (left, height, width, text) of each bar."""

    verdict: str
    pairs: int
    most: int
    bars: tuple[tuple[float, float, float, str], ...]


@dataclass(frozen=True)
class Chart:
    """The distribution of a score. Rejected and kept pairs have separate axes, since most pairs are kept.

    Attributes:
        name: the score.
        low: value at the left end.
        high: value at the right end.
        thresholds: (place, value) of each.
        panels: rejected, then kept.
    """

    name: str
    low: float
    high: float
    thresholds: tuple[tuple[float, float], ...]
    panels: tuple[Panel, ...]


def histograms(scores: Iterable[ScoreRow]) -> list[Chart]:
    """Return a chart for each score, by name; values that are not finite are left out."""
    named = grouped((score.name, score) for score in scores if math.isfinite(score.value))
    return [_chart(name, group) for name, group in sorted(named.items())]


def _chart(name: str, scores: Sequence[ScoreRow]) -> Chart:
    limits = sorted({s.threshold for s in scores if s.threshold is not None})
    step, counts = binned([(s.value, s.accepted) for s in scores])
    edges = [edge * step for n, _ in counts for edge in (n, n + 1)] + limits
    low, high = min(edges), max(edges)

    def place(value: float) -> float:
        return round(100 * (value - low) / (high - low), 2)

    panels = []
    for kept in (False, True):
        found = {n: count for (n, accepted), count in sorted(counts.items()) if accepted is kept}
        most = max(found.values(), default=1)
        bars = (
            (place(n * step), round(100 * count / most, 2), place((n + 1) * step) - place(n * step),
             f"{n * step:.4g} to {(n + 1) * step:.4g}: {count:,}")
            for n, count in found.items()
        )  # fmt: skip
        panels.append(Panel("kept" if kept else "rejected", sum(found.values()), most, tuple(bars)))
    return Chart(name, low, high, tuple((place(t), t) for t in limits), tuple(panels))


def binned(values: Sequence[tuple[float, bool]]) -> tuple[float, Counter[tuple[int, bool]]]:
    """Return the width of a step, 1, 2 or 5 times a power of ten so that there are at most about 40; (step, verdict) ->
    number of values."""
    found = [value for value, _ in values]
    wide = (max(found) - min(found)) / 40 or 0.01
    power = 10.0 ** math.floor(math.log10(wide))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= wide * 0.999)
    # A value on a border belongs to the step that begins there, even if rounding puts it slightly below.
    return step, Counter((math.floor(value / step + 1e-9), verdict) for value, verdict in values)
