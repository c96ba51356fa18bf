"""A query recipe: turns a paper into retrieval queries, here its title as one query for the datasets that it uses."""

from scirgen import StageContext, StageResult, WorkItem
from scirgen_tasks import Query, QueryRecipe, paper_materials


class TitleRecipe(QueryRecipe):
    """``titles``: one query a paper, without a model call; the task in the release has the recipe's name."""

    name = "titles"

    async def write(self, item: WorkItem, ctx: StageContext) -> StageResult:
        (paper,) = paper_materials(item)
        query = Query(
            id=Query.make_id(self.name, "sentence", paper.paper_id, paper.document.title),
            recipe=self.name,
            form="sentence",
            text=paper.document.title,
            paper_id=paper.paper_id,
            year=paper.year,
            provenance=ctx.provenance(),
        )
        return StageResult((query,))
