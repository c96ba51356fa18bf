"""Dataset retrieval: measures whether retrievers find the dataset that a question is about (ScIRGen, section 4.1, table
4). `passage_retrieval` measures whether they find the passages that answer it.

Reads a release only. Retrievers are plugins; metrics, intervals and tests are in separate modules.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scirgen import InputError, Release, ReleaseRow
from scirgen.plugin import SPLITS, Registry
from scirgen.release_files.release import CorpusDocument
from scirgen_bench.metrics import RELEVANT, Clusters, Figures, PerQuery, holm, means, per_query, too_few
from scirgen_bench.own_paper import OWN_PAPER, OwnPaper, own_paper
from scirgen_bench.questions import ALL, is_answerable, questions_of_split
from scirgen_bench.retriever import Identified, Ranking, Retriever, Tunable, complete_specs, make_retriever

DEPTH = 100
TESTED = ("R@20", "MRR@100")
_WITH_INTERVAL = ("R@1", "R@5", "R@20", "R@100", "MRR@100", "NDCG@10")
DIFFICULTY: Mapping[object, str] = {True: "hard", False: "not hard", None: "not measured (difficulty={})"}
"""Names of the values of a row's field ``hard``."""
_BREAKDOWNS: dict[str, Callable[[ReleaseRow], str]] = {
    "question_type": lambda r: r.question_type,
    "bloom": lambda r: r.bloom or "not tagged",
    "facts": lambda r: str(r.needs_facts) if r.needs_facts < 3 else "3+",
    "documents": lambda r: str(r.needs_documents),
    "asked": lambda r: r.asked,
    "difficulty": lambda r: DIFFICULTY[r.added().get("hard")],
    "has_paper": lambda r: "",  # filled from the corpus
}


class BreakdownRow(Figures):
    """The metrics of one retriever on one group of questions."""

    retriever: str
    setting: str
    by: str
    value: str
    queries: int
    metrics: dict[str, float]


class TestRow(Figures):
    """Paired test of two retrievers on the same questions; ``p_holm`` is corrected for all tests of the setting."""

    setting: str
    metric: str
    left: str
    right: str
    difference: float
    p: float
    p_holm: float


class RetrievalReport(Figures):
    """The output of ``scirgen benchmark retrieval --json``. ``rows`` holds one flat mapping per retriever and
    setting."""

    release: str
    split: str
    documents: int
    queries: int
    judgements: str = "gold"
    rows: list[dict[str, object]]
    tests: list[TestRow]
    breakdown: list[BreakdownRow]
    notes: list[str]


@dataclass(frozen=True)
class Questions:
    """The questions of a split with their judgements."""

    rows: list[ReleaseRow]
    qrels: Mapping[str, Mapping[str, int]]

    @property
    def texts(self) -> list[str]:
        return [r.question for r in self.rows]

    @property
    def ids(self) -> list[str]:
        return [r.id for r in self.rows]


