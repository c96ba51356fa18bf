"""Sources of items to label: the candidates of a run (kept and rejected), or any question-answer file that `audit`
reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol

from scirgen import (
    Dataset,
    InputError,
    Paper,
    QAPair,
    Rejection,
    Release,
    Span,
)
from scirgen.core.records import context_text
from scirgen.pipeline.views.view import StoreView
from scirgen.plugin import Aspect, Document, QAGroup, QARow, Registry, Taxonomies, open_qa, read_objects
from scirgen_bench.labels.labelset import Hidden, Marked, Shown
from scirgen_bench.rowfiles import type_key
from scirgen_bench.tasks.judging import to_grade
from scirgen_bench.tasks.pools import GOLD, PoolSettings, make_pool, pooled_queries, queries_to_grade
from scirgen_bench.tasks.task_files import open_task
from scirgen_bench.tasks.taxonomies import Facets

AROUND: Final = 400
"""Characters shown on each side of a piece of evidence."""

STRATA: Final = ("verdict", "code", "question_type", "level", "dataset", "split", "language")
"""The keys by which a sample can be stratified."""


@dataclass(frozen=True)
class Candidate:
    """An item that can be drawn: its id, its cluster, and its stratification keys."""

    record: str
    cluster: str
    keys: Mapping[str, str]
    hidden: Hidden


@dataclass
class Material:
    """The material shown for the drawn candidates.

    Attributes:
        shown: record id -> what annotators see.
        contexts: key -> whole context.
        papers: document id -> the paper's file, if it still exists.
    """

    shown: dict[str, Shown] = field(default_factory=dict)
    contexts: dict[str, str] = field(default_factory=dict)
    papers: dict[str, Path] = field(default_factory=dict)


class Source(Protocol):
    """A population to draw from. Both methods read it again, since a large run does not fit in memory."""

    kind: str

    def candidates(self) -> Iterator[Candidate]:
        """Return all candidates."""

    def material(self, records: Collection[str]) -> Material:
        """Return the material for these candidates."""


class RunSource:
    """The pairs that a run kept, and those that its filter stage rejected."""

    kind = "run"

    def __init__(self, view: StoreView, taxonomies: Taxonomies, scorers: Collection[str]) -> None:
        """Read from a view; ``scorers``: names of faithfulness scorers, by which a rejection is one by score or by
        gate."""
        self._view = view
        self._taxonomies = taxonomies
        self._scorers = frozenset(scorers)

    def candidates(self) -> Iterator[Candidate]:
        seen: set[str] = set()
        for pair, rejection in self._pairs():
            if pair.id not in seen:
                seen.add(pair.id)
                yield self._candidate(pair, rejection)

    def material(self, records: Collection[str]) -> Material:
        wanted = frozenset(records)
        pairs: dict[str, QAPair] = {}
        for pair, _ in self._pairs():
            if pair.id in wanted:
                pairs.setdefault(pair.id, pair)
        found = Material()
        datasets = {p.dataset_id for p in pairs.values()}
        titles: dict[str, str] = {}
        for dataset in self._view.datasets():
            if dataset.id in datasets:
                titles[dataset.id] = dataset.title
                aspects = tuple(self._view.records("verify", Aspect, dataset.id))
                found.contexts[dataset.id] = context_text(dataset, aspects)
        files = {p.id: Path(p.file) for p in self._view.records("collect", Paper) if p.file}
        names = _names(self._taxonomies)
        for record in sorted(pairs):
            pair = pairs[record]
            evidence = []
            for span in pair.evidence:
                text, where, paper = self._text(span.document_id)
                evidence.append(marked(span, text, where))
                if paper in files:
                    found.papers[span.document_id] = files[paper]
            name, definition = names.get(pair.question_type, (pair.question_type, ""))
            found.shown[record] = Shown(
                question=pair.question, answer=pair.answer, question_type=name, type_definition=definition,
                evidence=tuple(evidence), title=titles.get(pair.dataset_id, ""), context=pair.dataset_id,
            )  # fmt: skip
        return found

    def _pairs(self) -> Iterator[tuple[QAPair, Rejection | None]]:
        for pair in self._view.pairs():
            yield pair, None
        for rejection in self._view.rejections("filter"):
            if rejection.record_kind == "QAPair" and rejection.record:
                try:
                    yield QAPair.model_validate_json(rejection.record), rejection
                except ValueError:
                    continue  # raw text that never became a pair, so there is nothing to label

    def _candidate(self, pair: QAPair, rejection: Rejection | None) -> Candidate:
        code = rejection.code if rejection else ""
        verdict = "kept" if not rejection else "rejected_by_score" if code in self._scorers else "rejected_by_gate"
        scores = {s.name: s.value for s in pair.scores}
        hidden = Hidden(
            verdict=verdict, code=code, question_type=pair.question_type, dataset_id=pair.dataset_id, scores=scores
        )
        keys = {
            "verdict": verdict,
            "code": code or "kept",
            "question_type": pair.question_type,
            "level": pair.bloom or "none",
            "dataset": pair.dataset_id,
            "split": "none",
            "language": pair.language,
        }
        return Candidate(pair.id, pair.dataset_id, keys, hidden)

    @lru_cache(maxsize=64)  # noqa: B019 - lives as long as one draw
    def _text(self, document_id: str) -> tuple[str, str, str]:
        for kind, result in self._view.find(document_id):
            for record in result.outputs():
                if kind == "Document" and isinstance(record, Document) and record.id == document_id:
                    return record.text, record.title or record.paper_id, record.paper_id
                if kind == "Dataset" and isinstance(record, Dataset) and record.id == document_id:
                    return record.text, "metadata of the dataset", ""
        return "", document_id, ""


class FileSource:
    """The rows of a question-answer set: a release, ScIRGen-Geo, BEIR, JSON Lines."""

    def __init__(self, path: Path, taxonomies: Taxonomies, split: str | None = None) -> None:
        """Open the set.

        Raises:
            InputError: it is not a question-answer set.
        """
        self._file = open_qa(path, split)
        self.kind: str = self._file.kind
        self._taxonomies = taxonomies

    def candidates(self) -> Iterator[Candidate]:
        for group in self._file.groups():
            for row in group.rows:
                kind = type_key(row.question_type)
                keys = {
                    "verdict": "kept", "code": "kept", "question_type": kind, "level": row.level or "none",
                    "dataset": group.dataset_id, "split": row.split or "none", "language": row.language,
                }  # fmt: skip
                hidden = Hidden(verdict="kept", question_type=kind, dataset_id=group.dataset_id)
                yield Candidate(row.id, group.dataset_id or row.id, keys, hidden)

    def material(self, records: Collection[str]) -> Material:
        wanted, found, names = frozenset(records), Material(), _names(self._taxonomies)
        for group in self._file.groups():
            for row in group.rows:
                if row.id in wanted:
                    found.shown[row.id] = _shown_row(row, group, names)
                    found.contexts[group.dataset_id] = group.context
        return found


class QueryFile:
    """Drafted queries with their aspects: JSON Lines with ``query`` and ``aspects`` (texts, or objects with
    ``text``)."""

    kind = "queries"

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            InputError: it cannot be read, or a line has no query (the message names the line).
        """
        self._rows: dict[str, Shown] = {}
        hint = 'Each line is a JSON object with "id", "query" and "aspects" (a list of texts).'
        for number, value in read_objects(path, hint=hint):
            try:
                text = value.get("query") or value.get("text") or value["question"]
                given = value.get("aspects")
                aspects = (
                    [str(a["text"]) if isinstance(a, dict) else str(a) for a in given]
                    if isinstance(given, list)
                    else []
                )
            except KeyError as error:
                raise InputError(f"{path}:{number}: not a drafted query: {error}", hint=hint) from error
            self._rows[str(value.get("id") or f"line-{number}")] = Shown(question=str(text), aspects=tuple(aspects))

    def candidates(self) -> Iterator[Candidate]:
        for record in self._rows:
            yield Candidate(record, record, {"verdict": "draft"}, Hidden(verdict="draft"))

    def material(self, records: Collection[str]) -> Material:
        return Material({r: self._rows[r] for r in records})


