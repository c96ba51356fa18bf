"""Question-answer pairs of ScIRGen-Geo with their contexts, read from ``geo/records.jsonl.gz`` of $SCIRGEN_REALDATA."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import REALDATA
from scirgen.core.fingerprint import digest

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
"""A tag begins with an element's name: "<1 km2 ... (>" does not."""


@dataclass(frozen=True)
class Pair:
    """A released pair; ``kind`` is ScIRGen-Geo's name of the question type."""

    dataset_id: str
    kind: str
    question: str
    answer: str


@dataclass(frozen=True)
class Entry:
    """A dataset with its context (metadata, then the six aspects of its papers) and its pairs."""

    id: str
    title: str
    context: str
    pairs: tuple[Pair, ...]


def realdata() -> Path:
    """The folder of real data.

    Raises:
        SystemExit: it is not there.
    """
    if not (REALDATA / "geo" / "records.jsonl.gz").exists():
        raise SystemExit(f"no real data in {REALDATA}; set SCIRGEN_REALDATA (see docs/benchmarks/seper.md)")
    return REALDATA


def entries(split: str) -> Iterator[Entry]:
    """The datasets of a split that have questions and papers' aspects, in an order that says nothing (by hash of
    id)."""
    with gzip.open(realdata() / "geo" / "records.jsonl.gz", "rt", encoding="utf-8") as file:
        records = [r for r in map(json.loads, file) if r["split"] == split and r["query"] and r["extract_pdfs_data"]]
    for record in sorted(records, key=lambda r: digest("benchmark", r["id"])):
        pairs = tuple(_pairs(record))
        if pairs:
            yield Entry(record["id"], str(record["context"]["metadata"]["titleEn"]), _context(record), pairs)


def _pairs(record: dict[str, Any]) -> Iterator[Pair]:
    for kind, rows in record["query"].items():
        for row in rows:
            question, answer = str(row.get("QuestionEn") or "").strip(), str(row.get("AnswerEn") or "").strip()
            if question and answer and answer.lower() != "error":
                yield Pair(record["id"], kind, question, answer)


def _context(record: dict[str, Any]) -> str:
    context = record["context"]
    metadata = context["metadata"]
    lines = [f"Title: {metadata['titleEn']}", f"Description: {_flat(metadata.get('description'))}"]
    period = " to ".join(str(metadata[k])[:10] for k in ("startTime", "endTime") if metadata.get(k))
    box = [metadata.get(k) for k in ("west", "east", "south", "north")]
    lines += [f"Period: {period}"] if period else []
    lines += ["Area: longitude {} to {}, latitude {} to {}".format(*box)] if None not in box else []
    for label, key, name in (
        ("Keywords", "themeList", "nameEn"),
        ("Places", "placeKeywordList", "keywordEn"),
        ("Authors", "authorList", "nameEn"),
    ):
        values = [str(x.get(name)) for x in context.get(key) or () if x.get(name)]
        lines += [f"{label}: {'; '.join(dict.fromkeys(values))}"] if values else []
    for paper in record["extract_pdfs_data"]:
        for aspect, sentences in paper.items():
            text = " ".join(_flat(s) for s in (sentences if isinstance(sentences, list) else [sentences]))
            lines += [f"{aspect.capitalize()}: {text}"] if text.strip() else []
    return "\n".join(lines)


def _flat(text: object) -> str:
    return re.sub(r"\s+", " ", _TAG.sub(" ", str(text or ""))).strip()
