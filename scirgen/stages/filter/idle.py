"""Finds the gates and scorers of a run that judged nothing, so that the report can warn of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from scirgen.core.records import QAPair, rejected_pair
from scirgen.stages.base import AUTO, JUDGE, RunView, StageContext
from scirgen.stages.filter.deciding import scorer_names
from scirgen.stages.filter.stage import gates_of, silent_gates

_FACTS = {"gates", "after_scores", "without_patterns", "configured", "scorers"}


@dataclass(frozen=True)
class Idle:
    """A gate or scorer that judged no pair, and why."""

    kind: Literal["gate", "scorer"]
    name: str
    reason: str


def filter_in_force(ctx: StageContext) -> dict[str, object]:
    """Return the parts of a run's filter, for its manifest: gates in order, gates without patterns for the language,
    the configured scorers, and the scorers that these stand for."""
    config = ctx.config
    return {
        "gates": [g.code for g in gates_of(ctx)],
        "after_scores": [g.code for g in gates_of(ctx) if g.after_scores],
        "without_patterns": silent_gates(config, ctx.registry, ctx.taxonomies, ctx.pack),
        "configured": list(config.filter.faithfulness),
        "scorers": list(scorer_names(ctx)),
    }


def judged_nothing(view: RunView, manifest: Mapping[str, Any]) -> tuple[Idle, ...]:
    """Return the gates and scorers of a run that judged no pair; empty before the run has candidates.

    This reads every pair of the filter, so only `write_manifest` calls it; others read the manifest.
    """
    used = manifest.get("filter")
    row = view.funnel()["filter"]
    reaching = row["outputs"] + row["rejected"]
    if not reaching or not isinstance(used, Mapping) or not set(used) >= _FACTS:
        return ()  # in a merged run, the parts may have been filtered differently
    found: list[Idle] = []
    scored = sum(row.get(f"rejected:{name}", 0) for name in used["scorers"])
    for code in used["gates"]:
        if code in used["after_scores"]:
            reaching, scored = reaching - scored, 0
        if not reaching:
            found.append(Idle("gate", code, "no pair reached it"))
        elif code in used["without_patterns"]:
            found.append(Idle("gate", code, f"it has no patterns for language {manifest['language']!r}"))
        reaching -= row.get(f"rejected:{code}", 0)
    measured, decided = _scored(view)
    for name in used["scorers"]:
        if not decided[name]:
            nothing = f"it found nothing to measure in {measured[name]} pairs"
            found.append(Idle("scorer", name, nothing if measured[name] else "no pair reached it"))
    if JUDGE not in used["scorers"] and AUTO in used["configured"]:
        found.append(Idle("scorer", JUDGE, "auto uses it only if the generator follows the standard prompts"))
    return tuple(found)


def _scored(view: RunView) -> tuple[Counter[str], Counter[str]]:
    """Scorer -> number of pairs with its score, and scorer -> number of pairs that it could measure."""
    measured: Counter[str] = Counter()
    decided: Counter[str] = Counter()
    rejected = (rejected_pair(r) for r in view.rejections("filter") if r.score is not None)
    for pairs in (view.records("filter", QAPair), rejected):
        for pair in pairs:
            if pair is not None:
                measured.update(s.name for s in pair.scores)
                decided.update(s.name for s in pair.scores if not s.abstained)
    return measured, decided
