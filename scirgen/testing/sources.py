"""The conformance suite of sources: checks an adapter against the contract in docs/sources.md."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path

from scirgen.core.errors import ScirgenError
from scirgen.core.records import Dataset, Paper, Rejection
from scirgen.core.runtime import blocking
from scirgen.stages.collect.pages import iterate, value_of
from scirgen.stages.collect.source import Candidate, Cursor, Fetched, Source
from scirgen.stages.collect.validated_source import unusable_id

MOST_BETWEEN_CURSORS = 500
_METHODS = ("revision", "datasets", "papers", "fetch")


class ContractError(AssertionError):
    """A source, gate or scorer breaks its contract; the message lists every breach that was found."""


@dataclass
class SourceReport:
    """The result of a check."""

    datasets: int = 0
    rejections: int = 0
    cursors: int = 0
    candidates: int = 0
    files: int = 0
    without_file: int = 0
    problems: list[str] = field(default_factory=list)


def check_source(source: object, *, datasets: int = 1000, papers_of: int = 20, resume_at: int = 3) -> SourceReport:
    """Check a source against the contract.

    Args:
        source: an opened source, plain or async; the check reads it several times and expects the same each time.
        datasets: check at most this many datasets.
        papers_of: look up the papers of this many datasets, and fetch each paper once.
        resume_at: try this many of its cursors.

    Returns:
        What the check saw, so a test can also assert that it was not empty.

    Raises:
        ContractError: the contract is broken; every breach is listed.
    """
    return blocking(_checked(source, datasets, papers_of, resume_at))


async def _checked(source: object, datasets: int, papers_of: int, resume_at: int) -> SourceReport:
    report = SourceReport()
    missing = [m for m in _METHODS if not callable(getattr(source, m, None))]
    if missing or not isinstance(source, Source):
        lacks = ", ".join(missing) or "name"
        raise ContractError(f"{type(source).__name__} is not a source: it lacks {lacks}")
    if not isinstance(source.name, str) or not source.name:
        report.problems.append("name must be a non-empty string")
    if source.revision(None) != source.revision(None):
        report.problems.append("revision(None) changes from one call to the next")
    entries = await _walk(source, None, datasets, report)
    _check_entries(entries, report)
    if [_key(e) for e in await _walk(source, None, datasets, report)] != [_key(e) for e in entries]:
        report.problems.append("a second walk gives other datasets, another order or other cursors")
    for place, entry in itertools.islice(((i, e) for i, e in enumerate(entries) if isinstance(e, Cursor)), resume_at):
        await _check_resume(source, entries, place, entry, report)
    found = [e for e in entries if isinstance(e, Dataset)]
    for dataset in found[:papers_of]:
        await _check_papers(source, dataset, report)
    if report.problems:
        raise ContractError(f"source {source.name!r}:\n- " + "\n- ".join(dict.fromkeys(report.problems)))
    return report


async def _walk(source: Source, cursor: str | None, limit: int, report: SourceReport) -> list[object]:
    """Return at most ``limit`` datasets from a cursor on, with the cursors and rejections between them."""
    entries: list[object] = []
    seen = 0
    try:
        async for entry in iterate(source.datasets, cursor):
            entries.append(entry)
            seen += isinstance(entry, Dataset)
            if seen == limit:
                break
    except ScirgenError:
        raise
    except Exception as error:
        report.problems.append(
            f"datasets({cursor!r}) raised {type(error).__name__}: {error}; "
            "errors that a retry may fix must be a SourceError, "
            "and a broken record must be yielded as a Rejection"
        )
    return entries


def _check_entries(entries: list[object], report: SourceReport) -> None:
    ids: set[str] = set()
    cursors: set[str] = set()
    since = 0
    for entry in entries:
        if isinstance(entry, Dataset):
            report.datasets += 1
            since += 1
            if entry.id in ids:
                report.problems.append(f"dataset id {entry.id!r} occurs twice; yield a Rejection for a repeated record")
            if unusable_id(entry.id):
                report.problems.append(f"dataset id {entry.id!r} holds white space or control characters")
            ids.add(entry.id)
            if Dataset.model_validate_json(entry.model_dump_json()) != entry:
                report.problems.append(f"dataset {entry.id!r} does not survive being written as JSON and read again")
            if since == MOST_BETWEEN_CURSORS + 1:
                report.problems.append(f"no Cursor within {MOST_BETWEEN_CURSORS} datasets")
        elif isinstance(entry, Cursor):
            report.cursors += 1
            since = 0
            if not entry.value or entry.value in cursors:
                report.problems.append(f"cursor {entry.value!r} is empty or occurs twice")
            cursors.add(entry.value)
        elif isinstance(entry, Rejection):
            report.rejections += 1
            if not entry.code or not entry.reason or entry.stage != "collect":
                report.problems.append(f"rejection of {entry.record_id!r} needs stage 'collect', a code and a reason")
        else:
            report.problems.append(f"datasets() yields a {type(entry).__name__}: {entry!r:.80}")


async def _check_resume(
    source: Source, entries: list[object], place: int, cursor: Cursor, report: SourceReport
) -> None:
    rest = [_key(e) for e in entries[place + 1 :] if isinstance(e, Dataset)]
    resumed = await _walk(source, cursor.value, max(len(rest), 1), report)
    ids = [_key(e) for e in resumed if isinstance(e, Dataset)]
    if ids[: len(rest)] != rest:
        lost, doubled = set(rest) - set(ids), set(ids) - set(rest)
        report.problems.append(
            f"datasets({cursor.value!r}) does not continue right after that cursor: "
            f"{len(lost)} datasets lost, {len(doubled)} "
            "that should not come"
        )


async def _check_papers(source: Source, dataset: Dataset, report: SourceReport) -> None:
    known: set[str] = set()
    async for candidate in iterate(source.papers, dataset):
        if not isinstance(candidate, Candidate) or not isinstance(candidate.paper, Paper):
            report.problems.append(f"papers({dataset.id!r}) yields a {type(candidate).__name__}, not a Candidate")
            continue
        report.candidates += 1
        paper = candidate.paper
        if not candidate.found_by:
            report.problems.append(f"candidate {paper.id!r} does not say how it was found")
        if paper.id in known:
            report.problems.append(f"paper {paper.id!r} occurs twice for dataset {dataset.id!r}")
        known.add(paper.id)
        await _check_fetch(source, paper, report)


async def _check_fetch(source: Source, paper: Paper, report: SourceReport) -> None:
    try:
        fetched = await value_of(source.fetch, paper)
    except ScirgenError as error:
        report.without_file += 1
        if not error.error_code:
            report.problems.append(f"fetch({paper.id!r}) raised an error without a code")
        return
    if not isinstance(fetched, Fetched):
        report.problems.append(f"fetch({paper.id!r}) gives a {type(fetched).__name__}, not a Fetched")
    elif fetched.file is not None:
        report.files += 1
        if not isinstance(fetched.file, Path) or not fetched.file.is_file():
            report.problems.append(f"fetch({paper.id!r}) names a file that does not exist: {fetched.file}")
    else:
        report.without_file += 1
        if not fetched.code or not fetched.reason:
            report.problems.append(f"fetch({paper.id!r}) gives neither a file nor a code and a reason why not")


def _key(entry: object) -> tuple[str, str]:
    if isinstance(entry, Cursor):
        return "cursor", entry.value
    identity = entry.record_id if isinstance(entry, Rejection) else getattr(entry, "id", repr(entry))
    return type(entry).__name__, str(identity)
