"""Benchmark results as Markdown tables, for the terminal and for files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scirgen_bench.metrics import POOL_NDCG

if TYPE_CHECKING:
    from scirgen_bench.qa import Cell, SystemRow
    from scirgen_bench.retrieval import BreakdownRow
    from scirgen_bench.tasks.evaluate import TaskRow

_PATH = re.compile(r"(?<![^:+])/(?:[^/+]+/){2,}[^/+]+/?")
SHOWN = ("R@1", "R@5", "R@20", "R@100", "MRR@100", "NDCG@10", "judged@10")


def markdown(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table, columns padded so that it reads well as plain text too; numbers to three decimals."""
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
    """One line for each retriever and setting, with the interval of MRR@100."""
    shown = [*SHOWN, *([POOL_NDCG] if rows and all(POOL_NDCG in r for r in rows) else [])]
    body = []
    for row in rows:
        interval = row.get("interval")
        low, high = interval["MRR@100"] if isinstance(interval, Mapping) else (0.0, 0.0)
        body.append(
            [
                row["setting"],
                shown_spec(str(row["retriever"])),
                *(row[m] for m in shown),
                f"{low:.3f}-{high:.3f}",
                row["seconds"],
            ]
        )
    return markdown(["setting", "retriever", *shown, "MRR@100 95 %", "s"], body)


def breakdown_table(rows: Sequence[BreakdownRow], by: str) -> str:
    """One line for each setting, retriever and value of ``by``."""
    body = [
        [r.setting, shown_spec(r.retriever), r.value, r.queries, *(r.metrics[m] for m in SHOWN)]
        for r in rows
        if r.by == by
    ]
    return markdown(["setting", "retriever", by, "questions", *SHOWN], body)


def task_table(rows: Sequence[TaskRow]) -> str:
    """Print one line for each retriever and group of queries; percent with four decimals, as in published tables. A
    dash stands where a metric applies to no query."""
    if not rows:
        return ""
    names = list(dict.fromkeys(name for r in rows for name in r.metrics))
    shown = ([f"{100 * r.metrics[m]:.4f}" if m in r.metrics else "-" for m in names] for r in rows)
    body = [[shown_spec(r.retriever), r.group, r.queries, *cells] for r, cells in zip(rows, shown, strict=True)]
    return markdown(["retriever", "group", "queries", *names], body)


def shown_spec(spec: str) -> str:
    """A retriever's name in a table: only the last two parts of a folder's path."""
    return _PATH.sub(lambda found: "…/" + "/".join(found[0].rstrip("/").split("/")[-2:]), spec)


def qa_table(rows: Sequence[SystemRow]) -> str:
    """One line for each system and number of passages; a dash if a metric applies to no question."""
    body = []
    for r in rows:
        low, high = r.interval or (0.0, 0.0)
        shown = ["-" if v is None else v for v in (r.accuracy, r.rouge_l, r.exact, r.number)]
        interval = f"{low:.3f}-{high:.3f}" if r.interval else "-"
        body.append([shown_spec(r.system), r.k, r.questions, r.failed, shown[0], interval, *shown[1:]])
    header = [
        "system", "k", "questions", "failed", "entailed", "95 %", "ROUGE-L (long)", "exact (short)", "number (short)",
    ]  # fmt: skip
    return markdown(header, body)


def honesty_table(rows: Sequence[SystemRow]) -> str:
    """One line for each system: abstention, and nuggets; empty if nothing of it was measured."""
    names = (
        "answered_unanswerable", "refused_answerable", "nuggets_strict", "nuggets_lenient", "nuggets_contradicted",
    )  # fmt: skip
    values = [[getattr(r, name) for name in names] for r in rows]
    if all(v is None for line in values for v in line):
        return ""
    body = [
        [shown_spec(r.system), r.k, *("-" if v is None else v for v in line)]
        for r, line in zip(rows, values, strict=True)
    ]
    header = ["unanswerable answered", "answerable refused", "nuggets strict", "lenient", "contradicted"]
    return markdown(["system", "k", *header], body)


def qa_cells_table(cells: Sequence[Cell], by: str) -> str:
    """One line for each value of ``by``, system and number of passages."""
    body = []
    for cell in (c for c in cells if c.by == by):
        r = cell.row
        interval = f"{r.interval[0]:.3f}-{r.interval[1]:.3f}" if r.interval else "-"
        shown = ["-" if v is None else v for v in (r.accuracy, r.rouge_l, r.exact, r.number)]
        body.append([cell.value, shown_spec(r.system), r.k, r.questions, shown[0], interval, *shown[1:]])
    body.sort(key=lambda line: str(line[0]))
    header = [by, "system", "k", "questions", "entailed", "95 %", "ROUGE-L (long)", "exact (short)", "number (short)"]
    return markdown(header, body)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return str(value).replace("|", "\\|").replace("\n", " ")
