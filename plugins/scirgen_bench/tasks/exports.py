"""Retrieval tasks in the release formats ``beir`` and ``trec``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from scirgen import Release
from scirgen.plugin import SPLITS
from scirgen_bench.formats.retrieval import beir_qrels, open_new, plain, trec_qrels, write_lines
from scirgen_bench.rowfiles import trec_id, write_rows
from scirgen_bench.tasks.task_files import Task


def beir_tasks(release: Release, folder: Path) -> None:
    """Write a BEIR folder for each retrieval task: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv."""
    for task in _searchable_tasks(release):
        base = folder / "tasks" / task.name
        (base / "qrels").mkdir(parents=True)
        documents = ({"_id": d.id, "title": "", "text": d.searched} for d in task.documents())
        with open_new(base / "corpus.jsonl") as out:
            write_rows(out, documents)
        queries = (
            {"_id": q.id, "text": q.text, "metadata": {"form": q.form, "facet": q.facet or "", "split": q.split}}
            for q in task.queries()
        )
        with open_new(base / "queries.jsonl") as out:
            write_rows(out, queries)
        beir_qrels(task, base / "qrels")


def trec_tasks(release: Release, folder: Path) -> None:
    """Topics, qrels and documents of each retrieval task, as ``tasks/NAME/...``."""
    for task in _searchable_tasks(release):
        base = folder / "tasks" / task.name
        base.mkdir(parents=True)
        documents = (
            f"<DOC>\n<DOCNO> {trec_id(d.id)} </DOCNO>\n<TEXT>\n{escape(d.searched)}\n</TEXT>\n</DOC>"
            for d in task.documents()
        )
        write_lines(base / "docs.trec", documents)
        for split in SPLITS:
            topics = (
                f"<top>\n<num> Number: {trec_id(q.id)}\n<title> {escape(plain(q.text))}\n</top>"
                for q in task.queries(split)
            )
            write_lines(base / f"topics.{split}.trec", topics)
        trec_qrels(task, base)


def _searchable_tasks(release: Release) -> Iterator[Task]:
    """Yield the tasks whose documents the release holds. Abstracts may be missing because of their licences."""
    for name in sorted(release.info.tasks):
        task = Task(release, name)
        if task.info.corpus == "datasets" or (release.folder / "corpus" / "abstracts.jsonl").is_file():
            yield task
