"""Stage `filter` for small models."""

from __future__ import annotations

from typing import ClassVar

from scirgen.stages.filter.stage import FilterStage


class SmallFilterStage(FilterStage):
    """The stage with further gates, which are right more often about pairs of small models (docs/gates.md)."""

    more_gates: ClassVar[tuple[str, ...]] = ("type_question", "unknown_name", "vague")
