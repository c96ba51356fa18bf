"""The option ``--recipes``, and the folder with this wing's prompts and taxonomies."""

from __future__ import annotations

from pathlib import Path

from scirgen.cli.options import SettingOption

ROOT = Path(__file__).parent
RECIPES = SettingOption(
    ["--recipes"],
    "query.recipes",
    several=True,
    metavar="NAMES",
    help="Also make retrieval tasks: recommend,facets,aspects (docs/recipes.md).",
)
