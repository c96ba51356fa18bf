"""Reads a source page by page. Only this module handles sync and async sources, limits and duplicate ids.

A page is all datasets between two cursors; at most one is in memory. The source decides where files are and how they
are fetched. The runner stores pages and skips those it has.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import aclosing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from scirgen.core.config import CollectConfig, Config
from scirgen.core.errors import ConfigError, PaperError, ScirgenError, SourceError
from scirgen.core.fingerprint import digest, file_sha256
from scirgen.core.records import Dataset, Failure, Link, Paper, Rejection
from scirgen.core.records.licences import UNKNOWN, licence_allowed, not_wanted
from scirgen.core.registry.known_models import known_model
from scirgen.core.text.language import in_other_languages, language_name, languages_of
from scirgen.stages.collect.source import MOST_BAD, Candidate, Cursor, Fetched, Source

T = TypeVar("T")
A = TypeVar("A")

START = "start"
"""The key of the first page; the key of any other page is the cursor at which it begins."""

MOST_BARREN = 1000
"""After this many pages in a row without a new dataset, a catalogue counts as endless."""

IN_FLIGHT = 8
"""Number of datasets of a page whose papers are looked up at the same time; the source's rate limit applies too."""


@dataclass(frozen=True)
class Collected:
    """One dataset with its candidate papers. ``failures`` are look-ups that the next run tries again."""

    dataset: Dataset
    papers: tuple[Paper, ...] = ()
    links: tuple[Link, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class CollectedPage:
    """The content of one page of a catalogue.

    Attributes:
        key: the work item's key: ``page_key(cursor, limit)``.
        revision: hash of what the page was read from; None if the source has none.
        cursor_next: where the next page begins; None after the last page, or if the limit is reached.
        items: the page's datasets, in the catalogue's order.
        rejections: records that are not used (malformed, duplicate, unwanted licence).
    """

    key: str
    revision: str | None
    cursor_next: str | None
    items: tuple[Collected, ...]
    rejections: tuple[Rejection, ...] = ()


def page_key(cursor: str | None, limit: int | None = None) -> str:
    """Return the key of the page at ``cursor`` if at most ``limit`` more datasets are wanted.

    The limit is part of the key, not of the fingerprint: a page that is cut short is another item than the whole page,
    and a higher limit does not redo other work.
    """
    key = START if cursor is None else cursor
    return key if limit is None else f"{key}#first{limit}"


async def pages(
    source: Source,
    config: CollectConfig,
    start: str | None = None,
    *,
    limit: int | None = None,
    seen: set[str] | None = None,
) -> AsyncGenerator[CollectedPage, None]:
    """Read a source from a cursor on, one page at a time.

    Args:
        source: plain or async, see `Source`.
        config: ``papers_per_dataset``, ``most_datasets``, ``ids``, ``licences`` are applied here.
        start: the cursor at which to begin; None: at the beginning.
        limit: stop after this many datasets.
        seen: ids of datasets collected before ``start``, so that a repeated id is rejected (`duplicate_id`); new ids
            are added.

    Raises:
        SourceError: the catalogue cannot be read; the pages yielded so far are complete.
        InputError: what the source reads does not exist.
    """
    known: set[int] = {_short(i) for i in seen} if seen else set()
    cursor, left, barren = start, limit, 0
    cursors, fresh, bad = {start}, False, 0
    found: list[Dataset] = []
    aside: list[Rejection] = []
    revision = source.revision(cursor)

    async def page(following: str | None) -> CollectedPage:
        items = await _in_flight(IN_FLIGHT, [_collect(source, config, d) for d in found])
        key = page_key(cursor, left)
        return CollectedPage(key, revision, following, tuple(items), tuple(aside))

    async with aclosing(iterate(source.datasets, cursor)) as entries:
        async for entry in entries:
            unusable = isinstance(entry, Rejection) and entry.code != "duplicate_id"
            bad = 0 if isinstance(entry, Dataset) else bad + unusable
            if isinstance(entry, Cursor):
                barren = 0 if fresh else barren + 1
                if entry.value in cursors or barren >= MOST_BARREN:
                    raise _endless(source, entry.value, barren)
                cursors.add(entry.value)
                yield await page(entry.value)
                left = None if left is None else left - len(found)
                cursor, found, aside, fresh = entry.value, [], [], False
                revision = source.revision(cursor)
            elif isinstance(entry, Rejection):
                aside.append(entry)
                if bad > MOST_BAD:
                    aside.append(_ended(source, "too_many_bad_records", f"{bad:,} records in a row cannot be used"))
                    break
            elif (refused := setting_aside(entry, config, known)) is not None:
                aside += [refused] if refused.code != "not_asked_for" else []
                fresh = fresh or refused.code != "duplicate_id"
            elif len(known) > config.most_datasets:
                reason = f"it has more than {config.most_datasets:,} datasets (collect.most_datasets)"
                aside.append(_ended(source, "too_many_datasets", reason))
                break
            else:
                if seen is not None:
                    seen.add(entry.id)
                found.append(entry)
                fresh = True
                if left is not None and len(found) == left:
                    break
    if found or aside or cursor == start:
        yield await page(None)


def _endless(source: Source, cursor: str, barren: int) -> SourceError:
    what = (
        f"{barren} consecutive pages without a new dataset"
        if barren >= MOST_BARREN
        else f"the cursor {cursor[:80]!r} twice"
    )
    return SourceError(
        f"source {source.name!r} returned {what}; stopped to avoid an endless loop",
        hint="The service is faulty; what was collected so far is kept.",
        code="endless_catalogue",
    )


def _ended(source: Source, code: str, reason: str) -> Rejection:
    return Rejection.of("collect", code, f"the source ends here: {reason}", ("Source", source.name))


def _short(id: str) -> int:
    # 64 bits of each id, so that a catalogue of a million datasets needs a few tens of megabytes.
    return int(digest(id)[:16], 16)


def setting_aside(dataset: Dataset, config: CollectConfig, known: set[int]) -> Rejection | None:
    """Return the rejection of a dataset that is not collected (``not_asked_for``, ``duplicate_id``, ``licence``); None
    if it is collected.

    Args:
        dataset: a record of the source.
        config: ``ids`` and ``licences`` are read.
        known: short hashes of the ids collected so far; the dataset's is added if it is collected.
    """
    names = {dataset.id.lower(), (dataset.doi or dataset.id).lower()}
    if config.ids and not names & {i.lower() for i in config.ids}:
        return rejected(dataset, "not_asked_for", "it is not among the requested ids")
    if (short := _short(dataset.id)) in known:
        return rejected(dataset, "duplicate_id", f"an earlier record has the id {dataset.id!r}")
    if config.licences and not licence_allowed(dataset.licence, config.licences):
        return rejected(dataset, "licence", not_wanted(dataset.licence, config.licences))
    known.add(short)
    return None


def other_language(languages: Counter[str], config: Config, *, of: str = "records", dry: bool = False) -> str:
    """Return a line about records in another language than the questions; empty if there is none.

    Args:
        languages: number of records by language.
        config: ``language`` and ``models.generator`` are read.
        of: what was counted.
        dry: nothing will be written now, so no model is needed.

    Raises:
        ConfigError: all records are in a language that the model is known not to read, and nobody chose that.
    """
    found = in_other_languages(languages, config.language, of)
    (most, number), *_ = languages.most_common(1) or [("", 0)]
    other, chosen = most != config.language.lower().partition("-")[0], "language" in config.model_fields_set
    if found and (model := known_model(config.models.generator)):
        found = f"{found}; {model.title} reads and writes {languages_of(model)}"
        if other and number == languages.total() and not (chosen or dry):
            raise ConfigError(found, hint="Pass --model with a model that reads it.")
        return found + (": a run needs --model" if dry and other else "")
    change = f": --language {most} changes that" if other and number * 2 > languages.total() else ""
    return found if chosen or not found else f"{found}; questions will be in {language_name(config.language)}{change}"


NO_ID = "scirgen generate --dry-run without --ids shows the ids of the first records."
"""The hint where no record has a requested id."""


def absent(ids: Sequence[str], entry: Dataset | Rejection) -> tuple[str, ...]:
    """Return the ids that match neither the id of a record, used or set aside, nor its DOI."""
    if isinstance(entry, Dataset):
        own, text = {entry.id.lower(), (entry.doi or entry.id).lower()}, ""
    else:
        own, text = {entry.record_id.lower()}, entry.record.lower()
    return tuple(i for i in ids if i.lower() not in own and f'"{i.lower()}"' not in text)


def no_record(ids: Sequence[str]) -> str:
    """Return a line about requested ids that no record has."""
    return f"no record has the id {' or '.join(map(repr, ids))}"


def rejected(record: Dataset | Paper, code: str, reason: str, dataset_id: str | None = None) -> Rejection:
    """Return the rejection of a record that is not collected."""
    text = record.model_dump_json(exclude={"file"}, exclude_defaults=True)
    return Rejection.of("collect", code, reason, record, dataset_id=dataset_id, record=text)


async def _collect(source: Source, config: CollectConfig, dataset: Dataset) -> Collected:
    """Return a dataset's candidates with their files, best-found first, at most ``papers_per_dataset``."""
    dataset = dataset if dataset.source else dataset.model_copy(update={"source": source.name})
    papers: dict[str, Paper] = {}
    links: dict[str, Link] = {}
    aside: list[Rejection] = []
    failures: list[Failure] = []
    try:
        if config.papers_per_dataset > 0:
            async for candidate in iterate(source.papers, dataset):
                paper = await _with_file(source, config, dataset, candidate, aside, failures)
                if paper is not None and paper.id not in papers:
                    papers[paper.id] = paper
                    links[paper.id] = Link(dataset_id=dataset.id, paper_id=paper.id, found_by=candidate.found_by)
                if len(papers) >= config.papers_per_dataset:
                    break
    except ScirgenError as error:
        if error.fatal:
            raise
        failures.append(Failure.of("collect", error, dataset.id))
    return Collected(dataset, tuple(papers.values()), tuple(links.values()), tuple(aside), tuple(failures))


async def _with_file(
    source: Source,
    config: CollectConfig,
    dataset: Dataset,
    candidate: Candidate,
    aside: list[Rejection],
    failures: list[Failure],
) -> Paper | None:
    paper = candidate.paper
    # A paper whose licence the catalogue does not state may print one: stage parse decides.
    if config.licences and paper.licence != UNKNOWN and not licence_allowed(paper.licence, config.licences):
        aside.append(rejected(paper, "licence", not_wanted(paper.licence, config.licences), dataset.id))
        return None
    try:
        fetched = await value_of(source.fetch, paper)
    except PaperError as error:
        aside.append(rejected(paper, error.error_code, error.message, dataset.id))
        return None
    except SourceError as error:
        failures.append(Failure.of("collect", error, paper.id))
        return None
    assert isinstance(fetched, Fetched), "a checked source, as all are that a run reads"
    if fetched.file is None:
        aside.append(rejected(paper, fetched.code or "no_file", fetched.reason or "no file was found", dataset.id))
        return None
    if fetched.file.stat().st_size <= _SMALL:
        return _identified(paper, fetched.file, fetched.media_type)
    return await asyncio.to_thread(_identified, paper, fetched.file, fetched.media_type)


_SMALL = 2**18  # bytes; to hash these takes about as long as to start a thread


def _identified(paper: Paper, file: Path, media_type: str | None) -> Paper:
    """Return the paper with its file. Its id is its DOI or the file's content hash, so that it is the same on every
    machine."""
    listed = file.stat()
    sha256 = _sha256(file, listed.st_size, listed.st_mtime_ns)
    return paper.model_copy(
        update={
            "id": paper.doi.lower() if paper.doi else f"paper-{sha256[:16]}",
            "file": str(file),
            "sha256": sha256,
            "media_type": media_type or paper.media_type,
        }
    )


@lru_cache(maxsize=4096)
def _sha256(file: Path, size: int, changed: int) -> str:
    # A folder's papers may be candidates for every dataset; each file is hashed once while it does not change.
    return file_sha256(file)


async def _in_flight(limit: int, work: Sequence[Coroutine[object, object, T]]) -> list[T]:
    """Await coroutines, at most ``limit`` at a time; the results are in the order of the coroutines."""
    gate = asyncio.Semaphore(limit)

    async def one(item: Coroutine[object, object, T]) -> T:
        async with gate:
            return await item

    return list(await asyncio.gather(*(one(item) for item in work)))


async def iterate(method: Callable[[A], Iterable[T] | AsyncIterator[T]], argument: A) -> AsyncGenerator[T, None]:
    """Yield an async view of what a plain or async method yields. A plain method runs in a thread, since it may read
    files or sockets."""
    entries = await value_of(method, argument)
    if isinstance(entries, AsyncIterable):
        async for entry in entries:
            yield entry
        return
    if not isinstance(entries, Iterable):
        raise TypeError(f"it returned a {type(entries).__name__}; yield the entries, or return a list")
    if isinstance(entries, (list, tuple)):  # nothing is left to read
        for entry in entries:
            yield entry
        return
    iterator: Iterator[T] = iter(entries)

    def advance() -> tuple[list[T], bool, Exception | None]:
        """Read for a moment, at most to a cursor, where the page ends; changing threads costs more than reading a
        record. Return what was read, whether there is more, and the error that ended it."""
        read: list[T] = []
        until = time.monotonic() + _MOMENT_S
        try:
            for entry in iterator:
                read.append(entry)
                if isinstance(entry, Cursor) or time.monotonic() >= until:
                    return read, True, None
        except Exception as error:
            return read, False, error
        return read, False, None

    more = True
    while more:
        read, more, error = await asyncio.to_thread(advance)
        for entry in read:
            yield entry
        if error is not None:
            raise error


_MOMENT_S = 0.02


async def value_of(method: Callable[[A], object], argument: A) -> object:
    """Return the result of a plain or async method; a plain one runs in a thread, unless it is `quick`."""
    here = inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method) or getattr(method, "quick", False)
    result = method(argument) if here else await asyncio.to_thread(method, argument)
    return await result if inspect.isawaitable(result) else result
