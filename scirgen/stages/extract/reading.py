"""Reads a section with a model that follows instructions.

The prompt shows numbered sentences, and the reply holds their numbers by aspect. An aspect is always a sentence of the
document. The only words of the model that are kept are short contexts, which name the subject of a sentence that does
not name it itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice

from pydantic import BaseModel, ConfigDict, Field

from scirgen.claims.abbreviations import codes, explained
from scirgen.core.records import (
    AspectCategory,
    BlockKind,
    Dataset,
    Document,
    SectionClass,
    SectionLabel,
    Span,
    appendices,
    caption_label,
)
from scirgen.core.records.table import Cell
from scirgen.core.text.passages import windows
from scirgen.core.text.sentences import PROSE, document_sentences, sentence_spans
from scirgen.core.text.untrusted import talks_to_machine
from scirgen.core.text.words import telling_words
from scirgen.stages.base import StageContext

_MOST_TOKENS = 3000
_REPLY_TOKENS = 1600
_DATASET_CHARS = 400
_LONGEST_CONTEXT = 120
_ABSTRACT_CHARS = 400
_NAMES = re.compile(r"\w*[A-Z\d]\w*")
_VARIABLES = re.compile(r"variable|parameter|measur|element", re.I)


class ContextReply(BaseModel):
    """What some chosen sentences are about."""

    model_config = ConfigDict(extra="forbid")
    sentences: list[int] = Field(description="the sentences that it holds for")
    about: str = Field(description="at most twelve words")
    said_in: int = Field(description="the sentence that says so; 0: title or abstract")


class AspectsReply(BaseModel):
    """Numbers of the sentences of one passage, by aspect; a sentence may be of several."""

    model_config = ConfigDict(extra="forbid")
    background: list[int]
    research_objective: list[int]
    methods: list[int]
    challenges: list[int]
    dataset: list[int]
    findings: list[int]
    contexts: list[ContextReply] = Field(
        default=[], description="for the chosen sentences that do not say themselves what they are about"
    )


class CellsReply(BaseModel):
    """Cells of one table that say something together."""

    model_config = ConfigDict(extra="forbid")
    aspect: AspectCategory
    cells: list[str] = Field(description="line and place in it: 12.1, 12.3, 15.1")


class TableReply(AspectsReply):
    """The reply about a passage with rows of tables."""

    cells: list[CellsReply] = Field(default=[], description="chosen cells, one entry for each thing that they say")


@dataclass(frozen=True)
class Context:
    """The subject of a sentence, in the model's words, and the place of the paper that states it."""

    about: str
    span: Span | None = None


@dataclass(frozen=True)
class Picked:
    """A sentence that was chosen for an aspect; with a code, one that cannot be kept, and why."""

    category: AspectCategory
    sentence: Sentence | None
    reference: str
    code: str = ""
    reason: str = ""
    prompt: str = ""
    replies: tuple[str, ...] = ()
    context: Context | None = None
    cells: tuple[Cell, ...] = ()


async def read_section(
    document: Document, sentences: Sequence[Sentence], datasets: Sequence[Dataset], ctx: StageContext
) -> list[Picked]:
    """Return the picks, with one call per passage; a section of at most 3,000 tokens is one passage.

    Args:
        document: the paper.
        sentences: the sentences of the section.
        datasets: all datasets that the paper uses; the sentences are chosen for them.
        ctx: gives the model and the settings.
    """
    picked: list[Picked] = []
    for passage in cut(sentences, _room(ctx)):
        prompt = ctx.prompt("aspects").render(
            title=_harmless(document.title),
            abstract=_harmless(document.abstract[:_ABSTRACT_CHARS]),
            heading=" > ".join(passage[0].label.heading_path or (passage[0].label.heading,)),
            sentences=[f"[{s.number}] {s.text}" for s in passage],
            tables=any(s.cells for s in passage),
            aspects=[(a.id.value, a.definition) for a in ctx.taxonomies.aspects.aspects],
            datasets=[_described(d) for d in datasets],
        )
        form = TableReply if any(s.cells for s in passage) else AspectsReply
        reply = await ctx.chat.ask(prompt, form, seed=ctx.seed(passage[0].number))
        by_number = {s.number: s for s in passage}
        contexts = _contexts(reply.value.contexts, by_number, document, prompt.messages[-1][1])
        for category in AspectCategory:
            numbers: list[int] = getattr(reply.value, category.value)
            for number in dict.fromkeys(numbers):
                made = prompt.reference, (reply.reply_key,), contexts.get(number)
                if found := by_number.get(number):
                    picked.append(Picked(category, found, found.text, "", "", *made, found.cells))
                else:
                    why = f"the passage has no sentence {number}"
                    picked.append(Picked(category, None, str(number), "no_such_sentence", why, *made))
        if isinstance(reply.value, TableReply):
            named = [chosen_cells(one, by_number) for one in reply.value.cells]
            picked += [replace(p, prompt=prompt.reference, replies=(reply.reply_key,)) for p in named]
    return [*picked, *_explaining(document, picked)]


