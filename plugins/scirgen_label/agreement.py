"""Measures how well people and judges agree: chance-corrected statistics, bootstrap intervals, the non-inferiority
test, sample sizes.

The statistics themselves come from scikit-learn, krippendorff and scipy (extra ``labels``); this module handles missing
labels, clusters and strata. `scirgen_bench.labels.labelset` records who labelled what.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Final, Literal, SupportsFloat

from scirgen import InputError
from scirgen.plugin import grouped, require
from scirgen_bench.intervals import percentile_interval, redrawn

Value = str | int
"""A label: a word ("yes"), or a grade."""

Column = Sequence[Value | None]
"""The labels of one annotator, one for each item; None if the annotator did not label the item."""


Z_ONE_SIDED: Final = 1.645
"""Normal quantile of a one-sided 5 % test."""
Z_POWER: Final = 0.842
"""Normal quantile of a power of 80 %."""
SD_PLANNED: Final = 0.395
"""Standard deviation of the per-item difference (human-human less human-judge agreement) that a plan without a pilot
assumes. Chosen a little above .34 to .37, which the 95 % intervals of DORIS-MAE's 250 items imply; it prints none."""
FEW_CLUSTERS: Final = 10
"""Below this many clusters, intervals by cluster are not reliable."""


def exact(a: Column, b: Column, weights: Sequence[float] | None = None) -> float | None:
    """Return the share of items with equal labels among those that both annotators labelled, weighted if weights are
    given."""
    both = [(x == y, w) for x, y, w in zip(a, b, weights or [1.0] * len(a), strict=True) if _known(x, y)]
    total = sum(w for _, w in both)
    return sum(w for same, w in both if same) / total if total else None


def kappa(a: Column, b: Column, order: Sequence[Value] = (), *, quadratic: bool = False) -> float | None:
    """Return Cohen's kappa (J. Cohen, 1960), or with quadratic weights (1968).

    Args:
        a: labels of one annotator.
        b: labels of another, item by item.
        order: all labels from low to high; quadratic weights need it. Empty: the labels that occur, sorted.
        quadratic: weight a disagreement by the square of its distance in ``order``.

    Returns:
        None if it is not defined: no item has both labels, or both annotators used only one label, the same.
    """
    x, y = _both(a, b)
    if not x or len({*x, *y}) < 2:
        return None
    ranks = _ranks((x, y), order)
    value = _sklearn().cohen_kappa_score(
        [ranks[v] for v in x],
        [ranks[v] for v in y],
        labels=sorted(set(ranks.values())),
        weights="quadratic" if quadratic else None,
    )
    return _number(value)


def macro_f1(gold: Column, other: Column) -> float | None:
    """Return the mean of the F1 of each label that occurs, ``gold`` being right; symmetric in its arguments."""
    x, y = _both(gold, other)
    return _number(_sklearn().f1_score(list(map(str, x)), list(map(str, y)), average="macro")) if x else None


def alpha(
    columns: Sequence[Column], order: Sequence[Value] = (), *, level: Literal["nominal", "ordinal"] = "nominal"
) -> float | None:
    """Return Krippendorff's alpha (2004) of any number of annotators; missing labels are left out item by item.

    Args:
        columns: one sequence of labels an annotator, all of one length.
        order: all labels from low to high, for ``ordinal``. Empty: the labels that occur, sorted.
        level: how far apart two labels are.

    Returns:
        None if it is not defined: no item has two labels, or all labels are the same.
    """
    ranks = _ranks(columns, order)
    paired = [i for i, row in enumerate(zip(*columns, strict=True)) if sum(v is not None for v in row) > 1]
    used = {v for column in columns for i in paired if (v := column[i]) is not None}
    if len(used) < 2:
        return None
    rows = [[math.nan if column[i] is None else ranks[column[i]] for i in paired] for column in columns]
    with require("labels", "agreement"):
        import krippendorff
    return _number(krippendorff.alpha(reliability_data=rows, level_of_measurement=level))


def spearman(a: Column, b: Column, order: Sequence[Value] = ()) -> float | None:
    """Return Spearman's rank correlation with mean ranks for ties; None if an annotator used a single label."""
    x, y = _both(a, b)
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    ranks = _ranks((x, y), order)
    return _number(_scipy_stats().spearmanr([ranks[v] for v in x], [ranks[v] for v in y]).statistic)


