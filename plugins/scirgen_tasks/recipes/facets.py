"""``facets``: queries for papers that resemble a paper in one facet, such as its method (CSFCube, NeurIPS 2021). It
needs no model call.

The sentences of a facet are those that `sentence_facets` finds in the abstract.
"""

from __future__ import annotations

from scirgen.core.records import Rejection, SectionClass, Span
from scirgen.core.text.verbatim import Verbatim
from scirgen.stages.base import StageContext, StageResult, WorkItem
from scirgen_bench.tasks.records import Query
from scirgen_bench.tasks.taxonomies import facets_of
from scirgen_tasks.abstract_facets import sentence_facets
from scirgen_tasks.recipes.base import PaperMaterial, QueryRecipe, paper_materials, rejected


class FacetsRecipe(QueryRecipe):
    """One query for each facet of which the abstract has sentences."""

    name = "facets"
    version = 2
    taxonomies = ("facets",)

    async def write(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Up to three queries."""
        (paper,) = paper_materials(item)
        if not paper.abstract:
            return StageResult(rejections=(rejected(ctx, "no_abstract", "the paper has no abstract", "paper"),))
        facets = facets_of(ctx.taxonomies)
        found = sentence_facets(paper.sentences, paper.aspects, facets, paper.document.language)
        spans_of = _spans(paper)
        queries: list[Query] = []
        rejections: list[Rejection] = []
        for facet in facets.facets:
            spans = [span for span, ids in zip(spans_of, found, strict=True) if span and facet.id in ids]
            if not spans:
                reason = f"no sentence of the abstract is labelled {', '.join(facet.aspects)}"
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
                    provenance=ctx.provenance(),
                )
            )
        return StageResult(tuple(queries), tuple(rejections))


def _spans(paper: PaperMaterial) -> list[Span | None]:
    """The place of each sentence of the abstract in the document; None if it is not found."""
    document = paper.document
    text = Verbatim(document.text)
    places = [text.find(sentence) for sentence in paper.sentences]
    return [place and document.span(*place, SectionClass.INTRODUCTION) for place in places]
