"""Cuts the text that a release may quote into passages of at most 100 tokens, and finds the passages with a span."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from scirgen.core.fingerprint import content_id
from scirgen.core.records import Span
from scirgen.core.text.passages import windows
from scirgen.release_files.release import PASSAGE_TOKENS, Passage, PlaceRow


@dataclass(frozen=True)
class Piece:
    """A piece of a document with its text, starting at character ``start``."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """The end of the piece, exclusive."""
        return self.start + len(self.text)


def merge(spans: Iterable[Span]) -> list[Piece]:
    """Overlapping or nested spans of one document as disjoint pieces, in order.

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


def passages_of(
    document_id: str, source: str, pieces: Sequence[Piece], dataset_ids: Sequence[str], licence: str
) -> list[Passage]:
    """The passages of one document's pieces, in order; no passage spans two pieces."""
    return [
        Passage.model_validate(
            {
                "id": content_id("psg", document_id, piece.start + a, piece.start + b, piece.text[a:b]),
                "document_id": document_id,
                "source": source,
                "dataset_ids": tuple(dataset_ids),
                "start": piece.start + a,
                "end": piece.start + b,
                "text": piece.text[a:b],
                "licence": licence,
            }
        )
        for piece in pieces
        for a, b in windows(piece.text, PASSAGE_TOKENS)
    ]


class PassageIndex:
    """The bounds of the passages of each document, for finding a span in them."""

    def __init__(self) -> None:
        self._bounds: dict[str, tuple[list[int], list[int], list[str]]] = {}

    def add(self, passages: Sequence[Passage]) -> None:
        """Passages of one document, in order."""
        if passages:
            self._bounds[passages[0].document_id] = (
                [p.start for p in passages],
                [p.end for p in passages],
                [p.id for p in passages],
            )

    def places(self, document_id: str, start: int, end: int) -> Iterator[PlaceRow]:
        """Find the parts of [start, end) in the passages of a document, in order."""
        starts, ends, ids = self._bounds.get(document_id, ([], [], []))
        for i in range(bisect_right(ends, start), len(starts)):
            if starts[i] >= end:
                break
            yield PlaceRow(passage=ids[i], start=max(start, starts[i]) - starts[i], end=min(end, ends[i]) - starts[i])
