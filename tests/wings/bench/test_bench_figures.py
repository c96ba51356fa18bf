from __future__ import annotations

import numpy as np
import pytest

from scirgen_bench.metrics import Clusters, holm, means, per_query
from scirgen_bench.retriever import Ranking
from scirgen_bench.tables import SHOWN, retrieval_table

IDS = ["a", "b", "c", "d"]


def ranking(*rows):
    documents = np.asarray(rows, dtype=np.int32)
    return Ranking(documents, np.zeros(documents.shape, dtype=np.float32))


def test_metrics_follow_the_order_of_the_ranking_even_where_scores_tie():
    table = per_query(
        ranking([1, 0, 2, 3], [3, 2, 1, 0], [2, -1, -1, -1]),
        ["q1", "q2", "q3"],
        IDS,
        {"q1": {"a": 1}, "q2": {"a": 1, "d": 1}, "q3": {"b": 1}},
    )
    assert table["R@1"].tolist() == [0, 0.5, 0]
    assert table["R@5"].tolist() == [1, 1, 0]
    assert table["MRR@100"].tolist() == [0.5, 1, 0]
    assert table["MAP"] == pytest.approx([0.5, (1 + 2 / 4) / 2, 0])
    assert table["R-Prec"].tolist() == [0, 0.5, 0]
    assert table["P@5"] == pytest.approx([0.2, 0.4, 0])
    assert table["NDCG@10"][0] == pytest.approx(1 / np.log2(3))
    assert means(table)["MRR@100"] == 0.5
    assert means(table, np.asarray([True, False, False]))["R@1"] == 0


def test_a_query_that_finds_nothing_counts_as_zero():
    table = per_query(ranking([-1, -1], [0, 1]), ["q1", "q2"], IDS, {"q1": {"a": 1}, "q2": {"a": 1}})
    assert table["R@100"].tolist() == [0, 1]


def test_holm_steps_down_and_never_falls():
    # The worked example: sorted .01 .02 .03 .04 -> 4*.01, 3*.02, 2*.03, 1*.04, made monotone.
    found = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.02})
    assert found == pytest.approx({"a": 0.04, "d": 0.06, "c": 0.06, "b": 0.06})
    assert holm({"x": 0.6, "y": 0.9}) == {"x": 1.0, "y": 1.0}


def test_intervals_hold_the_mean_and_widen_with_clusters():
    random = np.random.default_rng(1)
    of = [f"d{i // 20}" for i in range(400)]
    together = np.repeat(random.integers(0, 2, 20), 20).astype(float)
    apart = random.permutation(together)
    wide, narrow = Clusters(of).interval(together), Clusters(of).interval(apart)
    assert wide[0] <= together.mean() <= wide[1]
    assert wide[1] - wide[0] > 2 * (narrow[1] - narrow[0])
    assert Clusters(of).interval(together) == wide


def test_a_single_dataset_has_no_interval():
    assert Clusters(["a"] * 4).intervals({"MRR@100": np.array([0.0, 1.0, 1.0, 0.0])}) == {}
    row = {"retriever": "bm25", "setting": "with-paper", "seconds": 0.1, "interval": {}, **dict.fromkeys(SHOWN, 0.5)}
    assert retrieval_table([row]).splitlines()[-1].split("|")[-3].strip() == "-"


def test_a_difference_in_all_datasets_is_significant_not_in_one():
    of = [f"d{i // 20}" for i in range(400)]
    left, right = np.zeros(400), np.zeros(400)
    left[:20] = 1
    assert Clusters(of).paired_p(left, right) > 0.5
    assert Clusters(of).paired_p(right + 0.3, right) < 0.01
    assert Clusters(of).paired_p(right, right) == 1.0
