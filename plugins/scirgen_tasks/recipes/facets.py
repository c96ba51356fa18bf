"""``facets``: queries for papers that resemble a paper in one facet, such as its method (CSFCube, NeurIPS 2021).

A model labels all sentences of the abstract in one call; without one, `sentence_facets` does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from scirgen import Span, StageContext, StageResult, WorkItem
from scirgen.core.text.verbatim import Verbatim
from scirgen.plugin import Document, RenderedPrompt, SectionClass
from scirgen_bench.tasks.records import Query
from scirgen_bench.tasks.taxonomies import Facets, facets_of
from scirgen_tasks.abstract_facets import sentence_facets
from scirgen_tasks.recipes.base import PaperMaterial, QueryRecipe, paper_materials, rejected
from scirgen_tasks.settings import settings

_OTHER = "other"


class LabelsReply(BaseModel):
    """The label of each sentence."""

    model_config = ConfigDict(extra="forbid")
    labels: Sequence[str]


class FacetsRecipe(QueryRecipe):
    """One query for each facet of which the abstract has sentences."""

    name = "facets"
    prompts = ("facets",)
    taxonomies = ("facets",)

    async def write(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Return up to three queries."""
        (paper,) = paper_materials(item)
        if not paper.abstract:
            return StageResult(rejections=(rejected(ctx, "no_abstract", "the paper has no abstract", "paper"),))
        facets = facets_of(ctx.taxonomies)
        by = settings(ctx.config).facets_by
        prompt: RenderedPrompt | None = None
        keys: tuple[str, ...] = ()
        found: list[tuple[str, ...]]
        if by == "model" or (by == "auto" and ctx.pack == "standard"):
            prompt, labels, keys = await self._labels(paper, ctx)
            found = [(label,) for label in labels]
        else:
            found = sentence_facets(paper.sentences, paper.aspects, facets, paper.document.language)
        spans_of = places(paper.document, paper.sentences)
        made = facet_queries(paper.paper_id, paper.year, list(zip(spans_of, found, strict=True)), facets)
        there = {query.facet for query in made}
        rejections = [
            rejected(ctx, "no_facet", f"no sentence of the abstract is labelled {facet.id}", facet.id)
            for facet in facets.facets
            if facet.id not in there
        ]
        origin = ctx.provenance(prompt, keys)
        queries = [query.model_copy(update={"provenance": origin}) for query in made]
        return StageResult(tuple(queries), tuple(rejections))

    async def _labels(
        self, paper: PaperMaterial, ctx: StageContext
    ) -> tuple[RenderedPrompt, list[str], tuple[str, ...]]:
        """Return the model's label of each sentence, with the prompt and the reply's key."""
        facets = facets_of(ctx.taxonomies).facets
        prompt = ctx.prompt("facets").render(
            title=paper.document.title,
            sentences=[f"[{n}] {sentence}" for n, sentence in enumerate(paper.sentences, 1)],
            facets=[(f.id, f.name, f.definition) for f in facets],
        )
        model = labels_reply([f.id for f in facets], len(paper.sentences))
        reply = await ctx.chat.ask(prompt, model, seed=ctx.seed())
        return prompt, list(reply.value.labels), (reply.reply_key,)


def labels_reply(facets: Sequence[str], sentences: int) -> type[LabelsReply]:
    """Make the class `LabelsReply` with one known label for each sentence."""
    label: Any = Literal[(*facets, _OTHER)]
    return create_model(
        "LabelsReply", __base__=LabelsReply, labels=(list[label], Field(min_length=sentences, max_length=sentences))
    )


def facet_queries(
    paper_id: str, year: int | None, labelled: Sequence[tuple[Span | None, Collection[str]]], facets: Facets
) -> list[Query]:
    """Return a query for each facet of which an abstract has sentences.

    Args:
        paper_id: of the abstract.
        year: of the paper.
        labelled: each sentence's place, and its facets.
        facets: the taxonomy.
    """
    queries: list[Query] = []
    for facet in facets.facets:
        spans = tuple(span for span, ids in labelled if span and facet.id in ids)
        if spans:
            text = " ".join(" ".join(span.text.split()) for span in spans)
            name = FacetsRecipe.name
            id = Query.make_id(name, "facet", paper_id, f"{facet.id}: {text}")
            queries.append(
                Query(
                    id=id, recipe=name, form="facet", text=text, paper_id=paper_id, facet=facet.id, spans=spans,
                    year=year,
                )
            )  # fmt: skip
    return queries


def corrected(
    queries: Iterable[Query], documents: Mapping[str, Document], labels: Mapping[str, Mapping[str, str]], facets: Facets
) -> list[Query]:
    """Return the queries, with those of papers that people labelled rebuilt from the labels.

    Args:
        queries: of a run; other queries stay as they are.
        documents: by paper.
        labels: paper -> sentence -> facet.
        facets: the taxonomy.
    """
    kept: list[Query] = []
    own: dict[str, list[Query]] = {}
    for query in queries:
        again = query.facet and query.paper_id in labels and query.paper_id in documents
        own.setdefault(query.paper_id or "", []).append(query) if again else kept.append(query)
    for paper, made in own.items():
        said = {" ".join(span.text.split()): query.facet or "" for query in made for span in query.spans}
        said |= labels[paper]
        sentences = PaperMaterial(documents[paper], (), None).sentences
        found = places(documents[paper], sentences)
        labelled = [(place, (said.get(s, ""),)) for place, s in zip(found, sentences, strict=True)]
        kept += facet_queries(paper, made[0].year, labelled, facets)
    return kept


def places(document: Document, sentences: Sequence[str]) -> list[Span | None]:
    """Return the place of each sentence of the abstract in the document; None if it is not found."""
    text = Verbatim(document.text)
    found = [text.find(sentence) for sentence in sentences]
    return [place and document.span(*place, SectionClass.INTRODUCTION) for place in found]
