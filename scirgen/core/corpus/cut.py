"""Cuts parsed documents and records into passages of whole sentences. The cut depends on the text alone, so ids stay
the same whatever is quoted from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import model_validator

from scirgen.core.fingerprint import content_id
from scirgen.core.records import Block, BlockKind, Box, Dataset, Document, Id, Medium, Record
from scirgen.core.records.table import Table
from scirgen.core.text.passages import count_words
from scirgen.core.text.sentences import PROSE, sentence_spans

PASSAGE_WORDS = 100
"""Most words of a passage; a longer sentence is a passage by itself."""
TABLE_WORDS = 300
"""Most words of a table's passage; a longer table is cut by rows, each part with the caption and the header."""

_MEDIA: dict[BlockKind, Medium] = {BlockKind.TABLE: "table", BlockKind.CAPTION: "caption"}
"""Blocks that share a passage with no other block."""


class Sentence(Record):
    """A sentence of a passage, by offsets into the document's text; with the page it begins on and its box there.

    A further part of a long table repeats rows that are before its own text: they have a ``text``. ``heads``: where the
    sentences of the passage begin that say what a row of a table is (caption, header, its group's row).
    """

    start: int
    end: int
    page: int | None = None
    bbox: Box | None = None
    text: str = ""
    heads: tuple[int, ...] = ()


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
    medium: Medium = "text"

    @model_validator(mode="before")
    @classmethod
    def _of_an_older_store(cls, given: Any) -> Any:
        """Leave out the repeated rows of a table as they were stored before their sentences had a text."""
        if not (isinstance(given, dict) and "lead" in given):
            return given
        own = [s for s in given.get("sentences", ()) if s["start"] >= given["start"]]
        return {name: v for name, v in given.items() if name not in ("lead", "lead_start")} | {"sentences": own}

    @property
    def lead(self) -> str:
        """The sentences that it repeats."""
        return "\n".join(s.text for s in self.sentences if s.text)

    def said(self, sentence: Sentence) -> str:
        """Return the text of one of its sentences."""
        return sentence.text or self.text[sentence.start - self.start : sentence.end - self.start]


def passages_of(document: Document) -> Iterator[Passage]:
    """Yield the passages of a paper, in reading order, without title, headings, references and footers.

    A passage never crosses a heading, and neither a table nor a caption joins prose. A table that is read as cells
    takes its caption with it.
    """
    captions = {b.table.caption for b in document.blocks if b.table}
    sentences: list[Sentence] = []
    words = 0
    under: tuple[str, ...] = ()
    for block in document.blocks:
        alone, medium = block.kind in _MEDIA, _MEDIA.get(block.kind, "text")
        if (block.kind not in PROSE and not alone) or (block.start, block.end) in captions:
            continue
        if sentences and (alone or block.heading_path != under):
            yield _passage(document, document.title, sentences, under)
            sentences, words = [], 0
        under = block.heading_path
        if block.table is not None:
            yield from _table(document, block, block.table)
            continue
        for start, end in _sentences(document, block.start, block.end, lines=block.kind is BlockKind.TABLE):
            count = count_words(document.text[start:end])
            if sentences and words + count > PASSAGE_WORDS:
                yield _passage(document, document.title, sentences, under, medium)
                sentences, words = [], 0
            placed = document.span(start, end)
            sentences.append(Sentence(start=start, end=end, page=placed.page, bbox=placed.bbox))
            words += count
        if sentences and alone:
            yield _passage(document, document.title, sentences, under, medium)
            sentences, words = [], 0
    if sentences:
        yield _passage(document, document.title, sentences, under)


def _table(document: Document, block: Block, table: Table) -> Iterator[Passage]:
    """Yield a table with its caption as one passage, or by rows; caption sentences and rows are its sentences."""
    text = document.text
    caption = _sentences(document, *table.caption, lines=False) if table.caption else []
    rows = _sentences(document, block.start, block.end, lines=True)
    top = [*caption, *rows[: table.header_rows + 1]]  # and the line below the first that Markdown needs
    groups = [c.start for c in table.cells if table.is_group(c)]
    heading = [row for row in rows if any(row[0] < start < row[1] for start in groups)]
    most = words = sum(count_words(text[a:b]) for a, b in top)
    parts: list[list[tuple[int, int]]] = [[]]
    for a, b in rows[table.header_rows + 1 :]:
        words += count_words(text[a:b])
        if words > TABLE_WORDS and parts[-1]:
            parts.append([])
            words = most + count_words(text[a:b])
        parts[-1].append((a, b))
    named = [row for row in (*caption[:1], *top[len(caption) :]) if _is_said(text, row)]
    for part in parts:
        above = [row for row in heading if row < part[0]][-1:]
        sentences: list[Sentence] = []
        for row in filter(lambda row: _is_said(text, row), (*top, *above, *part)):
            over = [*named, *[g for g in heading if g < row][-1:]] if row in part and row not in heading else []
            placed = document.span(*row)
            repeated = part is not parts[0] and row not in part
            sentences.append(
                Sentence(
                    start=placed.start, end=placed.end, page=placed.page, bbox=placed.bbox,
                    text=placed.text if repeated else "", heads=tuple(start for start, _ in over),
                )
            )  # fmt: skip
        if own := [s for s in sentences if not s.text]:
            made = _passage(document, document.title, own, block.heading_path, "table")
            yield made.model_copy(update={"sentences": tuple(sentences)})


def _is_said(text: str, row: tuple[int, int]) -> bool:
    return any(c.isalnum() for c in text[slice(*row)])


def record_passage(dataset: Dataset) -> Passage:
    """Return a whole record as one passage, each line cut into its sentences."""
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


def _passage(
    of: Document | Dataset, title: str, sentences: list[Sentence], heading: tuple[str, ...], medium: Medium = "text"
) -> Passage:
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
        medium=medium,
    )