def _explaining(document: Document, picked: Sequence[Picked]) -> Iterator[Picked]:
    """Yield the sentences, notes of tables among them, that explain the codes that head the chosen cells."""
    rows = [(p.sentence, p.cells) for p in picked if p.sentence and p.cells]
    heads = (s for row, cells in rows for s in cell_spans(document, row, cells) if s.role == "context")
    found: set[tuple[int, int]] = set()
    for code in islice(codes("\n".join(dict.fromkeys(s.text for s in heads))), _MAX_CODES):
        at, _ = explained(document.text, code)
        block = document.block_at(at)
        if block and block.kind in PROSE | {BlockKind.FOOTNOTE}:
            spans = sentence_spans(document.text[block.start : block.end], document.language)
            found |= {(block.start + a, block.start + b) for a, b in spans if a <= at - block.start < b}
    for start, end in sorted(found):
        text = " ".join(document.text[start:end].split())
        if is_prose(text) and not talks_to_machine(text):
            label = rows[0][0].label.model_copy(update={"label": SectionClass.NONE})
            yield Picked(AspectCategory.DATASET, Sentence(0, start, end, text, label), text)


def chosen_cells(given: CellsReply, passage: Mapping[int, Sentence]) -> Picked:
    """Return the cells of one table that a reply names together, or the code for why they cannot be kept."""
    reference, cells, lines = ", ".join(given.cells), [], []
    for one in given.cells:
        place = _CELL.fullmatch(one.strip())
        line = passage.get(int(place[1])) if place else None
        if place is None or line is None or not 0 < int(place[2]) <= len(line.cells):
            return Picked(given.aspect, None, reference, "no_such_cell", "a cell that it names is not in the passage")
        cells.append(line.cells[int(place[2]) - 1])
        lines.append(line)
    if len({line.table for line in lines}) != 1:
        return Picked(given.aspect, None, reference, "no_such_cell", "it names no cells, or cells of several tables")
    if len(cells) > _MAX_CELLS:
        return Picked(given.aspect, None, reference, "many_cells", f"{len(cells)} cells are more than a statement")
    return Picked(given.aspect, lines[0], reference, cells=tuple(sorted(set(cells), key=lambda c: c.start)))


def _contexts(
    given: Sequence[ContextReply], passage: Mapping[int, Sentence], document: Document, shown: str
) -> dict[int, Context]:
    """Return the context of each sentence that has one. It is dropped if it names what the prompt lacks."""
    found: dict[int, Context] = {}
    known = {w.casefold() for w in re.findall(r"\w+", shown)}
    for one in given:
        about = " ".join(one.about.split()).rstrip(".")
        strange = {w.casefold() for w in _NAMES.findall(about)} - known
        if not about or len(about) > _LONGEST_CONTEXT or strange or talks_to_machine(about):
            continue
        source = passage.get(one.said_in)
        span = document.span(source.start, source.end, source.section) if source else _opening(document, about)
        for number in one.sentences:
            own = source is not None and source.number == number
            found.setdefault(number, Context(about, None if own else span))
    return found


def _harmless(text: str) -> str:
    """Return the text, or nothing of it if it addresses a language model."""
    return "" if talks_to_machine(text) else text


def _opening(document: Document, about: str) -> Span | None:
    """Return the title or the sentence at the beginning of the abstract that holds most of a context's words."""
    title = next(((b.start, b.end) for b in document.blocks if b.kind is BlockKind.TITLE), None)
    begin = document.abstract[:_ABSTRACT_CHARS]
    at = document.text.find(begin) if begin else -1
    places = [title] if title else []
    if at >= 0:
        places += [(at + start, at + end) for start, end in sentence_spans(begin, document.language)]
    words = telling_words(about)
    best = max(places, key=lambda p: len(words & telling_words(document.text[slice(*p)])), default=None)
    return document.span(*best) if best else None


