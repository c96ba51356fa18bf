"""Formats of retrieval tool kits: BEIR, TREC, and files for ir_datasets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape

from scirgen.core.files.jsonl import write_rows
from scirgen.qa.release import SETTINGS, SPLITS, CorpusDocument, Release, ReleaseRow, trec_id
from scirgen.qa.tasks import Task


class BeirFormat:
    """A BEIR folder for each setting (``without-paper``, ``with-paper``): corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv.

    Every qrels file has the split's questions; queries.jsonl has all of them, as BEIR's loader expects.
    """

    def write(self, release: Release, folder: Path) -> None:
        """Write both settings."""
        for setting in SETTINGS:
            base = folder / setting
            (base / "qrels").mkdir(parents=True)
            with _writable(base / "corpus.jsonl") as out:
                write_rows(out, (_document(d) for d in release.corpus(setting)))
            with _writable(base / "queries.jsonl") as out:
                write_rows(out, (_query(r) for r in release.rows()))
            _beir_qrels(release, base / "qrels")
        _beir_tasks(release, folder)


def _beir_tasks(release: Release, folder: Path) -> None:
    """A BEIR folder for each retrieval task: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv."""
    for task in _searchable_tasks(release):
        base = folder / "tasks" / task.name
        (base / "qrels").mkdir(parents=True)
        documents = ({"_id": d.id, "title": "", "text": d.searched} for d in task.documents())
        with _writable(base / "corpus.jsonl") as out:
            write_rows(out, documents)
        queries = (
            {"_id": q.id, "text": q.text, "metadata": {"form": q.form, "facet": q.facet or "", "split": q.split}}
            for q in task.queries()
        )
        with _writable(base / "queries.jsonl") as out:
            write_rows(out, queries)
        _beir_qrels(task, base / "qrels")


def _trec_tasks(release: Release, folder: Path) -> None:
    """Topics, qrels and documents of each retrieval task, as ``tasks/NAME/...``."""
    for task in _searchable_tasks(release):
        base = folder / "tasks" / task.name
        base.mkdir(parents=True)
        documents = (
            f"<DOC>\n<DOCNO> {trec_id(d.id)} </DOCNO>\n<TEXT>\n{escape(d.searched)}\n</TEXT>\n</DOC>"
            for d in task.documents()
        )
        _write(base / "docs.trec", documents)
        for split in SPLITS:
            topics = (
                f"<top>\n<num> Number: {trec_id(q.id)}\n<title> {escape(_plain(q.text))}\n</top>"
                for q in task.queries(split)
            )
            _write(base / f"topics.{split}.trec", topics)
        _trec_qrels(task, base)


def _searchable_tasks(release: Release) -> Iterator[Task]:
    """The tasks whose documents the release holds. Abstracts may be missing because of their licences."""
    for name in sorted(release.info.tasks):
        task = Task(release, name)
        if task.info.corpus == "datasets" or (release.folder / "corpus" / "abstracts.jsonl").is_file():
            yield task


def _beir_qrels(source: Release | Task, folder: Path) -> None:
    for split in SPLITS:
        lines = (f"{q}\t{d}\t{s}" for q, found in source.qrels(split).items() for d, s in found.items())
        _write(folder / f"{split}.tsv", ["query-id\tcorpus-id\tscore", *lines])


def _trec_qrels(source: Release | Task, folder: Path) -> None:
    for split in SPLITS:
        found = source.qrels(split).items()
        _write(
            folder / f"qrels.{split}.txt",
            (f"{trec_id(q)} 0 {trec_id(d)} {s}" for q, of in found for d, s in of.items()),
        )


class TrecFormat:
    """TREC files: topics.SPLIT.trec, qrels.SPLIT.txt, docs.SETTING.trec (``<DOC>`` records).

    Each tag has a line of its own, since some readers work line by line and miss text on a tag's line. Blanks and tags in ids are
    percent-encoded (`trec_id`).
    """

    def write(self, release: Release, folder: Path) -> None:
        """Write topics and qrels of each split, and the documents of each setting."""
        folder.mkdir(parents=True)
        for setting in SETTINGS:
            _write(
                folder / f"docs.{setting}.trec",
                (
                    f"<DOC>\n<DOCNO> {trec_id(d.id)} </DOCNO>\n<TITLE>\n{escape(_plain(d.title))}\n</TITLE>\n"
                    f"<TEXT>\n{escape(d.text)}\n</TEXT>\n</DOC>"
                    for d in release.corpus(setting)
                ),
            )
        for split in SPLITS:
            _write(
                folder / f"topics.{split}.trec",
                (
                    f"<top>\n<num> Number: {trec_id(r.id)}\n<title> {escape(_plain(r.question))}\n"
                    f"<desc> Description:\n{escape(_plain(r.question))}\n"
                    f"<narr> Narrative:\nQuestion type {r.question_type}, Bloom level {r.bloom or 'not tagged'}.\n</top>"
                    for r in release.rows(split)
                ),
            )
        _trec_qrels(release, folder)
        _trec_tasks(release, folder)


class IrDatasetsFormat:
    """Files for ``ir_datasets``' own readers, and ``datasets.json``: id (``scirgen/NAME/SETTING/SPLIT``) -> its files.

    `scirgen.benchmark.adapters.irds.register` reads it, so that ``ir_datasets.load(id)`` works.
    """

    def write(self, release: Release, folder: Path) -> None:
        """Write docs as TSV (id, text), queries as TSV (id, text), qrels in TREC form, and the index."""
        folder.mkdir(parents=True)
        name = "".join(c if c.isalnum() else "-" for c in release.info.name.lower())
        index: dict[str, dict[str, str]] = {}
        for setting in SETTINGS:
            docs = f"docs.{setting}.tsv"
            _write(
                folder / docs, (f"{trec_id(d.id)}\t{_plain(f'{d.title} {d.text}')}" for d in release.corpus(setting))
            )
            index[f"scirgen/{name}/{setting}"] = {"docs": docs}
            for split in SPLITS:
                index[f"scirgen/{name}/{setting}/{split}"] = {
                    "docs": docs,
                    "queries": f"queries.{split}.tsv",
                    "qrels": f"qrels.{split}.txt",
                }
        for split in SPLITS:
            _write(
                folder / f"queries.{split}.tsv", (f"{trec_id(r.id)}\t{_plain(r.question)}" for r in release.rows(split))
            )
        _trec_qrels(release, folder)
        (folder / "datasets.json").write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def _plain(text: str) -> str:
    return " ".join(text.split())


def _document(document: CorpusDocument) -> dict[str, object]:
    about = {"licence": document.licence, "url": document.url or ""}
    return {"_id": document.id, "title": document.title, "text": document.text, "metadata": about}


def _query(row: ReleaseRow) -> dict[str, object]:
    about = {"question_type": row.question_type, "bloom": row.bloom or "", "split": row.split}
    return {"_id": row.id, "text": row.question, "metadata": about}


def _writable(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="\n")


def _write(path: Path, lines: Iterable[str]) -> None:
    with _writable(path) as out:
        out.writelines(f"{line}\n" for line in lines)
