"""Reads question-answer sets of any origin: a release, a BEIR folder, plain JSON Lines, and what plugins read
(`Reader`).

Only reads: `scirgen audit` judges them, `scirgen analyze` compares them. One dataset's questions at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol, cast, get_args

from scirgen.core.errors import InputError, PluginError
from scirgen.core.files.jsonl import read_objects
from scirgen.core.fingerprint import content_id
from scirgen.core.records import Origin, Span
from scirgen.core.registry import load_registry, returned
from scirgen.core.text.language import detect_language, language_code
from scirgen.release_files.release import Release, read_qrels

_HINT = (
    "Give a release or run folder, a BEIR folder (corpus.jsonl, queries.jsonl, qrels/), JSON Lines with 'question' and "
    "'answer', or a form that a plugin reads (scirgen plugins list)."
)
_LEVEL = re.compile(r"\bC[1-6]\b")
_QUESTION_KEYS = ("question", "query", "text")
_ANSWER_KEYS = ("answer", "answers", "response")
_TYPE_KEYS = ("question_type", "type")
_JUDGE = "llm_judge"
"""Name of the judge's score."""
_DATASET_KEYS = ("dataset_id", "gold", "doc_id", "document_id")


@dataclass(frozen=True)
class QARow:
    """One question. ``answer`` is None if the format has no answers; ``question_type`` is as the file spells it, or "".
    ``language`` is the one that the file states or, if it states none, the detected one. ``judged``: a judge read it
    and kept it."""

    id: str
    question: str
    answer: str | None = None
    question_type: str = ""
    level: str | None = None
    split: str | None = None
    language: str = "en"
    dataset_ids: tuple[str, ...] = ()
    evidence: tuple[Span, ...] = ()
    asked: Origin = "known_item"
    judged: bool = False


