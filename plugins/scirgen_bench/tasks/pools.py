"""Selects the documents to grade for a task's queries: those that several retrievers contribute in turn, gold
documents, and cited papers.

CSFCube (section 3.2) draws from its methods in turn and takes the next candidate of a list if one is in the pool
already; DORIS-MAE (section 3.3) searches by sentence and by paragraph, then with embeddings (a second pool), and adds
the papers that the source cites or is cited by.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scirgen import ConfigError, InputError
from scirgen.plugin import Registry, derived_seed, sentence_spans
from scirgen_bench.retriever import Identified, make_retriever
from scirgen_bench.tasks.reviews import Need, reviewed_needs
from scirgen_bench.tasks.task_files import AbstractRow, Task, TaskDocument, TaskQuery

POOLED = ("sentence", "keyphrases", "complex", "facet")
"""Forms that are pooled; a sub-query reuses the grades of its aspects."""

GOLD, CITED = "gold", "cited"
_FURTHER = 10

Pool = dict[str, dict[str, list[str]]]
"""query id -> document id -> the retriever or rule that put it into the pool."""


@dataclass(frozen=True)
class PoolSettings:
    """The settings of a pool.

    Attributes:
        split: the split whose queries are pooled.
        pool_with: retrievers.
        depth: new documents that each way of searching adds for a query.
        limit: at most this many queries, spread over the split.
        reviewed: people's reviews of the drafted needs (`reviewed_drafts`); only needs that they kept are graded. None:
            all needs are graded, as drafted.
        setting: which corpus of datasets.
        seed: decides the order of the retrievers for each query.
    """

    split: str = "test"
    pool_with: tuple[str, ...] = ("bm25", "tfidf")
    depth: int = 10
    limit: int | None = None
    reviewed: Mapping[str, Need | None] | None = None
    setting: str = "without-paper"
    seed: int = 0


def queries_to_grade(task: Task, settings: PoolSettings) -> list[TaskQuery]:
    """Return all queries of the task with their parts; needs in people's wording."""
    found = list(task.queries())
    return found if settings.reviewed is None else reviewed_needs(found, settings.reviewed, drafts=False)


def pooled_queries(task: Task, settings: PoolSettings) -> list[TaskQuery]:
    """Return the queries that are pooled.

    Raises:
        InputError: there are none; the message says why.
    """
    found = [q for q in task.queries(settings.split) if q.form in POOLED]
    if not found:
        sizes = ", ".join(f"{s} ({n:,})" for s, n in task.info.queries.items() if n)
        raise InputError(
            f"the split {settings.split} of the task {task.name} has no queries to pool",
            hint=f"Choose another with --split; with grades or gold: {sizes or 'none'}.",
        )
    passed = [q for q in queries_to_grade(task, settings) if q.split == settings.split and q.form in POOLED]
    if not passed:
        raise InputError(
            f"none of the {len(found)} needs of the split {settings.split} has been reviewed",
            hint=f"Have people review them: scirgen label draw {task.folder / 'drafts.jsonl'} --task query ..., "
            "then --reviewed L/ (or --unreviewed, for a trial).",
        )
    limit = settings.limit
    return [passed[i * len(passed) // limit] for i in range(limit)] if limit and limit < len(passed) else passed


def make_pool(task: Task, queries: Sequence[TaskQuery], settings: PoolSettings, registry: Registry) -> Pool:
    """Return the pool of each query.

    Raises:
        InputError: the corpus is missing; PluginError: an unknown retriever.
    """
    documents = task.documents(settings.setting)
    abstracts = {a.id: a for a in task.abstracts()} if task.info.corpus == "abstracts" else {}
    ids = {d.id for d in documents}
    pool: Pool = {q.id: {d: [GOLD] for d in q.gold if d in ids} for q in queries}
    lists = _lists(queries, documents, abstracts, settings, registry)
    for query in queries:
        out = {query.paper_id, *query.sources} if abstracts else set()
        own = pool[query.id]
        for neighbour in _neighbours(query, abstracts):
            if neighbour not in out:
                own.setdefault(neighbour, []).append(CITED)
        ways = sorted(lists[query.id])
        random.Random(derived_seed(settings.seed, "pool", query.id)).shuffle(ways)
        ways.sort(key=lambda way: query.form == "complex" and _embeds(way))
        for way in ways:
            new = 0
            for document in lists[query.id][way]:
                if document in out:
                    continue
                if document in own:
                    own[document].append(way)
                elif new < settings.depth:
                    own[document] = [way]
                    new += 1
    return pool


def _lists(
    queries: Sequence[TaskQuery],
    documents: Sequence[TaskDocument],
    abstracts: Mapping[str, AbstractRow],
    settings: PoolSettings,
    registry: Registry,
) -> dict[str, dict[str, list[str]]]:
    """query id -> way of searching -> documents, best first."""
    lists: dict[str, dict[str, list[str]]] = {q.id: {} for q in queries}
    depth = min(len(documents), settings.depth * _FURTHER)
    for spec in settings.pool_with:
        retriever = make_retriever(registry, spec)
        if isinstance(retriever, Identified):
            raise ConfigError(
                f"{spec} cannot be used for pooling: it replays a ranking", hint="Pool with bm25, tfidf, st:MODEL."
            )
        retriever.index([d.searched for d in documents])
        asked = [(q, way, text) for q in queries for way, text in _texts(q, abstracts, whole=_embeds(spec))]
        found = retriever.search([text for _, _, text in asked], depth).documents.tolist()
        for (query, way, _), positions in zip(asked, found, strict=True):
            hits = lists[query.id].setdefault(f"{spec}:{way}", [])
            hits += [d for p in positions if p >= 0 and (d := documents[p].id) not in hits]
    return lists


def _embeds(spec: str) -> bool:
    """Return whether a retriever makes the second pool of a need: an embedding model."""
    return spec.startswith("st:")


def _texts(query: TaskQuery, abstracts: Mapping[str, AbstractRow], *, whole: bool) -> Iterator[tuple[str, str]]:
    """Yield (way, text): by title and by abstract for a facet, by paragraph and (unless ``whole``) by sentence for a
    need; else the query itself."""
    if query.form == "facet":
        paper = abstracts.get(query.paper_id or "")
        if paper is None:
            raise InputError(
                f"query {query.id}: its paper {query.paper_id!r} is not in corpus/abstracts.jsonl",
                hint="Its licence does not permit an abstract; query.abstracts=all keeps it for your own use.",
            )
        yield "title", paper.title
        yield "abstract", paper.text
    elif query.form == "complex":
        yield "paragraph", query.text
        for start, end in () if whole else sentence_spans(query.text):
            yield "sentence", query.text[start:end]
    else:
        yield "query", query.text


def _neighbours(query: TaskQuery, abstracts: Mapping[str, AbstractRow]) -> list[str]:
    """Papers of the corpus that a source of the query cites, or that cite it."""
    sources = {query.paper_id, *query.sources} & set(abstracts)
    cited = {c for s in sources if s for c in abstracts[s].cites if c in abstracts}
    citing = {a.id for a in abstracts.values() if sources & set(a.cites)}
    return sorted((cited | citing) - sources)