def agreement(
    columns: Mapping[str, Column],
    clusters: Sequence[Hashable],
    *,
    order: Sequence[Value] = (),
    weights: Sequence[float] | None = None,
    resamples: int = 500,
) -> dict[str, Any]:
    """Return all statistics of agreement over all items, with intervals.

    Alpha is over all columns, the other statistics are means over pairs of columns; those of ordered labels are None
    without an order. ``exact_weighted`` estimates the share of equal labels for the whole population.

    Args:
        columns: annotator -> labels, one for each item.
        clusters: the dataset or query of each item.
        order: the labels from low to high, where they have an order; else the ordinal statistics are None.
        weights: how many items of the population each stands for.
        resamples: bootstrap resamples of whole clusters (percentile intervals); 0: no intervals.

    Returns:
        Plain data, rounded to six decimals: ``items`` with two labels, their ``clusters``, each statistic's ``value``
        (None if it is not defined) and 95 % ``interval``.

    Raises:
        InputError: fewer than two annotators.
        MissingExtraError: scikit-learn, krippendorff or scipy is not installed.
    """
    if len(columns) < 2:
        raise InputError("agreement needs the labels of two annotators", hint="Merge a second annotator's labels.")
    names = sorted(columns)
    table = [columns[n] for n in names]
    weigh = list(weights or [1.0] * len(clusters))
    usable = [i for i in range(len(clusters)) if sum(c[i] is not None for c in table) > 1]
    values = _statistics(table, weigh, range(len(clusters)), order)
    members = list(grouped((name, i) for i, name in enumerate(clusters)).values())
    drawn = [_statistics(table, weigh, picked, order) for picked in redrawn(members, resamples)]
    found = {k: {"value": v, "interval": percentile_interval(d[k] for d in drawn)} for k, v in values.items()}
    sizes = {"items": len(usable), "clusters": len({clusters[i] for i in usable})}
    return {k: _rounded(v) for k, v in {"annotators": names, **sizes, **found}.items()}


def _statistics(
    table: Sequence[Column], weights: Sequence[float], picked: Sequence[int], order: Sequence[Value]
) -> dict[str, float | None]:
    columns = [[column[i] for i in picked] for column in table]
    weigh = [weights[i] for i in picked]
    pairs = [(a, b) for n, a in enumerate(columns) for b in columns[n + 1 :]]
    return {
        "exact": mean_known(exact(a, b) for a, b in pairs),
        "exact_weighted": mean_known(exact(a, b, weigh) for a, b in pairs),
        "macro_f1": mean_known(macro_f1(a, b) for a, b in pairs),
        "kappa": mean_known(kappa(a, b, order) for a, b in pairs),
        "kappa_quadratic": mean_known(kappa(a, b, order, quadratic=True) for a, b in pairs) if order else None,
        "alpha_nominal": alpha(columns, order),
        "alpha_ordinal": alpha(columns, order, level="ordinal") if order else None,
        "spearman": mean_known(spearman(a, b, order) for a, b in pairs) if order else None,
    }


def mean_known(values: Any) -> float | None:
    """Return the mean of the values that are defined; None if none is."""
    known = [v for v in values if v is not None]
    return fmean(known) if known else None


# --- a judge against people -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NonInferiority:
    """Test whether a judge agrees with people almost as well as people agree with each other.

    Attributes:
        items: items that people and the judge labelled.
        clusters: datasets or queries they come from.
        human_human: (weighted) share of equal labels among people.
        human_judge: the same between people and the judge.
        gap: the first less the second.
        bound: the one-sided 95 % upper bound of the gap.
        margin: the largest gap that is acceptable.
        passed: the bound is below the margin.
        sd: standard deviation of the difference item by item, for planning the next sample.
    """

    items: int
    clusters: int
    human_human: float
    human_judge: float
    gap: float
    bound: float
    margin: float
    passed: bool
    sd: float

    def as_json(self) -> dict[str, object]:
        """Return plain data, rounded to six decimals."""
        return {k: _rounded(v) for k, v in asdict(self).items()}


