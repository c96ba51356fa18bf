"""The subjects that questions are asked about, and their sheets: what a writer of questions may see of a record or
paper. Of a paper that is a field, a topic and an area in other, wider words, and nothing of its text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel, Field

from scirgen.claims.borrowed import borrowed
from scirgen.core.corpus import Reading
from scirgen.core.records import OWN, BlockKind, Dataset, Document, Link, Record
from scirgen.core.text.language import base_language
from scirgen.core.text.passages import count_words
from scirgen.core.text.sentences import PROSE
from scirgen.stages.base import Scope

SUBJECT_WORDS = 3_000
"""Words of a paper that are one subject; a longer paper has several."""
_MOST_PARTS = 6
_SHOWN_WORDS = 250
_LANGUAGE_SHARE = 0.05
"""Share of the passages from which questions are searched in a language as well."""
_HEADINGS = 25
_RUN = 3
"""Words in a row that the sheet of a paper may not share with its text."""
_FINDING = re.compile(
    r"\b(?:found|finds?|show(?:s|ed|n)?|suggest(?:s|ed)?|indicat\w+|conclu\w+|demonstrat\w+|reveal\w*|observed|achiev\w+"
    r"|outperform\w*|significant\w*|increas\w+|decreas\w+|reduc\w+|improv\w+|caus(?:e|es|ed)|leads?|led)\b",
    re.I,
)
"""A verb that tells a finding."""


@dataclass(frozen=True)
class Subject:
    """A record, a paper, or a part of a long paper.

    Attributes:
        id: the record's or document's id, with ``/2`` for a paper's second part.
        key: of its item.
        inputs: the dataset and the document.
        part: the part's number, from 0.
    """

    id: str
    key: str
    inputs: tuple[Record, ...]
    part: int = 0


def read_in(scope: Scope) -> Reading:
    """Return what a dataset alone shows of its papers, for a trial without a run."""
    used = {link.paper_id for link in scope.outputs("match", Link) if link.used}
    papers = (d for d in scope.outputs("parse", Document) if d.paper_id in used)
    return Reading(users={d.id: tuple(u.id for u in scope.users(d.paper_id)) for d in papers})


def subjects_of(scope: Scope, reading: Reading) -> Iterator[Subject]:
    """Yield the dataset, unless its record was made from a paper, and the papers that are asked about with it."""
    dataset = scope.dataset
    if not any(OWN in link.found_by.split(", ") for link in scope.outputs("collect", Link)):
        yield Subject(dataset.id, dataset.id, (dataset,))
    for document in sorted(scope.outputs("parse", Document), key=lambda d: d.id):
        if reading.asked_with(document.id) != dataset.id:
            continue
        for part in range(len(parts(document))):
            name = f"/{part + 1}" if part else ""
            key = f"{dataset.id}|{document.paper_id}{name}"
            yield Subject(document.id + name, key, (dataset, document), part)


def parts(document: Document) -> list[tuple[int, int]]:
    """Return the bounds of a paper's parts, about equal in words, cut between blocks."""
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


class Topic(BaseModel):
    """The subject of a paper or of a part of it, as a model tells it."""

    field: str = Field(description="the branch of science, in one to four words")
    subject: str = Field(description="the topic in three to eight words")
    broader: str = Field(description="the topic one level wider, in two to six words")
    area: str = Field(default="", description="country, region, ecosystem or setting in words; empty if none")
    period: str = Field(default="", description="the time in words, without a number; empty if it does not matter")
    material: str = Field(default="", description="the kind of data, material, organism or text; empty if none")
    compared: str = Field(default="", description="what is set side by side, in a few words; empty if nothing")


def material_of(document: Document, part: int) -> tuple[str, list[str]]:
    """Return the text that shows what the subject is, and the headings: the abstract, or how a later part begins."""
    start, end = parts(document)[part]
    text = document.text[start:end] if part else document.abstract or document.text
    names = (
        " ".join(document.text[b.start : b.end].split())
        for b in document.blocks
        if b.kind is BlockKind.HEADING and start <= b.start < end
    )
    return _cut(" ".join(text.split())), list(names)[:_HEADINGS]


def sheet(topic: Topic, text: str, names: frozenset[str]) -> str:
    """Return the lines that the writer of questions sees; "" if no part of the subject may be shown.

    A part with a number, a coined name, three words in a row of the text or a finding's verb is left out; a topic of
    that kind is replaced by the wider one.
    """

    def known(part: str) -> bool:
        return bool(part.strip()) and not borrowed(part, text, names, _RUN) and not _FINDING.search(part)

    shown = next((t for t in (topic.subject, topic.broader) if known(t)), "")
    if not shown or not known(topic.field):
        return ""
    parts = {"Field": topic.field, "Topic": shown, "Area": topic.area, "Period": topic.period,
             "Kind of data or material": topic.material, "Set side by side": topic.compared}  # fmt: skip
    return "\n".join(f"{name}: {' '.join(part.split())}" for name, part in parts.items() if known(part))


def _cut(text: str) -> str:
    words = text.split(" ")
    return text if len(words) <= _SHOWN_WORDS else " ".join(words[:_SHOWN_WORDS])


def other_languages(passages: Mapping[str, int], language: str) -> tuple[str, ...]:
    """Return the languages, other than the questions', with enough passages, most first."""
    counts = Counter(passages)
    least = _LANGUAGE_SHARE * counts.total()
    return tuple(code for code, n in counts.most_common() if n >= least and code != base_language(language))
