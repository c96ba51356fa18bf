"""View of a merged run, which presents several runs as one. It reads the parts where they are and copies nothing.

A dataset belongs to one part. If several parts have results for a shared paper, these count once. `scirgen.commands.merge.parts`
checks parts, and `scirgen.commands.merge.merge` releases them.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import groupby, repeat
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from scirgen.core.errors import ConfigError, StoreError
from scirgen.core.fingerprint import digest
from scirgen.core.records import Record, Rejection
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.record_codec import pack, unpack
from scirgen.pipeline.store import Store, StoredResult
from scirgen.pipeline.views.part_view import Part, PartView
from scirgen.pipeline.views.view import StoreView, digest_of

R = TypeVar("R", bound=Record)

PARTS = "parts"
"""Key of the store's settings that marks a merged run."""


class PartNote(BaseModel):
    """A merged run's record of a part.

    Attributes:
        name: the folder's name, made unique among the parts.
        path: the folder, absolute.
        relative: the folder, relative to the merged run's.
        state: the part's `PartView.finished` at the merge, for detecting later changes.
        elsewhere: datasets of the part that an earlier part also has, and that are taken from there.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")
    name: str
    path: str
    relative: str
    state: str
    elsewhere: tuple[str, ...] = ()


class MergedNote(BaseModel):
    """A merged run's record of its parts; the card shows ``notes``."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    parts: tuple[PartNote, ...]
    notes: tuple[str, ...] = ()


