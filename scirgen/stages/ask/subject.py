"""The subject of a paper as somebody knows it who has not read the paper: a field, a topic in a few words, an area."""

from __future__ import annotations

import re
from typing import Final

from pydantic import BaseModel, Field

from scirgen.claims.borrowed import borrowed

RUN: Final = 3
"""Words in a row that a sheet may not share with the text."""
_WORDS_A_SUBJECT: Final = 4000
_MOST: Final = 3

_FINDING = re.compile(
    r"\b(?:found|finds?|show(?:s|ed|n)?|suggest(?:s|ed)?|indicat\w+|conclu\w+|demonstrat\w+|reveal\w*|observed|achiev\w+"
    r"|outperform\w*|significant\w*|increas\w+|decreas\w+|reduc\w+|improv\w+|caus(?:e|es|ed)|leads?|led)\b",
    re.I,
)
"""A verb that tells a finding."""


class Subject(BaseModel):
    """What a paper, or a part of it, is about."""

    field: str = Field(description="the branch of science, in one to four words")
    subject: str = Field(description="the topic in three to eight words")
    broader: str = Field(description="the topic one level wider, in two to six words")
    area: str = Field(default="", description="country, region, ecosystem or setting in words; empty if none")
    period: str = Field(default="", description="the time in words, without a number; empty if it does not matter")
    material: str = Field(default="", description="the kind of data, material, organism or text; empty if none")


class Subjects(BaseModel):
    """A reply."""

    subjects: list[Subject]


def most_subjects(words: int) -> int:
    """Return how many subjects a paper of so many words may have: one for each 4,000 words, at most three."""
    return max(1, min(_MOST, round(words / _WORDS_A_SUBJECT)))


def sheet(subject: Subject, text: str, names: frozenset[str]) -> str:
    """Return the lines that the writer of questions sees; "" if no part of the subject may be shown.

    A part with a number, a coined name, three words in a row of the text or a finding's verb is left out; a topic of
    that kind is replaced by the wider one.
    """

    def known(part: str) -> bool:
        return bool(part.strip()) and not borrowed(part, text, names, RUN) and not _FINDING.search(part)

    topic = next((t for t in (subject.subject, subject.broader) if known(t)), "")
    if not topic or not known(subject.field):
        return ""
    parts = {
        "Topic": topic,
        "Area": subject.area,
        "Period": subject.period,
        "Kind of data or material": subject.material,
    }
    lines = [f"{name}: {' '.join(part.split())}" for name, part in parts.items() if part is topic or known(part)]
    return "\n".join((f"Field: {' '.join(subject.field.split())}", *lines))
