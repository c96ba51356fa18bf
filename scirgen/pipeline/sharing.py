"""Finds which datasets of a run use the same paper. This is known when all of them are matched, and does not depend on
their order."""

from __future__ import annotations

from collections.abc import Iterable

from scirgen.core.fingerprint import digest
from scirgen.core.records import Dataset, Link
from scirgen.pipeline.dataset_scope import content_fingerprint
from scirgen.pipeline.store import Store
from scirgen.pipeline.views.view import StoreView


class Sharing:
    """Papers that several datasets use. Papers of one dataset are not in it, so a large catalogue takes little
    memory."""

    def __init__(self, store: Store, links: Iterable[Link]) -> None:
        self._store = store
        first: dict[str, str] = {}
        several: dict[str, set[str]] = {}
        for link in links:
            if not link.used:
                continue
            known = first.setdefault(link.paper_id, link.dataset_id)
            if known != link.dataset_id:
                several.setdefault(link.paper_id, {known}).add(link.dataset_id)
        self._users = several
        self._papers: dict[str, list[str]] = {}
        for paper_id in sorted(several):
            for dataset_id in several[paper_id]:
                self._papers.setdefault(dataset_id, []).append(paper_id)

    @classmethod
    def of(cls, store: Store) -> Sharing:
        """Build it from the links that the current run has judged."""
        return cls(store, StoreView(store).records("match", Link))

    def of_dataset(self, dataset_id: str) -> dict[str, tuple[Dataset, ...]]:
        """Paper id -> all datasets that use it, in the order of ids, for the papers that a dataset shares."""
        return {p: tuple(map(self._dataset, sorted(self._users[p]))) for p in self._papers.get(dataset_id, ())}

    def _dataset(self, dataset_id: str) -> Dataset:
        for result in self._store.members(dataset_id, ("collect",)):
            for record in result.outputs():
                if isinstance(record, Dataset):
                    return record
        raise KeyError(dataset_id)


def sharing_fingerprint(shared: dict[str, tuple[Dataset, ...]]) -> str:
    """Hash of what a dataset's later stages see of other datasets."""
    return digest([(paper_id, [content_fingerprint(d) for d in users]) for paper_id, users in sorted(shared.items())])