def evaluate(
    release: Release,
    retrievers: Sequence[str],
    *,
    registry: Registry,
    settings: Sequence[str],
    split: str = "test",
    runs: Path | None = None,
    limit: int | None = None,
    qrels: Mapping[str, Mapping[str, int]] | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> RetrievalReport:
    """Index the corpus in each setting with each retriever, ask every question of the split, and measure.

    Args:
        release: an opened release.
        retrievers: ``name`` or ``name:argument``; see `complete_specs` for what ``hybrid`` alone means.
        registry: where the names are looked up.
        settings: ``without-paper``, ``with-paper``, ``without-own-paper``, ``with-paper-json``.
        split: ``train``, ``dev``, ``test`` or ``all``.
        runs: a folder for TREC run files, one for each retriever and setting.
        qrels: pooled judgements with grades 0 to 3, instead of the one gold dataset; only judged questions are asked.
        limit: at most this many questions, evenly spaced over the split so that they cover the datasets.
        progress: called with a line for each step.

    Returns:
        Metrics as fractions of 1, with 95 % bootstrap intervals over datasets, Holm-corrected paired tests of R@20 and
        MRR@100, and breakdowns.

    Raises:
        InputError: the split has no questions, or the setting is unknown.
        PluginError: an unknown retriever.
        ModelAccessError: a retriever's model cannot be loaded.
    """
    questions = _load(release, split, limit, qrels)
    # All retrievers are looked up before any work, so that a misspelt name is an error at once.
    made = {spec: make_retriever(registry, named) for spec, named in complete_specs(retrievers).items()}
    measuring = Measuring(
        release, made, questions, split, runs, progress, partial(_load, release), lambda _, row: row.dataset_id
    )
    ids: list[str] = []
    for setting in settings:
        own = own_paper(release, questions.rows) if setting == OWN_PAPER else None
        if own and not own.further:
            progress(f"{OWN_PAPER}: no question's evidence is from a paper, so it would be with-paper again")
            continue
        documents = own.documents if own else indexed(release, setting)
        ids = [d.id for d in documents][: len(documents) - (own.further if own else 0)]
        with_paper = {d.id for d in documents if d.papers}
        texts = [f"{d.title} {d.text}" for d in documents]
        measuring.measure(setting, texts, ids, with_paper, TESTED, graded=qrels is not None, own=own)
    notes = _notes(measuring.rows, questions, len(ids), graded=qrels is not None)
    return measuring.report(len(ids), "gold" if qrels is None else "graded", notes)


@dataclass
class Measuring:
    """Measures retrievers on the questions of a split, in one corpus after another.

    Attributes:
        made: the retrievers by their specs.
        runs: a folder for TREC run files.
        progress: called with a line for each step.
        load: a split -> its questions, on which a retriever may be tuned.
        answer: questions and one of their rows -> the id of one document that answers it.
        notes: retriever -> what to know of its figures.
    """

    release: Release
    made: Mapping[str, Retriever]
    questions: Questions
    split: str
    runs: Path | None
    progress: Callable[[str], None]
    load: Callable[[str], Questions]
    answer: Callable[[Questions, ReleaseRow], str]
    rows: list[dict[str, object]] = field(default_factory=list)
    tests: list[TestRow] = field(default_factory=list)
    breakdown: list[BreakdownRow] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)

    @cached_property
    def _clusters(self) -> Clusters:
        return Clusters([r.dataset_id for r in self.questions.rows])

    def measure(
        self, setting: str, texts: Sequence[str], ids: Sequence[str], with_paper: set[str], tested: Sequence[str], *,
        graded: bool, own: OwnPaper | None = None, called: str = "",
    ) -> None:  # fmt: skip
        """Index the texts with each retriever, ask every question, and measure.

        Args:
            setting: named in run files, and in rows if they are not ``called`` otherwise.
            texts: what is indexed; texts without ids are further forms of the others (``own``).
            ids: ids of the documents.
            with_paper: ids of datasets with papers.
            tested: metrics of the paired tests.
            graded: the questions have graded judgements.
            own: chooses the form of each dataset that a question sees.
            called: the setting's name in the rows.
        """
        measured: dict[str, PerQuery] = {}
        named = called or setting
        for spec, retriever in self.made.items():
            started = time.perf_counter()
            ranking, parameters = self._rank(spec, retriever, texts, ids)
            if own:
                ranking = own.ranked(ranking, self.questions.ids, DEPTH)
            seconds = time.perf_counter() - started
            measured[spec] = table = per_query(ranking, self.questions.ids, ids, self.questions.qrels, graded=graded)
            self.rows.append({
                "retriever": spec, "setting": named, "split": self.split, **means(table),
                "interval": self._clusters.intervals({m: table[m] for m in _WITH_INTERVAL}),
                "parameters": dict(parameters), "seconds": round(seconds, 2),
            })  # fmt: skip
            self.breakdown += _breakdown_rows(spec, named, self.questions.rows, with_paper, table)
            if empty := int((ranking.documents[:, 0] < 0).sum()):
                asked = len(self.questions.ids)
                self.notes[spec] = f"{spec} finds nothing for {empty} of {asked} questions, which count as 0."
            if self.runs:
                file = self.runs / f"{file_name(spec)}.{setting}.{self.split}.run"
                found = (ranking.hits(row, ids) for row in range(len(self.questions.ids)))
                write_run(file, spec, self.questions.ids, found)
            self.progress(f"{spec}, {named}: done in {seconds:.1f} s")
        self.tests += paired_tests(named, measured, tested, self._clusters)

    def report(self, documents: int, judgements: str, notes: list[str]) -> RetrievalReport:
        """Return the figures of all corpora so far."""
        return RetrievalReport(
            release=self.release.info.name, split=self.split, documents=documents, queries=len(self.questions.rows),
            judgements=judgements, rows=self.rows, tests=self.tests, breakdown=self.breakdown,
            notes=[*self.notes.values(), *notes],
        )  # fmt: skip

    def _rank(
        self, spec: str, retriever: Retriever, texts: Sequence[str], ids: Sequence[str]
    ) -> tuple[Ranking, dict[str, object]]:
        """Index the texts, ask the questions, and return the ranking with the retriever's parameters."""
        if isinstance(retriever, Identified):
            retriever.identify(self.questions.ids, frozenset(r.id for r in self.release.rows()), ids)
        self.progress(f"{spec}: indexing {len(texts)} documents")
        retriever.index(texts)
        parameters = dict(retriever.parameters)
        if isinstance(retriever, Tunable) and retriever.wants_tuning:
            # Never on the measured split: dev is for tuning, or train if dev is measured.
            on = "train" if self.split == "dev" else "dev"
            if self.split == ALL:
                raise InputError(f"{spec} is tuned on the split {on}, which --split all measures", hint=_UNTUNED)
            try:
                known = self.load(on)
            except InputError as error:
                raise InputError(f"{spec} is tuned on the split {on}, which has no questions", hint=_UNTUNED) from error
            place = {id: n for n, id in enumerate(ids)}
            self.progress(f"{spec}: tuning on {on}")
            retriever.tune(known.texts, [place[self.answer(known, row)] for row in known.rows])
            parameters = {**retriever.parameters, "tuned_on": on}
        self.progress(f"{spec}: asking {len(self.questions.rows)} questions")
        return retriever.search(self.questions.texts, DEPTH + len(texts) - len(ids)), parameters


