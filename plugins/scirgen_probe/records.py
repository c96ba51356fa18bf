"""The records of the wing: a question without an answer, and an atomic fact of an answer."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from scirgen import Record, Span
from scirgen.plugin import Id, Provenance

Lacks = Literal["missing", "near_miss"]
CODES: Final = {
    "answered": "The question should have no answer, and the record or a paper answers it.",
    "partly": "The question should have no answer, and the record or a paper answers a part of it.",
    "unclear": "The question should have no answer, and can be read in several ways.",
    "off_subject": "The question should have no answer, and has nothing to do with the dataset's subject.",
}


class Unanswerable(Record):
    """A question about a dataset's subject that neither its record nor a paper answers."""

    id: Id
    dataset_id: Id
    question: str
    question_type: str
    lacks: Lacks
    differs: str = Field(default="", description="what is asked that the material does not say, in the writer's words")
    bloom: str | None = Field(default=None, description="C1..C6, as the judge names it")
    language: str = "en"
    provenance: Provenance | None = None


class Nugget(Record):
    """An atomic fact of an answer, with the line that states it."""

    id: Id
    dataset_id: Id
    pair_id: Id
    fact: str
    span: Span
    vital: bool = Field(default=False, description="an answer without it is incomplete; the judge decides")
    provenance: Provenance | None = None
