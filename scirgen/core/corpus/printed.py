"""Combines a catalogue's metadata of a paper with the metadata that the paper prints. All code gets it here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

from scirgen.core.records import Document, Paper, Record
from scirgen.core.records.licences import normalise_licence
from scirgen.core.text.words import letters

R = TypeVar("R", bound=Record)


class StoredRecords(Protocol):
    """A view of a run's records."""

    def records(self, stage: str, kind: type[R], dataset_id: str | None = None) -> Iterator[R]:
        """Yield the current outputs of a stage."""


class Printed(Protocol):
    """Facts that a paper prints about itself: a `Document`, or a front matter."""

    @property
    def title(self) -> str: ...

    @property
    def doi(self) -> str | None: ...

    @property
    def year(self) -> int | None: ...

    @property
    def authors(self) -> tuple[str, ...]: ...

    @property
    def licence(self) -> str: ...


def papers_of(run: StoredRecords, dataset_id: str | None = None) -> dict[str, Paper]:
    """Return the papers of a run, or of one dataset, by id, completed with printed metadata where the catalogue has
    none."""
    papers = {p.id: p for p in run.records("collect", Paper, dataset_id)}
    for document in run.records("parse", Document, dataset_id):
        if document.paper_id in papers:
            papers[document.paper_id] = as_printed(papers[document.paper_id], document)
    return papers


def as_printed(paper: Paper, document: Printed | None) -> Paper:
    """Return the paper, completed with printed metadata where the catalogue has none.

    Its licence is the one that both state; if they differ, it is the text of both, which no filter treats as open.
    """
    if document is None:
        return paper
    return paper.model_copy(
        update={
            "title": paper.title or document.title,
            "doi": paper.doi or document.doi,
            "year": paper.year if paper.year is not None else document.year,
            "authors": paper.authors or document.authors,
            "licence": normalise_licence([paper.licence, document.licence]),
        }
    )


def differences(paper: Paper, document: Document) -> list[str]:
    """Return one line for each of DOI, year, authors and licence in which catalogue and print disagree.

    Years differ if they are at least two apart: papers appear online before they are in an issue.
    """
    names, printed = ({letters(w) for a in x.authors for w in a.split() if len(w) > 2} for x in (paper, document))
    far = paper.year is not None and document.year is not None and abs(paper.year - document.year) > 1
    both = normalise_licence([paper.licence, document.licence])
    found = (
        ("DOI", paper.doi, document.doi, paper.doi and document.doi and paper.doi.lower() != document.doi),
        ("year", paper.year, document.year, far),
        ("authors", "; ".join(paper.authors), "; ".join(document.authors), names and printed and not names & printed),
        ("licence", paper.licence, document.licence, both not in (paper.licence, document.licence)),
    )
    return [
        f"{name}: the catalogue states {stated}, the paper prints {print_}"
        for name, stated, print_, differ in found
        if differ
    ]