class TaskSource:
    """The pool of a release's task, as ``scirgen benchmark pool`` makes it: queries, facets or requirements with
    documents."""

    def __init__(
        self, release: Path, task: str | None, facets: Facets, settings: PoolSettings, registry: Registry
    ) -> None:
        """Open the task (by default the release's own questions) and pool it.

        Raises:
            InputError: the release has no such task, or nothing to pool.
        """
        opened = open_task(Release(release), task)
        self.kind = f"task {opened.name}, pooled"
        everything = queries_to_grade(opened, settings)
        queries = pooled_queries(opened, settings)
        pool = make_pool(opened, queries, settings, registry)
        self._asked = {f"{a.query.id}|{a.document}": a for a in to_grade(everything, queries, pool)}
        self._need = {q.id: q.parent or "" for q in everything if q.form in ("aspect", "sub_aspect")}
        self._documents = {d.id: d for d in opened.documents()}
        self._facets = facets

    def candidates(self) -> Iterator[Candidate]:
        for asked in self._asked.values():
            query = asked.query
            need = query.id
            while need in self._need:
                need = self._need[need]
            keys = {
                "question_type": query.facet or query.form,
                "level": "none",
                "split": query.split,
                "language": "none",
            }
            gold = GOLD in asked.found_by
            yield _graded_pair(query.id, need, asked.document, gold, query.facet or query.form, keys)

    def material(self, records: Collection[str]) -> Material:
        made = Material()
        for record in records:
            asked = self._asked[record]
            query, document = asked.query, self._documents[asked.document]
            definition = title = ""
            if query.facet:
                facet = self._facets.facet(query.facet)
                definition, title = f"{facet.name}: {facet.definition}", self._documents[query.paper_id or ""].title
            made.shown[record] = Shown(
                question=f"{title}: {query.text}" if title else query.text,
                question_type=query.facet or "",
                type_definition=definition,
                title=document.title or document.id,
                text=document.searched.removeprefix(document.title).strip(),
            )
        return made


