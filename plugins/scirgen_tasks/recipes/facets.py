"""``facets``: queries for papers that resemble a paper in one facet, such as its method (CSFCube, NeurIPS 2021).

A model labels all sentences of the abstract in one call; without one, `sentence_facets` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from scirgen.core.prompts import RenderedPrompt
from scirgen.core.records import Rejection, SectionClass, Span
from scirgen.core.text.verbatim import Verbatim
from scirgen.stages.base import StageContext, StageResult, WorkItem
from scirgen_bench.tasks.records import Query
from scirgen_bench.tasks.taxonomies import facets_of
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
    version = 3
    prompts = ("facets",)
    taxonomies = ("facets",)

    async def write(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Up to three queries."""
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
        spans_of = _spans(paper)
        queries: list[Query] = []
        rejections: list[Rejection] = []
        for facet in facets.facets:
            spans = [span for span, ids in zip(spans_of, found, strict=True) if span and facet.id in ids]
            if not spans:
                reason = f"no sentence of the abstract is labelled {facet.id}"
                rejections.append(rejected(ctx, "no_facet", reason, facet.id))
                continue
            text = " ".join(" ".join(span.text.split()) for span in spans)
            queries.append(
                Query(
                    id=Query.make_id(self.name, "facet", paper.paper_id, f"{facet.id}: {text}"),
                    recipe=self.name,
                    form="facet",
                    text=text,
                    paper_id=paper.paper_id,
                    facet=facet.id,
                    spans=tuple(spans),
                    year=paper.year,
                    provenance=ctx.provenance(prompt, keys),
                )
            )
        return StageResult(tuple(queries), tuple(rejections))

    async def _labels(
        self, paper: PaperMaterial, ctx: StageContext
    ) -> tuple[RenderedPrompt, list[str], tuple[str, ...]]:
        """The model's label of each sentence, with the prompt and the reply's key."""
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
    """`LabelsReply` with one known label for each sentence."""
    label: Any = Literal[(*facets, _OTHER)]
    return create_model(
        "LabelsReply", __base__=LabelsReply, labels=(list[label], Field(min_length=sentences, max_length=sentences))
    )


def _spans(paper: PaperMaterial) -> list[Span | None]:
    """The place of each sentence of the abstract in the document; None if it is not found."""
    document = paper.document
    text = Verbatim(document.text)
    places = [text.find(sentence) for sentence in paper.sentences]
    return [place and document.span(*place, SectionClass.INTRODUCTION) for place in places]
