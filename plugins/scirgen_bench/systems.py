"""The figures of systems that answer questions, and their table: `benchmark qa` and `benchmark rag`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from scirgen_bench.metrics import Figures
from scirgen_bench.tables import markdown, shown_spec

_FACTS: Final = ("k", "questions", "failed", "chunks", "aligned")
_WITH_INTERVAL: Final = ("recall", "IoU", "entailed")


class SystemFigures(Figures):
    """One line: a system's means over questions, or over those with a value of ``by``; a metric that applies to none is
    missing.

    Attributes:
        k: number of passages that it was given.
        failed: questions without an answer.
        unjudged: answers that the entailment model could not read (too long for its window).
        chunks: mean number of chunks that it found.
        aligned: share of the chunks' letters that stand in the release's texts.
        intervals: metric -> 95 % bootstrap interval, which redraws datasets.
    """

    system: str
    by: str = ""
    value: str = ""
    k: int | None = None
    questions: int
    failed: int | None = None
    unjudged: int = 0
    chunks: float | None = None
    metrics: dict[str, float]
    intervals: dict[str, tuple[float, float]] = Field(default_factory=dict)
    aligned: float | None = None


def systems_table(rows: Sequence[SystemFigures], metrics: Sequence[str], by: str = "") -> str:
    """Return one line for each system, or for each value of ``by`` and system, with its metrics, in the order given."""
    lines = sorted((r for r in rows if r.by == by), key=lambda r: r.value)
    facts = [f for f in _FACTS if any(getattr(r, f) is not None for r in lines)]
    shown = [m for m in metrics if any(m in r.metrics for r in lines)]
    sure = [m for m in _WITH_INTERVAL if any(m in r.intervals for r in lines)]
    header = [*([by] if by else ()), "system", *facts, *shown, *(f"{m} 95 %" for m in sure)]
    body = [
        [
            *([r.value] if by else ()), shown_spec(r.system),
            *("-" if (v := getattr(r, f)) is None else v for f in facts),
            *(r.metrics.get(m, "-") for m in shown),
            *("{:.3f}-{:.3f}".format(*r.intervals[m]) if m in r.intervals else "-" for m in sure),
        ]
        for r in lines
    ]  # fmt: skip
    return markdown(header, body)
