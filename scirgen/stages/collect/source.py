"""The contract of a source: a catalogue of datasets, the papers that may use them, and their files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from scirgen.core.config import HttpConfig, ParseConfig
from scirgen.core.records import Dataset, Link, Paper, Rejection
from scirgen.stages.base import PaperReader

F = TypeVar("F", bound=Callable[..., object])
MOST_BAD = 1000
"""A file, or a source, ends after this many records in a row that cannot be used."""


def quick(method: F) -> F:
    """Mark a method of a source that returns at once, so that it is called without a thread."""
    vars(method)["quick"] = True
    return method


@dataclass(frozen=True)
class Cursor:
    """Yielded between datasets: all datasets before it are complete, and ``datasets(value)`` continues after it."""

    value: str


@dataclass(frozen=True)
class Candidate:
    """A paper that may use a dataset, and how it was found ("related_doi", "cites", "text_search", "file_name"...)."""

    paper: Paper
    found_by: str


@dataclass(frozen=True)
class Fetched:
    """The outcome of fetching a paper's file: a file, or a code and reason why there is none."""

    file: Path | None = None
    media_type: str | None = None
    code: str = ""
    reason: str = ""


@dataclass(frozen=True)
class SourceSetup:
    """The argument with which a registered source is made: ``Target(setup)``.

    Attributes:
        input: folder or file of records given by the user, or the domain's sample.
        papers: folder of papers, if it is not inside the input.
        domain: the domain's name.
        cache: a folder for what the source downloads; it survives a resumed run.
        options: ``collect.options`` of the configuration (``collect.paper_options.NAME`` for a paper service).
        http: settings of HTTP requests, which `open_http` uses.
        parse: settings of parsing, for sources that read papers.
        language: the language of the questions.
        licences: the wanted licences; empty: all.
        datasets_from_papers: make records of the datasets that papers cite.
        reader: reads papers; None outside of a run.
    """

    input: Path | None = None
    papers: Path | None = None
    domain: str = ""
    cache: Path = Path(".scirgen-cache")
    options: Mapping[str, object] = field(default_factory=dict)
    http: HttpConfig = field(default_factory=HttpConfig)
    parse: ParseConfig = field(default_factory=ParseConfig)
    language: str = "en"
    licences: tuple[str, ...] = ()
    datasets_from_papers: bool = False
    reader: PaperReader | None = None


NO_INPUT = "Name a folder or file: scirgen generate pdfs/, or read a sample: --domain geo."
"""The hint where a source that reads files gets none."""


@runtime_checkable
class PaperService(Protocol):
    """Finds papers of datasets, or their files, in addition to any source (plugin kind ``papers``).

    It is made with a `SourceSetup`. Methods may be plain or async (return an iterable or an async iterator; a value or
    an awaitable).
    """

    name: str

    def papers(self, dataset: Dataset) -> Iterable[Candidate] | AsyncIterator[Candidate]:
        """Return the candidate papers of one dataset; none if the service only has files."""

    def fetch(self, paper: Paper) -> object:
        """Return `Fetched`, or an awaitable of it, for a paper from any source; ``no_open_copy`` if it has no file."""


@runtime_checkable
class Source(PaperService, Protocol):
    """A source adapter, made with a `SourceSetup`.

    A class that reads files may also have a class method ``claims(path: Path) -> bool``: with ``collect.source: auto``,
    the sources of the domain's own plugin are asked in the order of their names, and ``local`` reads an input that none
    of them claims. ``reads_files = False`` says that it reads a service and takes no input.

    Raise `SourceError` for errors that a retry may fix; yield a `Rejection` for a broken record, so that it is reported
    with its reason and the other records are read.
    """

    def revision(self, cursor: str | None) -> str | None:
        """Return a hash of what the page at ``cursor`` is read from, if it is cheap to compute (local files).

        None: a page that was read counts as unchanged until the user asks for a refresh (network catalogues).
        """

    def datasets(
        self, cursor: str | None = None
    ) -> Iterable[Dataset | Cursor | Rejection] | AsyncIterator[Dataset | Cursor | Rejection]:
        """Return the datasets, lazily, from the cursor on, with a `Cursor` at least every 500 datasets."""


__all__ = ["Candidate", "Cursor", "Fetched", "Link", "PaperService", "Source", "SourceSetup"]
