"""The settings section ``query``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from scirgen import Config, Section


class QueryConfig(Section):
    """Retrieval queries in addition to the questions; see docs/recipes.md."""

    recipes: tuple[str, ...] = Field(
        default=(), description="names of recipes: recommend, facets, aspects or a plugin's; empty: none"
    )
    composite: bool = Field(
        default=True, description="aspects: also make a need from two or three papers that share a dataset"
    )
    facets_by: Literal["auto", "model", "rules"] = Field(
        default="auto",
        description="facets: who labels an abstract's sentences: a call for each abstract, or the extracted statements "
        "and rules. auto: the model if its prompts are the standard ones",
    )
    require_review: bool = Field(
        default=True,
        description="aspects: grade only needs that a person has kept",
        json_schema_extra={"fingerprint": False},
    )
    abstracts: Literal["open", "all"] = Field(
        default="open",
        description="include only abstracts whose licence permits redistribution, or all (for your own use)",
        json_schema_extra={"fingerprint": False},
    )
    # Not fingerprinted: the hash of the grades is fingerprinted instead.
    judgements: tuple[str, ...] = Field(
        default=(),
        description="folders of `scirgen benchmark pool --task` whose grades become the tasks' qrels",
        json_schema_extra={"fingerprint": False},
    )


def settings(config: Config) -> QueryConfig:
    """Return the section ``query`` of the settings."""
    return config.part("query", QueryConfig)
