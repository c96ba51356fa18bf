"""Profiles a question set: ScIRGen's tables 3a, 3b and 3c, and its figures 4 and 5, counted as in the report of a run.

A word is a maximal run of characters that are not white space (``str.split``), as in `wc -w`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scirgen import InputError, Release
from scirgen.plugin import QARow, open_qa
from scirgen.release_files.judged import label_note
from scirgen.report.counting import aspect_rows, cross, evenness, histogram, mean, type_rows
from scirgen.report.data import LEVELS
from scirgen_bench.rowfiles import type_key


@dataclass(frozen=True)
class Asked:
    """One question; a field that the set does not have is empty."""

    question: str
    answer: str
    question_type: str
    bloom: str


def profile(path: Path) -> dict[str, Any]:
    """Return all tables of one set, as ``scirgen analyze --json`` writes them.

    Args:
        path: a release or run, ScIRGen-Geo, a BEIR folder, or JSON Lines.

    Raises:
        InputError: the path holds no readable set, or a row has no question; a malformed line is named.
    """
    file = open_qa(path)
    release = Release(path) if file.kind == "scirgen" else None
    asked = [_asked(row, path) for row in file.rows()]
    typed = [a for a in asked if a.question_type]
    levels = Counter(a.bloom for a in asked if a.bloom)
    return {
        "name": release.info.name if release else path.name.removesuffix(".gz").removesuffix(".jsonl"),
        "kind": file.kind,
        "questions": len(asked),
        "labels": _origin(release) if typed or levels else "none",
        "question_words": mean(len(a.question.split()) for a in asked),
        "answer_words": mean(len(a.answer.split()) for a in asked if a.answer),
        "table_3a": [
            {"count": row.rows, **row.model_dump(exclude={"rows", "rejected"})} for row in type_rows(typed, {})
        ],
        "table_3b": _papers(release) if release else None,
        "table_3c": _aspects(release) if release else [],
        "bloom": [
            {"level": level, "count": levels[level], "share": levels[level] / levels.total()}
            for level in (LEVELS if levels else ())
        ],
        "type_by_bloom": cross(typed),
        "evenness": evenness(levels) if levels else None,
    }


def _asked(row: QARow, path: Path) -> Asked:
    if not row.question.strip():
        raise InputError(f"{path}: the row {row.id!r} has no question", hint="Fix or remove it.")
    return Asked(row.question, row.answer or "", type_key(row.question_type), row.level or "")


def _origin(release: Release | None) -> str:
    """Who wrote the types and levels of a set."""
    if release is None or not release.info.models:
        return "as in the set"
    read = [label_note(note) for note in release.info.labels]
    return f"by language models ({', '.join(release.info.models)}); " + ("; ".join(read) or "read by nobody")


def _papers(release: Release) -> dict[str, Any]:
    """Count the datasets by their number of papers."""
    numbers = [len(d.papers) for d in release.corpus()]
    linked = [n for n in numbers if n]
    return {"datasets": len(numbers), "datasets_with_papers": len(linked), "by_number": histogram(linked)}


def _aspects(release: Release) -> list[dict[str, Any]]:
    """Count the statements of each aspect, and their mean words."""
    found = ((a.category, a.dataset_id, a.paper_id, a.text) for a in release.aspects())
    return [{"aspect": r.aspect, "count": r.sentences, "words": r.words_each} for r in aspect_rows(found)]


def shares_side_by_side(profiles: Sequence[Mapping[str, Any]]) -> list[list[object]]:
    """Return figure 4 as rows: level, then each set's share (a dash if the set has no levels)."""
    table = [{r["level"]: r["share"] for r in p["bloom"]} for p in profiles]
    return [[level, *(t.get(level, "-") for t in table)] for level in LEVELS]
