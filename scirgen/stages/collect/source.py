"""The contract of a source: a catalogue of datasets, the papers that may use them, and their files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

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


@runtime_checkable
class Source(Protocol):
    """A source adapter. Methods may be plain or async (return an iterable or an async iterator; a value or an awaitable).

    Raise `SourceError` for what another try may mend; yield a `Rejection` for a record that is broken, so that it is set
    aside with its reason while the others go on.
    """

    name: str

    def revision(self, cursor: str | None) -> str | None:
        """A hash of what the page at ``cursor`` is read from, when it can be had cheaply (local files).

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


__all__ = ["Candidate", "Cursor", "Fetched", "Link", "Source"]
