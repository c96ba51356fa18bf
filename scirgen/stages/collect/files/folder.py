"""A source that reads files of records and a folder of papers. For your own format, write a subclass that overrides
`dataset`."""

from __future__ import annotations

import json
import os
import pickle
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from scirgen.core.errors import ConfigError, InputError, ScirgenError
from scirgen.core.files.yamlfile import validate
from scirgen.core.fingerprint import digest, file_sha256
from scirgen.core.records import Dataset, Frozen, Paper, Rejection
from scirgen.core.registry import load_registry
from scirgen.core.registry.plugincode import provided_code
from scirgen.core.safety.files import is_below
from scirgen.core.text.shown import shown
from scirgen.stages.collect.files.known_records import RecordForm, plain, record_forms
from scirgen.stages.collect.files.mapping import COLUMNS, RecordMapping, unread
from scirgen.stages.collect.files.paperfolder import PAPER_FORMS, PAPER_TYPES, TABLE, PaperFolder, counted_forms
from scirgen.stages.collect.files.recordfiles import (
    RawRecord,
    files_below,
    kind_of,
    malformed,
    read_records,
    readable_name,
    unopened,
)
from scirgen.stages.collect.source import NO_INPUT, Candidate, Cursor, Fetched, SourceSetup, quick
from scirgen.stages.collect.validated_source import message_of, place

_PAGE = 200
_COLUMNS_SHOWN = 20
PAPERS = "papers"
"""The folder of papers inside an input folder, or beside an input file."""


class FolderOptions(Frozen):
    """``collect.options`` of sources that read files."""

    columns: dict[str, str | tuple[str, ...]] = Field(
        default={},
        description="field of a dataset -> your column's name or a list of names (the first present one counts), "
        "dotted inside objects (titles.0.title); files without these columns are read as usual",
    )
    records: str = Field(
        default="", description="dotted keys of the list of records in a JSON file, such as data.items"
    )
    order: Literal["papers_first", "catalogue"] = Field(
        default="papers_first", description="datasets with papers come first, so --limit keeps them"
    )
    folder_candidates: int = Field(
        default=50,
        ge=0,
        description="papers that match no dataset are candidates for all datasets if there are at most this many",
    )
    scan_papers: int = Field(
        default=500, ge=0, description="largest number of paper files to search for DOIs and titles"
    )


_PAPERS = {".pdf", ".xml", ".nxml", ".html", ".htm", ".tex"}
"""Suffixes of the papers that a table beside them describes; other text may be notes about records."""

_SHEETS = {".xlsx", ".xls", ".xlsm", ".ods"}


