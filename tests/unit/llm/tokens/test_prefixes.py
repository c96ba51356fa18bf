from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scirgen.llm.tokens.prefixes import common_prefix, prefix_groups

TOKENS = st.lists(st.integers(0, 2), min_size=2, max_size=12)


@given(TOKENS, TOKENS)
def test_common_prefix_is_what_both_begin_with(a: list[int], b: list[int]) -> None:
    n = common_prefix(a, b)
    assert a[:n] == b[:n] and (n == min(len(a), len(b)) or a[n] != b[n])


@given(st.lists(st.tuples(TOKENS, st.floats(0, 1)), max_size=20), st.integers(1, 4))
def test_every_sequence_is_in_one_group_and_begins_with_its_prefix(
    given_: list[tuple[list[int], float]], least: int
) -> None:
    sequences = [(ids, 1 + int(share * (len(ids) - 2))) for ids, share in given_]
    groups = prefix_groups(sequences, least)
    assert sorted(i for _, members in groups for i in members) == list(range(len(sequences)))
    for length, members in groups:
        assert length == 0 or length >= least
        assert len({tuple(sequences[i][0][:length]) for i in members}) == 1
        assert all(length < sequences[i][1] for i in members), "the first scored token's predecessor is read apart"


def test_a_long_context_is_shared_and_a_short_header_is_not() -> None:
    head, context = [1] * 4, list(range(10, 60))
    long = [([*head, *context, 70 + n, 90], 55) for n in range(3)]
    short = [([*head, 70 + n, 90], 5) for n in range(3)]
    assert prefix_groups(long + short, 32) == [(54, [0, 1, 2]), (0, [3, 4, 5])]


def test_two_contexts_behind_one_header_are_two_groups() -> None:
    head = [1] * 40
    some = [([*head, *[context] * 50, 3 + n, 4, 5], 92) for context in (7, 8) for n in range(4)]
    assert prefix_groups(some, 32) == [(90, [0, 1, 2, 3]), (90, [4, 5, 6, 7])]


@pytest.mark.parametrize("first", [0, 3])
def test_a_sequence_without_a_token_before_or_after_is_refused(first: int) -> None:
    with pytest.raises(ValueError):
        prefix_groups([([1, 2, 3], first)], 1)