def _graded_pair(query: str, cluster: str, document: str, gold: bool, kind: str, keys: Mapping[str, str]) -> Candidate:
    """Return a (query, document) to be graded; cluster is the question or need that it belongs to."""
    verdict = "gold" if gold else "pooled"
    return Candidate(
        f"{query}|{document}",
        cluster,
        {**keys, "verdict": verdict, "code": verdict, "dataset": document},
        Hidden(verdict=verdict, question_type=kind, dataset_id=document),
    )


def _names(taxonomies: Taxonomies) -> dict[str, tuple[str, str]]:
    return {t.id: (t.name, t.definition) for t in taxonomies.graesser.types}


def _shown_row(row: QARow, group: QAGroup, names: Mapping[str, tuple[str, str]]) -> Shown:
    name, definition = names.get(type_key(row.question_type), (row.question_type, ""))
    evidence = tuple(marked(s, group.sources.get(s.document_id, ""), s.document_id) for s in row.evidence)
    return Shown(
        question=row.question,
        answer=row.answer or "",
        question_type=name,
        type_definition=definition,
        evidence=evidence,
        title=group.title,
        context=group.dataset_id,
    )


def marked(span: Span, text: str, where: str) -> Marked:
    """Show a span with the text around it, cut between words."""
    where += f", page {span.page}" if span.page else ""
    plain = Marked(text=span.text, where=where, document=span.document_id, page=span.page, bbox=span.bbox)
    if text[span.start : span.end] != span.text:
        return plain
    low, high = max(0, span.start - AROUND), min(len(text), span.end + AROUND)
    before, after = text[low : span.start], text[span.end : high]
    if low > 0:
        before = "… " + before.partition(" ")[2]
    if high < len(text):
        after = after.rpartition(" ")[0] + " …"
    return plain.model_copy(update={"before": before, "after": after})


def counted(candidates: Iterable[Candidate], by: str) -> dict[str, int]:
    """Count the candidates that each value of a stratification key has."""
    return Counter(candidate.keys.get(by, "none") for candidate in candidates)
