"""The option ``--recipes``."""

from __future__ import annotations

from scirgen.cli.options import SettingOption

RECIPES = SettingOption(
    ["--recipes"],
    "query.recipes",
    several=True,
    metavar="NAMES",
    help="Also make retrieval tasks: recommend,facets,aspects (docs/recipes.md).",
)
