"""The record of a judge's grade."""

from __future__ import annotations

from pydantic import Field

from scirgen.core.records import Id, Record


class Grade(Record):
    """One judge's grade for one (query, document). A pair may have several grades, from raters and the adjudicator."""

    query_id: Id
    document_id: Id
    judge: str = Field(description="model:IDENTITY, human:NAME or adjudicated")
    grade: int = Field(ge=0)
    label: str = Field(default="", description="the word that the judge chose, if the scale has words")
    reason: str = ""
    found_by: tuple[str, ...] = Field(
        default=(), description="the retriever or rule that put the document into the pool"
    )
    reply: str = Field(default="", description="key of the cached reply")
