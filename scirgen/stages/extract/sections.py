"""Finds the sentences of a section that can be extracted, and splits long sections."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from scirgen.core.records import BlockKind, Document, SectionClass, SectionLabel
from scirgen.core.text.passages import windows
from scirgen.core.text.sentences import PROSE, document_sentences

_CITED = PROSE | {BlockKind.CAPTION}
_TABLE, _LONGEST_TABLE = "| ", 2000
_UNNAMED = "\ufffd"
_LEAST_WORDS = 5
_LEAST_LETTERS = 0.5
_CHARACTERS_A_TOKEN = 3.5
"""Characters per token: below the 4 to 4.5 of English prose, so that formulas and other languages fit too."""


@dataclass(frozen=True)
class Sentence:
    """A sentence at [start, end) of the document; ``number`` counts from 1 in its section."""

    number: int
    start: int
    end: int
    text: str
    label: SectionLabel

    @property
    def section(self) -> SectionClass:
        """The class of its section."""
        return self.label.label


def section_sentences(document: Document, labels: Sequence[SectionLabel]) -> list[Sentence]:
    """All sentences of heading runs and their captions, and their Markdown tables, in order and each once; without
    fragments that have no words, and without tables that have an unnamed sign (U+FFFD)."""
    found: list[Sentence] = []
    for label in sorted(labels, key=lambda x: x.start):
        spans = document_sentences(document, label.start, label.end, _CITED)
        for start, end in sorted([*spans, *_tables(document, label)]):
            text = document.text[start:end]
            offered = is_prose(text) or (text.startswith(_TABLE) and _UNNAMED not in text)
            if offered and not (found and start < found[-1].end):
                found.append(Sentence(len(found) + 1, start, end, " ".join(text.split()), label))
    return found


def _tables(document: Document, label: SectionLabel) -> list[tuple[int, int]]:
    """The tables of a heading run, whole; only with ``parse.tables: cite`` are tables Markdown."""
    return [
        (b.start, b.end)
        for b in document.blocks
        if b.kind is BlockKind.TABLE
        and label.start <= b.start < label.end
        and document.text.startswith(_TABLE, b.start)
        and b.end - b.start <= _LONGEST_TABLE
    ]


def is_prose(text: str) -> bool:
    """Tells whether a piece of text has enough words, and more letters than other signs, to be a sentence.

    A text with an unnamed sign (U+FFFD) does not count: a number in it may have lost its minus.
    """
    if _UNNAMED in text:
        return False
    chinese = len(re.findall(r"[一-鿿]", text))
    letters = sum(c.isalpha() for c in text)
    words = len(text.split())
    return (words >= _LEAST_WORDS or chinese >= 2 * _LEAST_WORDS) and letters >= _LEAST_LETTERS * len(text)


def tokens(text: str) -> int:
    """A high estimate of the tokens of a text, with the number before it."""
    chinese = len(re.findall(r"[一-鿿]", text))
    return int((len(text) - chinese) / _CHARACTERS_A_TOKEN) + chinese + 4 if text else 0


def cut(sentences: Sequence[Sentence], most_tokens: int) -> list[list[Sentence]]:
    """Runs of sentences of at most ``most_tokens`` each; together they are all sentences, in order, each once.

    A longer sentence is a run by itself.
    """
    text = "".join(f"{s.text}\n" for s in sentences)
    following = iter(sentences)
    return [
        list(islice(following, text.count("\n", start, end) + 1))
        for start, end in windows(text, most_tokens, pieces=_lines, length=_line_tokens)
    ]


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _line_tokens(line: str) -> int:
    return tokens(line.rstrip())
