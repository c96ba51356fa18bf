"""Retrieval tasks in addition to the questions: datasets for a need, papers for a facet, papers for a need of many
parts."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from scirgen import Plugin, Provided, __version__

if TYPE_CHECKING:
    from scirgen_bench.tasks.records import Query
    from scirgen_tasks.recipes.base import QueryRecipe, paper_materials

__all__ = ["PLUGIN", "Query", "QueryRecipe", "paper_materials"]

ROOT = Path(__file__).parent
_RECIPES = {
    "recommend": "datasets for a need (DataFinder)",
    "facets": "papers similar in a facet (CSFCube)",
    "aspects": "papers for a need of many parts (DORIS-MAE)",
}
PLUGIN = Plugin(
    "scirgen-tasks",
    __version__,
    (
        Provided("settings", "query", "scirgen_tasks.settings:QueryConfig"),
        Provided("stage", "query", "scirgen_tasks.recipes.stage:QueryStage"),
        Provided("step", "query", "scirgen_tasks.recipes.stage:STEP", "retrieval queries from papers"),
        Provided("release_part", "query", "scirgen_tasks.run_tasks:QueryPart", "tasks and their abstracts"),
        Provided("kind", "query_recipe", "scirgen_tasks.recipes.base:CONTRACT"),
        Provided("command", "generate --recipes", "scirgen_tasks.options:RECIPES"),
        Provided("command", "estimate --recipes", "scirgen_tasks.options:RECIPES"),
        *(
            Provided("query_recipe", name, f"scirgen_tasks.recipes.{name}:{name.capitalize()}Recipe", about)
            for name, about in _RECIPES.items()
        ),
        Provided(
            "match_strategy", "datafinder", "scirgen_tasks.datafinder:DataFinderStrategy", "cited, and named twice"
        ),
        Provided("codes", "scirgen-tasks", "scirgen_tasks.codes:CODES"),
        Provided("resources", "scirgen-tasks", "scirgen_tasks:ROOT"),
    ),
)


def __getattr__(name: str) -> object:
    if name in __all__:
        module = "scirgen_bench.tasks.records" if name == "Query" else "scirgen_tasks.recipes.base"
        return getattr(import_module(module), name)
    raise AttributeError(f"module 'scirgen_tasks' has no attribute {name!r}")
