"""Tables of ``scirgen benchmark rag``."""

from __future__ import annotations

from collections.abc import Sequence

from scirgen_bench.rag.evaluate import FOUND, SAID, SystemFigures
from scirgen_bench.tables import markdown


def systems_table(rows: Sequence[SystemFigures]) -> str:
    """One line for each system, with the intervals of recall and IoU."""
    shown = _shown(rows)
    header = ["system", "questions", "chunks", "aligned", *shown, "recall 95 %", "IoU 95 %"]
    body = [
        [r.system, r.questions, r.chunks, "-" if r.aligned is None else r.aligned, *_cells(r, shown),
         _interval(r, "recall"), _interval(r, "IoU")]
        for r in rows
    ]  # fmt: skip
    return markdown(header, body)


def cells_table(cells: Sequence[SystemFigures], by: str) -> str:
    """One line for each value of ``by`` and system."""
    chosen = sorted((c for c in cells if c.by == by), key=lambda c: c.value)
    shown = _shown(chosen)
    return markdown(
        [by, "system", "questions", *shown], [[c.value, c.system, c.questions, *_cells(c, shown)] for c in chosen]
    )


def _shown(rows: Sequence[SystemFigures]) -> list[str]:
    return [name for name in (*FOUND, *SAID) if any(name in r.metrics for r in rows)]


def _cells(row: SystemFigures, shown: Sequence[str]) -> list[object]:
    return [row.metrics.get(name, "-") for name in shown]


def _interval(row: SystemFigures, name: str) -> str:
    return "{:.3f}-{:.3f}".format(*row.intervals[name]) if name in row.intervals else "-"
