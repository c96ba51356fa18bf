"""Compares benchmark results of several runs: leaderboard.md and leaderboard.html (one file, no script, no network).

Only results on the same questions share a table. `retrieval` and `qa` do the measuring.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import jinja2
from pydantic import ValidationError

from scirgen.core.errors import InputError, StoreError
from scirgen.core.files.jsonl import first_problem, read_json
from scirgen_bench.metrics import POOL_NDCG
from scirgen_bench.qa import QAReport
from scirgen_bench.retrieval import RetrievalReport
from scirgen_bench.tables import SHOWN, markdown, shown_spec, told_apart

_HINT = "Give files written by: scirgen benchmark retrieval|qa ... --json FILE"
_QA = {"accuracy": "entailed", "rouge_l": "ROUGE-L (long)", "exact": "exact (short)", "number": "number (short)"}
_RANKED_BY = {"retrieval": "MRR@100", "qa": "entailed"}


@dataclass(frozen=True)
class Entry:
    """One line: the system, the runs (files) it is in, and its values in the order of the table's metrics; None: not
    measured."""

    system: str
    runs: tuple[str, ...]
    values: tuple[float | None, ...]
    failed: int = 0


@dataclass(frozen=True)
class Board:
    """Results on the same questions, measured in the same way; best first."""

    kind: str
    title: str
    ranked_by: str
    metrics: tuple[str, ...]
    entries: tuple[Entry, ...]

    def best(self, column: int) -> float | None:
        """The highest value of a metric, which is marked; None if all values are equal."""
        values = [v for e in self.entries if (v := e.values[column]) is not None]
        return max(values) if len(set(values)) > 1 else None


def boards(results: Sequence[Path]) -> list[Board]:
    """Read results, and group those that can be compared.

    Raises:
        InputError: a file is missing or holds no benchmark result.
    """
    found: dict[tuple[str, str], list[Entry]] = {}
    for file, name in zip(results, told_apart(results, [f.stem for f in results]), strict=True):
        report = _read(file)
        lines = _retrieval(report, name) if isinstance(report, RetrievalReport) else _qa(report, name)
        kind = "retrieval" if isinstance(report, RetrievalReport) else "qa"
        for title, entry in lines:
            _add(found.setdefault((kind, title), []), entry)
    return [
        _board(kind, title, entries)
        for (kind, title), entries in sorted(found.items(), key=lambda f: (f[0][0] == "qa", f[0][1]))
    ]


def write_leaderboard(results: Sequence[Path], out: Path) -> tuple[Path, Path]:
    """Write ``out/leaderboard.md`` and ``out/leaderboard.html``.

    Returns:
        The paths of both.

    Raises:
        InputError: a file is missing or holds no benchmark result.
        StoreError: the folder cannot be written.
    """
    found = boards(results)
    page = (files("scirgen_bench") / "page" / "leaderboard.html.j2").read_text("utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    try:
        out.mkdir(parents=True, exist_ok=True)
        text, html = out / "leaderboard.md", out / "leaderboard.html"
        text.write_text(as_markdown(found), encoding="utf-8")
        html.write_text(environment.from_string(page).render(boards=found), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{out} cannot be written: {error}", hint="Choose another folder with --out.") from error
    return text, html


def as_markdown(found: Sequence[Board]) -> str:
    """All tables as Markdown; HTML in names is escaped, since Markdown passes it through."""
    parts = ["# Leaderboard\n"]
    for board in found:
        rows = [
            [
                _plain(e.system),
                _plain(", ".join(e.runs)),
                *("-" if v is None else v for v in e.values),
                *_failed(board, e),
            ]
            for e in board.entries
        ]
        header = ["system", "run", *board.metrics, *(["failed"] if board.kind == "qa" else [])]
        parts.append(f"## {_plain(board.title)}\n\n{markdown(header, rows)}\n")
    return "\n".join(parts)


def _failed(board: Board, entry: Entry) -> list[int]:
    return [entry.failed] if board.kind == "qa" else []


def _plain(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\n", " ")


def _read(file: Path) -> RetrievalReport | QAReport:
    value = read_json(file, hint=_HINT)
    kind = QAReport if isinstance(value, dict) and "answers" in value else RetrievalReport
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise InputError(f"{file} is not a benchmark result: {first_problem(error)}", hint=_HINT) from error


def _retrieval(report: RetrievalReport, run: str) -> Iterator[tuple[str, Entry]]:
    columns = (*SHOWN, *([POOL_NDCG] if report.judgements == "graded" else []))
    for row in report.rows:
        title = (
            f"Retrieval: {report.release}, {report.split}, {row.get('setting', '')}; {report.queries:,} questions, "
            f"{report.documents:,} documents, {report.judgements} judgements"
        )
        yield title, Entry(shown_spec(str(row.get("retriever", ""))), (run,), tuple(_number(row, m) for m in columns))


def _qa(report: QAReport, run: str) -> Iterator[tuple[str, Entry]]:
    for row in report.rows:
        title = (
            f"Question answering: {report.release}, {report.split}; {row.questions:,} questions, "
            f"entailment by {report.entailment} at {report.threshold:g} and above"
        )
        values = tuple(getattr(row, name) for name in _QA)
        yield title, Entry(f"{shown_spec(row.system)}, k = {row.k}", (run,), values, row.failed)


def _add(entries: list[Entry], entry: Entry) -> None:
    """Baselines have the same result in every run, so they get one line that names all runs."""
    for i, known in enumerate(entries):
        if (known.system, known.values, known.failed) == (entry.system, entry.values, entry.failed):
            entries[i] = Entry(known.system, (*known.runs, *entry.runs), known.values, known.failed)
            return
    entries.append(entry)


def _board(kind: str, title: str, entries: Sequence[Entry]) -> Board:
    metrics = (*SHOWN, POOL_NDCG)[: len(entries[0].values)] if kind == "retrieval" else tuple(_QA.values())
    by = metrics.index(_RANKED_BY[kind])

    def place(entry: Entry) -> tuple[bool, float, str]:
        value = entry.values[by]
        return value is None, -(value or 0.0), entry.system

    return Board(kind, title, _RANKED_BY[kind], metrics, tuple(sorted(entries, key=place)))


def _number(row: Mapping[str, object], name: str) -> float | None:
    value = row.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