class MergedView(StoreView):
    """Several parts as one run, in the order of ids. Its own store has only the merged release."""

    def __init__(
        self, store: Store, parts: Sequence[Part], notes: Sequence[str] = (), changed: Sequence[str] = ()
    ) -> None:
        super().__init__(store)
        self.parts = tuple(parts)
        self._changed = tuple(changed)
        self._notes = tuple(notes)

    def close(self) -> None:
        """Close the parts' files and its own."""
        for part in self.parts:
            part.view.close()
        super().close()

    @cached_property
    def _owners(self) -> dict[str, Part]:
        owners = {i: part for part in reversed(self.parts) for i in part.view.dataset_ids()}
        return {i: owners[i] for i in sorted(owners)}

    @cached_property
    def _state_digest(self) -> str:
        """The combined state of all parts; results that an earlier part also has are marked in the same pass."""
        repeated: dict[int, list[int]] = {n: [] for n in range(len(self.parts))}
        states = [zip(part.view.state(), repeat(n)) for n, part in enumerate(self.parts)]

        def kept() -> Iterator[Sequence[str]]:
            # A result that failed in one part is taken from a part in which it succeeded.
            merged = heapq.merge(*states, key=lambda r: (*r[0][:3], _RANK[r[0][3]], r[1]))
            for _, alike in groupby(merged, key=lambda r: r[0][:3]):
                (first, _), *others = alike
                for row, number in others:
                    repeated[number].append(row[4])
                yield first[:4]

        found = digest_of(kept())
        for number, ids in repeated.items():
            self.parts[number].view.mark_repeated(ids)
        return found

    @cached_property
    def _pages(self) -> dict[tuple[int, int], StoredResult]:
        """Rejections of catalogue pages, by part and result; a record that several parts rejected counts once.

        A page is marked as repeated if an earlier part has all its rejections.
        """
        found: dict[tuple[int, int], StoredResult] = {}
        seen: set[str] = set()
        for number, part in enumerate(self.parts):
            for result in part.view.pages():
                fresh: list[Rejection] = []
                for rejection in result.rejections():
                    said = digest(rejection.model_dump(mode="json", exclude={"provenance"}))
                    fresh += [] if said in seen else [rejection]
                    seen.add(said)
                if fresh:
                    found[number, result.id] = replace(result, rejections_blob=pack(fresh), n_rejections=len(fresh))
                else:
                    part.view.mark_repeated([result.id])
        return found

    def _mark(self) -> None:
        """Find repeated results, before a query about the whole run."""
        assert self._state_digest and self._pages is not None

    # -- the view's interface -----------------------------------------------------------------------------------------

    def state_digest(self) -> str:
        """The same digest as for one run that did the same work with the same settings."""
        return self._state_digest

    def notes(self) -> tuple[str, ...]:
        """Differences between the parts, and missing items, for the card."""
        return self._notes

    def part_names(self) -> tuple[str, ...]:
        """The parts, in the order in which they were merged."""
        return tuple(part.name for part in self.parts)

    def part_of(self, dataset_id: str) -> str:
        """The part's name and folder."""
        part = self._owners.get(dataset_id)
        return f"{part.name} ({part.folder})" if part else ""

    def changed(self) -> tuple[str, ...]:
        """Parts that were run again since."""
        return self._changed

    def owners(self) -> Iterator[tuple[str, str]]:
        """(dataset, the part it is taken from), by dataset."""
        return ((dataset_id, part.name) for dataset_id, part in self._owners.items())

    def dataset_ids(self) -> list[str]:
        """Ids of the datasets of all parts, sorted."""
        return list(self._owners)

    def results(self, stage: str, dataset_id: str | None = None) -> Iterator[StoredResult]:
        """Current results of a stage by key; results of several parts occur once."""
        return (result for result, _ in self._placed(stage, dataset_id))

    def records(self, stage: str, kind: type[R], dataset_id: str | None = None) -> Iterator[R]:
        """Current outputs of one record class; a damaged one is reported with its store."""
        for result, place in self._placed(stage, dataset_id):
            with _naming(place):
                yield from unpack(result.outputs_blob, kind)

    def rejections(self, stage: str | None = None, dataset_id: str | None = None) -> Iterator[Rejection]:
        """What was not kept, by stage and key."""
        for name in [stage] if stage else [s.stage for s in PLAN]:
            for result, place in self._placed(name, dataset_id):
                with _naming(place):
                    yield from result.rejections()

    def _placed(self, stage: str, dataset_id: str | None) -> Iterator[tuple[StoredResult, Path]]:
        """Results with the folder they are stored in."""
        if stage == "release":
            yield from ((r, self._store.path.parent) for r in super().results(stage, dataset_id))
        elif dataset_id is not None:
            if owner := self._owners.get(dataset_id):
                yield from ((r, owner.folder) for r in owner.view.results(stage, dataset_id))
        else:
            self._mark()
            streams = [zip(part.view.results(stage), repeat(n)) for n, part in enumerate(self.parts)]
            for result, number in heapq.merge(*streams, key=lambda r: r[0].key):
                found = self._pages.get((number, result.id), result) if stage == "collect" else result
                yield found, self.parts[number].folder

    def funnel(self) -> dict[str, dict[str, int]]:
        """The sum of the parts' funnels, with a line for the merged release."""
        self._mark()
        table = super().funnel()
        for part in self.parts:
            for stage, row in part.view.funnel().items():
                for name, count in row.items():
                    table[stage][name] = table[stage].get(name, 0) + count
        for number, part in enumerate(self.parts):
            for result in part.view.pages():
                counted = Counter(r.code for r in result.rejections())
                kept = Counter(r.code for r in self._pages[number, result.id].rejections())
                for code, count in (counted - kept).items():
                    table["collect"][f"rejected:{code}"] -= count
                    table["collect"]["rejected"] -= count
        return {stage: _ordered(row) for stage, row in table.items()}

    def rejected_by_type(self) -> dict[str, dict[str, int]]:
        """question type -> rejection code -> count, over all parts and the merged release."""
        self._mark()
        table: dict[str, dict[str, int]] = {}
        for found in (super().rejected_by_type(), *(part.view.rejected_by_type() for part in self.parts)):
            for name, row in found.items():
                mine = table.setdefault(name, {})
                for code, count in row.items():
                    mine[code] = mine.get(code, 0) + count
        return {name: dict(sorted(table[name].items())) for name in sorted(table)}

    def waiting(self) -> int:
        """Datasets of all parts whose path is not complete."""
        return sum(part.view.waiting() for part in self.parts)

    def find(self, record_id: str) -> list[tuple[str, StoredResult]]:
        """(record class, result) of every result of any part, and of the merged release, that mentions the id."""
        found: dict[tuple[str, ...], tuple[str, StoredResult]] = {}
        for hits in (*(part.view.find(record_id) for part in self.parts), super().find(record_id)):
            for kind, result in hits:
                # Parts that read one catalogue each rejected the same record on a page of their own.
                item = ("page", "") if result.key.startswith("page:") else (result.key, result.fingerprint)
                found.setdefault((kind, result.stage, *item), (kind, result))
        return list(found.values())

    def complete_id(self, prefix: str) -> list[str]:
        """Record ids of any part that begin with ``prefix`` (at most ten)."""
        found = {i for part in self.parts for i in part.view.complete_id(prefix)}
        return sorted(found | set(super().complete_id(prefix)))[:10]

    def reply(self, key: str) -> tuple[str, str] | None:
        """(request JSON, raw reply) of a cached model reply, from the part that has it."""
        return next((found for part in self.parts if (found := part.view.reply(key)) is not None), None)


