"""ScIRGen-Geo as a release like any other: reads its released records, keeps its published splits.

This module only reads; `scirgen.stages.release.write` writes splits, passages and files.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from scirgen.core.errors import InputError
from scirgen.core.files.inflate import TooLargeError, open_maybe_gzipped
from scirgen.core.fingerprint import content_id
from scirgen.core.records import Aspect, AspectCategory, Dataset, Paper, QAPair, Span
from scirgen.qa.release import SPLITS, ReleaseInfo
from scirgen.stages.release.content import ReleaseContent

_LEVEL = re.compile(r"C[1-6]")
_NOT_LETTERS = re.compile(r"[^a-z]+")
_HINT = (
    "SRC is a folder of ScIRGen-Geo's JSON files (flat, or in full/, train/, dev/, test/), of train|dev|test.jsonl[.gz], or a "
    "records.jsonl[.gz]."
)
_SPLIT_NAMES = {**{s: s for s in SPLITS}, "validation": "dev", "valid": "dev", "val": "dev"}
_CATEGORIES = {c.value.replace("_", " "): c for c in AspectCategory}
_UNSTATED = {"", "None"}

Record = Mapping[str, Any]


def read_records(src: Path) -> Iterator[tuple[Record, str | None]]:
    """Records in the order of ids, each with its published split (None where there is none).

    Raises:
        InputError: nothing to read, malformed JSON (file and line named), or two records with one id.
    """
    seen: set[str] = set()
    for record, split, place in sorted(_read(src), key=lambda r: str(r[0].get("id"))):
        key = str(record.get("id") or "")
        if not key:
            raise InputError(f"{place}: a record without an id", hint=_HINT)
        if key in seen:
            raise InputError(f"{place}: the id {key!r} comes twice", hint="Remove one of the two records.")
        seen.add(key)
        yield record, split


def scirgen_geo(src: Path, split_of_rest: str | None = None) -> ReleaseContent:
    """The content of a release, from ScIRGen-Geo's records.

    Two extracts that are equal word for word are one paper: the records do not say which paper an extract is from.

    Args:
        src: see `read_records`.
        split_of_rest: split of the records that state none. By default: train where others state one; where none does,
            splits are made by `write`.
    """
    datasets: dict[str, Dataset] = {}
    papers: dict[str, Paper] = {}
    uses: dict[str, tuple[str, ...]] = {}
    aspects: list[Aspect] = []
    splits: dict[str, str] = {}
    documents: dict[str, str] = {}
    pairs: dict[str, list[tuple[str, str, str, str]]] = {}
    unanswered = 0
    for record, split in read_records(src):
        dataset = dataset_of(record)
        datasets[dataset.id] = dataset
        if split:
            splits[dataset.id] = split
        found = [_extract(dataset.id, n, e) for n, e in enumerate(record.get("extract_pdfs_data") or ())]
        for paper_id, document_id, statements in sorted(found, key=lambda f: f[0]):
            papers.setdefault(paper_id, Paper(id=paper_id))
            documents[document_id] = paper_id
            aspects += statements
        if found:
            uses[dataset.id] = tuple(sorted(f[0] for f in found))
        pairs[dataset.id] = list(_questions(record))
        unanswered += sum(not answer for _, _, answer, _ in pairs[dataset.id])
    if not datasets:
        raise InputError(f"{src} holds no ScIRGen-Geo records", hint=_HINT)
    notes = [f"{unanswered} question(s) have no answer in the source."] if unanswered else []
    missing = [d for d in datasets if d not in splits]
    if missing and (splits or split_of_rest):
        rest = split_of_rest or "train"
        notes.append(f"{len(missing)} record(s) without a published split are in {rest}.")
        splits.update(dict.fromkeys(missing, rest))
    return ReleaseContent(
        info=ReleaseInfo(
            name="ScIRGen-Geo", origin="ScIRGen-Geo", scirgen=version("scirgen"), domain="geo", notes=tuple(notes)
        ),
        datasets=datasets,
        papers={k: papers[k] for k in sorted(papers)},
        uses=uses,
        aspects=aspects,
        pairs=lambda: (pair for d, questions in pairs.items() for pair in _pairs(d, questions)),
        document_papers=documents,
        splits=splits or None,
        keep_all=True,
    )


def dataset_of(record: Record) -> Dataset:
    """The catalogue record's English fields. A record without a title is titled by its id."""
    context = record.get("context") or {}
    metadata = context.get("metadata") or {}
    fields = (
        ("Places", _join(context, "placeKeywordList", "keywordEn")),
        ("Times", _join(context, "temporalKeywordList", "keywordEn")),
        ("Format", str(metadata.get("dataFormat") or "")),
        ("Instructions", str(metadata.get("instructions") or "")),
    )
    licence = str(metadata.get("license"))
    return Dataset(
        id=str(record["id"]),
        title=str(metadata.get("titleEn") or record["id"]),
        description=str(metadata.get("description") or ""),
        doi=metadata.get("doi") or None,
        authors=tuple(a["nameEn"] for a in context.get("authorList") or () if a.get("nameEn")),
        keywords=tuple(
            k["nameEn"]
            for name in ("keywordStandList", "themeList")
            for k in context.get(name) or ()
            if k.get("nameEn")
        ),
        fields=tuple((label, text) for label, text in fields if text),
        related=tuple(r["titleEn"] for r in context.get("literatureList") or () if r.get("titleEn")),
        licence="unknown" if licence in _UNSTATED else f"catalogue code {licence}" if licence.isdigit() else licence,
        source="scirgen-geo",
    )


