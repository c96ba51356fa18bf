"""CSFCube (Mysore et al., NeurIPS 2021 Datasets and Benchmarks) as a release with the task ``facets``.

It keeps all raters' grades and the adjudicated one, and leaves out missing ratings (-1). A facet's query is made of its
abstract's sentences with that label; an objective counts as background.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scirgen import InputError, Span
from scirgen.plugin import ReleaseContent, TaskInfo
from scirgen_bench.published.reading import HINT, damaged, find, imported, needed, number, rows, whole
from scirgen_bench.tasks.records import Grade, Query
from scirgen_bench.tasks.release_tasks import TaskContent
from scirgen_bench.tasks.task_files import ADJUDICATED, CITATIONS, AbstractRow, AbstractSentence

FACETS = ("background", "method", "result")
_LABELS = {"background": ("background", "objective"), "method": ("method",), "result": ("result",)}
_GRADES = ("0 unrelated", "1 related", "2 similar", "3 near identical")


def csfcube(src: Path) -> ReleaseContent:
    """Read ``abstracts-csfcube-preds.jsonl``, ``test-pid2anns-csfcube-FACET.json`` for each facet, and, where they
    exist, ``test-pid2pool-csfcube.json`` (the reason why a candidate is in the pool) and ``evaluation_splits.json``.

    The first fold's dev half is the split dev, its test half the split test; all is dev without the splits' file.

    Raises:
        InputError: a file is missing or damaged, or a query or candidate is not among the abstracts.
    """
    abstracts = {
        a.id: a for a in map(_abstract, rows(needed(src, "abstracts-csfcube-preds.jsonl"), "paper_id", "abstract"))
    }
    pooled = _pooled(src)
    splits = _splits(src)
    queries: list[Query] = []
    grades: list[Grade] = []
    for facet in FACETS:
        path = needed(src, f"test-pid2anns-csfcube-{facet}.json")
        for paper, judged in whole(path).items():
            query = _query(paper, facet, abstracts, path)
            queries.append(query)
            with damaged(f"{path}, query {query.id}"):
                grades += _grades(query.id, judged, pooled.get(paper, {}), abstracts, path)
    qrels: dict[str, dict[str, int]] = {}
    for grade in grades:
        if grade.judge == ADJUDICATED:
            qrels.setdefault(grade.query_id, {})[grade.document_id] = grade.grade
    task = TaskContent(
        name="facets",
        info=TaskInfo(recipe="facets", follows=CITATIONS["facets"], corpus="abstracts", profile="csfcube"),
        queries=queries,
        splits={q.id: splits.get(q.id, "dev") for q in queries},
        qrels=qrels,
        grades=grades,
    )
    note = (
        "The official dev figures are those of the split dev; the official test figures are the mean of dev's "
        "and test's."
    )
    return imported("CSFCube", "cs", (note,), task, abstracts.values())


def _abstract(row: Mapping[str, Any]) -> AbstractRow:
    year = row.get("year") or (row.get("metadata") or {}).get("year")
    labels = row.get("pred_labels") or [""] * len(row["abstract"])
    return AbstractRow(
        id=str(row["paper_id"]),
        title=str(row.get("title") or ""),
        year=int(str(year)) if year else None,
        sentences=tuple(
            AbstractSentence(text=str(text), label=str(label).removesuffix("_label"))
            for text, label in zip(row["abstract"], labels, strict=True)
        ),
        licence="CC-BY-NC-4.0",
    )


def _pooled(src: Path) -> dict[str, dict[str, tuple[str, ...]]]:
    """Map a query's paper to its candidates, each with the systems that found it."""
    path = find(src, "test-pid2pool-csfcube.json")
    with damaged(str(path)):
        return {
            paper: {str(c): tuple(sorted(map(str, s))) for c, s in zip(pool["cands"], pool["cand_source"], strict=True)}
            for paper, pool in (whole(path) if path else {}).items()
        }


def _splits(src: Path) -> dict[str, str]:
    path = find(src, "evaluation_splits.json")
    folds = whole(path).values() if path else ()
    return {q: split for fold in folds for split in ("dev", "test") for q in fold.get(f"fold1_{split}", ())}


def _query(paper: str, facet: str, abstracts: Mapping[str, AbstractRow], path: Path) -> Query:
    if paper not in abstracts:
        raise InputError(f"{path}: query {paper} is not among the abstracts", hint=HINT)
    spans: list[Span] = []
    at = 0
    for sentence in abstracts[paper].sentences:
        if sentence.label in _LABELS[facet]:
            spans.append(Span(document_id=paper, start=at, end=at + len(sentence.text), text=sentence.text))
        at += len(sentence.text) + 1
    if not spans:
        raise InputError(f"{path}: the abstract of query {paper} has no sentence labelled {facet}", hint=HINT)
    return Query(
        id=f"{paper}_{facet}",
        recipe="facets",
        form="facet",
        text=" ".join(s.text for s in spans),
        paper_id=paper,
        facet=facet,
        spans=tuple(spans),
        year=abstracts[paper].year,
    )


def _grades(
    query: str,
    judged: Mapping[str, Sequence[Any]],
    pool: Mapping[str, tuple[str, ...]],
    abstracts: Mapping[str, AbstractRow],
    path: Path,
) -> Iterator[Grade]:
    """Yield the grades of one query: each rater's column ``relevance_annN``, and the adjudicated one."""
    candidates = [str(c) for c in judged["cands"]]
    if unknown := next((c for c in candidates if c not in abstracts), None):
        raise InputError(f"{path}: candidate {unknown} of query {query} is not among the abstracts", hint=HINT)
    for column, values in judged.items():
        if column != "relevance_adju" and not column.startswith("relevance_ann"):
            continue
        judge = ADJUDICATED if column == "relevance_adju" else f"human:{column.removeprefix('relevance_')}"
        for paper, value in zip(candidates, values, strict=True):
            grade = number(value, f"{path}, query {query}")
            if grade > 3:
                raise InputError(f"{path}, query {query}: {grade} is not a grade of 0 to 3", hint=HINT)
            if grade >= 0:
                label = _GRADES[grade][2:]
                found_by = pool.get(paper, ())
                yield Grade(query_id=query, document_id=paper, judge=judge, grade=grade, label=label, found_by=found_by)
