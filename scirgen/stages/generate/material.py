"""The material of a strong model's prompt: the whole record field by field, and the statements of papers, as numbered lines.

A reply cites lines by number, so evidence is always exact. Small models get single `passages` instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scirgen.core.fingerprint import derived_seed
from scirgen.core.records import Dataset, Span
from scirgen.core.text.sentences import sentence_spans
from scirgen.stages.generate.strategy import Passage, SourcePaper, Task

_LABEL = re.compile(r"^([A-Z][\w /()-]{1,40}): ")
_PEOPLE = re.compile(r"^(?:authors?|creators?|contributors?|fund(?:ing|ers?)|projects?|contacts?|publishers?)$", re.I)
_SENTENCE_WORDS = 6
_END = re.compile(r"[.!?。！？][\"'”’)\]]*$")
_HAN = re.compile(r"[一-鿿]")
_HAN_LANGUAGES = ("zh", "ja")
_NAMED = re.compile(r"\b(?:(?:19|20)\d\d|(?=\w*[A-Z]\w*[A-Z0-9])[A-Za-z]\w+)\b", re.ASCII)
_NAMING_LINES = 2
_RECORD_SHARE = 0.6
"""The share of the room that a long record may take if there are statements of papers too."""


@dataclass(frozen=True)
class Line:
    """A numbered line: the text that the model reads, and the exact spans that are its evidence."""

    number: int
    text: str
    spans: tuple[Span, ...]

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

    def naming(self, question: str, cited: Sequence[int]) -> list[int]:
        """Find lines that hold years and names of the question that no cited line holds; names have two capitals or a digit.

        At most two, from the cited records and papers; the line with most of the missing words comes first.
        """
        lines = self.lines
        sources = {s.document_id for n in cited for s in lines[n].spans}
        missing = set(_NAMED.findall(question)) - {w for n in cited for w in _NAMED.findall(lines[n].text)}
        others = {
            n: set(_NAMED.findall(line.text)) for n, line in lines.items() if line.spans[0].document_id in sources
        }
        found: list[int] = []
        while missing and len(found) < _NAMING_LINES:
            best = max(others, key=lambda n: (len(others[n] & missing), -n), default=None)
            if best is None or not others[best] & missing:
                break
            found.append(best)
            missing -= others[best]
        return found


def material(task: Task, room: int) -> Material:
    """The lines of a task, numbered from 1, the record's first; at most about ``room`` characters.

    The lines that are left out do not depend on the question types, so that all calls about a dataset begin with the
    same text.
    """
    statements = [p for p in task.passages if p.category is not None]
    pieces = list(record_pieces(task.dataset))
    kept = _fitting([text for text, _ in pieces], int(room * (_RECORD_SHARE if statements else 1)))
    pieces = [pieces[i] for i in kept]
    room -= sum(len(text) for text, _ in pieces)
    order = sorted(range(len(statements)), key=lambda i: _turn(statements, i, task.dataset.id))
    chosen = {order[i] for i in _fitting([_said(statements[i]) for i in order], room)}
    record = tuple(Line(n, text, (span,)) for n, (text, span) in enumerate(pieces, 1))
    number = len(record)
    papers: list[PaperLines] = []
    for paper in task.papers:
        mine = [p for i, p in enumerate(statements) if i in chosen and p.paper_id == paper.id]
        lines = tuple(Line(number + n, _said(p), (*p.context, p.span)) for n, p in enumerate(mine, 1))
        number += len(lines)
        if lines:
            papers.append(PaperLines(paper, lines))
    return Material(record, tuple(papers))


def record_pieces(dataset: Dataset) -> Iterator[tuple[str, Span]]:
    """(text, span) of each piece of a record: a short value with its field's name, a long one sentence by sentence.

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
        if label != "Title" and len(sentences) == 1 and not _is_sentence(line[value:]):
            yield " ".join(line.split()), _span(dataset, start, start + len(line.rstrip()))
            continue
        for n, (a, b) in enumerate(sentences):
            name = f"{label}: " if match and n == 0 else ""
            at = start + value
            yield name + " ".join(line[value + a : value + b].split()), _span(dataset, at + a, at + b)


def _span(dataset: Dataset, start: int, end: int) -> Span:
    return Span(document_id=dataset.id, start=start, end=end, text=dataset.text[start:end])


def _is_sentence(text: str) -> bool:
    return len(text.split()) >= _SENTENCE_WORDS and _END.search(text.strip()) is not None


def _foreign(text: str, language: str) -> bool:
    """Whether a value is in Chinese characters in a record that is not, such as "Format: 文本", which its readers cannot read."""
    letters = [c for c in text if c.isalpha()]
    han = sum(1 for c in letters if _HAN.match(c))
    return not language.lower().startswith(_HAN_LANGUAGES) and han > len(letters) / 2


def _said(passage: Passage) -> str:
    aspect = passage.category.value.replace("_", " ") if passage.category else ""
    return f"({aspect}) " + " ".join(" ".join(s.text.split()) for s in (*passage.context, passage.span))


def _turn(statements: Sequence[Passage], index: int, dataset_id: str) -> tuple[int, int]:
    """The order in which statements are taken if there is not enough room: one of each aspect of each paper in turn."""
    one = statements[index]
    before = sum(1 for p in statements[:index] if (p.paper_id, p.category) == (one.paper_id, one.category))
    return before, derived_seed(dataset_id, one.span.document_id, one.span.start)


def _fitting(texts: Sequence[str], room: int) -> list[int]:
    """Indices of the texts that fit, taken in order."""
    kept: list[int] = []
    for index, text in enumerate(texts):
        if len(text) <= room:
            kept.append(index)
            room -= len(text)
    return kept
