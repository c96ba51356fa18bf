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
from scirgen.stages.collect.open import open_source
from scirgen.stages.collect.pages import iterate, setting_aside
from scirgen.stages.collect.source import Source

SHOWN = 3
"""Number of records and rejections that are shown."""

PAPERS_OF = 20
"""Number of datasets whose papers are looked up and counted."""


@dataclass
class Preview:
    """Counts; ``total`` is the catalogue's stated size, or None."""

    source: str
    total: int | None
    wanted: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    licences: Counter[str] = field(default_factory=Counter)
    papers_of: int = 0
    found_by: Counter[str] = field(default_factory=Counter)
    titles: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    first: list[Dataset] = field(default_factory=list)

    def note(self, rejection: Rejection) -> None:
        """Keep the reasons of the first few."""
        if len(self.reasons) < SHOWN:
            self.reasons.append(rejection.reason)


async def preview(config: Config, registry: Registry, domain: Domain | None, folder: Path) -> Preview:
    """Read the catalogue up to the limit.

    Raises:
        InputError: no dataset would be read.
        ScirgenError: the same errors as in a run.
    """
    source = open_source(config, registry, domain, folder)
    found = Preview(source.name, source.count())
    first: list[Dataset] = []
    seen: set[int] = set()
    async for entry in iterate(source.datasets, None):
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
        found.licences[entry.licence] += 1
        first += [entry] if len(first) < PAPERS_OF else []
        if found.wanted == config.collect.limit:
            break
    if not found.wanted:
        why = f" ({', '.join(f'{k} {n}' for k, n in found.rejected.most_common(3))})" if found.rejected else ""
        raise InputError(
            f"no dataset would be read{why}" + (f"; the first: {found.reasons[0]}" if found.reasons else ""),
            hint="Check --input, --query and --ids; collect.records and collect.options.columns say where records and fields are.",
            code="nothing_read",
        )
    found.first = first[:SHOWN]
    await _papers(source, config.collect, first, found)
    return found


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