class FolderSource:
    """``local``: records from a folder or a file, papers from a folder; docs/sources.md has the keys that it knows.
    A record has no keys for empty cells.

    Datasets come in the order of the files' paths, and within a file in its order. With ``order: papers_first`` (the
    default), datasets come first if a paper was found for them by column, DOI, file name or a mention in its text.

    Raises:
        InputError: there is no input, it holds no file of records, or the given folder of papers holds no paper,
            or no record has the column that the user named for titles.
        ResourceError: an option is unknown or wrong.
    """

    name: str = "local"
    suffix_hint: ClassVar[str] = "*.json, *.jsonl, *.csv, *.tsv (each also .gz), *.parquet, OAI-PMH *.xml"

    def __init__(self, setup: SourceSetup) -> None:
        if setup.input is None:
            raise InputError("no input is given", hint=NO_INPUT)
        self._setup = setup
        self._options = validate(dict(setup.options), FolderOptions, "collect.options")
        if unknown := sorted(set(self._options.columns) - set(COLUMNS)):
            raise ConfigError(f"collect.options.columns: {unknown[0]!r} is not a field; known: {', '.join(COLUMNS)}")
        self._mapping = RecordMapping(self._options.columns)
        self._met: dict[str, _Entry] = {}
        self._papers = self._paper_folder(setup)
        if not self._files:
            raise InputError(
                f"{setup.input} contains no records",
                hint=f"Put files of records there: {self.suffix_hint}.",
                code="no_records",
            )
        if "title" in self._options.columns and (missing := self._missing.get("title")):
            raise InputError(missing, hint="Name an existing column.", code="no_column")

    # -- what a subclass may override ------------------------------------------------------------------------------

    def dataset(self, record: Mapping[str, object], where: str) -> Dataset | Rejection:
        """Return the dataset a record describes, or the reason why it cannot be used. ``where`` is ``file:line``, for
        messages."""
        if not self._mapping.applies(record):
            for form in self._forms:
                if (found := form(record)) is not None:
                    return found
            record = plain(record)
        return self._mapping.dataset(record, where)

    def named_papers(self, record: Mapping[str, object]) -> tuple[str, ...]:
        """Return the file names and DOIs of the papers in the folder that belong to the dataset, according to its
        record."""
        return self._mapping.papers(record)

    # -- the contract ----------------------------------------------------------------------------------------------

    def revision(self, cursor: str | None) -> str | None:
        """Return a hash of the files of records (names and content) and of the listing of papers (names, sizes, times
        of change)."""
        return self._revision

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        """Yield all records, with a cursor every 200."""
        first_phase, name, skip = _parse(cursor) if cursor else (0, "", 0)
        given = 0
        for phase in range(first_phase if self._papers else 1, 2):
            after = (name, skip) if cursor and phase == first_phase else ("", 0)
            for entry in self._entries(after) if self._papers is None else self._survey.entries(phase, after):
                if isinstance(entry.found, Dataset):
                    self._met[entry.found.id] = entry
                yield entry.found
                given += 1
                if given % _PAGE == 0:
                    yield Cursor(f"{phase}|{entry.label}|{entry.at}")
                    self._met.clear()

    @quick
    def papers(self, dataset: Dataset) -> list[Candidate]:
        """Return the papers of the folder, the most certain first. `datasets` has read them."""
        if self._papers is None:
            return []
        met = self._met.get(dataset.id)
        places = self._papers.places(dataset) if met is None else met.papers
        claimed, named = self._survey.claimed, met.named if met else ()
        kept = [(self._papers.files[n], by) for n, by in places if by != "folder" or n not in claimed]
        return [Candidate(file.paper(), by) for file, by in kept] + self._papers.missing(dataset, named)

    @quick
    def fetch(self, paper: Paper) -> Fetched:
        """Return the paper's file where it is, without copying it."""
        return self._papers.fetch(paper) if self._papers else Fetched(code="not_found", reason="there are no papers")

    def unread(self) -> dict[str, list[str]]:
        """Return a mapping: dotted key -> ids of the records that have a value there which is not read."""
        found: dict[str, list[str]] = {}
        for file, label in self._files:
            for entry in read_records(file, label, records=self._options.records):
                if isinstance(entry, RawRecord) and isinstance(dataset := self._read(entry), Dataset):
                    for key in unread(entry.value, dataset, self.named_papers(entry.value)):
                        found.setdefault(key, []).append(dataset.id)
        return found

    def warnings(self) -> list[str]:
        """Return lines about columns of the user's that no record has, papers in other languages, and files that
        nothing reads."""
        papers = self._papers.warnings(self._setup.language) if self._papers else ()
        odd = unopened(self._setup.input, self._papers.root if self._papers else None)
        return [*self._missing.values(), *papers, *odd]

    # -- inside ----------------------------------------------------------------------------------------------------

    def _read(self, entry: RawRecord) -> Dataset | Rejection:
        """Return the result of `dataset` for a record. A record that it cannot read (a key is missing, text is not
        Unicode) is rejected."""
        try:
            return self.dataset(entry.value, entry.where)
        except ScirgenError:
            raise
        except Exception as error:
            named = next(
                (f" (record {v})" for k in ("id", "identifier", "doi", "title", "name") if (v := entry.value.get(k))),
                "",
            )
            problem = f"{type(error).__name__}{place(self, error)}: {message_of(error)}{named}"
            return malformed(entry.where, entry.where, problem, json.dumps(entry.value, default=str))

    def _entries(self, after: tuple[str, int] = ("", 0)) -> Iterator[_Entry]:
        """Yield the entries of all files behind a place (label, number of entries)."""
        for file, label in self._files:
            if label < after[0]:
                continue
            at = after[1] if label == after[0] else 0
            for entry in read_records(file, label, at, self._options.records):
                at += 1
                found = self._read(entry) if isinstance(entry, RawRecord) else entry
                if isinstance(entry, RawRecord) and isinstance(found, Dataset):
                    named = self.named_papers(entry.value)
                    papers = self._papers.places(found, named) if self._papers else []
                    yield _Entry(label, at, found, named, papers)
                else:
                    yield _Entry(label, at, found, (), [])

    @cached_property
    def _forms(self) -> tuple[RecordForm, ...]:
        return record_forms(load_registry())

    @cached_property
    def _missing(self) -> dict[str, str]:
        """Field -> a line that says that no record has the column that the user named for it. A subclass that reads
        records in its own way is not checked."""
        unmatched = list(self._mapping.own) if type(self).dataset is FolderSource.dataset else []
        there: dict[str, None] = {}
        for file, label in self._files:
            for entry in read_records(file, label, records=self._options.records) if unmatched else ():
                if isinstance(entry, RawRecord):
                    there.update(dict.fromkeys(entry.value) if len(there) <= _COLUMNS_SHOWN else {})
                    unmatched = self._mapping.lacking(entry.value, unmatched)
                if not unmatched:
                    break
        return {
            f: f"no record has the column {' or '.join(map(repr, self._mapping.own[f]))} ({f}); columns are "
            + shown((k[:40] for k in there), _COLUMNS_SHOWN)
            for f in (unmatched if there else ())
        }

    @cached_property
    def _survey(self) -> _Survey:
        """Read the files once: which papers belong to certain datasets is known only when all records are read."""
        survey = _Survey()
        for entry in self._entries():
            survey.add(entry, first=self._options.order == "papers_first")
        return survey

    @cached_property
    def _files(self) -> list[tuple[Path, str]]:
        """(path, path below the input) of all files of records, sorted by the latter."""
        root = self._setup.input
        assert root is not None
        if root.is_file():
            if kind_of(root) is None:
                raise _nothing_in(root)
            return [(root, root.name)]
        apart = {p.resolve() for p in (root / PAPERS, self._setup.papers) if p is not None and p != root}
        return [(p, n) for p, n in record_files(root) if not apart & set(p.resolve().parents)]

    @cached_property
    def _revision(self) -> str:
        listed = [(n, file_sha256(p)) for p, n in self._files]
        registry = load_registry()
        forms = [provided_code(registry, "record_form", name) for name in registry.names("record_form")]
        return digest(listed, self._papers.revision if self._papers else "", forms)

    def _paper_folder(self, setup: SourceSetup) -> PaperFolder | None:
        assert setup.input is not None
        beside = setup.input if setup.input.is_dir() else setup.input.parent
        root = setup.papers or (beside / PAPERS if (beside / PAPERS).is_dir() else None)
        kinds = PAPER_TYPES if root is not None else (".pdf",)  # beside records, other files may be anything
        if root is None and (not setup.input.is_dir() or not any(p.match("*.pdf") for p in files_below(beside))):
            return None
        papers = PaperFolder(
            root or beside,
            everyone_up_to=self._options.folder_candidates,
            scan_up_to=self._options.scan_papers,
            kinds=kinds,
        )
        if not papers.files and setup.papers is not None:
            raise InputError(f"{root} contains no papers", hint=f"Put papers there: {PAPER_FORMS}.", code="no_papers")
        return papers

    @classmethod
    def first_record(cls, path: Path) -> Mapping[str, object] | None:
        """Return the first readable record of a folder or file, for ``claims``; None if its first files have none."""
        files = [path] if path.is_file() else sorted(p for p in path.glob("*") if kind_of(p) and p.is_file())
        for file in files[:5]:
            for entry in read_records(file, file.name):
                if isinstance(entry, RawRecord):
                    return entry.value
                break
        return None