DEFAULT_SETTINGS = f"without-paper,with-paper,{OWN_PAPER}"
JSON_SETTING = "with-paper-json"
"""The with-paper corpus, with the extracts as JSON, as in ScIRGen-Geo's records. Brackets, commas and the names of the
six aspects are then part of the text, and so count in BM25's lengths."""


def indexed(release: Release, setting: str) -> list[CorpusDocument]:
    """Return the documents of a setting, by id.

    Raises:
        InputError: an unknown setting.
    """
    if setting != JSON_SETTING:
        return sorted(release.corpus(setting), key=lambda d: d.id)
    extracts: dict[str, dict[str, dict[str, list[str]]]] = {}
    for aspect in release.aspects():
        paper = extracts.setdefault(aspect.dataset_id, {}).setdefault(aspect.paper_id, {})
        paper.setdefault(aspect.category.replace("_", " "), []).append(aspect.text)
    return [
        d.model_copy(update={"text": f"{d.text} {json.dumps(list(extracts[d.id].values()), ensure_ascii=False)}"})
        if d.id in extracts
        else d
        for d in sorted(release.corpus("without-paper"), key=lambda d: d.id)
    ]


def _load(
    release: Release, split: str, limit: int | None = None, qrels: Mapping[str, Mapping[str, int]] | None = None
) -> Questions:
    if qrels is not None:
        wanted = frozenset(qrels)
        rows = questions_of_split(release, split, limit, lambda r: r.id in wanted, "questions with such judgements")
        return Questions(rows, qrels)
    splits = SPLITS if split == ALL else (split,)
    gold = {query: grades for name in splits for query, grades in release.qrels(name).items()}
    return Questions(questions_of_split(release, split, limit, lambda r: is_answerable(r) and bool(r.gold)), gold)


_UNTUNED = "Give its parameters instead, e.g. bm25:k1=1.2,b=0.75."


