"""The published conventions, on lists short enough to work out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scirgen.core.errors import ConfigError
from scirgen_bench.metrics import Clusters
from scirgen_bench.tasks.profiles import Judged, average, profile


def ranked(*documents: str) -> list[tuple[str, float]]:
    return [(d, float(-i)) for i, d in enumerate(documents)]


def test_csfcube_counts_ranks_one_and_two_whole_to_the_last_relevant():
    judged = Judged({"a": 1, "b": 3, "c": 0, "d": 2, "e": 0})
    values = profile("csfcube").measure(ranked("a", "b", "c", "d", "e"), judged)
    assert (
        values["R-Precision"] == 2 / 4
    )  # of the first four, two are relevant, and the last relevant one is the fourth
    assert values["true R-Precision"] == 1 / 2
    assert values["P@20"] == 2 / 20
    assert values["R@20"] == 1
    assert values["MAP"] == (1 / 2 + 2 / 4) / 2
    found = 1 + 3 / math.log2(2) + 0 + 2 / math.log2(4)
    ideal = 3 + 2 / math.log2(2) + 1 / math.log2(3)
    assert values["NDCG"] == pytest.approx(found / ideal)
    assert values["NDCG%20"] == 1 / 3  # one document of five


def test_doris_takes_its_divisor_from_the_number_of_requirements():
    sums = {"a": 4, "b": 6, "c": 1, "d": 3, **{f"x{i}": 0 for i in range(16)}}
    order = ranked("a", "b", "c", "d", *(f"x{i}" for i in range(16)))
    three = profile("doris").measure(order, Judged(sums, parts=3))
    assert three["RP"] == 2 / 3  # 4, 6 and 3 points over three requirements are relevant; the third found is not
    assert three["MRR@10"] == 1 / 2  # only the best sum counts
    assert three["NDCG10%"] == pytest.approx((4 + 6 / math.log2(3)) / (6 + 4 / math.log2(3)))
    assert three["NDCG10%exp"] == pytest.approx((16 + 64 / math.log2(3)) / (64 + 16 / math.log2(3)))
    nine = profile("doris").measure(order, Judged(sums, parts=9))
    assert nine["R@5"] is None
    assert nine["MRR@10"] == 1 / 2
    assert average([three, nine])["RP"] == three["RP"]


def test_doris_gives_no_ndcg_of_a_tenth_of_fewer_than_ten_documents():
    sums = {f"x{i}": i for i in range(9)}
    nine = profile("doris").measure(ranked(*sums), Judged(sums))
    assert (nine["NDCG10%"], nine["NDCG10%exp"]) == (None, None) and nine["MRR@10"] == 1 / 9
    assert "NDCG10%" not in average([nine])
    ten = profile("doris").measure(ranked(*sums, "y"), Judged({**sums, "y": 0}))
    assert average([nine, ten])["NDCG10%"] == ten["NDCG10%"] == 0.0


def test_trec_breaks_ties_by_id_downwards_and_divides_by_five():
    values = profile("trec").measure([("a", 1.0), ("b", 1.0)], Judged({"a": 1, "z": 1}))
    assert values["MRR"] == 1 / 2
    assert values["P@5"] == 1 / 5
    assert values["R@5"] == 1 / 2
    assert values["MAP"] == (1 / 2) / 2


def test_an_unknown_profile_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError) as caught:
        profile("csfcub")
    assert "csfcube" in caught.value.hint


def test_queries_that_do_not_count_are_not_zeros_in_intervals_and_tests():
    nan = float("nan")
    some, all_ = Clusters(["a", "b", "c", "d"]), Clusters(["a", "b"])
    left, right = np.asarray([0.2, 0.6, nan, nan]), np.asarray([0.1, 0.3, nan, nan])
    low, high = some.interval(left)
    assert (low, high) == (0.2, 0.6)
    assert some.interval(np.full(4, 0.5)) == all_.interval(np.full(2, 0.5)) == (0.5, 0.5)
    assert some.paired_p(left, right) == pytest.approx(0.5, abs=0.05)  # two of four signs give no smaller sum
