"""Reads question-answer sets of any origin: a release, ScIRGen-Geo's records, a BEIR folder, plain JSON Lines.

Only reads: `scirgen audit` judges them, `scirgen analyze` compares them. One dataset's questions at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from scirgen.core.errors import InputError
from scirgen.core.files.jsonl import objects_in
from scirgen.core.fingerprint import content_id
from scirgen.core.records import Span
from scirgen.qa.release import Release
from scirgen.qa.scirgen_geo import is_record, questions, records_in

Kind = Literal["scirgen", "scirgen-geo", "beir", "jsonl"]

_HINT = (
    "Give a release or run folder, a folder or file of ScIRGen-Geo records, a BEIR folder (corpus.jsonl, queries.jsonl, "
    "qrels/), or JSON Lines with 'question' and 'answer'."
)
_LEVEL = re.compile(r"\bC[1-6]\b")
_QUESTION_KEYS = ("question", "query", "text")
_ANSWER_KEYS = ("answer", "answers", "response")
_TYPE_KEYS = ("question_type", "type")
_DATASET_KEYS = ("dataset_id", "gold", "doc_id", "document_id")


@dataclass(frozen=True)
class QARow:
    """One question. ``answer`` is None if the format has no answers; ``question_type`` is as the file spells it, or ""."""

    id: str
    question: str
    answer: str | None = None
    question_type: str = ""
    level: str | None = None
    split: str | None = None
    language: str = "en"
    dataset_ids: tuple[str, ...] = ()
    evidence: tuple[Span, ...] = ()


@dataclass(frozen=True)
class QAGroup:
    """The questions whose (first) gold dataset this is.

    Attributes:
        dataset_id: "" for rows that name no dataset.
        title: the dataset's title, "" if unknown.
        context: all text the file has about the dataset (metadata, then what was extracted from its papers), "" if it has no text.
        sources: document id -> text, for the documents in which evidence offsets can be checked.
    """

    dataset_id: str
    title: str = ""
    context: str = ""
    rows: tuple[QARow, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class QAFile:
    """A question-answer set. ``groups`` reads it again each time it is called, one dataset at a time."""

    path: Path
    kind: Kind
    groups: Callable[[], Iterator[QAGroup]]

    def rows(self) -> Iterator[QARow]:
        """All questions, dataset by dataset."""
        for group in self.groups():
            yield from group.rows


def open_qa(path: Path, split: str | None = None) -> QAFile:
    """Recognise a question-answer set by its layout.

    Args:
        path: a release or run folder; a folder of ScIRGen-Geo JSON files (flat, or in ``train/dev/test``) or its
            ``records.jsonl[.gz]``; a BEIR folder; a JSON Lines file of questions (a release's split among them).
        split: only this split, where the format has splits.

    Raises:
        InputError: the path does not exist, or holds none of these; while reading, malformed JSON (file and line are named).
    """
    if path.is_dir():
        return _open_folder(path, split)
    if not path.is_file():
        raise InputError(f"{path} does not exist", hint=_HINT)
    first = next(_objects(path), None)
    if first is None:
        raise InputError(f"{path} holds no questions", hint=_HINT)
    if is_record(first):
        return QAFile(path, "scirgen-geo", lambda: _geo(path, split))
    if _text(first, _QUESTION_KEYS):
        return QAFile(path, "jsonl", lambda: _plain(_objects(path), split))
    raise InputError(f"{path} is not a question-answer set: its first record has no 'question'", hint=_HINT)


def _open_folder(path: Path, split: str | None) -> QAFile:
    if (path / "release.json").is_file() or (path / "release" / "release.json").is_file():
        release = Release(path)
        return QAFile(path, "scirgen", lambda: _release(release, split))
    if (path / "queries.jsonl").is_file():
        return QAFile(path, "beir", lambda: _beir(path, split))
    files = sorted(path.glob("*.json")) or sorted(path.glob("*/*.json"))
    if files and is_record(next(_objects(files[0]), {})):
        return QAFile(path, "scirgen-geo", lambda: _geo(path, split))
    raise InputError(f"{path} holds no question-answer set", hint=_HINT)


def type_key(name: str) -> str:
    """A type's name as an id: "Instrumental/Procedural" -> "instrumental_procedural"."""
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")


def _release(release: Release, split: str | None) -> Iterator[QAGroup]:
    found: dict[str, list[QARow]] = {}
    for row in release.rows(split):
        spans = tuple(
            Span(document_id=e.document_id, start=e.start, end=e.end, text=e.text, page=e.page) for e in row.evidence
        )
        gold = tuple(dict.fromkeys((row.dataset_id, *row.dataset_ids)))
        found.setdefault(row.dataset_id, []).append(
            QARow(row.id, row.question, row.answer, row.question_type, row.bloom, row.split, row.language, gold, spans)
        )
    metadata = {d.id: d.metadata for d in release.corpus("without-paper") if d.id in found}
    for document in release.corpus("with-paper"):
        if document.id in found:
            own = metadata[document.id]
            # A release does not hold the papers' full texts, so only the offsets of evidence from metadata can be checked.
            sources = {document.id: own} if own else {}
            context = f"{own}\n{document.text}".strip()
            yield QAGroup(document.id, document.title, context, tuple(found.pop(document.id)), sources)
    for dataset_id, rows in sorted(found.items()):
        yield QAGroup(dataset_id, rows=tuple(rows))


def _geo(path: Path, split: str | None) -> Iterator[QAGroup]:
    for record, own, _ in records_in(path):
        if split is not None and own != split:
            continue
        identity = _string(record.get("id"))
        metadata = _mapping(_mapping(record.get("context")).get("metadata"))
        extracts = [s for paper in _items(record.get("extract_pdfs_data")) for s in _strings(paper)]
        title = _string(metadata.get("titleEn"))
        parts = [title, _string(metadata.get("description")), _string(metadata.get("instructions")), *extracts]
        parts += list(_strings({k: v for k, v in _mapping(record.get("context")).items() if k != "metadata"}))
        rows = (
            QARow(f"{identity}#{n}", q.question, q.answer, q.kind, q.level, own, dataset_ids=(identity,))
            for n, q in enumerate(questions(record))
        )
        yield QAGroup(identity, title, "\n".join(p for p in parts if p), tuple(rows))


def _beir(folder: Path, split: str | None) -> Iterator[QAGroup]:
    gold: dict[str, tuple[str, list[str]]] = {}
    for file in sorted((folder / "qrels").glob("*.tsv")):
        if split is not None and file.stem != split:
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            cells = line.split("\t")
            if number == 1 and not cells[-1].strip().lstrip("-").isdigit():
                continue
            if len(cells) != 3 or not cells[2].strip().lstrip("-").isdigit():
                raise InputError(f"{file}:{number}: expected query-id, corpus-id, score", hint=_HINT)
            if int(cells[2]) > 0:
                gold.setdefault(cells[0], (file.stem, []))[1].append(cells[1])
    found: dict[str, list[QARow]] = {}
    for query in _objects(folder / "queries.jsonl"):
        identity = _string(query.get("_id"))
        own, documents = gold.get(identity, (None, []))
        if split is not None and own is None:
            continue
        extra = _mapping(query.get("metadata"))
        row = QARow(
            identity, _string(query.get("text")), _text(extra, _ANSWER_KEYS), _text(extra, _TYPE_KEYS) or "",
            _text(extra, ("bloom", "level")), own, _string(extra.get("language")) or "en", tuple(documents),
        )  # fmt: skip
        found.setdefault(documents[0] if documents else "", []).append(row)
    if (folder / "corpus.jsonl").is_file():
        for document in _objects(folder / "corpus.jsonl"):
            rows = found.pop(_string(document.get("_id")), None)
            if rows:
                title, text = _string(document.get("title")), _string(document.get("text"))
                yield QAGroup(_string(document.get("_id")), title, f"{title}\n{text}".strip(), tuple(rows))
    for dataset_id, rows in sorted(found.items()):
        yield QAGroup(dataset_id, rows=tuple(rows))


def _plain(records: Iterable[Mapping[str, object]], split: str | None) -> Iterator[QAGroup]:
    found: dict[str, list[QARow]] = {}
    contexts: dict[str, dict[str, None]] = {}
    for number, record in enumerate(records):
        own = _string(record.get("split")) or None
        if split is not None and own != split:
            continue
        dataset_id = _text(record, _DATASET_KEYS) or ""
        question = _text(record, _QUESTION_KEYS) or ""
        level = _LEVEL.search(_text(record, ("bloom", "level")) or "")
        identity = _text(record, ("id", "_id", "qid", "query_id")) or content_id("row", number, question)
        row = QARow(
            identity, question, _text(record, _ANSWER_KEYS), _text(record, _TYPE_KEYS) or "",
            level.group() if level else None, own, _string(record.get("language")) or "en",
            (dataset_id,) if dataset_id else (),
        )  # fmt: skip
        found.setdefault(dataset_id, []).append(row)
        said = [s for key in ("context", "contexts", "evidence") for s in _strings(record.get(key))]
        contexts.setdefault(dataset_id, {}).update(dict.fromkeys(said))
    for dataset_id in sorted(found):
        yield QAGroup(dataset_id, context="\n".join(contexts[dataset_id]), rows=tuple(found[dataset_id]))


def _objects(path: Path) -> Iterator[Mapping[str, object]]:
    return (value for _, value in objects_in(path, hint=_HINT))


def _text(record: Mapping[str, object], keys: Iterable[str]) -> str | None:
    """The text under the first of the keys that has one; of a list, its first text."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            return str(value)
    return None


def _string(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _items(value: object) -> list[Mapping[str, object]]:
    return [i for i in value if isinstance(i, Mapping)] if isinstance(value, list) else []


def _strings(value: object) -> Iterator[str]:
    """All strings inside a value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
