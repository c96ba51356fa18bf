"""The records of retrieval tasks: a query, and a judge's grade."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from scirgen import Record, Span
from scirgen.core.records import Year
from scirgen.plugin import Id, Provenance, content_id

QueryForm = Literal["sentence", "keyphrases", "complex", "aspect", "sub_aspect", "sub_query", "facet"]


class Query(Record):
    """A retrieval query that a recipe made from a paper: a need for data, a facet of an abstract, or a need of many
    parts.

    An ``aspect`` has the complex query as its ``parent``, a ``sub_aspect`` its aspect; both point with ``spans`` at the
    sentences of the complex query's text that they represent (``document_id`` is that query's id).
    """

    id: Id = Field(min_length=1)
    recipe: str = Field(description="name of the query recipe, e.g. recommend, facets, aspects")
    form: QueryForm
    text: str
    paper_id: Id | None = Field(default=None, description="the paper it was made from; None where that is unknown")
    gold: tuple[str, ...] = Field(default=(), description="ids of the documents that are known to answer it")
    parent: str | None = Field(default=None, description="id of the query that this one is a part of")
    parts: tuple[str, ...] = Field(default=(), description="ids of the aspects that it consists of, in order")
    facet: str | None = Field(default=None, description="id in taxonomies/facets.yaml")
    spans: tuple[Span, ...] = Field(default=(), description="the sentences that it is based on")
    fields: tuple[tuple[str, str], ...] = Field(default=(), description="(field of taxonomies/needs.yaml, text)")
    year: Year = Field(default=None, description="the paper's year; a time filter drops documents published later")
    sources: tuple[str, ...] = Field(
        default=(), description="papers that it was made from, if several; never in its own pool"
    )
    provenance: Provenance | None = None

    @staticmethod
    def make_id(recipe: str, form: QueryForm, paper_id: str, text: str) -> str:
        """Return the content hash, the same on every machine."""
        return content_id("q", recipe, form, paper_id, text)


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
