"""CSFCube (Mysore et al., NeurIPS 2021 Datasets and Benchmarks) as a release with the task ``facets``.

It keeps both raters' grades and the adjudicated one, and leaves out missing ratings (-1).
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from scirgen.commands.import_tasks.reading import number, rows
from scirgen.core.errors import InputError
from scirgen.core.records import Grade, Query, Span
from scirgen.qa.release import ReleaseInfo, TaskInfo
from scirgen.qa.tasks import ADJUDICATED, AbstractRow, AbstractSentence
from scirgen.stages.release.content import ReleaseContent
from scirgen.stages.release.tasks import TaskContent, TaskSet

_LABELS = ("3 near identical", "2 similar", "1 related", "0 unrelated")


def csfcube(src: Path) -> ReleaseContent:
    """Read ``abstracts`` (id, title, year, sentences), ``queries`` (id, paper, facet, facet_sentences) and ``judgements``.

    Raises:
        InputError: a file is missing or damaged, or a query's paper or sentences are not among the abstracts.
    """
    abstracts = {str(row["id"]): _abstract(row) for row in rows(src, "abstracts", "id", "title", "sentences")}
    queries = [_query(row, abstracts, src) for row in rows(src, "queries", "id", "paper", "facet", "facet_sentences")]
    grades, qrels = _grades(src, {q.id for q in queries}, abstracts)
    task = TaskContent(
        name="facets",
        info=TaskInfo(recipe="facets", corpus="abstracts", profile="csfcube"),
        queries=queries,
        splits={q.id: "dev" for q in queries},
        qrels=qrels,
        grades=grades,
    )
    note = "All queries are in the split dev: the official dev figures are those of one fold's half."
    return ReleaseContent(
        info=ReleaseInfo(name="CSFCube", origin="CSFCube", scirgen=version("scirgen"), domain="cs", notes=(note,)),
        splits={},
        keep_all=True,
        tasks=TaskSet((task,), tuple(abstracts[k] for k in sorted(abstracts))),
    )


def _abstract(row: dict[str, object]) -> AbstractRow:
    year = row.get("year")
    sentences = row["sentences"]
    assert isinstance(sentences, list)
    return AbstractRow(
        id=str(row["id"]),
        title=str(row["title"]),
        year=int(str(year)) if year else None,
        sentences=tuple(AbstractSentence(text=str(s["text"]), label=str(s["label"])) for s in sentences),
        licence="CC-BY-NC-4.0",
    )


def _query(row: dict[str, object], abstracts: dict[str, AbstractRow], src: Path) -> Query:
    paper, places = str(row["paper"]), row["facet_sentences"]
    assert isinstance(places, list)
    if paper not in abstracts or not all(0 <= p < len(abstracts[paper].sentences) for p in places):
        raise InputError(f"{src}: query {row['id']}: its paper's sentences are not among the abstracts")
    spans: list[Span] = []
    at = 0
    for index, sentence in enumerate(abstracts[paper].sentences):
        if index in places:
            spans.append(Span(document_id=paper, start=at, end=at + len(sentence.text), text=sentence.text))
        at += len(sentence.text) + 1
    return Query(
        id=str(row["id"]),
        recipe="facets",
        form="facet",
        text=" ".join(s.text for s in spans),
        paper_id=paper,
        facet=str(row["facet"]),
        spans=tuple(spans),
        year=abstracts[paper].year,
    )


def _grades(
    src: Path, known: set[str], abstracts: dict[str, AbstractRow]
) -> tuple[list[Grade], dict[str, dict[str, int]]]:
    grades: list[Grade] = []
    qrels: dict[str, dict[str, int]] = {}
    for line, row in enumerate(rows(src, "judgements", "query", "paper", "a", "b", "adjudicated"), 2):
        query, paper = row["query"], row["paper"]
        if query not in known or paper not in abstracts:
            raise InputError(f"{src}, judgements, line {line}: unknown query {query!r} or paper {paper!r}")
        found_by = tuple(filter(None, str(row.get("sources") or "").split(",")))
        judged = (
            (f"human:{row.get('rater_a') or 'a'}", row["a"]),
            (f"human:{row.get('rater_b') or 'b'}", row["b"]),
            (ADJUDICATED, row["adjudicated"]),
        )
        for judge, value in judged:
            grade = number(value, f"{src}, judgements, line {line}")
            if grade < 0:
                continue
            label = _LABELS[3 - grade][2:]
            grades.append(
                Grade(query_id=query, document_id=paper, judge=judge, grade=grade, label=label, found_by=found_by)
            )
            if judge == ADJUDICATED:
                qrels.setdefault(query, {})[paper] = grade
    return grades, qrels
