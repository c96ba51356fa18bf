"""The settings section ``probe``."""

from __future__ import annotations

from pydantic import Field

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


def settings(config: Config) -> ProbeConfig:
    """Return the section ``probe`` of the settings."""
    return config.part("probe", ProbeConfig)
