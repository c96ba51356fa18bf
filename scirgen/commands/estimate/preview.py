"""Counts what a run would read, without downloading papers or calling models: ``scirgen generate --dry-run``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from scirgen.core.config import CollectConfig, Config
from scirgen.core.errors import InputError
from scirgen.core.records import Dataset, Rejection
from scirgen.core.registry import Registry
from scirgen.core.resources import Domain
from scirgen.core.text.shown import shown
from scirgen.pipeline.intake import open_input
from scirgen.pipeline.run import check_settings
from scirgen.stages.collect.pages import NO_ID, absent, iterate, no_record, other_language, setting_aside
from scirgen.stages.collect.source import Cursor, Source

SHOWN = 3
"""Number of records and rejections that are shown."""

PAPERS_OF = 20
"""Number of datasets whose papers are looked up and counted."""


@dataclass
class Preview:
    """Counts; ``total`` is the catalogue's stated size, or None.

    ``filled`` counts the datasets by field that has a value, ``unread`` the records by key whose value no field has
    (None if the source cannot tell).
    """

    source: str
    total: int | None
    wanted: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    licences: Counter[str] = field(default_factory=Counter)
    filled: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] | None = None
    papers_of: int = 0
    found_by: Counter[str] = field(default_factory=Counter)
    titles: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    first: list[Dataset] = field(default_factory=list)

    def note(self, rejection: Rejection) -> None:
        if len(self.reasons) < SHOWN:
            self.reasons.append(rejection.reason)


async def preview(config: Config, registry: Registry, domain: Domain | None, folder: Path) -> Preview:
    """Read the catalogue up to the limit.

    Raises:
        InputError: no dataset would be read.
        ScirgenError: the same errors as in a run.
    """
    check_settings(config, registry)
    source = open_input(config, registry, domain, folder)
    found = Preview(source.name, source.count(), warnings=source.warnings())
    first: list[Dataset] = []
    seen: set[int] = set()
    missing, languages = config.collect.ids, Counter[str]()
    async for entry in iterate(source.datasets, None):
        if missing and not isinstance(entry, Cursor):
            missing = absent(missing, entry)
        if isinstance(entry, Rejection):
            found.rejected[entry.code] += 1
            found.note(entry)
        if not isinstance(entry, Dataset):
            continue
        aside = setting_aside(entry, config.collect, seen)
        if aside is not None:
            if aside.code != "not_asked_for":
                found.rejected[aside.code] += 1
                found.note(aside)
            continue
        found.wanted += 1
        languages[entry.language] += 1
        found.licences[entry.licence] += 1
        found.filled.update(name for name, value in fields_of(entry) if value)
        first += [entry] if len(first) < PAPERS_OF else []
        if found.wanted == config.collect.limit:
            break
    if missing and missing == config.collect.ids and not found.wanted:
        raise InputError(no_record(missing), hint=NO_ID, code="no_such_id")
    if missing and found.wanted != config.collect.limit:
        found.warnings.append(no_record(missing))
    if not found.wanted:
        why = f" ({shown(f'{k} {n}' for k, n in found.rejected.most_common())})" if found.rejected else ""
        raise InputError(
            f"no dataset would be read{why}" + (f"; the first: {found.reasons[0]}" if found.reasons else ""),
            hint=_why_nothing(set(found.rejected), source.name),
            code="nothing_read",
        )
    found.warnings += filter(None, [other_language(languages, config)])
    found.first, found.unread = first[:SHOWN], source.unread()
    await _papers(source, config.collect, first, found)
    return found


def _why_nothing(codes: set[str], source: str) -> str:
    """Say what to change where no dataset would be read."""
    if codes == {"no_text"}:
        return "All files are scans. Install Tesseract, then add --set parse.ocr=true."
    if source == "papers" and codes:
        return "No file can be read. scirgen parse FOLDER gives the reason for each."
    if codes == {"licence"}:
        return "Check --licences; it keeps only datasets under those that it names."
    if not codes:
        return "The source gave no record. Check the input, --query and --ids."
    return "collect.records and collect.options.columns say where records and fields are."


async def _papers(source: Source, config: CollectConfig, datasets: list[Dataset], found: Preview) -> None:
    for dataset in islice(datasets, PAPERS_OF):
        found.papers_of += 1
        found.titles.append(dataset.title)
        left = config.papers_per_dataset
        async for candidate in iterate(source.papers, dataset):
            if left == 0:
                break
            left -= 1
            found.found_by[candidate.found_by] += 1


def fields_of(dataset: Dataset) -> list[tuple[str, str]]:
    """The fields of a record with their names; the empty ones too, since their column may not have been found."""
    plain = {
        "title": dataset.title,
        "description": dataset.description,
        "doi": dataset.doi or "",
        "authors": "; ".join(dataset.authors),
        "keywords": "; ".join(dataset.keywords),
        "licence": dataset.licence if dataset.licence != "unknown" else "",
        "related": "; ".join(dataset.related),
        "language": dataset.language,
    }
    return [*plain.items(), *dataset.fields]
