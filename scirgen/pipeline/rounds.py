"""Plans later rounds from the state of the run; `scirgen.release_files.quotas` does the arithmetic."""

from __future__ import annotations

from scirgen.pipeline.views.view import StoreView
from scirgen.release_files.quota_progress import progress
from scirgen.release_files.quotas import plan_round
from scirgen.stages.base import StageContext


def next_round(view: StoreView, ctx: StageContext, round: int) -> dict[str, list[dict[str, object]]]:
    """Dataset id -> the cells assigned to it in ``round``; empty if the target is met or cannot be met."""
    config = ctx.config.generate
    if config.quota.total is None or round > config.quota.max_rounds:
        return {}
    kinds = ctx.taxonomies.wanted_types(config.types, ctx.pack, ctx.config.language)
    reached = progress(view, ctx.taxonomies, before=round, distinct=True)
    return plan_round(config.quota, kinds, reached, round)
