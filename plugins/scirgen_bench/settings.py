"""The settings section of SePer as published."""

from __future__ import annotations

from pydantic import Field

from scirgen import Section


class SemanticConfig(Section):
    """Section ``semantic``, of the scorers `semantic` and `semantic_hard`."""

    samples: int = Field(default=10, ge=1, description="number of responses to sample with and without the context")
    tokens: int = Field(default=128, ge=1, description="largest number of tokens of a sampled response")
