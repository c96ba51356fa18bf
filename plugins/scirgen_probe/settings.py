"""The settings section ``probe``."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from scirgen import Config, Section


class ProbeConfig(Section):
    """Questions without an answer and nuggets; see plugins/scirgen_probe/README.md."""

    unanswerable: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="questions without an answer, as a share of the pairs that a call may write",
    )
    nuggets: bool = Field(default=False, description="write the atomic facts of answers of more than one statement")

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("an empty section does nothing: set probe.unanswerable (a share, 0.1) or probe.nuggets")
        return self


def settings(config: Config) -> ProbeConfig:
    """Return the section ``probe`` of the settings."""
    return config.part("probe", ProbeConfig)