def _breakdown_rows(
    spec: str, setting: str, rows: Sequence[ReleaseRow], with_paper: set[str], table: PerQuery
) -> Iterable[BreakdownRow]:
    """Yield the metrics of each group of questions."""
    for by, value_of in _BREAKDOWNS.items():
        if by == "has_paper":
            values = np.asarray(["yes" if r.dataset_id in with_paper else "no" for r in rows])
        else:
            values = np.asarray([value_of(r) for r in rows])
        for value in sorted(set(values.tolist())):
            chosen = values == value
            yield BreakdownRow(
                retriever=spec,
                setting=setting,
                by=by,
                value=value,
                queries=int(chosen.sum()),
                metrics=means(table, chosen),
            )


def paired_tests(
    setting: str, values: Mapping[str, Mapping[str, NDArray[np.float64]]], metrics: Sequence[str], clusters: Clusters
) -> list[TestRow]:
    """Return the paired tests of every two retrievers on each metric, Holm-corrected over all of them.

    Args:
        setting: named in each row.
        values: retriever -> metric -> one value per query, shape (queries,).
        metrics: those that are tested.
        clusters: of the queries; whole clusters are redrawn.
    """
    pairs = [(m, a, b) for m in metrics for a, b in combinations(values, 2)]
    raw = {"\t".join(key): clusters.paired_p(values[key[1]][key[0]], values[key[2]][key[0]]) for key in pairs}
    corrected = holm(raw)
    return [
        TestRow(
            setting=setting,
            metric=m,
            left=a,
            right=b,
            difference=round(float(np.nanmean(values[a][m] - values[b][m])), 6),
            p=round(raw[f"{m}\t{a}\t{b}"], 6),
            p_holm=round(corrected[f"{m}\t{a}\t{b}"], 6),
        )
        for m, a, b in pairs
    ]


def _notes(rows: Sequence[dict[str, object]], questions: Questions, documents: int, *, graded: bool) -> list[str]:
    judged = [v for r in rows if isinstance(v := r["judged@10"], float)]
    notes = []
    notes += too_few(len(questions.rows), len({r.dataset_id for r in questions.rows}))
    if documents <= DEPTH:
        notes.append(
            f"The corpus has {documents} documents: recall at {documents} and beyond is meaningless. For passages: "
            "--unit passage."
        )
    if judged and max(judged) < 1:
        low, high = f"{min(judged):.1%}", f"{max(judged):.1%}"
        notes.append(
            f"Only {low if low == high else f'{low} to {high}'} of the first ten documents are judged; an "
            "unjudged one counts as "
            "wrong though it may answer the question. Pool and judge with: scirgen benchmark pool"
        )
    if graded:
        without = sum(max(questions.qrels[q].values(), default=0) < RELEVANT for q in questions.ids)
        if without:
            notes.append(
                f"For {without} of {len(questions.ids)} questions no dataset is graded {RELEVANT} or higher: "
                "recall, MRR, MAP and "
                "precision are 0 for them, whatever is found."
            )
    asked: dict[str, set[str]] = {}
    for row in questions.rows:
        asked.setdefault(row.question, set()).add(row.dataset_id)
    twice = sum(len(g) > 1 for g in asked.values())
    if twice:
        notes.append(
            f"{twice} question(s) occur verbatim with different gold datasets; no retriever can get all of them right."
        )
    return notes


def write_run(file: Path, name: str, queries: Sequence[str], found: Iterable[Sequence[tuple[str, float]]]) -> None:
    """Write each query's (document, score), best first, as a TREC run file (query Q0 document rank score name)."""
    file.parent.mkdir(parents=True, exist_ok=True)
    tag = file_name(name)
    with file.open("w", encoding="utf-8") as out:
        for query, hits in zip(queries, found, strict=True):
            out.writelines(f"{query} Q0 {d} {rank} {score:.6f} {tag}\n" for rank, (d, score) in enumerate(hits, 1))


def file_name(spec: str) -> str:
    """Return a retriever's name as a file name."""
    return "".join(c if c.isalnum() or c in "-_.=," else "_" for c in spec)
