"""The material of a strong model's prompt: the record field by field and the statements of papers, as numbered lines.

A reply cites lines by number, so evidence is always exact. Small models get single `passages` instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scirgen.core.records import Dataset, Span, abouts
from scirgen.core.text.sentences import sentence_spans
from scirgen.stages.generate.passages import by_worth
from scirgen.stages.generate.strategy import Passage, SourcePaper, Task

_LABEL = re.compile(r"^([A-Z][\w /()-]{1,40}): ")
_PEOPLE = re.compile(r"^(?:authors?|creators?|contributors?|fund(?:ing|ers?)|projects?|contacts?|publishers?)$", re.I)
_SENTENCE_WORDS = 6
_END = re.compile(r"[.!?。！？][\"'”’)\]]*$")
_HAN = re.compile(r"[一-鿿]")
_HAN_LANGUAGES = ("zh", "ja")
_NAMED = re.compile(r"\b(?:(?:19|20)\d\d|(?=\w*[A-Z]\w*[A-Z0-9])[A-Za-z]\w+)\b", re.ASCII)
_STUDY = re.compile(r"\b(?:et al\.?,?\s?\(?|[A-Z][\w'’-]+\s?\()(?:19|20)\d\d[a-z]?\b")
"""A study by author and year, as "Mori et al. (2019)" or "Mori (2019)", but not "Germany, 2005"."""
_CONTEXT_WORD = re.compile(r"\b(?:[A-Z]\w{2,}|\w*\d\w*)\b", re.ASCII)
_WORD = re.compile(r"\w+", re.ASCII)
_NAMING_LINES = 2
_TITLE = re.compile("Title: ")
_WORDS_A_FACT = 20
_PAIRS_A_STATEMENT = 0.4
_MAX_PARTS = 2
"""Calls about papers that one dataset may take before statements are left out."""
_FEW_PAIRS = 4
"""So many pairs or fewer do not pay for a second call, which takes some 6,000 tokens."""
_RECORD_SHARE = 0.6
"""The share of the room that a long record may take if there are statements of papers too."""


@dataclass(frozen=True)
class Line:
    """A numbered line: the text that the model reads, the exact span that is its evidence, and the place of the paper
    that says what it is about."""

    number: int
    text: str
    span: Span
    context_span: Span | None = None
    cells: tuple[Span, ...] = ()

    @property
    def shown(self) -> str:
        """The line with its number, as prompts show it."""
        return f"[{self.number}] {self.text}"


@dataclass(frozen=True)
class PaperLines:
    """A paper's statements as lines, in reading order, each with its aspect's name."""

    paper: SourcePaper
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Material:
    """All lines of one call."""

    record: tuple[Line, ...]
    papers: tuple[PaperLines, ...]

    @property
    def lines(self) -> dict[int, Line]:
        """Number -> line."""
        return {line.number: line for line in (*self.record, *(x for p in self.papers for x in p.lines))}

    @property
    def carries(self) -> int:
        """The maximum number of pairs that the lines carry: two per line of the record, two for five statements."""
        facts = sum(
            min(2.0, len(line.text.split()) / _WORDS_A_FACT) for line in self.record if not _TITLE.match(line.text)
        )
        return max(1, round(facts + _PAIRS_A_STATEMENT * sum(len(p.lines) for p in self.papers)))

    def evidence(self, question: str, cited: Sequence[int], about: Sequence[int] = ()) -> tuple[Span, ...]:
        """Return the spans of the cited lines, and as context those of the lines ``about`` and of at most two places
        with names and years of the question that no cited line has.

        Names have a capital or a digit inside the word; a study by author and year does not count. The places are those
        that say what a cited line is about, and the other lines of the cited records and papers; the one with most of
        the missing words comes first.
        """
        question = _STUDY.sub(" ", question)
        lines = self.lines
        mine = [lines[n] for n in dict.fromkeys((*cited, *about)) if n in lines]
        texts = " ".join(s.text for line in mine for s in (line.cells or (line.span,)))
        sources = {line.span.document_id for line in mine}
        places = [line.context_span for line in mine if line.context_span]
        places += [line.span for line in lines.values()
                   if line.span.document_id in sources and line not in mine and not line.cells]  # fmt: skip
        subject = {w for line in mine if line.context_span for w in _CONTEXT_WORD.findall(line.text)}
        missing = (set(_NAMED.findall(question)) | (subject & set(_CONTEXT_WORD.findall(question)))) - _words(texts)
        found = [s if line.number in cited else _context(s) for line in mine for s in (line.cells or (line.span,))]
        found += [_context(line.context_span) for line in mine if line.cells and line.context_span]
        for _ in range(_NAMING_LINES if missing else 0):
            best = max(range(len(places)), key=lambda i: (len(_words(places[i].text) & missing), -i), default=None)
            if best is None or not _words(places[best].text) & missing:
                break
            if places[best] not in [line.span for line in mine]:
                found.append(_context(places[best]))
            missing -= _words(places[best].text)
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Shown:
    """The material that the calls of a task show: the record, the record with each part of the papers, and what fits
    into none."""

    record: Material
    parts: tuple[Material, ...]
    left_out: tuple[Passage, ...]


def material(task: Task, room: int) -> Shown:
    """Return the lines of a task's calls, numbered from 1 in each, the record's first; about ``room`` characters each.

    Statements that do not fit into one call get a second one, in the order of the paper, if more than four pairs are
    wanted. What does not fit is left out by worth, and named if every statement was to be shown. The lines do not
    depend on the question types, so that calls about a dataset begin alike.
    """
    statements = [p for p in task.passages if p.category is not None]
    pieces = list(record_pieces(task.dataset))
    kept = _fitting([len(text) for text, _ in pieces], int(room * (_RECORD_SHARE if statements else 1)))
    record = tuple(Line(n, *pieces[i]) for n, i in enumerate(kept, 1))
    room -= sum(len(line.text) for line in record)
    sizes = [len(text) for text in _line_texts(statements)]
    few = len(task.wishes) <= _FEW_PAIRS
    count = 1 if sum(sizes) <= room or few else _MAX_PARTS
    order = by_worth(statements, task.dataset.id)
    most = room if count == 1 else count * max(0, room - max(sizes, default=0))
    chosen = {order[i] for i in _fitting([sizes[i] for i in order], most)}
    total = sum(sizes[i] for i in chosen)
    groups: list[list[int]] = [[] for _ in range(count)]
    size = 0
    for i in sorted(chosen):
        groups[min(count - 1, size * count // max(1, total))].append(i)
        size += sizes[i]
    for group in groups:  # a whole caption moves to the next line of its table if its own is not in the call
        while group and sum(map(len, _line_texts([statements[i] for i in group]))) > room:
            group.remove(max(group, key=order.index))
    parts = tuple(_part(record, [statements[i] for i in group], task) for group in groups if group)
    left_out = () if few else tuple(p for i, p in enumerate(statements) if not any(i in group for group in groups))
    return Shown(Material(record, ()), parts, left_out)


def _part(record: tuple[Line, ...], statements: Sequence[Passage], task: Task) -> Material:
    number = len(record)
    papers: list[PaperLines] = []
    for paper in task.papers:
        mine = [p for p in statements if p.paper_id == paper.id]
        told = enumerate(zip(_line_texts(mine), mine, strict=True), 1)
        lines = tuple(Line(number + n, text, p.span, p.context_span, p.cells) for n, (text, p) in told)
        number += len(lines)
        if lines:
            papers.append(PaperLines(paper, lines))
    return Material(record, tuple(papers))


def record_pieces(dataset: Dataset) -> Iterator[tuple[str, Span]]:
    """Yield (text, span) of each piece of a record: short values with the field's name, long ones by sentence.

    People, funders and projects are left out, and values in a script that the record's language is not written in.
    """
    label, position = "", 0
    for line in dataset.text.split("\n"):
        start, position = position, position + len(line) + 1
        match = _LABEL.match(line)
        label = match.group(1) if match else label
        value = match.end() if match else 0
        if not line[value:].strip() or _PEOPLE.match(label) or _foreign(line[value:], dataset.language):
            continue
        sentences = sentence_spans(line[value:], dataset.language)
        ended = len(line[value:].split()) >= _SENTENCE_WORDS and _END.search(line[value:].strip()) is not None
        if label != "Title" and len(sentences) == 1 and not ended:
            yield " ".join(line.split()), _span(dataset, start, start + len(line.rstrip()))
            continue
        for n, (a, b) in enumerate(sentences):
            name = f"{label}: " if match and n == 0 else ""
            at = start + value
            yield name + " ".join(line[value + a : value + b].split()), _span(dataset, at + a, at + b)


def _span(dataset: Dataset, start: int, end: int) -> Span:
    return Span(document_id=dataset.id, start=start, end=end, text=dataset.text[start:end])


def _foreign(text: str, language: str) -> bool:
    """Detect a value in Chinese characters in a record that is not, as "Format: 文本", which its readers cannot
    read."""
    letters = [c for c in text if c.isalpha()]
    han = sum(1 for c in letters if _HAN.match(c))
    return not language.lower().startswith(_HAN_LANGUAGES) and han > len(letters) / 2


def _line_texts(passages: Sequence[Passage]) -> Iterator[str]:
    """Yield the words of each passage on one line, after its kind and what it is about, if that is not in them."""
    for passage, about in zip(passages, abouts((p.context, p.context_span) for p in passages), strict=True):
        aspect = passage.category.value.replace("_", " ") if passage.category else ""
        yield f"({aspect}) {about}{': ' * bool(about)}{' '.join(passage.text.split())}"


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))


def _context(span: Span) -> Span:
    return span.model_copy(update={"role": "context"})


def _fitting(sizes: Sequence[int], room: int) -> list[int]:
    """Return the indices of the texts that fit, taken in order."""
    kept: list[int] = []
    for index, size in enumerate(sizes):
        if size <= room:
            kept.append(index)
            room -= size
    return kept
