"""Compares two runs: changed prompts, the funnels of generate, filter and tag, and pairs to read."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from pydantic import BaseModel

from scirgen.core.records import QAPair
from scirgen.pipeline.views.opening import open_view
from scirgen.pipeline.views.view import StoreView

STAGES = ("generate", "filter", "tag")


class Side(BaseModel):
    """One run's figures."""

    outputs: dict[str, int]
    rejected: dict[str, dict[str, int]]
    by_type: dict[str, int]
    by_level: dict[str, int]
    no_share: float | None


class Sample(BaseModel):
    """Accepted pairs of one dataset and type in both runs, "" where a run has none."""

    dataset_id: str
    question_type: str
    a: tuple[str, str]
    b: tuple[str, str]


class Comparison(BaseModel):
    """The result of `compare_runs`."""

    prompts_changed: dict[str, tuple[str | None, str | None]]
    a: Side
    b: Side
    samples: list[Sample]


def compare_runs(a: Path, b: Path, samples: int = 5) -> Comparison:
    """Compare two runs' folders.

    Raises:
        StoreError: a folder has no run.
    """
    with open_view(a) as view_a, open_view(b) as view_b:
        pairs_a, pairs_b = list(view_a.pairs()), list(view_b.pairs())
        return Comparison(
            prompts_changed=_changed(view_a, view_b),
            a=_side(view_a, pairs_a),
            b=_side(view_b, pairs_b),
            samples=_samples(pairs_a, pairs_b, samples),
        )


def _changed(a: StoreView, b: StoreView) -> dict[str, tuple[str | None, str | None]]:
    found_a, found_b = a.manifest().get("prompts", {}), b.manifest().get("prompts", {})
    if not isinstance(found_a, dict) or not isinstance(found_b, dict):
        return {}
    ids = sorted({*found_a, *found_b})
    return {i: (found_a.get(i), found_b.get(i)) for i in ids if found_a.get(i) != found_b.get(i)}


def _side(view: StoreView, pairs: list[QAPair]) -> Side:
    funnel = view.funnel()
    polar = Counter(p.answer.rstrip(".").casefold() for p in pairs if p.question_type == "verification")
    rejected = {
        s: {k.split(":", 1)[1]: n for k, n in sorted(funnel[s].items()) if k.startswith("rejected:")} for s in STAGES
    }
    return Side(
        outputs={s: funnel[s].get("outputs", 0) for s in STAGES},
        rejected=rejected,
        by_type=dict(sorted(Counter(p.question_type for p in pairs).items())),
        by_level=dict(sorted(Counter(p.bloom or "none" for p in pairs).items())),
        no_share=polar["no"] / polar.total() if polar else None,
    )


def _samples(a: list[QAPair], b: list[QAPair], count: int) -> list[Sample]:
    """Cells whose pairs differ first, spread over types, in the order of ids."""
    cells: dict[tuple[str, str], tuple[list[QAPair], list[QAPair]]] = defaultdict(lambda: ([], []))
    for side, pairs in enumerate((a, b)):
        for pair in pairs:
            cells[pair.question_type, pair.dataset_id][side].append(pair)
    turn: Counter[str] = Counter()
    ordered = []
    for (kind, dataset), (mine, theirs) in sorted(cells.items()):
        same = {p.id for p in mine} == {p.id for p in theirs}
        ordered.append((same, turn[kind], kind, dataset, mine, theirs))
        turn[kind] += 1
    ordered.sort(key=lambda row: row[:4])
    return [
        Sample(dataset_id=dataset, question_type=kind, a=_text(mine), b=_text(theirs))
        for _, _, kind, dataset, mine, theirs in ordered[:count]
    ]


def _text(pairs: list[QAPair]) -> tuple[str, str]:
    return (pairs[0].question, pairs[0].answer) if pairs else ("", "")
