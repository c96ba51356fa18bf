"""Benchmark results as Markdown tables, for the terminal and for files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scirgen_bench.retrieval import BreakdownRow
    from scirgen_bench.tasks.evaluate import TaskRow

_PATH = re.compile(r"(?<![^:+])/(?:[^/+]+/){2,}[^/+]+/?")
SHOWN = ("R@1", "R@5", "R@20", "R@100", "MRR@100", "NDCG@10", "judged@10")


def markdown(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table, columns padded so that it reads well as plain text too; numbers to three decimals."""
    cells = [[_cell(c) for c in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    numeric = [all(isinstance(r[i], (int, float)) for r in rows) and bool(rows) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = (c.rjust(w) if n else c.ljust(w) for c, w, n in zip(row, widths, numeric, strict=True))
        return "| " + " | ".join(padded) + " |"

    rule = (
        "|"
        + "|".join(("-" * (w + 1) + ":") if n else "-" * (w + 2) for w, n in zip(widths, numeric, strict=True))
        + "|"
    )
    return "\n".join([line(cells[0]), rule, *(line(row) for row in cells[1:])])


def retrieval_table(rows: Sequence[Mapping[str, object]]) -> str:
    """Return one line for each retriever and setting, with the interval of MRR@100."""
    body = []
    for row in rows:
        interval = row.get("interval")
        limits = interval.get("MRR@100") if isinstance(interval, Mapping) else None
        body.append(
            [
                row["setting"],
                shown_spec(str(row["retriever"])),
                *(row[m] for m in SHOWN),
                "{:.3f}-{:.3f}".format(*limits) if limits else "-",
                row["seconds"],
            ]
        )
    return markdown(["setting", "retriever", *SHOWN, "MRR@100 95 %", "s"], body)


def breakdown_table(rows: Sequence[BreakdownRow], by: str) -> str:
    """Return one line for each setting, retriever and value of ``by``."""
    body = [
        [r.setting, shown_spec(r.retriever), r.value, r.queries, *(r.metrics[m] for m in SHOWN)]
        for r in rows
        if r.by == by
    ]
    return markdown(["setting", "retriever", by, "questions", *SHOWN], body)


def task_table(rows: Sequence[TaskRow]) -> str:
    """Print one line for each retriever and group of queries; percent with four decimals, as in published tables. A
    dash means that a metric applies to no query."""
    if not rows:
        return ""
    names = list(dict.fromkeys(name for r in rows for name in r.metrics))
    shown = ([f"{100 * r.metrics[m]:.4f}" if m in r.metrics else "-" for m in names] for r in rows)
    body = [[shown_spec(r.retriever), r.group, r.queries, *cells] for r, cells in zip(rows, shown, strict=True)]
    return markdown(["retriever", "group", "queries", *names], body)


def shown_spec(spec: str) -> str:
    """Return a retriever's name in a table: only the last two parts of a folder's path."""
    return _PATH.sub(lambda found: "…/" + "/".join(found[0].rstrip("/").split("/")[-2:]), spec)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return str(value).replace("|", "\\|").replace("\n", " ")


def told_apart(paths: Sequence[Path], names: Sequence[str]) -> list[str]:
    """Return a name for each path; the path itself if another has the same name."""
    return [n if names.count(n) == 1 else str(p) for p, n in zip(paths, names, strict=True)]
