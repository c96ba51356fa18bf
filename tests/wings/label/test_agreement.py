"""Agreement statistics against published labels, and the non-inferiority test on simulated judges."""

from __future__ import annotations

import csv
import gzip
import json
import random
from collections import defaultdict
from statistics import fmean, median

import pytest

from scirgen.core.errors import InputError
from scirgen_label.agreement import (
    agreement,
    alpha,
    exact,
    interval_items,
    judge_items,
    kappa,
    macro_f1,
    non_inferiority,
    precision_items,
    spearman,
)
from tests.support.realdata import REALDATA

_DATA = REALDATA / "recipes" / "csfcube"
_GRADES = (0, 1, 2, 3)
_needs_data = pytest.mark.skipif(not _DATA.is_dir(), reason=f"REAL DATA MISSING: {_DATA} (set SCIRGEN_REALDATA)")


def _csfcube(missing: bool) -> dict[str, dict[str, list[list[int | None]]]]:
    """facet -> query -> [rater a, rater b, adjudicated]; ``missing`` reads the rating -1 as no rating."""
    table: dict[str, dict[str, list[list[int | None]]]] = defaultdict(dict)
    with gzip.open(_DATA / "judgements.tsv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            query = table[row["query"].rpartition("_")[2]].setdefault(row["query"], [[], [], []])
            for column, name in zip(query, ("a", "b", "adjudicated"), strict=True):
                column.append(None if missing and row[name] == "-1" else int(row[name]))
    table["all"] = {q: columns for facet in list(table.values()) for q, columns in facet.items()}
    return table


@pytest.mark.realdata
@_needs_data
@pytest.mark.parametrize("missing", [False, True])
def test_csfcube_agreement_is_reproduced_to_the_last_digit(missing: bool) -> None:
    expected = json.loads((_DATA / "expected.json").read_text())["this_half"]
    wanted = expected["agreement_gaps_dropped" if missing else "agreement_as_given"]
    order = _GRADES if missing else (-1, *_GRADES)
    statistics = {
        "rho": lambda x, y: spearman(x, y, order),
        "alpha": lambda x, y: alpha([x, y], order, level="ordinal"),
        "kappa": lambda x, y: kappa(x, y, order),
        "exact": exact,
    }
    for facet, queries in _csfcube(missing).items():
        for name, measure in statistics.items():
            before = [measure(a, b) for a, b, _ in queries.values()]
            after = [fmean([measure(a, c), measure(b, c)]) for a, b, c in queries.values()]
            assert round(median(before), 6) == wanted[facet]["before"][name], (facet, name, "before")
            assert round(median(after), 6) == wanted[facet]["after"][name], (facet, name, "after")
        pooled = [[v for q in queries.values() for v in q[i]] for i in (0, 1)]
        assert round(exact(*pooled) or 0, 6) == wanted[facet]["exact_pooled_before"]
        overruled = [fmean(c not in (a, b) for a, b, c in zip(*q, strict=True)) for q in queries.values()]
        assert round(fmean(overruled), 6) == wanted[facet]["overruled_mean"]


@pytest.mark.realdata
@_needs_data
def test_csfcube_intervals_are_made_of_whole_queries() -> None:
    queries = _csfcube(True)["all"]
    columns = {n: [v for q in queries.values() for v in q[i]] for i, n in enumerate("ab")}
    clusters = [name for name, q in queries.items() for _ in q[0]]
    found = agreement(columns, clusters, order=_GRADES, resamples=60)
    assert found["clusters"] == 24 and found["items"] == 2549 - 11
    assert found["exact"]["value"] == 0.604413
    low, high = found["kappa"]["interval"]
    assert low < found["kappa"]["value"] < high
    # Items of one query resemble each other: resampling items as if they were independent gives too narrow an interval.
    apart = agreement(columns, range(len(clusters)), order=_GRADES, resamples=60)["kappa"]["interval"]
    assert high - low > 1.5 * (apart[1] - apart[0])


def test_missing_labels_are_left_out_pair_by_pair() -> None:
    a, b = ["yes", None, "no", "yes", "no"], ["yes", "no", None, "no", "no"]
    assert exact(a, b) == pytest.approx(2 / 3)
    assert exact(a, b, [1, 1, 1, 2, 1]) == pytest.approx(2 / 4)
    assert kappa(a, b) == kappa(["yes", "yes", "no"], ["yes", "no", "no"])
    assert alpha([a, b]) == alpha([["yes", "yes", "no"], ["yes", "no", "no"]])


def test_what_is_not_defined_is_none_and_never_one() -> None:
    same = ["yes"] * 5
    assert kappa(same, same) is None and alpha([same, same]) is None and spearman(same, same) is None
    assert exact(same, same) == 1.0 and macro_f1(same, same) == 1.0
    assert exact([None], ["yes"]) is None and kappa([None], ["yes"]) is None


def test_quadratic_kappa_forgives_near_misses() -> None:
    a, near, far = [0, 1, 2, 3] * 5, [1, 2, 3, 3] * 5, [3, 1, 0, 3] * 5
    near_value, far_value = (kappa(a, x, _GRADES, quadratic=True) for x in (near, far))
    assert near_value is not None and far_value is not None and near_value > 0.6 > 0.2 > far_value


def test_a_label_outside_the_scale_is_refused() -> None:
    with pytest.raises(InputError, match="outside the scale"):
        alpha([["yes", "maybe"], ["no", "no"]], ("no", "yes"))


def test_planned_sizes_are_those_of_the_formulas() -> None:
    assert judge_items(0.075) == 172
    assert judge_items(0.075, gap=0.02) == 319
    assert precision_items(0.90, 0.95) == 183
    assert interval_items(0.5, 0.05) == 385
    with pytest.raises(InputError, match="cannot pass"):
        judge_items(0.05, gap=0.05)


def _simulated(gap: float, items: int, seed: int) -> bool:
    """Whether a judge passes whose chance to agree with a person is ``gap`` below that of another person."""
    generator = random.Random(seed)
    people: list[list[str | None]] = [[], []]
    judge: list[str | None] = []
    for _ in range(items):
        truth = generator.choice(("yes", "no"))
        other = "no" if truth == "yes" else "yes"

        def told(error: float, truth: str = truth, other: str = other) -> str:
            return other if generator.random() < error else truth

        # Two people who err in 10 % agree in .82; a judge who errs in e agrees with each in .9 - .8 e.
        people[0].append(told(0.1))
        people[1].append(told(0.1))
        judge.append(told(0.1 + gap / 0.8))
    return non_inferiority(people, judge, range(items), margin=0.075).passed


def test_a_judge_as_good_as_people_passes_at_the_planned_rate() -> None:
    items = judge_items(0.075, sd=0.368)  # this simulation's standard deviation
    passed = sum(_simulated(0.0, items, seed) for seed in range(600)) / 600
    assert 0.74 <= passed <= 0.86, passed


def test_a_judge_far_below_people_fails_nearly_always() -> None:
    assert sum(_simulated(0.15, 172, seed) for seed in range(400)) / 400 <= 0.01


def test_a_judge_at_the_margin_passes_in_one_of_twenty() -> None:
    passed = sum(_simulated(0.075, 319, seed) for seed in range(600)) / 600
    assert 0.02 <= passed <= 0.08, passed


def test_clusters_and_weights_widen_the_bound() -> None:
    generator = random.Random(1)
    a = [generator.choice(("yes", "no")) for _ in range(200)]
    b = [v if generator.random() < 0.9 else "no" for v in a]
    judge = [v if (i // 20) % 3 else "no" for i, v in enumerate(a)]
    alone = non_inferiority([a, b], judge, range(200), margin=0.1)
    grouped = non_inferiority([a, b], judge, [i // 20 for i in range(200)], margin=0.1)
    uneven = non_inferiority(
        [a, b], judge, range(200), margin=0.1, weights=[1 + 20 * (i % 10 == 0) for i in range(200)]
    )
    assert grouped.gap == pytest.approx(alone.gap) and grouped.bound > alone.bound
    assert uneven.bound - uneven.gap > alone.bound - alone.gap
    with pytest.raises(InputError, match="two datasets"):
        non_inferiority([a, b], judge, ["one"] * 200, margin=0.1)
