"""The query stage: one item per recipe for each paper that uses a dataset. Without recipes there is nothing to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scirgen import (
    Config,
    Paper,
    Scope,
    Stage,
    StageContext,
    StageResult,
    Step,
    Uses,
    WorkItem,
)
from scirgen.core.corpus.printed import as_printed
from scirgen.core.registry import returned
from scirgen.plugin import Aspect, Document, Link, PluginError, Registry, digest
from scirgen_tasks.recipes.base import STAGE, PaperMaterial, QueryRecipe
from scirgen_tasks.settings import settings

STEP = Step(STAGE, "abstracts + aspects of linked papers", "Query", "(paper, query recipe)", after="verify")


class QueryStage(Stage):
    """Queries do not depend on a dataset, so all datasets that a paper uses share its items.

    They use the extracted statements, since the verified ones differ between datasets and would need an item for each.
    """

    name = STAGE

    def uses(self, config: Config) -> Uses:
        """Return the same for all recipes: each item's salt accounts for their prompts and taxonomies."""
        chosen = settings(config)
        asks = bool(set(chosen.recipes) - ({"facets"} if chosen.facets_by == "rules" else set()))
        return Uses(config=(STAGE,), roles=("generator",) if asks else ())

    def check(self, ctx: StageContext) -> None:
        """Open the run's recipes and what they read, before any paper costs a call.

        Raises:
            PluginError: an unknown recipe.
            ResourceError: a taxonomy that a recipe reads is damaged, or names something that it does not define.
        """
        for recipe in chosen_recipes(settings(ctx.config).recipes, ctx.registry):
            recipe.check(ctx)

    def definitions(self, ctx: StageContext) -> str:
        """Return the hash of the chosen recipes' code, prompts and taxonomies."""
        return digest([r.definitions(ctx) for r in chosen_recipes(settings(ctx.config).recipes, ctx.registry)])

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Yield one item for each recipe and paper."""
        recipes = chosen_recipes(settings(ctx.config).recipes, ctx.registry)
        if not recipes:
            return
        papers = _papers(scope)
        for recipe in recipes:
            yield from recipe.items(papers, scope, ctx)

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Return the queries that the recipe writes for one item."""
        (recipe,) = chosen_recipes((str(item.parameters["recipe"]),), ctx.registry)
        return returned(recipe.write, await recipe.write(item, ctx), StageResult, "a scirgen.StageResult")


def chosen_recipes(names: Sequence[str], registry: Registry) -> list[QueryRecipe]:
    """Return the recipes of these names.

    Raises:
        PluginError: an unknown name ("did you mean"), or the registered object is not a `QueryRecipe`.
    """
    found: list[QueryRecipe] = []
    for name in dict.fromkeys(names):
        made = registry.get("query_recipe", name)
        if not (isinstance(made, type) and issubclass(made, QueryRecipe)):
            raise PluginError(f"query recipe {name!r} is not a QueryRecipe subclass")
        found.append(made())
    return found


def _papers(scope: Scope) -> list[PaperMaterial]:
    """Return the papers that the dataset is used in, by id."""
    documents = {d.paper_id: d for d in scope.outputs("parse", Document)}
    years = {p.id: as_printed(p, documents.get(p.id)).year for p in scope.outputs("collect", Paper)}
    aspects = sorted(scope.outputs("extract", Aspect), key=lambda a: (a.span.start, a.category))
    used = sorted({link.paper_id for link in scope.outputs("match", Link) if link.used})
    return [
        PaperMaterial(documents[p], tuple(a for a in aspects if a.paper_id == p), years.get(p))
        for p in used
        if p in documents
    ]
