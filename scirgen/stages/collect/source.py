"""The contract of a source: a catalogue of datasets, the papers that may use them, and their files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from scirgen.core.config import HttpConfig
from scirgen.core.records import Dataset, Link, Paper, Rejection


@dataclass(frozen=True)
class Cursor:
    """Yielded between datasets: everything before it is complete, and ``datasets(value)`` goes on right after it."""

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
    """What a source is made with: a registered source is called as ``Target(setup)``.

    Attributes:
        input: folder or file of records given by the user, or the domain's sample.
        papers: folder of papers, when it is not inside the input.
        domain: the domain's name.
        cache: a folder for what the source downloads; it survives a resumed run.
        options: ``collect.options`` of the configuration (``collect.paper_options.NAME`` for a paper service).
        http: how services are talked to; made use of by `open_http`.
    """

    input: Path | None = None
    papers: Path | None = None
    domain: str = ""
    cache: Path = Path(".scirgen-cache")
    options: Mapping[str, object] = field(default_factory=dict)
    http: HttpConfig = field(default_factory=HttpConfig)


@runtime_checkable
class Source(Protocol):
    """A source adapter, made with a `SourceSetup`.

    A class that reads files may also have a class method ``claims(path: Path) -> bool``: with ``collect.source: auto``, the
    sources of the domain's own plugin are asked in the order of their names, and ``local`` reads what none of them claims.
    Methods may be plain or async (return an iterable or an async iterator; a value or an awaitable).

    Raise `SourceError` for errors that a retry may fix; yield a `Rejection` for a record that is broken, so that it is set
    aside with its reason while the others go on.
    """

    name: str

    def revision(self, cursor: str | None) -> str | None:
        """A hash of what the page at ``cursor`` is read from, if it is cheap to compute (local files).

        None: the page is taken as unchanged once read, until the user asks for a refresh (network catalogues).
        """
        ...

    def datasets(
        self, cursor: str | None = None
    ) -> Iterable[Dataset | Cursor | Rejection] | AsyncIterator[Dataset | Cursor | Rejection]:
        """Datasets, lazily, from the cursor on; a `Cursor` now and then (at least every 500 datasets)."""
        ...

    def papers(self, dataset: Dataset) -> Iterable[Candidate] | AsyncIterator[Candidate]:
        """Candidate papers of one dataset."""
        ...

    def fetch(self, paper: Paper) -> object:
        """`Fetched`, or an awaitable of it."""
        ...


@runtime_checkable
class PaperService(Protocol):
    """Finds papers of datasets, or their files, beside any source (plugin kind ``papers``); made with a `SourceSetup`.

    Methods may be plain or async, as those of `Source`.
    """

    name: str

    def papers(self, dataset: Dataset) -> Iterable[Candidate] | AsyncIterator[Candidate]:
        """Candidate papers of one dataset; none where the service only knows files."""
        ...

    def fetch(self, paper: Paper) -> object:
        """`Fetched`, or an awaitable of it, for a paper found by anybody; code ``no_open_copy`` when it knows no file."""
        ...


__all__ = ["Candidate", "Cursor", "Fetched", "Link", "PaperService", "Source", "SourceSetup"]