def _described(dataset: Dataset) -> str:
    """Return a dataset's title, keywords and variables on one line."""
    more = [f"{label}: {value}" for label, value in dataset.fields if _VARIABLES.search(label)]
    said = ". ".join(text for text in (dataset.title, "; ".join(dataset.keywords), *more) if text)
    return " ".join(said.split())[:_DATASET_CHARS]


def _room(ctx: StageContext) -> int:
    """Return the tokens of text in one call: at most 3,000, or the model's context less instructions and reply."""
    context = ctx.chat.capabilities.context_tokens
    return _MOST_TOKENS if context is None else max(200, min(_MOST_TOKENS, context - _REPLY_TOKENS - 900))


_CITED = PROSE | {BlockKind.CAPTION}
_CELL = re.compile(r"\[?(\d{1,6})\.(\d{1,3})\]?")
_MAX_CELLS = 24
"""Cells of one statement; more are the table again."""
_WORDS = re.compile(r"[^\W\d_]{2}[^\d\[\]]{2,40}")
_MAX_CODES = 60
"""Codes of a section's chosen cells that are looked up."""
_APPENDIX = re.compile(r"app?end|annex|anexo|anhang|suppl|附录", re.I)
_MAX_FLOATING = 100
_UNNAMED = "\ufffd"
_LEAST_WORDS = 5
_LEAST_LETTERS = 0.5
_CHARACTERS_A_TOKEN = 3.5
"""Characters per token: below the 4 to 4.5 of English prose, so that formulas and other languages fit too."""


@dataclass(frozen=True)
class Sentence:
    """A sentence at [start, end) of the document; ``number`` counts from 1 in its section. The row of a table is one,
    too: ``table`` is the place of its table, and ``cells`` are those that may be chosen, numbered from 1 in its text.
    """

    number: int
    start: int
    end: int
    text: str
    label: SectionLabel
    cells: tuple[Cell, ...] = ()
    table: int = -1

    @property
    def section(self) -> SectionClass:
        return self.label.label


def section_sentences(document: Document, labels: Sequence[SectionLabel]) -> list[Sentence]:
    """Return all sentences of heading runs and their captions, and the rows of tables read as cells, in order and each
    once; without fragments that have no words."""
    found: list[Sentence] = []
    for label in sorted(labels, key=lambda x: x.start):
        spans = document_sentences(document, label.start, label.end, _CITED)
        made = [Sentence(0, a, b, " ".join(document.text[a:b].split()), label) for a, b in spans]
        made = [s for s in made if is_prose(document.text[s.start : s.end])]
        for sentence in sorted([*made, *_rows(document, label)], key=lambda s: s.start):
            if not (found and sentence.start < found[-1].end):
                found.append(replace(sentence, number=len(found) + 1))
    return found


def _rows(document: Document, label: SectionLabel) -> Iterator[Sentence]:
    """Yield the rows of a heading run's tables: what names the row, then each value after its number and what heads
    it."""
    text = document.text
    for block, table in ((b, b.table) for b in document.blocks_in(label.start, label.end) if b.table):
        name = (caption_label(text[slice(*table.caption)]) if table.caption else "") or "Table"
        for _, group in groupby(filter(table.is_value, table.cells), key=lambda c: c.row):
            every = tuple(group)
            cells = tuple(c for c in every if not c.header) or every
            heads = [table.headers(c) for c in cells]
            named = [h for h in heads[0] if h.row >= table.header_rows and all(h in head for head in heads)]
            parts = [
                f"({n}) {'; '.join(document.header(table, h) for h in head if h not in named)}: {text[c.start : c.end]}"
                for n, (c, head) in enumerate(zip(cells, heads, strict=True), 1)
            ]
            row = f"{name}, {'; '.join(document.header(table, h) for h in named)}: "
            said = " ".join((row + " | ".join(parts)).split())
            yield Sentence(0, cells[0].start, cells[-1].end, said, label, cells, block.start)