@dataclass(frozen=True)
class _Entry:
    """A record of a file, read; ``at`` counts the file's entries so far, ``papers`` are `PaperFolder.places`."""

    label: str
    at: int
    found: Dataset | Rejection
    named: tuple[str, ...]
    papers: list[tuple[int, str]]


class _Survey:
    """All entries in their order, those with a paper apart; they lie in temporary files, so that a large catalogue
    takes little memory. ``claimed``: places of the papers that belong to certain datasets."""

    def __init__(self) -> None:
        self.claimed: set[int] = set()
        self._files = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 (they live as long as this)

    def add(self, entry: _Entry, *, first: bool) -> None:
        """Keep an entry; ``first``: one with a paper comes before all others."""
        self.claimed.update(n for n, by in entry.papers if by not in ("folder", "title_in_text"))
        matched = first and any(by != "folder" for _, by in entry.papers)
        pickle.dump(entry, self._files[not matched])

    def entries(self, phase: int, after: tuple[str, int]) -> Iterator[_Entry]:
        """Yield the entries with a paper (phase 0) or the others, behind a place (label, number of entries)."""
        file, position = self._files[phase], 0
        end = file.seek(0, os.SEEK_END)
        while position < end:
            file.seek(position)
            entry: _Entry = pickle.load(file)  # noqa: S301 (this process wrote it)
            position = file.tell()
            if (entry.label, entry.at) > after:
                yield entry


