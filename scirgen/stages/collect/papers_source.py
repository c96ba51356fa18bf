"""The source ``papers``: a folder of papers and nothing else. Each paper becomes a record, made from its front matter.

The record's own paper is its only candidate, found by ``own``, which needs no judging. With
``collect.datasets_from_papers``, datasets that the papers name by DOI, by address or by title become records too, as
plugins look them up (kind ``dataset_lookup``).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, cast

from scirgen.core.corpus.printed import as_printed
from scirgen.core.errors import InputError, PaperError, ParserKilledError, PluginError, SourceError
from scirgen.core.files.yamlfile import validate
from scirgen.core.fingerprint import digest, file_sha256
from scirgen.core.records import OWN, Dataset, Frozen, Paper, Rejection
from scirgen.core.records.licences import licence_allowed
from scirgen.core.registry import load_registry
from scirgen.core.registry.plugincode import provided_code
from scirgen.core.text.doi import find_dois
from scirgen.core.text.language import detect_language
from scirgen.core.text.sentences import sentence_spans
from scirgen.stages.base import FrontMatter, PaperReader
from scirgen.stages.collect.files.paperfolder import PAPER_FORMS, PaperFile, PaperFolder
from scirgen.stages.collect.files.recordfiles import unopened
from scirgen.stages.collect.pages import rejected
from scirgen.stages.collect.source import NO_INPUT, Candidate, Cursor, Fetched, SourceSetup

_PAGE = 25
_MAX_NAMES = 10
"""Largest number of titles that are looked up for one paper."""
_NAMES_DATA = re.compile(r"(?i)\b(?:data|datasets?|database|archived?|repositor(?:y|ies)|deposited|available)\b")

_ADDRESSES = (
    (re.compile(r"zenodo\.org/records?/(\d+)", re.I), "10.5281/zenodo.{}"),
    (re.compile(r"figshare\.com/articles/(?:dataset/)?[\w%.-]+/(\d+)", re.I), "10.6084/m9.figshare.{}"),
)
"""Addresses of records in repositories whose DOIs follow from them."""
_TITLE = re.compile(
    r"\b[A-Z][\w-]*(?: (?:of|and|for|the|in|on|[A-Z0-9][\w-]*)){1,8} "
    r"(?i:data ?(?:set|base)|archive|atlas|catalog(?:ue)?|collection|inventory|record|reanalysis|survey)\b"
)
"""A title in capitals that ends with a word for data."""


class DatasetLookup(Protocol):
    """Finds the records of datasets that papers name (plugin kind ``dataset_lookup``); made with a `SourceSetup`.

    Both methods raise a `SourceError` if the service does not answer.
    """

    def by_doi(self, doi: str) -> Dataset | Rejection | None:
        """Return the record of a dataset, or the reason why it cannot be used; None for another DOI."""

    def by_title(self, title: str) -> Dataset | Rejection | None:
        """Return the same for a dataset with this title, or with a slightly longer one."""


class PapersOptions(Frozen):
    """``collect.options`` of this source; ``base_url`` is the address of the service that looks datasets up."""

    base_url: str = ""


@dataclass(frozen=True)
class _Read:
    """A file with what was read from it, or the error of the file."""

    file: PaperFile
    paper: FrontMatter | None
    error: PaperError | None = None


class PapersSource:
    """Records made from papers, in the order of the files' names.

    Raises:
        InputError: the folder holds no paper.
        ResourceError: an option is unknown or wrong.
    """

    name = "papers"

    def __init__(self, setup: SourceSetup) -> None:
        given = setup.input or setup.papers
        if given is None:
            raise InputError("no folder of papers is given", hint=NO_INPUT)
        if setup.reader is None:
            raise PluginError("source 'papers' works only in a run", hint="Use scirgen.generate or scirgen.parse.")
        self._setup = setup
        self._reader: PaperReader = setup.reader
        self._options = validate(dict(setup.options), PapersOptions, "collect.options")
        self._folder = PaperFolder(given if given.is_dir() else given.parent, scan_up_to=0)
        self._files = [f for f in self._folder.files if given.is_dir() or f.path == given]
        self._of: dict[str, list[Candidate]] = {}
        self._first: dict[str, str] = {}  # the first file with each paper's id, of those under a wanted licence
        self._lookups: tuple[DatasetLookup, ...] | None = None
        if setup.datasets_from_papers and not load_registry().names("dataset_lookup"):
            raise PluginError(
                "collect.datasets_from_papers needs a plugin that looks up datasets, and none is installed",
                hint="Install one, or remove the setting.",
            )
        if not self._files:
            raise InputError(f"{given} contains no papers", hint=f"Put papers there: {PAPER_FORMS}.", code="no_papers")

    def revision(self, cursor: str | None) -> str:
        """Return a hash of the listing of files, and of the code that reads them and finds datasets."""
        registry = load_registry()
        code = [provided_code(registry, "dataset_lookup", name) for name in registry.names("dataset_lookup")]
        read_by = *self._reader.versions, self._setup.parse.model_dump(mode="json"), code
        return digest(3, self._folder.revision, *read_by)  # 3: of several files with one DOI, the first wanted is read

    def count(self) -> int:
        return len(self._files)

    def warnings(self) -> list[str]:
        """Return lines about documents of the folder that are not read."""
        return [*self._folder.warnings(self._setup.language), *unopened(self._folder.root)]

    async def datasets(self, cursor: str | None = None) -> AsyncIterator[Dataset | Cursor | Rejection]:
        """Yield a record for each paper, and for each dataset that a paper cites, if they are asked for."""
        start = int(cursor) if cursor and cursor.isdecimal() else 0
        cited: dict[str, str] = {}
        try:
            for number, file in enumerate(self._files[start:], start + 1):
                read = await self._read(file)
                yield self._record(read)
                if self._setup.datasets_from_papers and read.paper is not None:
                    for dataset in self._cited(read, cited):
                        yield dataset
                if number % _PAGE == 0 and number < len(self._files):
                    yield Cursor(str(number))
        finally:
            self._reader.close()

    def papers(self, dataset: Dataset) -> list[Candidate]:
        """Return the paper that the record was made from, or the papers that cite the dataset."""
        return self._of.get(dataset.id, [])

    def fetch(self, paper: Paper) -> Fetched:
        return self._folder.fetch(paper)

    async def _read(self, file: PaperFile) -> _Read:
        try:
            return _Read(file, await self._reader.read(file.path))
        except PaperError as error:
            if error.retryable and not isinstance(error, ParserKilledError):
                raise
            return _Read(file, None, error)

    def _record(self, read: _Read) -> Dataset | Rejection:
        """Return the record of a paper, or the reason why it cannot be read."""
        file = read.file
        if read.paper is None:
            assert read.error is not None
            return Rejection.of(
                "collect", read.error.error_code, f"{file.name}: {read.error.in_full}", ("Paper", file.name)
            )
        front = read.paper
        paper = as_printed(file.paper(), front)
        doi, title = paper.doi, file.title or front.title or file.path.stem
        paper = paper.model_copy(update={"id": doi or f"file:{file.name}", "title": title})
        identity = doi or f"paper-{file_sha256(file.path)[:16]}"
        record = Dataset(
            id=identity,
            title=title,
            description=front.abstract,
            doi=doi,
            url=f"https://doi.org/{doi}" if doi else None,
            authors=paper.authors,
            keywords=front.keywords,
            licence=paper.licence,
            language=front.language or detect_language(front.abstract or title),
            language_guessed=front.language_guessed,
            year=paper.year,
        )
        if not self._setup.licences or licence_allowed(paper.licence, self._setup.licences):
            self._first.setdefault(identity, file.name)
        if (first := self._first.get(identity, file.name)) != file.name:
            return rejected(record, "duplicate_id", f"{file.name} has the same id as {first}: {identity}")
        self._of[identity] = [Candidate(paper, OWN)]
        return record

    def _cited(self, read: _Read, cited: dict[str, str]) -> list[Dataset | Rejection]:
        """Return the records of the datasets that a sentence about data names, with that sentence."""
        assert read.paper is not None
        own = self._record(read)
        paper = self._of[own.id][0].paper if isinstance(own, Dataset) else None
        found: list[Dataset | Rejection] = []
        names = 0
        for text in filter(_NAMES_DATA.search, read.paper.passages):
            for start, end in sentence_spans(text):
                sentence = text[start:end]
                for name, how in _named_in(sentence) if _NAMES_DATA.search(sentence) else ():
                    if paper is None or name == paper.doi:
                        continue
                    names += how == "title_in_text"
                    known = cited.get(name)
                    if known is None and (how == "doi_in_text" or names <= _MAX_NAMES):
                        record = self._looked_up(name, how)
                        known = cited[name] = record.id if isinstance(record, Dataset) else ""
                        if isinstance(record, Dataset) and known not in self._of:
                            named = ("Named in", f"{paper.title}: {sentence}")
                            record = record.model_copy(update={"fields": (*record.fields, named)})
                            self._of[known] = []
                            found.append(record)
                        elif isinstance(record, Rejection):
                            found.append(record)
                    candidates = self._of.get(known or "", [])
                    if all(c.paper.id != paper.id for c in candidates) and known in self._of:
                        candidates.append(Candidate(paper, how))
        return found

    def _looked_up(self, name: str, how: str) -> Dataset | Rejection | None:
        """Return the record of a dataset, by DOI or by title; None if no lookup knows it."""
        self._lookups = self._lookups or self._opened_lookups()
        for lookup in self._lookups:
            try:
                found = lookup.by_doi(name) if how == "doi_in_text" else lookup.by_title(name)
            except SourceError as error:
                return Rejection.of("collect", "not_looked_up", f"{name}: {error.message}", ("Dataset", name))
            if found is not None:
                return found
        return None

    def _opened_lookups(self) -> tuple[DatasetLookup, ...]:
        setup = replace(self._setup, options=self._options.model_dump(exclude_defaults=True))
        registry = load_registry()
        kinds = (registry.get("dataset_lookup", name) for name in registry.names("dataset_lookup"))
        return tuple(cast(Callable[[SourceSetup], DatasetLookup], kind)(setup) for kind in kinds)


def _named_in(sentence: str) -> Iterator[tuple[str, str]]:
    """Yield (DOI or title, how it is named) of the datasets that a sentence names."""
    addressed = [form.format(m.group(1)) for address, form in _ADDRESSES for m in address.finditer(sentence)]
    for doi in dict.fromkeys((*find_dois(sentence), *addressed)):
        yield doi, "doi_in_text"
    for found in _TITLE.finditer(sentence):
        name = found.group().removeprefix("The ")
        if len(name.split()) > 2:
            yield name, "title_in_text"
