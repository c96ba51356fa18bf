"""The settings section ``ray``."""

from __future__ import annotations

from pydantic import Field

from scirgen import Section


class RayConfig(Section):
    """Settings of the ``ray`` engine. Not part of a fingerprint: all engines give the same release."""

    address: str | None = Field(default=None, description="address of a running cluster; none: Ray on this machine")
    actors: int | None = Field(
        default=None, ge=1, description="number of actors; none: one for each CPU of the cluster"
    )
    gpus: float = Field(default=0, ge=0, description="GPUs an actor claims; 1 for in-process models on GPUs")