@dataclass(frozen=True)
class QAGroup:
    """The questions whose (first) gold dataset this is.

    Attributes:
        dataset_id: "" for rows that name no dataset.
        title: the dataset's title, "" if unknown.
        context: all text the file has about the dataset (metadata, then what was extracted from its papers), "" if it
            has no text.
        sources: document id -> text, for the documents in which evidence offsets can be checked.
    """

    dataset_id: str
    title: str = ""
    context: str = ""
    rows: tuple[QARow, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class QAFile:
    """A question-answer set. ``groups`` reads it again each time it is called, one dataset at a time.

    ``domain``: of a release."""

    path: Path
    kind: str
    groups: Callable[[], Iterator[QAGroup]]
    domain: str = ""

    def rows(self) -> Iterator[QARow]:
        """Yield all questions, dataset by dataset."""
        for group in self.groups():
            yield from group.rows


class Reader(Protocol):
    """Base of plugins of kind ``reader``, which read question-answer sets of other forms."""

    def claims(self, path: Path) -> bool:
        """Return whether a file or folder has this form, from its names or its first record."""

    def groups(self, path: Path, split: str | None, language: str) -> Iterator[QAGroup]:
        """Yield the questions, one dataset at a time; only those of ``split`` if one is given; ``language`` is that of
        rows that state none, or ""."""


def open_qa(path: Path, split: str | None = None, language: str = "") -> QAFile:
    """Recognise a question-answer set by its layout.

    Args:
        path: a release or run folder; a BEIR folder; a JSON Lines file of questions (a release's split among them); a
            form that a plugin reads.
        split: only this split, where the format has splits.
        language: the language of rows that state none; empty: what their words show.

    Raises:
        InputError: the path does not exist, or holds none of these; while reading, malformed JSON (file and line are
            named).
    """
    if not path.exists():
        raise InputError(f"{path} does not exist", hint=_HINT)
    if path.is_dir() and (found := _open_folder(path, split, language)):
        return found
    registry = load_registry()
    for name in registry.names("reader"):
        try:
            reader: Reader = cast("type[Reader]", registry.get("reader", name))()
        except PluginError as error:  # another plugin's file can still be read
            registry.broken[name] = error
            continue
        if returned(reader.claims, reader.claims(path), bool, "True or False"):
            return QAFile(path, name, partial(reader.groups, path, split, language))
    if path.is_dir():
        raise InputError(f"{path} contains no question-answer set", hint=_HINT)
    first = next(_objects(path), None)
    if first is None:
        raise no_rows(path)
    if _text(first, _QUESTION_KEYS):
        return QAFile(path, "jsonl", lambda: plain_groups(_objects(path), split, language))
    raise InputError(f"{path} is not a question-answer set: its first record has no 'question'", hint=_HINT)


def _open_folder(path: Path, split: str | None, language: str) -> QAFile | None:
    if (path / "release.json").is_file() or (path / "release" / "release.json").is_file():
        release = Release(path)
        return QAFile(path, "scirgen", lambda: _release(release, split), release.info.domain)
    if (path / "queries.jsonl").is_file():
        return QAFile(path, "beir", lambda: _beir(path, split, language))
    return None


def _release(release: Release, split: str | None) -> Iterator[QAGroup]:
    found: dict[str, list[QARow]] = {}
    for row in release.rows(split):
        spans = tuple(
            Span(document_id=e.document_id, start=e.start, end=e.end, text=e.text, page=e.page, role=e.role)
            for e in row.evidence
        )
        gold = tuple(dict.fromkeys((row.dataset_id, *row.dataset_ids))) if row.gold else ()
        answer = None if row.added().get("answerable") is False else row.answer  # nothing answers it
        taken = QARow(
            row.id, row.question, answer, row.question_type, row.bloom, row.split, row.language, gold, spans,
            row.asked, any(score.name == _JUDGE for score in row.scores),
        )  # fmt: skip
        found.setdefault(row.dataset_id, []).append(taken)
    metadata = {d.id: d.metadata for d in release.corpus("without-paper") if d.id in found}
    for document in release.corpus("with-paper"):
        if document.id in found:
            own = metadata[document.id]
            # A release does not hold the papers' full texts, so only the offsets of evidence from metadata can be
            # checked.
            sources = {document.id: own} if own else {}
            context = f"{own}\n{document.text}".strip()
            yield QAGroup(document.id, document.title, context, tuple(found.pop(document.id)), sources)
    for dataset_id, rows in sorted(found.items()):
        yield QAGroup(dataset_id, rows=tuple(rows))


def _beir(folder: Path, split: str | None, language: str) -> Iterator[QAGroup]:
    gold: dict[str, tuple[str, list[str]]] = {}
    for file in sorted((folder / "qrels").glob("*.tsv")):
        if split is not None and file.stem != split:
            continue
        for query_id, grades in read_qrels(file).items():
            if right := [document_id for document_id, grade in grades.items() if grade > 0]:
                gold.setdefault(query_id, (file.stem, []))[1].extend(right)
    found: dict[str, list[QARow]] = {}
    for query in _objects(folder / "queries.jsonl"):
        identity = _string(query.get("_id"))
        own, documents = gold.get(identity, (None, []))
        if split is not None and own is None:
            continue
        extra = _mapping(query.get("metadata"))
        question, answer = _string(query.get("text")), _text(extra, _ANSWER_KEYS)
        row = QARow(
            identity, question, answer, _text(extra, _TYPE_KEYS) or "", _text(extra, ("bloom", "level")), own,
            _language(_string(extra.get("language")) or language, question, answer), tuple(documents),
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


def plain_groups(
    records: Iterable[Mapping[str, object]], split: str | None = None, language: str = "", first: int = 1
) -> Iterator[QAGroup]:
    """Yield the questions of records with the usual keys (``question``, ``answer``, ``context`` ...), by dataset; a
    record's own context is its evidence.

    Raises:
        InputError: a record has none of the keys of a question.
    """
    found: dict[str, list[QARow]] = {}
    contexts: dict[str, dict[str, None]] = {}
    for number, record in enumerate(records, first):
        own = _string(record.get("split")) or None
        if split is not None and own != split:
            continue
        dataset_id = _text(record, _DATASET_KEYS) or ""
        if record.keys().isdisjoint(_QUESTION_KEYS):
            raise lacking("question", number, record)
        question = _text(record, _QUESTION_KEYS) or ""
        level = _LEVEL.search(_text(record, ("bloom", "level")) or "")
        identity = _text(record, ("id", "_id", "qid", "query_id")) or content_id("row", number - 1, question)
        answer = _text(record, _ANSWER_KEYS)
        said = [s for key in ("context", "contexts", "evidence") for s in texts_in(record.get(key)) if s.strip()]
        cited = tuple(Span(document_id=identity, start=0, end=len(text), text=text) for text in said)
        row = QARow(
            identity, question, answer, _text(record, _TYPE_KEYS) or "", level.group() if level else None, own,
            _language(_string(record.get("language")) or language, question, answer),
            (dataset_id,) if dataset_id else (), cited, _asked(record), _JUDGE in texts_in(record.get("scores")),
        )  # fmt: skip
        found.setdefault(dataset_id, []).append(row)
        contexts.setdefault(dataset_id, {}).update(dict.fromkeys(said))
    for dataset_id in sorted(found):
        yield QAGroup(dataset_id, context="\n".join(contexts[dataset_id]), rows=tuple(found[dataset_id]))


def _asked(record: Mapping[str, object]) -> Origin:
    said = record.get("asked")
    return next((origin for origin in get_args(Origin) if origin == said), "known_item")


def no_rows(name: object) -> InputError:
    """Return the error of a question-answer set without a row."""
    return InputError(f"{name} holds no questions", hint=_HINT)


def lacking(column: str, number: int, record: Mapping[str, object]) -> InputError:
    """Return the error of a row without a column."""
    return InputError(f"row {number} has no {column}; it has: {', '.join(record)}", hint=f"Name the column {column}.")


def _language(said: str, question: str, answer: str | None) -> str:
    return language_code(said) if said else detect_language(f"{question}\n{answer or ''}")


def _objects(path: Path) -> Iterator[Mapping[str, object]]:
    return (value for _, value in read_objects(path, hint=_HINT))


def _text(record: Mapping[str, object], keys: Iterable[str]) -> str | None:
    """Return the text under the first of the keys that has one; of a list, its first text."""
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


def texts_in(value: object) -> Iterator[str]:
    """Yield all strings inside a value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)
