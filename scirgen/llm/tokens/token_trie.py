"""A radix trie over token sequences: what many prompts share is found exactly, at token level, after encoding.

Pure Python and free of any model; see `shared_prefix` for computing on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

WARM: Final = 64
"""Shared runs of at least this many tokens are computed before the requests that share them, so all of them find the
result."""


class Node:
    """A run of tokens that all sequences below it share.

    Attributes:
        tokens: the run.
        start: how many tokens come before it.
        wanted: offset in ``tokens`` -> the next tokens whose log-probability is asked for after it.
        found: (offset, next token) -> that log-probability, in nats.
    """

    __slots__ = ("children", "found", "parent", "start", "tokens", "wanted", "weight")

    def __init__(self, tokens: list[int], start: int, parent: Node | None) -> None:
        self.tokens = tokens
        self.start = start
        self.parent = parent
        self.children: dict[int, Node] = {}
        self.wanted: dict[int, dict[int, None]] = {}
        self.found: dict[tuple[int, int], float] = {}
        self.weight = len(tokens)

    @property
    def end(self) -> int:
        """Number of tokens up to its last one."""
        return self.start + len(self.tokens)

    def path(self, above: Node | None = None) -> list[Node]:
        """The nodes from just below ``above`` down to this one."""
        nodes: list[Node] = []
        node: Node | None = self
        while node is not None and node is not above:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]

    def leaves(self) -> Iterator[Node]:
        """The ends of the branches below it, depth first; the node itself if there are none."""
        stack = [self]
        while stack:
            node = stack.pop()
            if node.children:
                stack.extend(reversed(node.children.values()))
            else:
                yield node


class TokenTrie:
    """Sequences with the positions whose log-probability is wanted.

    The last token of a sequence is predicted but never read, so it is not part of the trie.
    """

    def __init__(self, sequences: Sequence[tuple[Sequence[int], int]]) -> None:
        """Build the trie.

        Args:
            sequences: (token ids, index of the first token to be scored, at least 1).
        """
        self.root = Node([], 0, None)
        self._sequences = [(list(ids), first) for ids, first in sequences]
        for ids, first in self._sequences:
            if not 1 <= first < len(ids):
                raise ValueError("a sequence needs a token before the first one that is scored")
            self._insert(ids[:-1])
        self._weigh(self.root)
        for ids, first in self._sequences:
            for node, offset, target in self._asked(ids, first):
                node.wanted.setdefault(offset, {})[target] = None

    @property
    def unique_tokens(self) -> int:
        """Number of tokens to compute if each is computed once."""
        return self.root.weight

    def shared(self, least: int) -> Iterator[list[list[int]]]:
        """Prefixes that end in a shared run of at least ``least`` tokens, level by level: outer ones before inner
        ones."""
        level = [self.root]
        while level:
            long = [n for n in level if n.children and len(n.tokens) >= least]
            if long:
                yield [[t for n in node.path() for t in n.tokens] for node in long]
            level = [c for n in level for c in n.children.values()]

    def logprobs(self, index: int) -> tuple[float, ...]:
        """The log-probabilities of a sequence's scored tokens; all its nodes must have been computed."""
        ids, first = self._sequences[index]
        return tuple(node.found[offset, target] for node, offset, target in self._asked(ids, first))

    def _insert(self, ids: list[int]) -> None:
        node, at = self.root, 0
        while at < len(ids):
            child = node.children.get(ids[at])
            if child is None:
                node.children[ids[at]] = Node(ids[at:], at, node)
                return
            same = _common(child.tokens, ids, at)
            if same < len(child.tokens):
                child = self._split(child, same)
            node, at = child, at + same

    @staticmethod
    def _split(node: Node, at: int) -> Node:
        """Split a node in two; the upper part replaces it and is returned."""
        parent = node.parent
        assert parent is not None
        upper = Node(node.tokens[:at], node.start, parent)
        parent.children[node.tokens[0]] = upper
        node.tokens, node.start, node.parent = node.tokens[at:], node.start + at, upper
        upper.children[node.tokens[0]] = node
        return upper

    @staticmethod
    def _weigh(root: Node) -> None:
        order = [root]
        for node in order:
            order.extend(node.children.values())
        for node in reversed(order):
            node.weight = len(node.tokens) + sum(c.weight for c in node.children.values())

    def _asked(self, ids: list[int], first: int) -> Iterator[tuple[Node, int, int]]:
        """(node, offset in it, the token that follows) for each scored token: position j is predicted by j - 1."""
        node = self.root
        for j in range(1, len(ids)):
            while j - 1 >= node.end:
                node = node.children[ids[node.end]]
            if j >= first:
                yield node, j - 1 - node.start, ids[j]


def _common(tokens: list[int], ids: list[int], at: int) -> int:
    limit = min(len(tokens), len(ids) - at)
    if tokens[:limit] == ids[at : at + limit]:
        return limit
    return next(i for i in range(limit) if tokens[i] != ids[at + i])
