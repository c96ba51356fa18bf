"""DORIS-MAE (Wang et al., NeurIPS 2023 Datasets and Benchmarks) with BIRCO's labels, as a release with the task ``aspects``.

Only sums over a query's requirements are public, not the grade of each; the sums are the task's qrels.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from scirgen.commands.import_tasks.reading import number, rows
from scirgen.core.errors import InputError
from scirgen.core.records import Query
from scirgen.qa.release import ReleaseInfo, TaskInfo
from scirgen.qa.tasks import AbstractRow, AbstractSentence
from scirgen.stages.release.content import ReleaseContent
from scirgen.stages.release.tasks import TaskContent, TaskSet


def dorismae(src: Path) -> ReleaseContent:
    """Read ``queries`` (id, text, sentences, aspects), ``subqueries``, ``birco_corpus`` (id, text) and ``birco_qrels``.

    The official test queries are in the split test, the others (BIRCO's dev) in dev.

    Raises:
        InputError: a file is missing or damaged, or a grade's query or document is unknown.
    """
    queries: list[Query] = []
    splits: dict[str, str] = {}
    for row in rows(src, "queries", "id", "text", "sentences", "aspects"):
        made = _complex(row)
        queries += made
        splits |= {q.id: "test" if row.get("official_test") else "dev" for q in made}
    known = {q.id: q for q in queries}
    for row in rows(src, "subqueries", "id", "query", "text", "sentences"):
        if row["query"] not in known:
            raise InputError(f"{src}, subqueries: {row['id']} belongs to the unknown query {row['query']!r}")
        query = _sub_query(row, known[row["query"]])
        queries.append(query)
        splits[query.id] = splits[row["query"]]
    corpus = [
        AbstractRow(id=str(r["id"]), sentences=(AbstractSentence(text=str(r["text"])),), licence="CC-BY-NC-4.0")
        for r in rows(src, "birco_corpus", "id", "text")
    ]
    qrels = _qrels(src, known, {a.id for a in corpus})
    task = TaskContent(
        name="aspects",
        info=TaskInfo(
            recipe="aspects",
            corpus="abstracts",
            profile="doris",
            grades=sum(map(len, qrels.values())),
            judges=("published",),
        ),
        queries=queries,
        splits=splits,
        qrels=qrels,
    )
    return ReleaseContent(
        info=ReleaseInfo(
            name="DORIS-MAE",
            origin="DORIS-MAE and BIRCO",
            scirgen=version("scirgen"),
            domain="cs",
            notes=("Grades are sums over a query's requirements; the single grades are not public.",),
        ),
        splits={},
        keep_all=True,
        tasks=TaskSet((task,), tuple(sorted(corpus, key=lambda a: a.id))),
    )


def _complex(row: dict[str, Any]) -> list[Query]:
    """The query, its aspects and their sub-aspects. The package does not say which sentences an aspect stands for."""
    own = str(row["id"])
    aspects: list[Query] = []
    for aspect in row["aspects"]:
        name = f"{own}/{aspect['id']}"
        aspects.append(Query(id=name, recipe="aspects", form="aspect", text=str(aspect["text"]), parent=own))
        aspects += [
            Query(id=f"{own}/{sub['id']}", recipe="aspects", form="sub_aspect", text=str(sub["text"]), parent=name)
            for sub in aspect["sub"]
        ]
    query = Query(
        id=own,
        recipe="aspects",
        form="complex",
        text=str(row["text"]),
        parts=tuple(a.id for a in aspects if a.form == "aspect"),
    )
    return [query, *aspects]


def _sub_query(row: dict[str, Any], parent: Query) -> Query:
    return Query(
        id=f"{parent.id}/s{row['id']}",
        recipe="aspects",
        form="sub_query",
        text=str(row["text"]),
        parent=parent.id,
    )


def _qrels(src: Path, queries: dict[str, Query], documents: set[str]) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for line, row in enumerate(rows(src, "birco_qrels", "query", "doc", "sum"), 2):
        query, document = row["query"], row["doc"]
        if query not in queries or document not in documents:
            raise InputError(f"{src}, birco_qrels, line {line}: unknown query {query!r} or document {document!r}")
        qrels.setdefault(query, {})[document] = number(row["sum"], f"{src}, birco_qrels, line {line}")
    return qrels
