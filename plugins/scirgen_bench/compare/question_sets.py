"""A question set as `analyze` compares it: questions with types, levels and splits. `scirgen.release_files.qafiles`
reads the files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scirgen.core.errors import InputError
from scirgen.release_files.qafiles import QARow, open_qa, type_key
from scirgen.release_files.release import Release


@dataclass(frozen=True)
class Asked:
    """One question; a field that the set does not have is empty."""

    question: str
    answer: str = ""
    question_type: str = ""
    bloom: str = ""
    split: str = ""


@dataclass(frozen=True)
class QuestionSet:
    """A set with its name and kind. ``release`` is set if it is a scirgen release, whose papers and aspects can be
    compared."""

    name: str
    kind: str
    questions: list[Asked]
    release: Release | None = None


def read_question_set(path: Path) -> QuestionSet:
    """Read a set: a release or run, ScIRGen-Geo, a BEIR folder, or JSON Lines.

    Raises:
        InputError: the path holds no readable set, or a row has no question; a malformed line is named.
    """
    file = open_qa(path)
    release = Release(path) if file.kind == "scirgen" else None
    name = release.info.name if release else path.name.removesuffix(".gz").removesuffix(".jsonl")
    return QuestionSet(name, file.kind, [_asked(row, path) for row in file.rows()], release)


def _asked(row: QARow, path: Path) -> Asked:
    if not row.question.strip():
        raise InputError(f"{path}: the row {row.id!r} has no question", hint="Fix or remove it.")
    return Asked(row.question, row.answer or "", type_key(row.question_type), row.level or "", row.split or "")