def floating(document: Document, labels: Sequence[SectionLabel]) -> Iterator[SectionLabel]:
    """Yield a label for each captioned table that stands under a heading of no section, as behind the references: that
    of the first section that names it, else of results. An appendix's stays out, and what only its own text names."""
    text, body = document.text, [x for x in labels if x.label is not SectionClass.NONE]
    lettered = appendices(((*x.heading_path, x.heading), x.label) for x in labels)
    outside = ((x, (*x.heading_path, x.heading)) for x in labels if x.label is SectionClass.NONE)
    aside = (x for x, path in outside if path[0] not in lettered and not _APPENDIX.search(" ".join(path)))
    tables = ((x, b, b.table.caption) for x in aside for b in document.blocks_in(x.start, x.end) if b.table)
    captioned = ((x, b, *caption) for x, b, caption in tables if caption)
    for label, block, start, end in islice(captioned, _MAX_FLOATING):
        words = (caption_label(text[start:end]) or text[start:end]).split()
        name = re.compile(r"\b" + r"s?\s+".join(map(re.escape, words)) + r"(?!\.?\w)", re.I)
        home = next((x for x in body if name.search(text, x.start, x.end)), None)
        if home is None and not name.search(text[label.start : start] + text[block.end : label.end]):
            home = label.model_copy(update={"label": SectionClass.EXPERIMENT, "heading": "", "heading_path": ()})
        if home:
            yield home.model_copy(update={"start": start, "end": block.end})


def cell_spans(document: Document, row: Sentence, cells: Sequence[Cell]) -> tuple[Span, ...]:
    """Return the places of chosen cells, then those of their headers, which only label them. The words before a number
    in its row head it too, since they say of what it is: "Lumbar spine"."""
    block = document.block_at(row.start)
    if not cells or block is None or block.table is None:
        return ()
    table, text, rows = block.table, document.text, {c.row for c in cells}
    words = [c for c in table.cells if c.row in rows and _WORDS.fullmatch(text, c.start, c.end) and c not in cells]
    values, heads = [], dict[Cell, None]()
    for cell in cells:
        labels = list(table.headers(cell))
        mine = words if not text[cell.start].isalpha() else ()
        beside = [c for c in mine if c.row == cell.row and c.column < cell.column and c not in labels]
        at = sum(h.row >= table.header_rows for h in labels)
        labels[at:at] = beside
        headers = dict.fromkeys(document.header(table, h) for h in labels)
        span = document.span(cell.start, cell.end, row.section)
        values.append(span.model_copy(update={"headers": tuple(headers)}) if beside else span)
        heads |= dict.fromkeys(x for h in labels for x in (table.head(h, text), h) if x)
    only_said = {"role": "context", "headers": (), "medium": "header"}
    context = [document.span(h.start, h.end, row.section).model_copy(update=only_said) for h in heads]
    return (*values, *context)


def table_caption(document: Document, row: Sentence) -> Span | None:
    """Return the caption of the table that a row is in."""
    block = document.block_at(row.start) if row.cells else None
    caption = block.table.caption if block and block.table else None
    return document.span(*caption, row.section).model_copy(update={"role": "context"}) if caption else None


def is_prose(text: str) -> bool:
    """Return whether a piece of text has enough words, and more letters than other signs, to be a sentence.

    A text with an unnamed sign (U+FFFD) does not count: a number in it may have lost its minus.
    """
    if _UNNAMED in text:
        return False
    chinese = len(re.findall(r"[一-鿿]", text))
    letters = sum(c.isalpha() for c in text)
    words = len(text.split())
    return (words >= _LEAST_WORDS or chinese >= 2 * _LEAST_WORDS) and letters >= _LEAST_LETTERS * len(text)


def tokens(text: str) -> int:
    """Return a high estimate of the tokens of a text, with the number before it."""
    chinese = len(re.findall(r"[一-鿿]", text))
    return int((len(text) - chinese) / _CHARACTERS_A_TOKEN) + chinese + 4 if text else 0


def cut(sentences: Sequence[Sentence], most_tokens: int) -> list[list[Sentence]]:
    """Return runs of sentences of at most ``most_tokens`` each; together they are all sentences, in order, each once.

    A longer sentence is a run by itself.
    """
    text = "".join(f"{s.text}\n" for s in sentences)
    following = iter(sentences)
    return [
        list(islice(following, text.count("\n", start, end) + 1))
        for start, end in windows(
            text, most_tokens, pieces=lambda t: t.splitlines(keepends=True), length=lambda line: tokens(line.rstrip())
        )
    ]