def non_inferiority(
    humans: Sequence[Column],
    judge: Column,
    clusters: Sequence[Hashable],
    *,
    margin: float,
    weights: Sequence[float] | None = None,
) -> NonInferiority:
    """Test that a judge is not worse than a person by more than a margin.

    For every item that at least two people and the judge labelled, the difference is the share of equal labels among
    the pairs of people, less the share of people whom the judge agrees with. The test passes when the one-sided 95 %
    upper bound of its mean, mean + t(0.95, clusters - 1) x SE, is below ``margin``. The standard error is that of a
    weighted mean with whole clusters as sampling units (Taylor linearisation; W. G. Cochran, Sampling Techniques,
    1977, section 6.3). It ignores what stratification gains, so it is a little too large rather than too small.

    Args:
        humans: one column of labels for each person.
        judge: the judge's labels.
        clusters: the dataset or query of each item.
        margin: the largest acceptable gap, for example 0.075.
        weights: how many items of the population each stands for.

    Raises:
        InputError: fewer than two clusters or two items with the labels that are needed.
    """
    rows: list[tuple[float, float, float, Hashable]] = []
    for i, given in enumerate(judge):
        people = [v for column in humans if (v := column[i]) is not None]
        if given is None or len(people) < 2:
            continue
        pairs = [x == y for n, x in enumerate(people) for y in people[n + 1 :]]
        rows.append((fmean(pairs), fmean(p == given for p in people), (weights or [1.0] * len(judge))[i], clusters[i]))
    units = len({c for *_, c in rows})
    if units < 2:
        raise InputError(
            "the test needs items of two datasets or queries that two people and the judge labelled; there are "
            f"{units}",
            hint="Draw a larger sample, or wait for more labels.",
        )
    total = sum(w for *_, w, _ in rows)
    apart = sum(h * w for h, _, w, _ in rows) / total
    judged = sum(j * w for _, j, w, _ in rows) / total
    gap = apart - judged
    sums: dict[Hashable, float] = {}
    for h, j, w, c in rows:
        sums[c] = sums.get(c, 0.0) + w * (h - j - gap) / total
    error = math.sqrt(units / (units - 1) * sum(s * s for s in sums.values()))
    sd = math.sqrt(sum(w * (h - j - gap) ** 2 for h, j, w, _ in rows) / total * len(rows) / max(1, len(rows) - 1))
    bound = gap + float(_scipy_stats().t.ppf(0.95, units - 1)) * error
    return NonInferiority(len(rows), units, apart, judged, gap, bound, margin, bound < margin, sd)


def judge_items(margin: float, gap: float = 0.0, sd: float = SD_PLANNED) -> int:
    """Return the number of items with which a judge with this true gap passes with a power of 80 %: ((1.645 + 0.842) SD
    / (margin - gap))^2.

    Raises:
        InputError: the gap is not below the margin: no sample is large enough.
    """
    if gap >= margin:
        raise InputError(
            f"a judge with a gap of {gap:g} cannot pass at a margin of {margin:g} with any sample size",
            hint="Choose a larger margin, or improve the judge on the dev items first.",
        )
    return round(((Z_ONE_SIDED + Z_POWER) * sd / (margin - gap)) ** 2)


def precision_items(claimed: float, true: float) -> int:
    """Return the number of kept items that show a precision above ``claimed`` if it is ``true``: a one-sided test at 5
    % with a power of 80 %.

    The normal approximation of a test of one proportion (J. L. Fleiss, Statistical Methods for Rates and Proportions,
    2.4).
    """
    if not 0 < claimed < true < 1:
        raise InputError(f"expected 0 < {claimed:g} < {true:g} < 1")
    spread = Z_ONE_SIDED * math.sqrt(claimed * (1 - claimed)) + Z_POWER * math.sqrt(true * (1 - true))
    return round((spread / (true - claimed)) ** 2)


def interval_items(share: float, half: float) -> int:
    """Count the items for which the 95 % interval of a share reaches ``half`` to each side (normal approximation)."""
    return math.ceil(1.959964**2 * share * (1 - share) / half**2)


# --- small parts ----------------------------------------------------------------------------------------------------


def _both(a: Column, b: Column) -> tuple[list[Value], list[Value]]:
    found = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    return [x for x, _ in found], [y for _, y in found]


def _known(*values: Value | None) -> bool:
    return all(v is not None for v in values)


def _ranks(columns: Sequence[Column], order: Sequence[Value]) -> dict[Value | None, int]:
    """Label -> its place in the order. Without an order, numbers keep their own value, since their distances count."""
    used = {v for column in columns for v in column if v is not None}
    if not order and all(isinstance(v, int) for v in used):
        return {v: int(v) for v in used}
    known = list(order) or sorted(used, key=str)
    if strange := used - set(known):
        raise InputError(f"labels outside the scale {', '.join(map(str, known))}: {sorted(map(str, strange))}")
    if all(isinstance(v, int) for v in known):
        return {v: int(v) for v in known}
    return {v: n for n, v in enumerate(known)}


def _sklearn() -> Any:
    with require("labels", "agreement"):
        from sklearn import metrics
    return metrics


def _scipy_stats() -> Any:
    with require("labels", "agreement"):
        from scipy import stats
    return stats


def _number(value: SupportsFloat) -> float | None:
    number = float(value)
    return None if math.isnan(number) else number


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(v) for v in value]
    return value
