"""Counts and lists what a run would read, without downloading papers or calling models: ``scirgen generate
--dry-run``."""

from __future__ import annotations

import asyncio
import csv
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from scirgen.core.config import Config
from scirgen.core.corpus.printed import as_printed, differences
from scirgen.core.errors import InputError, ScirgenError
from scirgen.core.records import OWN, Dataset, Document, Paper, Rejection
from scirgen.core.records.licences import licence_allowed, not_wanted
from scirgen.core.registry import Registry
from scirgen.core.resources import Domain
from scirgen.core.text.language import cannot_write
from scirgen.core.text.shown import shown
from scirgen.pipeline.intake import open_input
from scirgen.pipeline.run import check_settings
from scirgen.pipeline.subjects import requested
from scirgen.release_files.publishing import Line, Publishing, cell
from scirgen.stages.collect.pages import NO_ID, absent, iterate, no_record, other_language, setting_aside
from scirgen.stages.collect.source import Cursor, Source
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.process.pool import ParserPool
from scirgen.stages.parse.stage import read_paper

SHOWN = 3
"""Number of records and rejections that are shown."""

NOTED = 8
"""Number of papers that are named because they are not read, or print something else than the catalogue."""

PAPERS_OF = 20
"""Number of datasets whose papers are looked up, and of papers that are read, unless all are to be listed."""


@dataclass
class ListedPaper:
    """A paper, the datasets for which it is a candidate, and the result of reading its file."""

    paper: Paper
    found_by: str
    datasets: list[str] = field(default_factory=list)
    document: Document | None = None
    note: str = ""

    @property
    def was_read(self) -> bool:
        """True if its file was read, here or by the source."""
        return self.document is not None or self.found_by == OWN

    @property
    def printed(self) -> Paper:
        """The paper, completed with its printed metadata."""
        return as_printed(self.paper, self.document)


@dataclass
class Preview:
    """Counts; ``total`` is the catalogue's stated size, or None.

    With ``whole``, all records are kept, else the first ones, so that a large catalogue takes little memory. ``filled``
    counts the datasets by field that has a value; ``unread`` has the ids of records by key whose value no
    field has (None if the source cannot tell).
    """

    source: str
    total: int | None
    whole: bool = False
    wanted: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    guessed: int = 0
    publishing: Publishing = field(default_factory=Publishing)
    filled: Counter[str] = field(default_factory=Counter)
    unread: dict[str, list[str]] | None = None
    papers_of: int = 0
    papers_read: int = 0
    found_by: Counter[str] = field(default_factory=Counter)
    titles: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    first: list[Dataset] = field(default_factory=list)
    records: list[Dataset | Rejection] = field(default_factory=list)
    papers: list[ListedPaper] = field(default_factory=list)

    def aside(self, rejection: Rejection, name: str = "") -> None:
        """Count a record that is not read; ``name`` identifies the record if the reason does not."""
        self.rejected[rejection.code] += 1
        if self.whole:
            self.records.append(rejection)
        if len(self.reasons) < SHOWN:
            self.reasons.append(f"{name}{rejection.reason}")

    def take(self, dataset: Dataset) -> None:
        """Count a record that is read."""
        self.wanted += 1
        self.languages[dataset.language] += 1
        self.guessed += dataset.language_guessed
        self.publishing.add(Line("record", dataset.id, (dataset.licence,)))
        self.filled.update(name for name, value in fields_of(dataset) if value)
        if self.whole or self.wanted <= PAPERS_OF:
            self.records.append(dataset)


