"""The option ``--recipes``."""

from __future__ import annotations

from scirgen.plugin import SettingOption

RECIPES = SettingOption(
    ["--recipes"],
    "query.recipes",
    several=True,
    metavar="NAMES",
    help="Also make retrieval tasks: recommend,facets,aspects (docs/recipes.md).",
)
