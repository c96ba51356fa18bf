"""The join finds exactly the pairs that comparing all with all finds."""

from __future__ import annotations

import random
import time
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scirgen.repeats.setjoin import similar_sets

SETS = st.lists(st.frozensets(st.integers(0, 14), max_size=12), max_size=25)
"""Small vocabularies, so that many pairs are near every threshold; empty sets too."""


def by_hand(sets: list[tuple[int, ...]], classes: list[int], threshold: float) -> dict[tuple[int, int], float]:
    found = {}
    for a, b in combinations(range(len(sets)), 2):
        union = set(sets[a]) | set(sets[b])
        if union and classes[a] == classes[b]:
            similarity = len(set(sets[a]) & set(sets[b])) / len(union)
            if similarity >= threshold:
                found[a, b] = similarity
    return found


@given(SETS, st.sampled_from((0.3, 0.5, 0.6, 0.75, 0.8, 0.9, 1.0)), st.data())
@settings(max_examples=300, deadline=None)
def test_the_pairs_are_those_of_comparing_all_with_all(
    drawn: list[frozenset[int]], threshold: float, data: st.DataObject
) -> None:
    sets = [tuple(data.draw(st.permutations(sorted(s)))) for s in drawn]
    classes = data.draw(st.lists(st.integers(0, 1), min_size=len(sets), max_size=len(sets)))
    found = list(similar_sets(sets, classes, threshold))
    assert len({(a, b) for a, b, _ in found}) == len(found)
    assert {(a, b): s for a, b, s in found} == pytest.approx(by_hand(sets, classes, threshold))


@pytest.mark.parametrize("size", range(1, 41))
def test_a_similarity_of_exactly_the_threshold_is_found_for_every_size(size: int) -> None:
    for shared in range(1, size + 1):
        left, right = tuple(range(size)), tuple(range(size - shared, 2 * size - shared))
        threshold = shared / (2 * size - shared)
        assert [(a, b) for a, b, _ in similar_sets([left, right], [0, 0], threshold)] == [(0, 1)]


def test_unlike_sets_of_common_words_are_joined_in_few_steps() -> None:
    draw = random.Random(1)
    weights = [1 / (rank + 1) for rank in range(3000)]
    sets = [tuple(set(draw.choices(range(3000), weights, k=10))) for _ in range(6000)]
    started = time.process_time()
    found = list(similar_sets(sets, [0] * len(sets), 0.8))
    assert time.process_time() - started < 5.0  # eighteen million comparisons do not fit into that
    assert len(found) < 100
