"""Scores systems: how much of the answer spans their chunks contain, and how a model judges their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scirgen import InputError, Release, ReleaseRow
from scirgen.plugin import grouped
from scirgen_bench.honesty import NuggetScore, refused
from scirgen_bench.metrics import Clusters, Figures, too_few
from scirgen_bench.questions import is_answerable
from scirgen_bench.rag.align import WHOLE, Texts, shares, spans_of, squeezed
from scirgen_bench.rag.answers import Given, read_answers
from scirgen_bench.retrieval import DIFFICULTY, TestRow, paired_tests
from scirgen_bench.systems import SystemFigures
from scirgen_bench.tables import told_apart

Values = NDArray[np.float64]

FOUND = ("recall", "precision", "IoU", "all spans")
"""Metrics of the answer spans in the chunks; they need no model."""
SAID = ("entailed", "support", "nuggets strict", "nuggets lenient", "right refusals")
"""Metrics of the answers; nan where nothing was measured."""
_TESTED = ("recall", "IoU", "entailed", "support", "nuggets lenient")
BREAKDOWNS: Mapping[str, Callable[[ReleaseRow], str]] = {
    "question_type": lambda row: row.question_type or row.form,
    "bloom": lambda row: row.bloom or "not tagged",
    "asked": lambda row: row.asked,
    "difficulty": lambda row: DIFFICULTY[row.added().get("hard")],
}


class RagReport(Figures):
    """The output of ``scirgen benchmark rag --json``."""

    release: str
    judge: str = ""
    entailment: str = ""
    rows: list[SystemFigures]
    breakdown: list[SystemFigures]
    tests: list[TestRow]
    notes: list[str]
    questions: list[dict[str, object]]


@dataclass(frozen=True)
class System:
    """A system's answers by question id, and its name."""

    name: str
    given: Mapping[str, Given]


@dataclass(frozen=True)
class Judged:
    """Verdicts of models on one system's answers, by question id.

    Attributes:
        judge: identity of the model that judges support and nuggets; empty without one.
        entailment: identity of the model that judges entailment; empty without one.
        entailed: 1 where the answer entails the reference.
        support: mean over the answer's sentences: 1 if the chunks support all of it, .5 for a part, else 0.
        nuggets: scores of rows with nuggets.
    """

    judge: str = ""
    entailment: str = ""
    entailed: Mapping[str, float] = field(default_factory=dict)
    support: Mapping[str, float] = field(default_factory=dict)
    nuggets: Mapping[str, NuggetScore] = field(default_factory=dict)


def read_systems(files: Sequence[Path]) -> list[System]:
    """Return the systems of some files, each named after its file.

    Raises:
        InputError: a file cannot be read, or has no line.
    """
    names = told_apart(files, [file.name.split(".")[0] for file in files])
    systems = [System(name, read_answers(file)) for name, file in zip(names, files, strict=True)]
    for file, system in zip(files, systems, strict=True):
        if not system.given:
            raise InputError(f"{file} has no answers")
    return systems


def asked_rows(release: Release, systems: Sequence[System]) -> list[ReleaseRow]:
    """Return the questions that any system answers, in the order of the release.

    Raises:
        InputError: an id is not a question of the release.
    """
    ids = {id: system.name for system in systems for id in system.given}
    rows = [row for row in release.rows() if row.id in ids]
    if unknown := sorted(set(ids) - {row.id for row in rows}):
        raise InputError(
            f"{ids[unknown[0]]}: {unknown[0]!r} is not a question of {release.folder}"
            + (f", nor are {len(unknown) - 1} more" if len(unknown) > 1 else ""),
            hint="Take `id` and `question` from test.jsonl (or dev.jsonl, train.jsonl) of the release.",
        )
    return rows


def evaluate_rag(
    release: Release, systems: Sequence[System], rows: Sequence[ReleaseRow], judged: Mapping[str, Judged]
) -> RagReport:
    """Score systems on the same questions; a question that a system leaves out counts as nothing found.

    Args:
        release: an opened release.
        systems: their chunks and answers.
        rows: from `asked_rows`.
        judged: system -> what models say of its answers; empty without a model.
    """
    clusters = Clusters([row.dataset_id for row in rows])
    texts = Texts(_texts(release))
    spans = [spans_of(e.text for e in row.evidence if e.role == "answer") for row in rows]
    lines: list[SystemFigures] = []
    breakdown: list[SystemFigures] = []
    measured: dict[str, dict[str, Values]] = {}
    for system in systems:
        given = [system.given.get(row.id, Given(id=row.id)) for row in rows]
        squeezed_chunks = [[squeezed(chunk.text) for chunk in one.chunks] for one in given]
        table = {
            **_found(spans, squeezed_chunks),
            **_said(rows, given, judged.get(system.name, Judged())),
        }
        measured[system.name] = table
        sizes = np.asarray([len(one.chunks) for one in given], dtype=np.float64)
        letters = sum(len(chunk) for chunks in squeezed_chunks for chunk in chunks)
        held = sum(texts.aligned(chunk) for chunks in squeezed_chunks for chunk in chunks)
        every = np.ones(len(rows), dtype=np.bool_)
        line = _line(system.name, table, sizes, every)
        intervals = clusters.intervals({name: values for name, values in table.items() if name in line.metrics})
        aligned = round(held / letters, 6) if letters else None
        lines.append(line.model_copy(update={"intervals": intervals, "aligned": aligned}))
        breakdown += _cells(system.name, table, sizes, rows)
    first = next(iter(measured.values()))
    tested = [m for m in _TESTED if all(not np.isnan(t[m]).all() for t in measured.values())]
    return RagReport(
        release=release.info.name,
        judge=next((j.judge for j in judged.values() if j.judge), ""),
        entailment=next((j.entailment for j in judged.values() if j.entailment), ""),
        rows=lines,
        breakdown=breakdown,
        tests=paired_tests("rag", measured, tested, clusters),
        notes=_notes(release, systems, rows, spans, lines),
        questions=[
            {"id": row.id, **{name: {m: _plain(v[n]) for m, v in t.items()} for name, t in measured.items()}}
            for n, row in enumerate(rows)
        ] if first else [],
    )  # fmt: skip


