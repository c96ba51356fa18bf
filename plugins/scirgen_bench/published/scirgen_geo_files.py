"""ScIRGen-Geo's records as published: their files, their splits, and the questions in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scirgen import InputError
from scirgen.plugin import SPLITS, read_objects

HINT: Final = (
    "SRC is a folder of ScIRGen-Geo's JSON files (flat, or in full/, train/, dev/, test/), of "
    "train|dev|test.jsonl[.gz], or a "
    "records.jsonl[.gz]."
)
_SPLIT_NAMES = {**{s: s for s in SPLITS}, "validation": "dev", "valid": "dev", "val": "dev"}
_LEVEL = re.compile(r"\bC[1-6]\b")

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Question:
    """A published question; ``kind`` is the type as the record spells it."""

    kind: str
    question: str
    answer: str
    level: str | None


def is_record(record: Mapping[str, object]) -> bool:
    """Check whether an object is a record of ScIRGen-Geo."""
    context = record.get("context")
    return isinstance(record.get("query"), Mapping) and isinstance(context, Mapping) and "metadata" in context


def questions(record: Record) -> Iterator[Question]:
    """Yield a record's questions, in its order; an answer may be empty."""
    for kind, items in (record.get("query") or {}).items():
        for item in items or ():
            level = _LEVEL.search(str(item.get("Level") or ""))
            question, answer = str(item.get("QuestionEn") or ""), str(item.get("AnswerEn") or "")
            yield Question(str(kind), question, answer, level.group() if level else None)


def read_records(src: Path) -> Iterator[tuple[Record, str | None]]:
    """Yield the records in the order of ids, each with its published split, or None.

    Raises:
        InputError: nothing to read, malformed JSON (file and line named), or two records with one id.
    """
    seen: set[str] = set()
    for record, split, place in sorted(records_in(src), key=lambda r: str(r[0].get("id"))):
        key = str(record.get("id") or "")
        if not key:
            raise InputError(f"{place}: a record without an id", hint=HINT)
        if key in seen:
            raise InputError(f"{place}: the id {key!r} occurs twice", hint="Remove one of the two records.")
        seen.add(key)
        yield record, split


def records_in(src: Path) -> Iterator[tuple[Record, str | None, str]]:
    """Yield (record, split, file and line), in the order of the files; a split's record is not read again from full/.

    Raises:
        InputError: nothing to read, or malformed JSON (file and line named).
    """
    if src.is_file():
        yield from _file(src)
        return
    if not src.is_dir():
        raise InputError(f"{src} does not exist", hint=HINT)
    inner = src / "ScIRGen-Geo"
    base = inner if inner.is_dir() else src
    names: set[str] = set()
    ids: set[str] = set()
    for folder in _SPLIT_NAMES:
        for file in sorted((base / folder).glob("*.json")):
            names.add(file.name)
            for record, _, place in _file(file):
                ids.add(str(record.get("id")))
                yield record, _SPLIT_NAMES[folder], place
    # full/ and the folder itself hold the same records again, or those without a split.
    for file in sorted([*(base / "full").glob("*.json"), *base.glob("*.json")]):
        if file.name not in names:
            names.add(file.name)
            yield from (found for found in _file(file) if str(found[0].get("id")) not in ids)
    for file in sorted([*base.glob("*.jsonl"), *base.glob("*.jsonl.gz")]):
        names.add(file.name)
        yield from _file(file)
    if not names:
        raise InputError(f"{src} contains no ScIRGen-Geo records", hint=HINT)


def _file(file: Path) -> Iterator[tuple[Record, str | None, str]]:
    named = _SPLIT_NAMES.get(file.name.partition(".")[0])
    for number, record in read_objects(file, hint=HINT):
        yield record, _SPLIT_NAMES.get(str(record.get("split"))) or named, f"{file}, line {number}"
