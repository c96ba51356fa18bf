"""``facets``: queries for papers that resemble a paper in one facet, such as its method (CSFCube, NeurIPS 2021). It
needs no model call.

The sentences of a facet are those of the abstract that extraction labelled with one of the facet's aspects.
"""

from __future__ import annotations

from scirgen.core.records import Query, Rejection, Span
from scirgen.core.text.textmatch import normalise
from scirgen.stages.base import StageContext, StageResult, WorkItem
from scirgen.stages.query.base import QueryRecipe, paper_materials, rejected


class FacetsRecipe(QueryRecipe):
    """One query a facet that the abstract has sentences of."""

    name = "facets"
    taxonomies = ("facets",)

    async def write(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Up to three queries."""
        (paper,) = paper_materials(item)
        if not paper.abstract:
            return StageResult(rejections=(rejected(ctx, "no_abstract", "the paper has no abstract", "paper"),))
        abstract = normalise(paper.abstract)
        inside = [a for a in paper.aspects if normalise(a.span.text) in abstract]
        queries: list[Query] = []
        rejections: list[Rejection] = []
        for facet in ctx.taxonomies.facets.facets:
            spans: dict[str, Span] = {}
            for aspect in inside:
                if aspect.category in facet.aspects:
                    spans.setdefault(" ".join(aspect.span.text.split()), aspect.span)
            if not spans:
                reason = f"no sentence of the abstract is labelled {', '.join(facet.aspects)}"
                rejections.append(rejected(ctx, "no_facet", reason, facet.id))
                continue
            text = " ".join(spans)
            queries.append(
                Query(
                    id=Query.make_id(self.name, "facet", paper.paper_id, f"{facet.id}: {text}"),
                    recipe=self.name,
                    form="facet",
                    text=text,
                    paper_id=paper.paper_id,
                    facet=facet.id,
                    spans=tuple(spans.values()),
                    year=paper.year,
                    provenance=ctx.provenance(),
                )
            )
        return StageResult(tuple(queries), tuple(rejections))