def _extract(dataset_id: str, number: int, extract: Mapping[str, object]) -> tuple[str, str, list[Aspect]]:
    """(paper id, document id, aspects). The document is the extract itself: its statements, one after the other."""
    statements = [
        (category, str(text))
        for name, category in _CATEGORIES.items()
        for text in cast("list[object]", extract.get(name) or [])
    ]
    paper_id = content_id("paper", statements or (dataset_id, number))
    document_id = content_id("extract", paper_id)
    aspects: list[Aspect] = []
    at = 0
    for category, text in statements:
        span = Span(document_id=document_id, start=at, end=at + len(text), text=text)
        aspects.append(Aspect(paper_id=paper_id, category=category, span=span, dataset_id=dataset_id))
        at += len(text) + 1
    return paper_id, document_id, aspects


def _questions(record: Record) -> Iterator[tuple[str, str, str, str]]:
    """(question type, question, answer, Bloom level) in the record's order."""
    for name, items in (record.get("query") or {}).items():
        kind = _NOT_LETTERS.sub("_", str(name).lower()).strip("_")
        for item in items or ():
            level = _LEVEL.match(str(item.get("Level") or ""))
            yield kind, str(item.get("QuestionEn") or ""), str(item.get("AnswerEn") or ""), level[0] if level else ""


def _pairs(dataset_id: str, questions: list[tuple[str, str, str, str]]) -> list[QAPair]:
    pairs: dict[str, QAPair] = {}
    for kind, question, answer, level in questions:
        key = QAPair.make_id(dataset_id, kind, question, answer)
        while key in pairs:  # the same pair twice stays two rows
            key = content_id("qa", key)
        pairs[key] = QAPair(
            id=key,
            dataset_id=dataset_id,
            question=question,
            answer=answer,
            question_type=kind,
            bloom=level or None,
            strategy="scirgen-geo",
        )
    return [pairs[k] for k in sorted(pairs)]


def _join(context: Mapping[str, Any], name: str, key: str) -> str:
    return "; ".join(str(item[key]).strip() for item in context.get(name) or () if item.get(key))


def _read(src: Path) -> Iterator[tuple[Record, str | None, str]]:
    if src.is_file():
        yield from _lines(src)
        return
    if not src.is_dir():
        raise InputError(f"{src} does not exist", hint=_HINT)
    inner = src / "ScIRGen-Geo"
    base = inner if inner.is_dir() else src
    names: set[str] = set()
    ids: set[str] = set()
    for folder, split in [(base / name, split) for name, split in _SPLIT_NAMES.items()]:
        for file in sorted(folder.glob("*.json")):
            names.add(file.name)
            record = _load(file)
            ids.add(str(record.get("id")))
            yield record, split, str(file)
    # full/ and the folder itself hold the same records again, or those that are in no split.
    for file in sorted([*(base / "full").glob("*.json"), *base.glob("*.json")]):
        if file.name not in names:
            names.add(file.name)
            record = _load(file)
            if str(record.get("id")) not in ids:
                yield record, _split(record), str(file)
    for file in sorted([*base.glob("*.jsonl"), *base.glob("*.jsonl.gz")]):
        names.add(file.name)
        yield from _lines(file)
    if not names:
        raise InputError(f"{src} holds no ScIRGen-Geo records", hint=_HINT)


def _lines(file: Path) -> Iterator[tuple[Record, str | None, str]]:
    named = _SPLIT_NAMES.get(file.name.partition(".")[0])
    with open_maybe_gzipped(file) as lines:
        try:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    record = _parse(line, f"{file}, line {number}")
                    yield record, _split(record) or named, f"{file}, line {number}"
        except (EOFError, gzip.BadGzipFile, TooLargeError, UnicodeDecodeError) as error:
            raise InputError(f"{file} is damaged: {error}", hint=_HINT) from error


def _load(file: Path) -> Record:
    try:
        return _parse(file.read_text(encoding="utf-8"), str(file))
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is damaged: {error}", hint=_HINT) from error


def _parse(text: str, place: str) -> Record:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON: {error}", hint="Fix or remove it.") from error
    if not isinstance(record, dict):
        raise InputError(f"{place}: not a record but a {type(record).__name__}", hint=_HINT)
    return record


def _split(record: Record) -> str | None:
    return _SPLIT_NAMES.get(str(record.get("split")))
