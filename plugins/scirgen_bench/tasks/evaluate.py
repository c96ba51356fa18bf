"""Measures retrievers on a release's task, by a published convention (`profiles`). Reads the release only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scirgen import InputError
from scirgen.plugin import Registry
from scirgen_bench.metrics import Clusters, Figures, too_few
from scirgen_bench.retrieval import TestRow, file_name, paired_tests, write_run
from scirgen_bench.retriever import (
    Identified,
    Ranking,
    Retriever,
    Tunable,
    complete_specs,
    make_retriever,
)
from scirgen_bench.tasks.cut import Cut, listed
from scirgen_bench.tasks.profiles import Judged, Profile, Scored, Values, average, profile
from scirgen_bench.tasks.task_files import Task, TaskDocument, TaskQuery, requirements

DEPTH = 1000
"""Number of documents that are ranked for a query if the profile ranks more than the judged pool."""

EVALUATED = ("sentence", "keyphrases", "complex", "sub_query", "facet")
"""Forms of queries that are asked on their own; aspects are parts of other queries."""


class TaskRow(Figures):
    """One retriever on one group of queries: all of them, a facet, or a form."""

    retriever: str
    group: str
    queries: int
    metrics: dict[str, float]
    interval: dict[str, tuple[float, float]]
    parameters: dict[str, object]
    seconds: float


class TaskReport(Figures):
    """The output of ``scirgen benchmark retrieval --task T --json FILE``. Metrics are unrounded fractions of 1."""

    release: str
    task: str
    profile: str
    split: str
    documents: int
    rows: list[TaskRow]
    tests: list[TestRow]
    notes: list[str]


@dataclass(frozen=True)
class TaskSettings:
    """The settings of a measurement on a task.

    Attributes:
        split: whose queries are asked.
        profile: a name of `profiles`; None: the one that the release states for the task.
        setting: the corpus of datasets, if the task searches datasets.
        form: only queries of this form.
        query_text: ``facet``: the query's own text; ``abstract``: its paper's title and whole abstract; ``aspects``:
            the texts of the aspects of a need or sub-query, joined (DORIS-MAE, section 5).
        not_after_query: leave out documents that are younger than the query's paper; undated ones stay.
        cut: how a list is cut before it is measured.
        runs: folder for TREC run files.
    """

    split: str = "test"
    profile: str | None = None
    setting: str = "without-paper"
    form: str | None = None
    query_text: str = "facet"
    not_after_query: bool = False
    cut: Cut | None = None
    runs: Path | None = None


def evaluate_task(
    task: Task,
    retrievers: Sequence[str],
    settings: TaskSettings,
    registry: Registry,
    progress: Callable[[str], None] = lambda line: None,
) -> TaskReport:
    """Search a task's queries with each retriever, and measure.

    Raises:
        InputError: no query of the split has a grade or gold, or the corpus is missing.
        ConfigError: an unknown profile; PluginError: an unknown retriever.
    """
    chosen = profile(settings.profile or task.info.profile)
    asked = _Asked(task, settings, chosen)
    made = {spec: make_retriever(registry, named) for spec, named in complete_specs(retrievers).items()}
    rows: list[TaskRow] = []
    measured: dict[str, list[Values]] = {}
    unranked: list[str] = []
    clusters = Clusters([q.paper_id or q.id for q in asked.queries])
    for spec, retriever in made.items():
        started = time.perf_counter()
        progress(f"{spec}: {len(asked.queries)} queries over {len(asked.documents)} documents")
        parameters, found = asked.search(spec, retriever)
        if empty := sum(not hits for hits in found):
            unranked.append(f"{spec} ranks nothing for {empty} of {len(found)} queries; these count as 0.")
        values = measured[spec] = [
            chosen.measure(hits, asked.judged[q.id]) for q, hits in zip(asked.queries, found, strict=True)
        ]
        seconds = round(time.perf_counter() - started, 2)
        rows += _rows(spec, values, asked.queries, chosen, parameters, seconds)
        if settings.runs:
            file = settings.runs / f"{file_name(spec)}.{task.name}.{settings.split}.run"
            write_run(file, spec, [q.id for q in asked.queries], found)
    tested = [m for m in chosen.tested if any(row[m] is not None for found in measured.values() for row in found)]
    return TaskReport(
        release=task.release.info.name,
        task=task.name,
        profile=chosen.name,
        split=settings.split,
        documents=len(asked.documents),
        rows=rows,
        tests=paired_tests(
            task.name,
            {spec: {m: _array(rows, m) for m in tested} for spec, rows in measured.items()},
            tested,
            clusters,
        ),
        notes=[*_notes(task, asked), *_undated(asked, settings), *unranked],
    )


class _Asked:
    """The queries of a split with their grades, and the corpus they search."""

    def __init__(self, task: Task, settings: TaskSettings, chosen: Profile) -> None:
        self._task, self._settings, self._profile = task, settings, chosen
        self._all = list(task.queries())
        self._known = {q.id: q for q in self._all}
        needed = requirements(self._all)
        qrels = task.qrels(settings.split)
        self.queries = [q for q in self._all if q.split == settings.split and q.id in qrels and self._wanted(q)]
        if not self.queries:
            raise InputError(_nothing(task, settings), hint=_elsewhere(task, settings))
        self.setting = settings.setting
        self.documents = task.documents(settings.setting)
        self.place: Mapping[str, TaskDocument] = {d.id: d for d in self.documents}
        self.judged = {q.id: Judged(qrels[q.id], len(needed.get(q.id, ())) or 1) for q in self.queries}
        self._abstracts = (
            {a.id: f"{a.title} {a.text}" for a in task.abstracts()} if settings.query_text == "abstract" else {}
        )

    def _wanted(self, query: TaskQuery) -> bool:
        form = self._settings.form
        return query.form == form if form else query.form in EVALUATED

    def _text(self, query: TaskQuery) -> str:
        if self._settings.query_text == "aspects":
            if not query.parts:
                raise InputError(f"query {query.id} has no aspects", hint="Ask with --form complex or sub_query.")
            return "\n\n".join(self._known[p].text for p in query.parts)  # a blank line ends a sentence
        if self._settings.query_text != "abstract":
            return query.text
        try:
            return self._abstracts[query.paper_id or ""]
        except KeyError:
            raise InputError(
                f"query {query.id}: its paper {query.paper_id!r} is not in corpus/abstracts.jsonl",
                hint="Ask with --query-text facet.",
            ) from None

    def search(self, spec: str, retriever: Retriever) -> tuple[dict[str, object], list[list[Scored]]]:
        """Return the parameters, and for each query the documents that are measured, best first."""
        ids = [d.id for d in self.documents]
        if isinstance(retriever, Identified):
            retriever.identify([q.id for q in self.queries], frozenset(q.id for q in self._all), ids)
        retriever.index([d.searched for d in self.documents])
        if isinstance(retriever, Tunable) and retriever.wants_tuning:
            self._tune(spec, retriever)
        depth = self._settings.cut.hits if self._settings.cut else DEPTH
        if self._profile.whole_pool:
            depth = len(ids)
        ranking = retriever.search([self._text(q) for q in self.queries], min(depth, len(ids)))
        replayed = isinstance(retriever, Identified)
        return dict(retriever.parameters), [
            self._measured(q, ranking, i, ids, whole=not replayed) for i, q in enumerate(self.queries)
        ]

    def _measured(
        self, query: TaskQuery, ranking: Ranking, row: int, ids: Sequence[str], *, whole: bool
    ) -> list[Scored]:
        hits = ranking.hits(row, ids)
        if self._profile.whole_pool:
            pool = self.judged[query.id].grades
            found = [hit for hit in hits if hit[0] in pool]
            if whole:  # a lexical retriever leaves out documents that share no word with the query; they come last
                seen = {d for d, _ in found}
                found += [(d, 0.0) for d in ids if d in pool and d not in seen]
            return found
        own = {query.paper_id, *query.sources} if self._task.info.corpus == "abstracts" else set()
        year = query.year if self._settings.not_after_query else None
        return listed(hits, self.place, own=own, not_after=year, cut=self._settings.cut)

    def _tune(self, spec: str, retriever: Tunable) -> None:
        """Tune the retriever on queries of another split with known answers."""
        on = "train" if self._settings.split == "dev" else "dev"
        qrels = self._task.qrels(on)
        known = [
            (q, [d for d, grade in qrels[q.id].items() if grade > 0 and d in self.place])
            for q in self._all
            if q.split == on and q.id in qrels and self._wanted(q)
        ]
        known = [(q, gold) for q, gold in known if gold]
        if not known:
            raise InputError(
                f"{spec} trains on split {on} of {self._task.name}, which has no queries with gold answers"
            )
        place = {d.id: i for i, d in enumerate(self.documents)}
        retriever.tune([self._text(q) for q, _ in known], [place[gold[0]] for _, gold in known])


def _rows(
    spec: str,
    values: Sequence[Values],
    queries: Sequence[TaskQuery],
    chosen: Profile,
    parameters: dict[str, object],
    seconds: float,
) -> Iterator[TaskRow]:
    kinds = [(q.facet or "none") if chosen.per_facet else q.form for q in queries]
    groups = sorted(set(kinds))
    for group in [*(groups if len(groups) > 1 else ()), "all"]:
        picked = [i for i, kind in enumerate(kinds) if group in ("all", kind)]
        rows = [values[i] for i in picked]
        metrics = average(rows)
        clusters = Clusters([queries[i].paper_id or queries[i].id for i in picked])
        yield TaskRow(
            retriever=spec,
            group=group,
            queries=len(rows),
            metrics=metrics,
            interval=clusters.intervals({m: _array(rows, m) for m in chosen.tested if m in metrics}),
            parameters=parameters,
            seconds=seconds,
        )


def _array(rows: Sequence[Values], metric: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """One value per query; nan if the query does not count."""
    return np.asarray([np.nan if (v := row[metric]) is None else v for row in rows], dtype=np.float64)


def _notes(task: Task, asked: _Asked) -> Iterator[str]:
    if task.info.unvalidated:
        judges = ", ".join(task.info.unvalidated)
        yield f"The grades of {judges} are unvalidated: no judge has passed a test against people's labels."
    if task.info.corpus == "datasets" and asked.setting != "without-paper":
        yield (
            f"Setting {asked.setting}: the documents hold statements of the papers that the queries were made "
            "from, so that "
            "gold is found too easily. Compare with --setting without-paper."
        )
    yield from too_few(len(asked.queries), len({q.paper_id or q.id for q in asked.queries}), "paper(s) or need(s)")
    if not task.info.grades:
        yield "Only the gold documents are known; another document that answers a query counts as wrong."
    missing = sum(d not in asked.place for j in asked.judged.values() for d in j.grades)
    if missing:
        yield f"{missing} judged document(s) are not in the corpus; they count as not found."


def _undated(asked: _Asked, settings: TaskSettings) -> Iterator[str]:
    """Yield the queries and documents without a year, for which ``not_after_query`` does nothing."""
    if settings.not_after_query:
        undated = [q for q in asked.queries if q.year is None]
        if undated:
            of = f"{len(undated):,} of {len(asked.queries):,} queries"
            yield f"--not-after-query leaves out nothing for {of}: they have no year."
        if all(d.year is None for d in asked.documents):
            yield "--not-after-query leaves out nothing: no document of the corpus has a year."


def _nothing(task: Task, settings: TaskSettings) -> str:
    what = f"queries of the form {settings.form}" if settings.form else "queries"
    return f"the split {settings.split} of the task {task.name} has no {what} with grades or gold"


def _elsewhere(task: Task, settings: TaskSettings) -> str:
    others = [f"{s} ({n:,} queries)" for s, n in task.info.queries.items() if n and s != settings.split]
    pool = f"Grade some: scirgen benchmark pool {task.release.folder} --task {task.name} --judges URI"
    return f"Choose another with --split: {', '.join(others)}. Or: {pool}" if others else pool
