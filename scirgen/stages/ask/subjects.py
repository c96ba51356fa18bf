"""The subjects that questions are asked about, and their sheets: what a writer may see of a record or paper."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scirgen.core.corpus.cut import PASSAGE_WORDS
from scirgen.core.records import OWN, Aspect, AspectCategory, Dataset, Document, Link, Record
from scirgen.core.text.language import base_language
from scirgen.core.text.passages import count_words
from scirgen.core.text.sentences import PROSE, sentence_spans
from scirgen.stages.base import RunView, Scope

SUBJECT_WORDS = 3_000
"""Words of a paper that are one subject; a longer paper has several."""
_MOST_PARTS = 6
_LEAST_HEADING = 3
"""Words of a heading that may name a subject; "Results and discussion" has fewer, without "and"."""
_SHOWN_WORDS = 250
_LANGUAGE_SHARE = 0.05
"""Share of the passages from which questions are searched in a language as well."""
_AIMS = frozenset({AspectCategory.BACKGROUND, AspectCategory.OBJECTIVE})
_FOUND = re.compile(
    r"\b(?:found|finds?|show(?:s|ed|n)?|results?|suggest(?:s|ed)?|indicat\w+|conclu\w+|demonstrat\w+|reveal\w*|observed"
    r"|achiev\w+|outperform\w*|significant\w*)\b|\d",
    re.I,
)
"""A sentence of an abstract that tells a finding."""
_SMALL = re.compile(r"\b(?:and|of|the|in|for|on|to|a|an|with|from|by)\b", re.I)


@dataclass(frozen=True)
class Subject:
    """A record, a paper, or a part of a long paper.

    Attributes:
        id: the record's or document's id, with ``/2`` for a paper's second part.
        key: of its item.
        inputs: the dataset, the document, the aims that its sheet shows.
        part: the part's number, from 0.
    """

    id: str
    key: str
    inputs: tuple[Record, ...]
    part: int = 0


def subjects_of(scope: Scope) -> Iterator[Subject]:
    """The dataset, unless its record was made from a paper, and the papers whose first user it is."""
    dataset = scope.dataset
    if not any(OWN in link.found_by.split(", ") for link in scope.outputs("collect", Link)):
        yield Subject(dataset.id, dataset.id, (dataset,))
    aspects = scope.outputs("verify", Aspect)
    used = {link.paper_id for link in scope.outputs("match", Link) if link.used}
    for document in sorted(scope.outputs("parse", Document), key=lambda d: d.id):
        paper = document.paper_id
        if paper not in used or scope.users(paper)[0].id != dataset.id:
            continue
        for part, (start, end) in enumerate(parts(document)):
            aims = tuple(
                a for a in aspects if a.paper_id == paper and a.category in _AIMS and start <= a.span.start < end
            )
            if not part:
                yield Subject(document.id, f"{dataset.id}|{paper}", (dataset, document, *aims))
            elif aims or _headings(document, start, end):
                name = f"/{part + 1}"
                yield Subject(document.id + name, f"{dataset.id}|{paper}{name}", (dataset, document, *aims), part)


def parts(document: Document) -> list[tuple[int, int]]:
    """Where a paper's parts begin and end: about equal in words, cut between blocks."""
    blocks = [(b, count_words(document.text[b.start : b.end])) for b in document.blocks if b.kind in PROSE]
    total = sum(words for _, words in blocks)
    count = min(_MOST_PARTS, max(1, round(total / SUBJECT_WORDS)))
    starts, read = [0], 0
    for block, words in blocks:
        if len(starts) < count and read >= total * len(starts) / count:
            starts.append(block.start)
        read += words
    return list(zip(starts, [*starts[1:], len(document.text)], strict=True))


def record_sheet(dataset: Dataset) -> str:
    """Title, description and keywords."""
    lines = [dataset.title, dataset.description, "; ".join(dataset.keywords)]
    return _cut("\n".join(line for line in lines if line))


def paper_sheet(document: Document, aims: Sequence[Aspect], part: int) -> str:
    """The subject of a paper without what it found: title, aims, and the sentences of its abstract that tell none; of
    a later part, its headings and aims."""
    said = [a.span.text for a in sorted(aims, key=lambda a: a.span.start)]
    abstract = [document.abstract[a:b] for a, b in sentence_spans(document.abstract, document.language)]
    first = _headings(document, *parts(document)[part]) if part else abstract
    lines = [document.title, *(s for s in dict.fromkeys((*first, *said)) if not _FOUND.search(s))]
    return _cut("\n".join(" ".join(line.split()) for line in lines if line))


def _headings(document: Document, start: int, end: int) -> list[str]:
    """The headings of a part that may name a subject, each once."""
    paths = (b.heading_path for b in document.blocks if start <= b.start < end and b.kind in PROSE)
    names = dict.fromkeys(re.sub(r"^[\d.IVX]+\s+", "", name) for path in paths for name in path)
    return [n for n in names if count_words(_SMALL.sub(" ", n)) >= _LEAST_HEADING and not _FOUND.search(n)]


def _cut(text: str) -> str:
    words = text.split(" ")
    return text if len(words) <= _SHOWN_WORDS else " ".join(words[:_SHOWN_WORDS])


def other_languages(run: RunView, language: str) -> tuple[str, ...]:
    """The languages, other than the questions', of which enough of the passages are, those with the most first."""
    counts = Counter(base_language(d.language) for d in run.datasets())
    for document in run.records("parse", Document):
        counts[base_language(document.language)] += max(1, count_words(document.text) // PASSAGE_WORDS)
    least = _LANGUAGE_SHARE * counts.total()
    return tuple(code for code, n in counts.most_common() if n >= least and code != base_language(language))
