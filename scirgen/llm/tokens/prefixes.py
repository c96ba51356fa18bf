"""Finds the beginnings that token sequences share, so that a model reads each once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

WARM: Final = 64
"""Shared beginnings of at least this many tokens are computed before the requests that share them, so all of them find
the result."""

_SORTED: Final = 256
"""Largest number of sequences that are compared with each other."""

Groups = list[tuple[int, list[int]]]
"""(length of the shared beginning, indexes of the sequences that begin with it)."""


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Return the number of leading tokens two sequences share."""
    a, b = tuple(a), tuple(b)
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def prefix_groups(sequences: Sequence[tuple[Sequence[int], int]], least: int) -> Groups:
    """Divide sequences so that reading each group's beginning once saves most tokens.

    Args:
        sequences: (token ids, index of the first token to be scored, at least 1). The token before that one predicts
            it, so it belongs to no shared beginning.
        least: a shorter beginning is not worth a pass of its own.

    Returns:
        The groups; sequences that share too little are in one group with a beginning of length 0.

    Raises:
        ValueError: a sequence has no token before the first one that is scored, or none to score.
    """
    if not all(1 <= first < len(ids) for ids, first in sequences):
        raise ValueError("a sequence needs a token before the first one that is scored")
    prompts = [tuple(ids[: first - 1]) for ids, first in sequences]
    order = sorted(range(len(prompts)), key=prompts.__getitem__)
    found: Groups = []
    for at in range(0, len(order), _SORTED):
        part = order[at : at + _SORTED]
        shared = [common_prefix(prompts[a], prompts[b]) for a, b in pairwise(part)]
        found += _best(part, [n if n >= least else 0 for n in shared])[1]
    alone = [index for length, group in found if not length for index in group]
    return [(length, group) for length, group in found if length] + ([(0, alone)] if alone else [])


def _best(order: list[int], shared: list[int]) -> tuple[int, Groups]:
    """Return the tokens saved and the groups, of sorted sequences of which neighbours share so many tokens."""
    if not shared:
        return 0, [(0, order)]
    at = min(range(len(shared)), key=shared.__getitem__)
    left, right = _best(order[: at + 1], shared[:at]), _best(order[at + 1 :], shared[at + 1 :])
    together = shared[at] * len(shared)
    if together > left[0] + right[0]:
        return together, [(shared[at], order)]
    return left[0] + right[0], left[1] + right[1]
