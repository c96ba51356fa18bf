"""Connected components over datasets, papers and near-duplicate questions: what a split must keep together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class DisjointSets:
    """Union-find over strings; the smallest member names the set, so the result does not depend on the order."""

    def __init__(self, members: Iterable[str] = ()) -> None:
        self._parent: dict[str, str] = {m: m for m in members}

    def find(self, member: str) -> str:
        """The name of the member's set; a new member is a set of its own."""
        root = self._parent.setdefault(member, member)
        while root != self._parent[root]:
            root = self._parent[root]
        while self._parent[member] != root:
            self._parent[member], member = root, self._parent[member]
        return root

    def union(self, left: str, right: str) -> None:
        """Make one set of two."""
        a, b = self.find(left), self.find(right)
        if a != b:
            small, large = sorted((a, b))
            self._parent[large] = small


def connected(members: Sequence[str], groups: Iterable[Iterable[str]]) -> dict[str, str]:
    """Member -> its component's name (the smallest id in it).

    Args:
        members: all dataset ids.
        groups: sets of dataset ids that belong together (the datasets of one paper, of one near-duplicate question).
    """
    sets = DisjointSets(members)
    for group in groups:
        first: str | None = None
        for member in group:
            if first is None:
                first = member
            else:
                sets.union(first, member)
    return {member: sets.find(member) for member in members}