def _texts(release: Release) -> Iterator[str]:
    """Return the passages of each source as one text, since a chunk may reach over two of them."""
    held = grouped((p.document_id, f"{p.heading} {p.text}") for p in release.passages())
    return map(" ".join, held.values())


def _found(spans: Sequence[Sequence[str]], chunks: Sequence[Sequence[str]]) -> dict[str, Values]:
    """Return the value of each metric for each question; nan for a question without answer spans.

    Characters are letters and digits. Precision counts a part of a span once and every chunk whole, so that chunks that
    overlap cost.
    """
    table = {name: np.full(len(spans), np.nan) for name in FOUND}
    for n, (wanted, given) in enumerate(zip(spans, chunks, strict=True)):
        if not wanted:
            continue
        held = shares(wanted, given)
        gold = sum(map(len, wanted))
        common = sum(share * len(span) for share, span in zip(held, wanted, strict=True))
        taken = sum(map(len, given))
        table["recall"][n] = common / gold
        table["precision"][n] = min(1.0, common / taken) if taken else 0.0
        table["IoU"][n] = min(1.0, common / (taken + gold - common)) if taken else 0.0
        table["all spans"][n] = float(all(share >= WHOLE for share in held))
    return table


def _said(rows: Sequence[ReleaseRow], given: Sequence[Given], judged: Judged) -> dict[str, Values]:
    table = {name: np.full(len(rows), np.nan) for name in SAID}
    unanswerable = any(not is_answerable(row) for row in rows)
    for n, (row, one) in enumerate(zip(rows, given, strict=True)):
        if unanswerable and one.answer:
            table["right refusals"][n] = float(refused(one.answer) != is_answerable(row))
        if (value := judged.entailed.get(row.id)) is not None:
            table["entailed"][n] = value
        if (value := judged.support.get(row.id)) is not None:
            table["support"][n] = value
        if (score := judged.nuggets.get(row.id)) is not None:
            table["nuggets strict"][n] = np.nan if score.strict is None else score.strict
            table["nuggets lenient"][n] = score.lenient
    return table


def _line(system: str, table: Mapping[str, Values], sizes: Values, chosen: NDArray[np.bool_]) -> SystemFigures:
    means = {name: values[chosen] for name, values in table.items()}
    return SystemFigures(
        system=system,
        questions=int(chosen.sum()),
        chunks=round(float(sizes[chosen].mean()), 2),
        metrics={name: round(float(np.nanmean(v)), 6) for name, v in means.items() if not np.isnan(v).all()},
    )


def _cells(
    system: str, table: Mapping[str, Values], sizes: Values, rows: Sequence[ReleaseRow]
) -> Iterator[SystemFigures]:
    for by, value_of in BREAKDOWNS.items():
        values = np.asarray([value_of(row) for row in rows])
        for value in sorted(set(values.tolist())):
            line = _line(system, table, sizes, values == value)
            yield line.model_copy(update={"by": by, "value": value})


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)


def _notes(
    release: Release,
    systems: Sequence[System],
    rows: Sequence[ReleaseRow],
    spans: Sequence[Sequence[str]],
    lines: Sequence[SystemFigures],
) -> list[str]:
    notes = list(too_few(len(rows), len({row.dataset_id for row in rows})))
    notes += [
        f"{system.name} leaves out {missing} of {len(rows)} questions: nothing found, for them."
        for system in systems
        if (missing := len(rows) - len(system.given))
    ]
    splits = {row.split for row in rows}
    if others := sum(row.split in splits for row in release.rows()) - len(rows):
        named = ", ".join(sorted(splits))
        notes.append(f"{others} question(s) of the split(s) {named} are in none of the files and do not count.")
    if without := sum(not found for found in spans):
        notes.append(f"{without} question(s) have no answer spans; recall, precision and IoU leave them out.")
    closed = sum(not p.whole for p in release.passages())
    for line in lines:
        if line.aligned is not None and line.aligned < WHOLE:
            why = f" ({closed:,} passages are quotations of papers that are not open)" if closed else ""
            notes.append(
                f"{1 - line.aligned:.0%} of the text of {line.system}'s chunks is not in the release{why}: headings, "
                "references and figures of its own parser, or other documents. It only lowers precision and IoU."
            )
    return notes