_RANK = {"done": 0, "partial": 1, "failed": 2}


@contextmanager
def _naming(folder: Path) -> Iterator[None]:
    """Name the run of a damaged record in the error."""
    try:
        yield
    except StoreError as error:
        hint = f"Run: scirgen doctor {folder} --repair"
        raise StoreError(f"{folder}: {error.message}", hint=hint, code=error.error_code) from error


def _ordered(row: dict[str, int]) -> dict[str, int]:
    """A line of the funnel: totals first, then counts by code."""
    codes = {k: row[k] for k in sorted(row) if ":" in k and row[k]}
    return {k: n for k, n in row.items() if ":" not in k} | codes


def open_merged(store: Store) -> MergedView | None:
    """The view of a merged run, from its own store; None for the store of an ordinary run.

    Raises:
        StoreError: a part is missing or cannot be read.
    """
    with store.guarded():
        text = store.meta(PARTS)
    if text is None:
        return None
    note = MergedNote.model_validate_json(text)
    opened: list[Part] = []
    try:
        for part in note.parts:
            folder = _place(part, store.path.parent)
            opened.append(Part(part.name, folder, PartView(Store(folder / "run.db", writable=False), part.elsewhere)))
    except BaseException:
        for part_ in opened:
            part_.view.close()
        raise
    changed = [p.name for p, seen in zip(opened, note.parts, strict=True) if p.view.finished() != seen.state]
    return MergedView(store, opened, note.notes, changed)


def part_folders(folder: Path) -> list[str]:
    """The folders of a merged run's parts at the time of the merge; empty for an ordinary run."""
    with Store(folder / "run.db", writable=False) as store, store.guarded():
        text = store.meta(PARTS)
    return [part.path for part in MergedNote.model_validate_json(text).parts] if text else []


def refuse_merged(store: Store) -> None:
    """Refuse a merged run where an ordinary run is needed.

    Raises:
        ConfigError: the store is a merged run's.
    """
    if store.meta(PARTS) is not None:
        raise ConfigError(
            f"{store.path.parent} is a merged run: it has only a release, and its records are in its parts",
            hint="Name one of its parts, or another folder with --out.",
        )


def _place(part: PartNote, merged: Path) -> Path:
    """A part's current folder: its old path, or the same path relative to the merged run (if both were moved
    together)."""
    for folder in (Path(part.path), merged / part.relative):
        if (folder / "run.db").is_file():
            return folder
    raise StoreError(
        f"the part {part.name} of {merged} is no longer at {part.path}",
        hint=f"Put it back, or merge again. {merged / 'release'} is complete without it.",
    )
