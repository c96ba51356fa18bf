"""Makes the passages of a release, and finds the passages that contain a span.

A run's documents are cut once, by `scirgen.core.corpus`. If a paper's licence does not allow its text, a passage
contains only quotations of it. Without parsed documents (imports) quotations are cut into windows.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scirgen.core import corpus
from scirgen.core.fingerprint import content_id
from scirgen.core.records import Dataset, Document, Paper, Span
from scirgen.core.records.licences import may_be_whole
from scirgen.core.text.passages import windows
from scirgen.release_files.release import PASSAGE_TOKENS, Passage, PlaceRow

_GAP = "\n"
"""Stands between two quotations of one passage."""
_KEPT = re.compile(r"\S+(?:\s\S+)*")


@dataclass(frozen=True)
class Piece:
    """A piece of a document with its text, starting at character ``start``."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """The end of the piece, exclusive."""
        return self.start + len(self.text)


@dataclass(frozen=True)
class Source:
    """A record or paper, as its passages describe it."""

    document_id: str
    source: str
    dataset_ids: Sequence[str]
    licence: str
    title: str = ""
    authors: Sequence[str] = ()
    year: int | None = None

    @classmethod
    def of_record(cls, dataset: Dataset) -> Source:
        """Return the source of a record's passages."""
        return cls(
            dataset.id, "dataset", [dataset.id], dataset.licence, dataset.title, dataset.authors, dataset.year
        )  # fmt: skip

    @classmethod
    def of_paper(cls, document_id: str, paper: Paper | None, dataset_ids: Sequence[str]) -> Source:
        """Return the source of a paper's passages."""
        if paper is None:
            return cls(document_id, "paper", dataset_ids, "unknown")
        return cls(document_id, "paper", dataset_ids, paper.licence, paper.title, paper.authors, paper.year)

    def passage(self, id: str, pieces: Sequence[Piece], heading: str = "", *, whole: bool = True) -> Held:
        """Return a passage of the source that contains these pieces."""
        row = Passage.model_validate(
            vars(self)
            | {
                "id": id,
                "start": pieces[0].start,
                "end": pieces[-1].end,
                "text": _GAP.join(piece.text for piece in pieces),
                "whole": whole,
                "title": " ".join(self.title.split()),
                "heading": heading,
            }
        )
        return Held(row, tuple(pieces))


@dataclass(frozen=True)
class Held:
    """A passage with the pieces of its document that make up its text."""

    passage: Passage
    pieces: tuple[Piece, ...]


def merge(spans: Iterable[Span]) -> list[Piece]:
    """Return the overlapping or nested spans of one document as disjoint pieces, in order.

    Two spans that only touch remain two pieces, since text between them may have been left out on purpose.
    """
    pieces: list[Piece] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if pieces and span.start < pieces[-1].end:
            last = pieces[-1]
            if span.end > last.end:
                pieces[-1] = Piece(last.start, last.text + span.text[last.end - span.start :])
        else:
            pieces.append(Piece(span.start, span.text))
    return pieces


def record_passages(dataset: Dataset, *, cut: bool, uncut: Dataset | None = None) -> list[Held]:
    """Return a record as one passage of the cut; else in windows. If blanks separate what is kept of it, the ``uncut``
    record says which passage it is."""
    source = Source.of_record(dataset)
    if not cut:
        return quoted_passages(source, [Piece(0, dataset.text)])
    made = corpus.record_passage(uncut or dataset)
    pieces = [Piece(made.start, made.text)]
    if uncut:
        pieces = [Piece(part.start(), part.group()) for part in _KEPT.finditer(dataset.text, made.start, made.end)]
    return [source.passage(made.id, pieces, whole=not uncut)]


def paper_passages(source: Source, document: Document, quoted: Iterable[Span]) -> list[Held]:
    """Return the passages of a paper's cut, and windows of quotations that lie outside it (a title), in order."""
    pieces = merge(quoted)
    whole = may_be_whole(source.licence)
    found: list[Held] = []
    bounds: list[tuple[int, int]] = []
    for made in corpus.passages_of(document):
        bounds.append((made.start, made.end))
        inside = [Piece(made.start, made.text)] if whole else list(_clipped(pieces, made.start, made.end))
        if inside:
            found.append(source.passage(made.id, inside, made.heading if whole else "", whole=whole))
    outside = [rest for piece in pieces for rest in _without(piece, bounds)]
    return sorted([*found, *quoted_passages(source, outside)], key=lambda held: held.passage.start)


def quoted_passages(source: Source, pieces: Iterable[Piece]) -> list[Held]:
    """Return the windows of a document's pieces, in order; no passage spans two pieces."""
    return [
        source.passage(
            content_id("psg", source.document_id, piece.start + a, piece.start + b, piece.text[a:b]),
            [Piece(piece.start + a, piece.text[a:b])],
        )
        for piece in pieces
        for a, b in windows(piece.text, PASSAGE_TOKENS)
    ]


def _clipped(pieces: Iterable[Piece], start: int, end: int) -> Iterator[Piece]:
    """Yield the parts of the pieces inside [start, end) that have text."""
    for piece in pieces:
        a, b = max(start, piece.start), min(end, piece.end)
        if a < b and (text := piece.text[a - piece.start : b - piece.start]).strip():
            yield Piece(a, text)


def _without(piece: Piece, bounds: Iterable[tuple[int, int]]) -> Iterator[Piece]:
    """Yield the parts of a piece outside of all bounds, which are in order and disjoint."""
    at = piece.start
    for start, end in bounds:
        if end > at and start < piece.end:
            yield from _clipped([piece], at, start)
            at = end
    yield from _clipped([piece], at, piece.end)


class PassageIndex:
    """Finds a span in the passages of its document, and knows which graded passages are in the release.

    It keeps only what pairs cite or grade.
    """

    def __init__(self, cited: Mapping[str, Iterable[Span]], graded: Collection[str] = ()) -> None:
        """Prepare for the spans that pairs cite, by document, and the ids of graded passages."""
        self._cited = {document: merge(spans) for document, spans in cited.items()}
        self._graded = graded
        self._bounds: dict[str, tuple[list[int], list[int], list[tuple[str, int]]]] = {}
        self.released: set[str] = set()

    def add(self, held: Sequence[Held]) -> None:
        """Add passages of one document, in order."""
        self.released.update(h.passage.id for h in held if h.passage.id in self._graded)
        cited = self._cited.get(held[0].passage.document_id) if held else None
        if not cited:
            return
        starts, ends, places = self._bounds.setdefault(held[0].passage.document_id, ([], [], []))
        for one in held:
            at = 0
            for piece in one.pieces:
                if any(c.start < piece.end and piece.start < c.end for c in cited):
                    starts.append(piece.start)
                    ends.append(piece.end)
                    places.append((one.passage.id, at))
                at += len(piece.text) + len(_GAP)

    def places(self, document_id: str, start: int, end: int) -> Iterator[PlaceRow]:
        """Find the parts of [start, end) in the passages of a document, in order."""
        starts, ends, places = self._bounds.get(document_id, ([], [], []))
        for i in range(bisect_right(ends, start), len(starts)):
            if starts[i] >= end:
                break
            passage, at = places[i]
            first, last = max(start, starts[i]) - starts[i], min(end, ends[i]) - starts[i]
            yield PlaceRow(passage=passage, start=at + first, end=at + last)
