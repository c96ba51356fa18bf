"""The settings sections of this wing: the classifiers that `scirgen tagger train` makes, and SePer as published."""

from __future__ import annotations

from pydantic import Field

from scirgen.core.config import Section


class ClassifierConfig(Section):
    """Section ``type_opinion`` (a classifier of types) or ``tag_locally`` (of levels)."""

    # Not fingerprinted: the hash of the folder's content is fingerprinted instead of its path.
    tagger: str = Field(
        description="folder of the classifier (scirgen tagger train)", json_schema_extra={"fingerprint": False}
    )


class SemanticConfig(Section):
    """Section ``semantic``, of the scorers `semantic` and `semantic_hard`."""

    samples: int = Field(default=10, ge=1, description="number of responses to sample with and without the context")
    tokens: int = Field(default=128, ge=1, description="largest number of tokens of a sampled response")
