"""The runner's intake: reads the catalogue page by page, stores each dataset's records, and hands their ids to the
run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeVar

from scirgen.core.config import Config, fingerprinted
from scirgen.core.errors import SourceError
from scirgen.core.fingerprint import digest
from scirgen.core.records import Paper, Provenance, Record, Rejection
from scirgen.core.registry import Registry
from scirgen.core.resources import Domain
from scirgen.pipeline.dataset_scope import content_fingerprint
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.store import RUN, Store
from scirgen.stages.base import StageContext, StageResult
from scirgen.stages.collect.open import open_source
from scirgen.stages.collect.pages import START, Collected, CollectedPage, other_language, page_key, pages
from scirgen.stages.collect.source import Source
from scirgen.stages.collect.validated_source import CheckedSource
from scirgen.stages.parse.front_reader import FrontReader

R = TypeVar("R", bound=Record)


def open_input(config: Config, registry: Registry, domain: Domain | None, folder: Path) -> CheckedSource:
    """Open the source of a run, which may read papers; see `open_source`.

    Raises:
        ScirgenError: as `open_source`.
    """
    return open_source(config, registry, domain, folder, FrontReader(config.parse, registry, folder))


def input_identity(config: Config) -> str:
    """Return the hash of a run's input, whatever its limit: two commands with the same hash make the same run."""
    folders = [f and str(Path(f).expanduser().resolve()) for f in (config.input, config.papers)]
    return digest(folders, config.domain, config.collect.source, config.collect.options)


def intake_fingerprint(ctx: StageContext) -> str:
    """Return the hash of the settings that decide the content of a catalogue's page; the limit is part of the page's
    key instead."""
    config = ctx.config
    return digest("collect", 3, config.seed, config.language, fingerprinted(config.collect), config.domain)


class Intake:
    """Collects datasets, outside the loop over stages. It stores one result per dataset, so a new record does not redo
    others.

    Attributes:
        count: number of datasets seen so far.
        failed: dataset id -> fingerprint of records that were collected with failures.
    """

    def __init__(self, store: Store, ctx: StageContext, source: Source, observer: Observer, fingerprint: str) -> None:
        self._store, self._ctx, self._source, self._observer = store, ctx, source, observer
        self._fingerprint = fingerprint
        self._rejecting: list[str] = []
        self.count = 0
        self.failed: dict[str, str] = {}

    async def datasets(self, run_number: int, stopping: Callable[[], bool]) -> AsyncIterator[str]:
        """Yield the dataset ids in the source's order; pages that have not changed are not read again."""
        collect = self._ctx.config.collect
        cursor: str | None = None
        reader: AsyncGenerator[CollectedPage, None] | None = None
        seen: set[str] = set()
        met: set[str | None] = set()
        complete = False
        while not complete and not stopping():
            if cursor in met:
                raise SourceError(
                    f"the stored catalogue pages repeat the cursor {str(cursor)[:80]!r}",
                    hint="Read the catalogue again into a new folder.",
                    code="endless_catalogue",
                )
            met.add(cursor)
            left = None if collect.limit is None else collect.limit - self.count
            key, fingerprint = page_key(cursor, left), digest(self._fingerprint, self._source.revision(cursor))
            known = None if collect.refresh else self._store.page(key)
            if known is not None and known[0] == fingerprint:
                ids, cursor, reader = list(json.loads(known[2])), known[1], None
                seen.update(ids)
                self._observer.planned("collect", len(ids))
                for stored in chain.from_iterable(self._store.members(id, ("collect",)) for id in ids):
                    self._observer.finished(stored, reused=True, seconds=0.0)
                if self._store.member(RUN, "collect", f"page:{key}") is not None:
                    self._rejecting.append(f"page:{key}")
            else:
                reader = reader or pages(self._source, collect, cursor, limit=left, seen=seen)
                page = await anext(reader, None)
                if page is None:
                    complete = True
                    break
                self._observer.planned("collect", len(page.items))
                ids, cursor = self._put_page(key, fingerprint, page), page.cursor_next
            if len(met) == 1 and isinstance(self._source, CheckedSource):
                # Not before: the source would read every paper for them, also where no page has changed.
                for said in self._source.warnings():
                    self._observer.note(said)
            self._store.see_datasets(ids, self.count, run_number)
            self.count += len(ids)
            for dataset_id in ids:
                yield dataset_id
            complete = cursor is None or (collect.limit is not None and self.count >= collect.limit)
        if reader is not None:
            await reader.aclose()
        if complete:
            # Datasets and rejected records that this reading did not meet are no longer part of the run.
            self._store.plan(RUN, "collect", self._rejecting)
            self._store.set_meta("collected", str(run_number))

    def _put_page(self, key: str, fingerprint: str, page: CollectedPage) -> list[str]:
        """Store a page's datasets one by one, so adding a record to a folder does not redo the others on its page."""
        if page.key.partition("#")[0] == START:
            languages = Counter(c.dataset.language for c in page.items)
            of = "records" if page.cursor_next is None else "records of the first page"
            if said := other_language(languages, self._ctx.config, of=of):
                self._observer.note(said)
        ids = [self._put_collected(c) for c in page.items]
        item = f"page:{key}"
        if page.rejections:
            result = self._store.put("collect", item, fingerprint, StageResult(rejections=page.rejections), 0.0)
            self._store.use(RUN, "collect", item, result.id)
            self._rejecting.append(item)
            self._observer.planned("collect", 1)
            self._observer.finished(result, reused=False, seconds=0.0)
        else:
            self._store.drop(RUN, "collect", item)
        if not any(c.failures for c in page.items):
            self._store.put_page(key, fingerprint, page.cursor_next, json.dumps(ids))
        return ids

    def _put_collected(self, collected: Collected) -> str:
        records: tuple[Record, ...] = (collected.dataset, *collected.papers, *collected.links)
        dataset_id = collected.dataset.id
        fingerprint = digest([content_fingerprint(r) for r in records])
        result = self._store.get("collect", dataset_id, fingerprint)
        if (
            result is None
            or result.status != "done"
            or collected.failures
            or _id_code_reason(result.rejections()) != _id_code_reason(collected.rejections)
            or _places(result.outputs()) != _places(records)
        ):
            outputs = StageResult(records, collected.rejections, collected.failures)
            origin = Provenance(stage="collect", key=dataset_id, fingerprint=fingerprint)
            result = self._store.put("collect", dataset_id, fingerprint, with_provenance(outputs, origin), 0.0)
        if self._store.member(dataset_id, "collect", dataset_id) != result.id:
            self._store.supersede(dataset_id, keep=())
        self._store.use(dataset_id, "collect", dataset_id, result.id)
        self._observer.finished(result, reused=False, seconds=0.0)
        if result.status != "done":
            self.failed[dataset_id] = fingerprint
        return dataset_id


def _places(records: Iterable[Record]) -> list[str | None]:
    """Return where the papers lie, which no fingerprint has: their folder may have been moved."""
    return [record.file for record in records if isinstance(record, Paper)]


def _id_code_reason(rejections: Sequence[Rejection]) -> list[tuple[str, str, str]]:
    return [(r.record_id, r.code, r.reason) for r in rejections]


def with_provenance(result: StageResult, origin: Provenance) -> StageResult:
    """Add the item's provenance to records without one."""
    return StageResult(_filled(result.outputs, origin), _filled(result.rejections, origin), result.failures)


def _filled(records: tuple[R, ...], origin: Provenance) -> tuple[R, ...]:
    return tuple(
        r.model_copy(update={"provenance": origin}) if getattr(r, "provenance", origin) is None else r for r in records
    )
