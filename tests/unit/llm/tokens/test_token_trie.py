from __future__ import annotations

import pytest

from scirgen.llm.tokens.token_trie import Node, TokenTrie


def computed(trie: TokenTrie) -> int:
    """Pretend to run a model: the log-probability of token t after n tokens is -(n + t / 100)."""
    total, stack = 0, [trie.root]
    while stack:
        node = stack.pop()
        total += len(node.tokens)
        for offset, targets in node.wanted.items():
            for target in targets:
                node.found[offset, target] = -(node.start + offset + 1 + target / 100)
        stack.extend(node.children.values())
    return total


def test_trie_counts_a_shared_prefix_once() -> None:
    trie = TokenTrie([([1, 2, 3, 4, 5], 3), ([1, 2, 3, 9, 9], 3), ([1, 2, 7], 2)])
    assert trie.unique_tokens == computed(trie) == 5  # 1 2 | 3 | 4 | 9: last tokens are predicted, never read


def test_trie_gives_each_sequence_its_own_positions() -> None:
    sequences = [([1, 2, 3, 4, 5], 3), ([1, 2, 3, 9, 9], 1), ([1, 2, 3, 4, 6], 4)]
    trie = TokenTrie(sequences)
    computed(trie)
    for i, (ids, first) in enumerate(sequences):
        assert trie.logprobs(i) == tuple(-(j + ids[j] / 100) for j in range(first, len(ids)))


def test_trie_predicts_across_the_split_of_a_shared_node() -> None:
    trie = TokenTrie([([1, 2, 3], 1), ([1, 4, 3], 1)])
    top = trie.root.children[1]
    assert top.tokens == [1] and set(top.wanted[0]) == {2, 4}


def test_trie_with_one_sequence_inside_another_keeps_both() -> None:
    trie = TokenTrie([([1, 2, 3, 4], 1), ([1, 2], 1), ([1, 2, 3], 2)])
    computed(trie)
    assert trie.logprobs(1) == (-1.02,) and len(trie.logprobs(0)) == 3


@pytest.mark.parametrize("first", [0, 3])
def test_trie_refuses_a_sequence_without_a_token_before_or_after(first: int) -> None:
    with pytest.raises(ValueError):
        TokenTrie([([1, 2, 3], first)])


def test_node_path_stops_below_the_given_node() -> None:
    root = Node([], 0, None)
    a = Node([1], 0, root)
    b = Node([2], 1, a)
    assert b.path(root) == [a, b] and b.path(a) == [b]