async def preview(config: Config, registry: Registry, domain: Domain | None, folder: Path, *, whole: bool) -> Preview:
    """Read the catalogue up to the limit.

    Args:
        config: the run's settings.
        registry: the plugins.
        domain: the domain.
        folder: the run's folder, where sources keep files.
        whole: look up and read the papers of all datasets.

    Raises:
        InputError: no dataset would be read.
        ScirgenError: the same errors as in a run, except those about a model that cannot write.
    """
    check_settings(config, registry, domain, writes=False)
    source = open_input(config, registry, domain, folder)
    found = Preview(source.name, source.count(), whole)
    seen: set[int] = set()
    missing, about = config.collect.ids, requested(config.generate)
    named = () if isinstance(about, int) else about
    unknown = named
    async for entry in iterate(source.datasets, None):
        if missing and not isinstance(entry, Cursor):
            missing = absent(missing, entry)
        if isinstance(entry, Rejection):
            found.aside(entry)
        if not isinstance(entry, Dataset):
            continue
        aside = setting_aside(entry, config.collect, seen)
        if aside is None:
            found.take(entry)
            unknown = absent(unknown, entry)
        elif aside.code != "not_asked_for":
            found.aside(aside, f"{entry.id}: ")
        if found.wanted == config.collect.limit:
            break
    if missing and missing == config.collect.ids and not found.wanted:
        raise InputError(no_record(missing), hint=NO_ID, code="no_such_id")
    if unknown and unknown == named and found.wanted:
        raise InputError(f"generate.about: {no_record(unknown[:3])}", hint=NO_ID)
    if unknown and found.wanted:
        found.warnings.append(f"generate.about: {no_record(unknown)}")
    if missing and found.wanted != config.collect.limit:
        found.warnings.append(no_record(missing))
    if not found.wanted:
        why = f" ({shown(f'{k} {n}' for k, n in found.rejected.most_common())})" if found.rejected else ""
        raise InputError(
            f"no dataset would be read{why}" + (f"; first reason: {found.reasons[0]}" if found.reasons else ""),
            hint=_why_nothing(list(dict(found.rejected.most_common())), source.name, config),
            code="nothing_read",
        )
    found.warnings += filter(None, [other_language(found.languages, config, dry=True), *_lacking(config)])
    datasets = [d for d in found.records if isinstance(d, Dataset)]
    found.first, found.unread = datasets[:SHOWN], source.unread()
    await _papers(source, config, datasets, found)
    found.warnings[:0] = source.warnings()
    await _read(folder, config, registry, found.papers if whole else found.papers[:PAPERS_OF])
    for listed in found.papers:
        licence, wanted = listed.printed.licence, config.collect.licences
        found.papers_read += listed.was_read
        if wanted and listed.was_read and not licence_allowed(licence, wanted):
            listed.note = f"not read: {not_wanted(licence, wanted)}"
        elif listed.was_read:
            found.publishing.add(Line("paper", listed.paper.id, (licence,)))
    found.warnings += () if whole else _noted(found.papers)
    return found


def _noted(papers: list[ListedPaper]) -> Iterator[str]:
    """Yield lines about the first papers that are not read, or that print something else than the catalogue states."""
    noted = [listed for listed in papers if listed.note]
    for listed in noted[:NOTED]:
        yield f"{Path(listed.paper.file).name if listed.paper.file else listed.paper.id}: {listed.note}"
    if (more := len(noted) - NOTED) > 0:
        yield f"{more} more papers that are not read, or print something else than the catalogue states (--list)"


def _lacking(config: Config) -> Iterator[str]:
    """Yield lines about what a run needs and does not have."""
    if said := cannot_write(config.models.generator, config.language):
        yield f"{said}: a run needs --model"
    if config.parse.ocr and not shutil.which("tesseract"):
        yield "parse.ocr is on, but Tesseract is not installed: scans are not read. Install it and its language data"


def _why_nothing(codes: list[str], source: str, config: Config) -> str:
    """Say what to change where no dataset would be read; ``codes`` begins with the most frequent one."""
    if codes == ["no_text"]:
        install = "All files are scans. Install Tesseract"
        return f"{install} and its language data." if config.parse.ocr else f"{install}, then add --set parse.ocr=true."
    if codes[:1] == ["licence"]:
        return "Check --licences; it keeps only what is under those that it names ('unknown': none stated)."
    if source == "papers" and codes:
        return "No file can be read. scirgen parse FOLDER gives the reason for each."
    if not codes:
        return "The source gave no record. Check the input, --query and --ids."
    return "collect.records and collect.options.columns say where records and fields are."


