"""Cuts parsed documents and records into passages of whole sentences. The cut depends on the text alone, so ids stay
the same whatever is quoted from it."""

from __future__ import annotations

from collections.abc import Iterator

from scirgen.core.fingerprint import content_id
from scirgen.core.records import BlockKind, Box, Dataset, Document, Id, Record
from scirgen.core.text.passages import count_words
from scirgen.core.text.sentences import PROSE, sentence_spans

PASSAGE_WORDS = 100
"""Most words of a passage; a longer sentence is a passage by itself."""

_ALONE = frozenset({BlockKind.TABLE, BlockKind.CAPTION})
"""Blocks that share a passage with no other block."""


class Sentence(Record):
    """A sentence of a passage, by offsets into the document's text; with the page it begins on and its box there."""

    start: int
    end: int
    page: int | None = None
    bbox: Box | None = None


class Passage(Record):
    """A piece of a document or record; ``start`` and ``end`` are offsets into the document's text."""

    id: Id
    document_id: Id
    start: int
    end: int
    text: str
    title: str = ""
    heading: str = ""
    language: str = "en"
    sentences: tuple[Sentence, ...] = ()


def passages_of(document: Document) -> Iterator[Passage]:
    """The passages of a paper, in reading order, without title, headings, references and footers.

    A passage never crosses a heading, and neither a table nor a caption joins prose.
    """
    sentences: list[Sentence] = []
    words = 0
    under: tuple[str, ...] = ()
    for block in document.blocks:
        alone = block.kind in _ALONE
        if block.kind not in PROSE and not alone:
            continue
        if sentences and (alone or block.heading_path != under):
            yield _passage(document, document.title, sentences, under)
            sentences, words = [], 0
        under = block.heading_path
        for start, end in _sentences(document, block.start, block.end, lines=block.kind is BlockKind.TABLE):
            count = count_words(document.text[start:end])
            if sentences and words + count > PASSAGE_WORDS:
                yield _passage(document, document.title, sentences, under)
                sentences, words = [], 0
            placed = document.span(start, end)
            sentences.append(Sentence(start=start, end=end, page=placed.page, bbox=placed.bbox))
            words += count
        if sentences and alone:
            yield _passage(document, document.title, sentences, under)
            sentences, words = [], 0
    if sentences:
        yield _passage(document, document.title, sentences, under)


def record_passage(dataset: Dataset) -> Passage:
    """A whole record as one passage, each line cut into its sentences."""
    text, at = dataset.text, 0
    found: list[tuple[int, int]] = []
    for line in text.split("\n"):
        found += [(at + a, at + b) for a, b in sentence_spans(line, dataset.language)]
        at += len(line) + 1
    sentences = [Sentence(start=a, end=b) for a, b in found or [(0, len(text))]]
    return _passage(dataset, dataset.title, sentences, ())


def _sentences(document: Document, start: int, end: int, *, lines: bool) -> list[tuple[int, int]]:
    text = document.text[start:end]
    if not lines:
        return [(start + a, start + b) for a, b in sentence_spans(text, document.language)]
    found: list[tuple[int, int]] = []
    at = start
    for line in text.split("\n"):
        if line.strip():
            found.append((at, at + len(line)))
        at += len(line) + 1
    return found


def _passage(of: Document | Dataset, title: str, sentences: list[Sentence], heading: tuple[str, ...]) -> Passage:
    start, end = sentences[0].start, sentences[-1].end
    said = of.text[start:end]
    return Passage(
        id=content_id("psg", of.id, start, end, said),
        document_id=of.id,
        start=start,
        end=end,
        text=said,
        title=" ".join(title.split()),
        heading=" > ".join(heading),
        language=of.language,
        sentences=tuple(sentences),
    )
