"""The outputs for one dataset while its steps run, and the fingerprints of their inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from scirgen.core.fingerprint import digest, item_fingerprint
from scirgen.core.grouped import grouped
from scirgen.core.records import Dataset, Link, Paper, Record
from scirgen.pipeline.store import Store, StoredResult
from scirgen.pipeline.views.view import StoreView
from scirgen.stages.base import WorkItem

R = TypeVar("R", bound=Record)

_BY_CONTENT = frozenset({"collect", "ask", "search"})


def content_fingerprint(record: Record) -> str:
    """Return the digest of a record's content, without a paper's local path, which the hash of its bytes replaces."""
    exclude = {"file", "provenance"} if isinstance(record, Paper) else {"provenance"}
    return digest(type(record).__name__, record.model_dump(mode="json", exclude=exclude))


def _identity(result: StoredResult) -> str:
    """Return the identity of a result in the fingerprints of later results. A partial result differs from the complete
    one that may replace it."""
    if result.status == "done":
        return result.fingerprint
    return digest(result.fingerprint, result.status, hashlib.sha256(result.outputs_blob).hexdigest())


class DatasetScope:
    """`scirgen.stages.base.Scope`: the outputs so far, by stage and in the order of keys.

    Args:
        dataset_id: the dataset.
        round: 0 for the first pass.
        wanted: quota cells given to this dataset in a later round.
        shared: paper id -> the datasets that use it, for papers of several datasets.
    """

    def __init__(
        self,
        dataset_id: str,
        *,
        round: int = 0,
        wanted: Sequence[dict[str, object]] = (),
        shared: Mapping[str, tuple[Dataset, ...]] | None = None,
    ) -> None:
        self.dataset_id = dataset_id
        self._shared = shared or {}
        self.round = round
        self.wanted: Sequence[dict[str, object]] = tuple(wanted)
        self._records: dict[str, list[Record]] = {}
        self._made_by: dict[int, str] = {}

    @property
    def dataset(self) -> Dataset:
        return self.outputs("collect", Dataset)[0]

    def users(self, paper_id: str) -> tuple[Dataset, ...]:
        """Return the datasets of the run that use a paper of this dataset, by id."""
        return self._shared.get(paper_id) or (self.dataset,)

    def outputs(self, stage: str, kind: type[R]) -> tuple[R, ...]:
        """Return the records of a class produced by a stage."""
        return tuple(r for r in self._records.get(stage, ()) if isinstance(r, kind))

    def add(self, results: Sequence[StoredResult]) -> None:
        for result in sorted(results, key=lambda r: r.key):
            records = result.outputs()
            self._records.setdefault(result.stage, []).extend(records)
            made = _identity(result)
            for record in records:
                # These are identified by their content, so adding a record to a folder does not redo the others, and a
                # new paper redoes only the answers to questions that it is found for.
                self._made_by[id(record)] = content_fingerprint(record) if result.stage in _BY_CONTENT else made

    def fingerprint(self, item: WorkItem, stage_fingerprint: str) -> str:
        """Return the item's fingerprint: stage, key, parameters, and the fingerprints of its inputs."""
        made_by = [self._made_by.get(id(r)) or content_fingerprint(r) for r in item.inputs]
        return item_fingerprint(stage_fingerprint, item.key, made_by, digest(item.parameters, item.salt))


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
        self._papers = grouped((dataset, paper) for paper in sorted(several) for dataset in several[paper])

    @classmethod
    def of(cls, store: Store) -> Sharing:
        """Build it from the links that the current run has judged."""
        return cls(store, StoreView(store).records("match", Link))

    def of_dataset(self, dataset_id: str) -> dict[str, tuple[Dataset, ...]]:
        """Return a mapping: paper id -> all datasets that use it, in the order of ids, for the papers that a dataset
        shares."""
        return {p: tuple(map(self._dataset, sorted(self._users[p]))) for p in self._papers.get(dataset_id, ())}

    def _dataset(self, dataset_id: str) -> Dataset:
        for result in self._store.members(dataset_id, ("collect",)):
            for record in result.outputs():
                if isinstance(record, Dataset):
                    return record
        raise KeyError(dataset_id)


def sharing_fingerprint(shared: dict[str, tuple[Dataset, ...]]) -> str:
    """Return the hash of the data of other datasets that a dataset's later stages read."""
    return digest([(paper_id, [content_fingerprint(d) for d in users]) for paper_id, users in sorted(shared.items())])
