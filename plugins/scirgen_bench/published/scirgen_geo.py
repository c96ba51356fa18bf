"""Imports ScIRGen-Geo as a release: reads its released records and keeps its published splits.

`scirgen_bench.published.scirgen_geo_files` reads the files, `scirgen.stages.release.write` writes splits, passages and
files.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from scirgen import Dataset, InputError, Paper, QAPair, Span
from scirgen.plugin import Aspect, AspectCategory, ReleaseContent, content_id
from scirgen.release_files.release import ReleaseInfo
from scirgen_bench.published.scirgen_geo_files import HINT, Question, Record, questions, read_records
from scirgen_bench.rowfiles import type_key

_CATEGORIES = {c.value.replace("_", " "): c for c in AspectCategory}
_UNSTATED = {"", "None"}


def scirgen_geo(src: Path, split_of_rest: str | None = None) -> ReleaseContent:
    """Return the content of a release, from ScIRGen-Geo's records.

    Two identical extracts count as one paper, since the records do not say which paper an extract is from.

    Args:
        src: see `scirgen_bench.published.scirgen_geo_files.read_records`.
        split_of_rest: split of the records that state none. By default: train where others state one; where none does,
            splits are made by `write`.
    """
    datasets: dict[str, Dataset] = {}
    papers: dict[str, Paper] = {}
    uses: dict[str, tuple[str, ...]] = {}
    aspects: list[Aspect] = []
    splits: dict[str, str] = {}
    documents: dict[str, str] = {}
    pairs: dict[str, list[Question]] = {}
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
        pairs[dataset.id] = list(questions(record))
        unanswered += sum(not q.answer for q in pairs[dataset.id])
    if not datasets:
        raise InputError(f"{src} contains no ScIRGen-Geo records", hint=HINT)
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
        pairs=lambda: (pair for d, asked in pairs.items() for pair in _pairs(d, asked)),
        document_papers=documents,
        splits=splits or None,
        keep_all=True,
    )


def dataset_of(record: Record) -> Dataset:
    """Return the catalogue record's English fields. A record without a title is titled by its id."""
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
    """Return (paper id, document id, aspects). The document is the extract's statements in sequence."""
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


def _pairs(dataset_id: str, asked: list[Question]) -> list[QAPair]:
    pairs: dict[str, QAPair] = {}
    for question in asked:
        kind = type_key(question.kind)
        key = QAPair.make_id(dataset_id, kind, question.question, question.answer)
        while key in pairs:  # the same pair twice stays two rows
            key = content_id("qa", key)
        pairs[key] = QAPair(
            id=key,
            dataset_id=dataset_id,
            question=question.question,
            answer=question.answer,
            question_type=kind,
            bloom=question.level,
            strategy="scirgen-geo",
        )
    return [pairs[k] for k in sorted(pairs)]


def _join(context: Mapping[str, Any], name: str, key: str) -> str:
    return "; ".join(str(item[key]).strip() for item in context.get(name) or () if item.get(key))
