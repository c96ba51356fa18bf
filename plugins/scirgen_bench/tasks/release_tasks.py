"""Writes the retrieval tasks of a release: queries with splits, settled grades, abstracts by licence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from scirgen import Rejection
from scirgen.plugin import SPLITS, PartContent, PartWritten, ReleaseMaterial, TaskInfo
from scirgen.release_files.release import LinkedInfo
from scirgen_bench.rowfiles import write_file
from scirgen_bench.tasks.records import Grade, Query
from scirgen_bench.tasks.task_files import AbstractRow, TaskQuery, write_task


@dataclass(frozen=True)
class TaskContent:
    """One task of a `ReleaseContent`.

    Attributes:
        name: its name, which is also its folder's.
        info: recipe, corpus and profile; the writer fills in the counts.
        queries: the queries, in any order.
        splits: query id -> split.
        qrels: query id -> document id -> settled grade (1 for gold, if nobody graded).
        grades: each judge's grades.
    """

    name: str
    info: TaskInfo
    queries: Sequence[Query]
    splits: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]
    grades: Sequence[Grade] = ()


@dataclass(frozen=True)
class TaskSet(PartContent):
    """All tasks of a release, and the abstracts that some of them search."""

    tasks: tuple[TaskContent, ...] = ()
    abstracts: tuple[AbstractRow, ...] = field(default=())
    rejections: tuple[Rejection, ...] = ()

    def write(self, folder: Path, content: ReleaseMaterial, split_of: Mapping[str, str]) -> PartWritten:
        """Write ``corpus/abstracts.jsonl`` if there are any, and ``tasks/NAME`` for each task."""
        lines: dict[str, int] = {}
        if self.abstracts:
            write_file(folder / "corpus" / "abstracts.jsonl", self.abstracts)
            lines["corpus/abstracts.jsonl"] = len(self.abstracts)
        years = {d.id: d.year for d in content.datasets.values() if d.year}
        infos = write_tasks(folder, self.tasks, lines, years)
        counts = {"abstracts": len(self.abstracts)} if self.abstracts else {}
        return PartWritten({"tasks": infos}, counts, lines, self.rejections)


def write_tasks(
    folder: Path, tasks: Iterable[TaskContent], counts: dict[str, int], years: Mapping[str, int]
) -> dict[str, TaskInfo]:
    """Write ``tasks/NAME`` for each, by name; adds their line counts to ``counts``.

    Args:
        folder: the release's folder.
        tasks: the tasks to write.
        counts: path -> lines.
        years: dataset id -> year.
    """
    infos: dict[str, TaskInfo] = {}
    for task in sorted(tasks, key=lambda t: t.name):
        rows = [
            TaskQuery.model_validate({**q.model_dump(exclude={"provenance"}), "split": task.splits[q.id]})
            for q in task.queries
        ]
        grades = sorted(task.grades, key=lambda g: (g.query_id, g.document_id, g.judge))
        written = write_task(folder / "tasks" / task.name, rows, task.qrels, grades)
        counts |= {f"tasks/{task.name}/{name}": number for name, number in written.items()}
        asked = Counter(q.split for q in rows if task.qrels.get(q.id))
        infos[task.name] = task.info.model_copy(
            update={
                "queries": {s: asked[s] for s in SPLITS},
                "grades": len({(g.query_id, g.document_id) for g in grades}) or task.info.grades,
                "judges": tuple(sorted({g.judge for g in grades})) or task.info.judges,
                "linked": linked(rows, years),
            }
        )
    return infos


def linked(queries: Iterable[Query], years: Mapping[str, int]) -> LinkedInfo | None:
    """Return the popularity and age of the datasets that answer queries; None if the queries ask for no datasets.

    Args:
        queries: with their gold; those of one paper count once.
        years: dataset id -> year.
    """
    links = {(q.paper_id or q.text, d): (q.year, years.get(d)) for q in queries for d in q.gold}
    if not links:
        return None
    uses = Counter(d for _, d in links)
    ages = sorted(asked - made for asked, made in links.values() if asked and made)
    return LinkedInfo(
        datasets=len(uses),
        links=len(links),
        once=sum(n == 1 for n in uses.values()),
        ten_most=sum(n for _, n in uses.most_common(10)),
        dated=len(ages),
        age_quartiles=tuple(float(x) for x in np.percentile(ages, (25, 50, 75))) if ages else (),
    )
