"""Stage `generate` for small models."""

from __future__ import annotations

from typing import ClassVar

from scirgen.stages.generate.stage import GenerateStage


class SmallGenerateStage(GenerateStage):
    """The stage with the strategy that chooses evidence by rule."""

    writer: ClassVar[str] = "evidence"
