"""Compares benchmark results of several runs; only results on the same questions share a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from scirgen import InputError
from scirgen.plugin import read_json
from scirgen_bench.qa import METRICS, QAReport
from scirgen_bench.retrieval import RetrievalReport
from scirgen_bench.rowfiles import first_problem
from scirgen_bench.tables import SHOWN, markdown, shown_spec, told_apart

_HINT = "Give files that this version wrote with: scirgen benchmark retrieval|qa ... --json FILE"
_QA = METRICS[:4]
_RANKED_BY = ("MRR@100", "entailed")

Line = tuple[str, tuple[float | None, ...]]
"""A system, and its values in the order of the table's metrics; None: not measured."""


def leaderboard(results: Sequence[Path]) -> str:
    """Compare results that were measured in the same way on the same questions, best first, as Markdown.

    Raises:
        InputError: a file is missing or holds no benchmark result.
    """
    tables: dict[tuple[str, tuple[str, ...]], dict[Line, list[str]]] = {}
    for file, run in zip(results, told_apart(results, [f.stem for f in results]), strict=True):
        report = _read(file)
        for title, metrics, line in _retrieval(report) if isinstance(report, RetrievalReport) else _qa(report):
            # A baseline has the same result in every run, and so one line that names all of them.
            tables.setdefault((title, metrics), {}).setdefault(line, []).append(run)
    ordered = sorted(tables.items(), key=lambda t: ("entailed" in t[0][1], t[0][0]))
    return "\n".join(["# Leaderboard\n", *(_table(title, metrics, lines) for (title, metrics), lines in ordered)])


def _table(title: str, metrics: tuple[str, ...], lines: dict[Line, list[str]]) -> str:
    by = next(metrics.index(m) for m in _RANKED_BY if m in metrics)

    def place(line: Line) -> tuple[bool, float, str]:
        value = line[1][by]
        return value is None, -(value or 0.0), line[0]

    rows = [
        [_plain(system), _plain(", ".join(lines[system, values])), *("-" if v is None else v for v in values)]
        for system, values in sorted(lines, key=place)
    ]
    return f"## {_plain(title)}\n\n{markdown(['system', 'run', *metrics], rows)}\n"


def _plain(text: str) -> str:
    """Escape HTML, which Markdown passes through."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\n", " ")


def _read(file: Path) -> RetrievalReport | QAReport:
    value = read_json(file, hint=_HINT)
    kind = QAReport if isinstance(value, dict) and "answers" in value else RetrievalReport
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise InputError(f"{file} is not a benchmark result: {first_problem(error)}", hint=_HINT) from error


def _retrieval(report: RetrievalReport) -> Iterator[tuple[str, tuple[str, ...], Line]]:
    for row in report.rows:
        title = (
            f"Retrieval: {report.release}, {report.split}, {row.get('setting', '')}; {report.queries:,} questions, "
            f"{report.documents:,} documents, {report.judgements} judgements"
        )
        values = tuple(v if isinstance(v := row.get(m), (int, float)) else None for m in SHOWN)
        yield title, SHOWN, (shown_spec(str(row.get("retriever", ""))), values)


def _qa(report: QAReport) -> Iterator[tuple[str, tuple[str, ...], Line]]:
    for row in report.rows:
        title = (
            f"Question answering: {report.release}, {report.split}; {row.questions:,} questions, "
            f"entailment by {report.entailment} at {report.threshold:g} and above"
        )
        yield (
            title,
            (*_QA, "failed"),
            (f"{shown_spec(row.system)}, k = {row.k}", (*map(row.metrics.get, _QA), row.failed)),
        )
