"""Finds all pairs of similar sets, exactly and without comparing all with all. The caller decides what the sets
contain.

Prefix filtering (Chaudhuri et al. 2006; Bayardo et al. 2007; bounds as in Xiao et al. 2008, PPJoin): of two sets that
share much, the rarest members of each overlap, so that only sets with a rare member in common are compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence


def similar_sets(
    sets: Sequence[tuple[int, ...]], classes: Sequence[Hashable], threshold: float
) -> Iterator[tuple[int, int, float]]:
    """Yield the pairs of one class with a Jaccard similarity of at least ``threshold``.

    Args:
        sets: each as its distinct members, in any order.
        classes: of each set; sets of different classes are not compared.
        threshold: in (0, 1].

    Yields:
        (a, b, similarity), indices with a < b; each pair once, in no particular order.
    """
    frequency = Counter(member for members in sets for member in members)
    # Members are sorted from rare to common, and sets from small to large, so each set meets only sets of its size or
    # smaller.
    ordered = [sorted(members, key=lambda m: (frequency[m], m)) for members in sets]
    postings: dict[tuple[int, int], list[int]] = {}
    numbers: dict[Hashable, int] = {}
    for index in sorted(range(len(sets)), key=lambda i: (len(sets[i]), i)):
        own = ordered[index]
        size, kind = len(own), numbers.setdefault(classes[index], len(numbers))
        least = _ceil(threshold * size)
        candidates = {
            other
            for member in own[: size - least + 1]
            for other in postings.get((member, kind), ())
            if len(ordered[other]) >= least
        }
        mine = set(own)
        for other in candidates:
            shared = sum(member in mine for member in ordered[other])
            similarity = shared / (size + len(ordered[other]) - shared)
            if similarity >= threshold:
                yield min(index, other), max(index, other), similarity
        # Later sets are at least as large as this one and so must share more of it: fewer members need to be indexed.
        for member in own[: size - _ceil(2 * threshold / (1 + threshold) * size) + 1] if size else ():
            postings.setdefault((member, kind), []).append(index)


def _ceil(value: float) -> int:
    # Rounding may put a product such as 0.8 * 35 slightly above the whole number.
    return math.ceil(value - 1e-9)
