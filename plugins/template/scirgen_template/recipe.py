"""A query recipe: turns a paper into retrieval queries. It runs if the settings name it:
``--recipes template_recipe``."""

from __future__ import annotations

from typing import ClassVar

from scirgen_tasks import Query, QueryRecipe, paper_materials

from scirgen import StageContext, StageResult, WorkItem


class TemplateRecipe(QueryRecipe):
    """The paper's title as one query for the datasets that it uses; replace `write` with your own."""

    name: ClassVar[str] = "template_recipe"

    async def write(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Return the queries of one paper."""
        (paper,) = paper_materials(item)
        title = paper.document.title
        key = Query.make_id(self.name, "sentence", paper.paper_id, title)
        query = Query(
            id=key, recipe=self.name, form="sentence", text=title, paper_id=paper.paper_id, year=paper.year,
            provenance=ctx.provenance(),
        )  # fmt: skip
        return StageResult((query,))
