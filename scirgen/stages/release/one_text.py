"""The layout ``release.passages: document``: one text per dataset, as in ScIRGen, cut into passages.

The text is the dataset's title and description, further metadata that evidence quotes, then the quoted statements of
each of its papers under the names of their categories.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from scirgen.core.fingerprint import content_id
from scirgen.core.records import AspectCategory, Dataset, Span
from scirgen.core.text.passages import windows
from scirgen.qa.release import PASSAGE_TOKENS, Passage
from scirgen.stages.release.content import ReleaseContent
from scirgen.stages.release.passages import Piece, merge


@dataclass(frozen=True)
class _Part:
    """A piece of a source in a dataset's text; it begins at character ``at``."""

    document_id: str
    piece: Piece
    at: int


@dataclass
class _Text:
    """Builds a dataset's text."""

    text: str = ""
    parts: list[_Part] = field(default_factory=list)

    def add(self, document_id: str, piece: Piece, label: str = "") -> None:
        self.text += ("\n" if self.text else "") + label
        self.parts.append(_Part(document_id, piece, len(self.text)))
        self.text += piece.text


class OneTextIndex:
    """Finds the passages of the datasets' texts that hold a span of a source document."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[int, int, str]]] = {}

    def add(self, parts: Iterable[_Part], passages: list[Passage]) -> None:
        """The parts and passages of one dataset's text."""
        ends = [p.end for p in passages]
        for part in parts:
            last = part.at + len(part.piece.text)
            for passage in passages[bisect_right(ends, part.at) :]:
                if passage.start >= last:
                    break
                shift = part.piece.start - part.at
                bounds = (max(passage.start, part.at) + shift, min(passage.end, last) + shift, passage.id)
                self._found.setdefault(part.document_id, []).append(bounds)

    def holding(self, document_id: str, start: int, end: int) -> list[str]:
        """Ids of the passages that overlap [start, end) of a source."""
        return [name for a, b, name in self._found.get(document_id, ()) if a < end and b > start]


def one_text_passages(
    content: ReleaseContent, evidence: Mapping[str, Iterable[Span]], index: OneTextIndex
) -> Iterator[list[Passage]]:
    """The passages of each dataset's text, and their places in ``index``.

    Args:
        content: the content of the release.
        evidence: document id -> spans that are evidence of answers, of datasets and of papers.
        index: is filled as passages are taken.
    """
    of_paper: dict[str, list[str]] = {}
    for document_id, paper_id in sorted(content.document_papers.items()):
        of_paper.setdefault(paper_id, []).append(document_id)
    statements: dict[tuple[str, str], list[tuple[AspectCategory, Span]]] = {}
    for aspect in content.aspects:
        statements.setdefault((aspect.dataset_id or "", aspect.span.document_id), []).append(
            (aspect.category, aspect.span)
        )
    for dataset in content.datasets.values():
        made = _Text()
        _add_metadata(made, dataset, evidence.get(dataset.id, ()))
        licences = {dataset.licence}
        for paper_id in content.uses.get(dataset.id, ()):
            for document_id in of_paper.get(paper_id, ()):
                quoted = statements.get((dataset.id, document_id), [])
                if _add_statements(made, document_id, quoted, evidence.get(document_id, ())):
                    licences.add(content.papers[paper_id].licence if paper_id in content.papers else "unknown")
        passages = [
            Passage(
                id=content_id("psg", dataset.id, a, b, made.text[a:b]), document_id=dataset.id, source="document",
                dataset_ids=(dataset.id,), start=a, end=b, text=made.text[a:b], licence=" and ".join(sorted(licences)),
            )
            for a, b in windows(made.text, PASSAGE_TOKENS)
        ]  # fmt: skip
        index.add(made.parts, passages)
        yield passages


def _add_metadata(made: _Text, dataset: Dataset, evidence: Iterable[Span]) -> None:
    cited = list(evidence)
    at = 0
    for number, line in enumerate(dataset.text.split("\n")):
        label = "Title: " if not number else "Description: " if line.startswith("Description: ") else ""
        described = at < len("Title: ") + len(dataset.title) + len("\nDescription: ") + len(dataset.description)
        if described or any(s.start < at + len(line) and s.end > at for s in cited):
            made.add(dataset.id, Piece(at + len(label), line[len(label) :]))
        at += len(line) + 1


def _add_statements(
    made: _Text, document_id: str, quoted: list[tuple[AspectCategory, Span]], evidence: Iterable[Span]
) -> bool:
    """Add the quoted parts of a paper: statements by category, then other evidence. Returns whether there were any."""
    pieces = merge([*(span for _, span in quoted), *evidence])
    groups: dict[str, list[Piece]] = {name: [] for name in (*AspectCategory, "")}
    for piece in pieces:
        kinds = [c.value for c in AspectCategory for k, s in quoted if k is c and piece.start <= s.start < piece.end]
        groups[kinds[0] if kinds else ""].append(piece)
    for name, found in groups.items():
        for number, piece in enumerate(found):
            made.add(document_id, piece, "" if number or not name else f"{name.replace('_', ' ').capitalize()}: ")
    return bool(pieces)