def record_files(root: Path) -> list[tuple[Path, str]]:
    """Return (path, path below the folder) of all files of records in a folder, sorted by the latter. A table that
    describes papers beside it (``papers.csv``) is not one of them.

    Raises:
        InputError: a name is not UTF-8.
    """
    found = [
        (readable_name(p), p.relative_to(root).as_posix())
        for p in files_below(root)
        if kind_of(p)
        and p.is_file()
        and is_below(p, root)
        and not any(part.startswith(".") for part in p.relative_to(root).parts)
    ]
    tables = {p for p, _ in found if p.name.split(".")[0].lower() == TABLE}
    described = {t for t in tables if any(p.suffix.lower() in _PAPERS and not kind_of(p) for p in t.parent.iterdir())}
    return sorted(((p, n) for p, n in found if p not in described), key=lambda e: e[1])


def only_papers(given: Path) -> bool:
    """Return whether the path is a paper, or a folder that holds papers but no records.

    Raises:
        InputError: the folder has neither.
    """
    if given.is_file():
        return kind_of(given) is None and given.suffix.lower() in PAPER_TYPES
    if record_files(given):
        return False
    if PaperFolder(given).files:
        return True
    raise _nothing_in(given)


def _nothing_in(given: Path) -> InputError:
    """Return the error of an input without records and papers. It names the forms of the files that are there."""
    names = [given.name] if not given.is_dir() else [p.name for p in files_below(given) if not p.name.startswith(".")]
    forms = Counter(Path(name).suffix.lower() or "no suffix" for name in names)
    hint = f"Known: records ({FolderSource.suffix_hint}), papers ({PAPER_FORMS})."
    if _SHEETS & forms.keys():
        hint = f"Save the sheets of {', '.join(sorted(_SHEETS & forms.keys()))} files as CSV. {hint}"
    if not given.is_dir():
        return InputError(f"{given} is not a file of records", hint=hint, code="no_records")
    why = f"holds neither records nor papers, only {counted_forms(forms)}"
    why = why if forms else "is empty: neither records nor papers"
    return InputError(f"{given} {why}", hint=hint, code="no_records")


def _parse(cursor: str) -> tuple[int, str, int]:
    phase, _, rest = cursor.partition("|")
    name, _, at = rest.rpartition("|")
    if not (phase.isdecimal() and at.isdecimal()):
        raise InputError(f"{cursor!r} is not a cursor of this source", hint="Begin a new run.")
    return int(phase), name, int(at)
