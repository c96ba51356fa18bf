"""Retrieval tasks beside the questions: datasets for a need, papers for a facet, papers for a need of many parts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scirgen import Plugin, Provided, __version__

if TYPE_CHECKING:
    from scirgen_tasks.recipes.base import QueryRecipe, paper_materials

__all__ = ["PLUGIN", "QueryRecipe", "paper_materials"]

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
        Provided("resources", "scirgen-tasks", "scirgen_tasks.options:ROOT"),
    ),
)


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(import_module("scirgen_tasks.recipes.base"), name)
    raise AttributeError(f"module 'scirgen_tasks' has no attribute {name!r}")