async def _papers(source: Source, config: Config, datasets: list[Dataset], found: Preview) -> None:
    """Look up the candidates of datasets."""
    known: dict[str, ListedPaper] = {}
    for dataset in datasets:
        found.papers_of += 1
        found.titles.append(dataset.title)
        left = config.collect.papers_per_dataset
        async for candidate in iterate(source.papers, dataset):
            if left == 0:
                break
            left -= 1
            found.found_by[candidate.found_by] += 1
            paper = candidate.paper
            listed = known.setdefault(paper.file or paper.id, ListedPaper(paper, candidate.found_by))
            listed.datasets.append(dataset.id)
            if not (paper.file or paper.doi or paper.url):
                listed.note = "not found: the record names it, and no such file is there"
    found.papers = list(known.values())


async def _read(folder: Path, config: Config, registry: Registry, papers: list[ListedPaper]) -> None:
    """Read the files of papers for what they print; one that cannot be read gets a note."""
    pool = ParserPool(config.parse.workers, config.parse.memory_mb)

    async def read(listed: ListedPaper) -> None:
        try:
            parsed = await read_paper(Path(listed.paper.file or ""), config.parse, registry, pool, folder)
        except ScirgenError as error:  # a parser's server is down, or its extra is missing
            listed.note = f"{error.error_code}: {error.in_full}"
            return
        listed.document = assemble(listed.paper, parsed)
        listed.note = "; ".join(differences(listed.paper, listed.document))

    try:
        await asyncio.gather(*(read(p) for p in papers if p.paper.file and p.found_by != OWN))
    finally:
        pool.close()


def write_list(found: Preview, out: TextIO) -> None:
    """Write a line for each record, read or not, and for each paper, as CSV."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((
        "kind", "id", "licence", "may be published", "title", "language", "year", "doi", "authors", "file", "found by",
        "datasets", "note",
    ))  # fmt: skip
    for entry in found.records:
        writer.writerow(map(cell, _of_record(entry)))
    for listed in found.papers:
        writer.writerow(map(cell, _of_paper(listed)))


def _of_record(entry: Dataset | Rejection) -> tuple[str, ...]:
    if isinstance(entry, Rejection):
        return ("record", entry.record_id, *[""] * 10, f"not read: {entry.code}: {entry.reason}")
    language = f"{entry.language} (guessed)" if entry.language_guessed else entry.language
    terms = Line("record", entry.id, (entry.licence,)).terms
    return (
        "record", entry.id, entry.licence, terms, entry.title, language, str(entry.year or ""), entry.doi or "",
        "; ".join(entry.authors), "", "", "", "",
    )  # fmt: skip


def _of_paper(listed: ListedPaper) -> tuple[str, ...]:
    paper, document = listed.printed, listed.document
    return (
        "paper", paper.id, paper.licence, Line("paper", paper.id, (paper.licence,)).terms, paper.title,
        f"{document.language} (guessed)" if document else "", str(paper.year or ""), paper.doi or "",
        "; ".join(paper.authors), Path(paper.file).name if paper.file else "", listed.found_by,
        "; ".join(listed.datasets), listed.note,
    )  # fmt: skip


def fields_of(dataset: Dataset) -> list[tuple[str, str]]:
    """Return the fields of a record with their names; empty ones too, as their column may be missing."""
    plain = {
        "title": dataset.title,
        "description": dataset.description,
        "doi": dataset.doi or "",
        "authors": "; ".join(dataset.authors),
        "keywords": "; ".join(dataset.keywords),
        "licence": dataset.licence if dataset.licence != "unknown" else "",
        "related": "; ".join(dataset.related),
        "language": f"{dataset.language} (guessed)" if dataset.language_guessed else dataset.language,
    }
    return [*plain.items(), *dataset.fields]
