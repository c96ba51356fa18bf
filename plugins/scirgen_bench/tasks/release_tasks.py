"""Writes the retrieval tasks of a release: queries with splits, settled grades, abstracts by licence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scirgen.core.records import Grade, Query
from scirgen.qa.release import SPLITS, TaskInfo
from scirgen.qa.tasks import AbstractRow, TaskQuery, write_task


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
class TaskSet:
    """All tasks of a release, and the abstracts that some of them search."""

    tasks: tuple[TaskContent, ...] = ()
    abstracts: tuple[AbstractRow, ...] = field(default=())


def write_tasks(folder: Path, tasks: Iterable[TaskContent], counts: dict[str, int]) -> dict[str, TaskInfo]:
    """Write ``tasks/NAME`` for each, by name; adds their line counts to ``counts``.

    Args:
        folder: the release's folder.
        tasks: the tasks to write.
        counts: path -> lines.
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
            }
        )
    return infos
