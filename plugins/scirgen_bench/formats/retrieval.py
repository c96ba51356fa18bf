"""Formats of retrieval tool kits: BEIR, TREC, and files for ir_datasets; datasets are retrieved in two settings, and
passages where they are graded; BEIR and TREC also get the retrieval tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from xml.sax.saxutils import escape

from scirgen import Release, ReleaseRow
from scirgen.plugin import SPLITS
from scirgen.release_files.release import SETTINGS
from scirgen_bench.rowfiles import trec_id, write_file
from scirgen_bench.tasks.task_files import Task


class Judged(Protocol):
    """Something with qrels: a release, a task, passages."""

    def qrels(self, split: str) -> Mapping[str, Mapping[str, int]]:
        """Query id -> document id -> grade."""


@dataclass(frozen=True)
class _Searched:
    """One document of a corpus."""

    id: str
    title: str
    text: str
    about: Mapping[str, object]


class _Datasets:
    """The corpus of a setting with the gold datasets."""

    def __init__(self, release: Release, name: str) -> None:
        self._release, self.name, self.stem = release, name, "qrels"

    def documents(self) -> Iterator[_Searched]:
        for d in self._release.corpus(self.name):
            yield _Searched(d.id, d.title, d.text, {"licence": d.licence, "url": d.url or ""})

    def qrels(self, split: str) -> Mapping[str, Mapping[str, int]]:
        return self._release.qrels(split)


class _Passages:
    """The passages with their grades: 0 is judged, a passage without a grade is not."""

    def __init__(self, release: Release) -> None:
        self._release, self.name, self.stem = release, "passages", "qrels.passages"

    def documents(self) -> Iterator[_Searched]:
        for p in self._release.passages():
            about = {"licence": p.licence, "document": p.document_id, "heading": p.heading}
            yield _Searched(p.id, p.headline, p.text, about)

    def qrels(self, split: str) -> Mapping[str, Mapping[str, int]]:
        return self._release.passage_qrels(split)


def _units(release: Release) -> list[_Datasets | _Passages]:
    """All that can be retrieved and has gold."""
    units: list[_Datasets | _Passages] = [*(_Datasets(release, setting) for setting in SETTINGS), _Passages(release)]
    return [unit for unit in units if any(unit.qrels(split) for split in SPLITS)]


def _searchable_tasks(release: Release) -> Iterator[Task]:
    """Yield the tasks whose documents the release holds. Abstracts may be missing because of their licences."""
    for name in sorted(release.info.tasks):
        task = Task(release, name)
        if task.info.corpus == "datasets" or (release.folder / "corpus" / "abstracts.jsonl").is_file():
            yield task


class BeirFormat:
    """A BEIR folder for each setting (``without-paper``, ``with-paper``), for ``passages`` and for each retrieval task
    (``tasks/NAME``): corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv.

    queries.jsonl has the questions of all splits that have a qrel there, as BEIR's loader expects: those that no
    dataset answers are only in ``passages``.
    """

    def write(self, release: Release, folder: Path) -> None:
        for unit in _units(release):
            documents = ({"_id": d.id, "title": d.title, "text": d.text, "metadata": d.about} for d in unit.documents())
            judged = {query for split in SPLITS for query in unit.qrels(split)}
            _write_beir(folder / unit.name, documents, (_query(r) for r in release.rows() if r.id in judged), unit)
        for task in _searchable_tasks(release):
            documents = ({"_id": d.id, "title": "", "text": d.searched} for d in task.documents())
            queries = (
                {"_id": q.id, "text": q.text, "metadata": {"form": q.form, "facet": q.facet or "", "split": q.split}}
                for q in task.queries()
            )
            _write_beir(folder / "tasks" / task.name, documents, queries, task)


Rows = Iterable[Mapping[str, object]]


def _write_beir(base: Path, documents: Rows, queries: Rows, source: Judged) -> None:
    (base / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", documents), ("queries", queries)):
        write_file(base / f"{name}.jsonl", rows)
    for split in SPLITS:
        lines = (f"{q}\t{d}\t{s}" for q, found in source.qrels(split).items() for d, s in found.items())
        _write_lines(base / "qrels" / f"{split}.tsv", ["query-id\tcorpus-id\tscore", *lines])


def _trec_qrels(source: Judged, folder: Path, stem: str = "qrels") -> None:
    """Write ``STEM.SPLIT.txt`` as TREC has it."""
    for split in SPLITS:
        found = source.qrels(split).items()
        _write_lines(
            folder / f"{stem}.{split}.txt",
            (f"{trec_id(q)} 0 {trec_id(d)} {s}" for q, of in found for d, s in of.items()),
        )


class TrecFormat:
    """TREC files: topics.SPLIT.trec, qrels.SPLIT.txt, docs.SETTING.trec (``<DOC>`` records), and docs.passages.trec
    with qrels.passages.SPLIT.txt; for each retrieval task a folder ``tasks/NAME``.

    Each tag has a line of its own, since some readers work line by line and miss text on a tag's line. Blanks and tags
    in ids are percent-encoded (`trec_id`).
    """

    def write(self, release: Release, folder: Path) -> None:
        """Write topics and qrels of each split, and the documents of each setting."""
        folder.mkdir(parents=True)
        for unit in _units(release):
            _write_lines(
                folder / f"docs.{unit.name}.trec",
                (
                    _trec_document(d.id, f"<TITLE>\n{escape(_plain(d.title))}\n</TITLE>\n", d.text)
                    for d in unit.documents()
                ),
            )
            _trec_qrels(unit, folder, unit.stem)
        for split in SPLITS:
            topics = (_trec_topic(r.id, r.question, _about(r)) for r in release.rows(split))
            _write_lines(folder / f"topics.{split}.trec", topics)
        for task in _searchable_tasks(release):
            base = folder / "tasks" / task.name
            base.mkdir(parents=True)
            _write_lines(base / "docs.trec", (_trec_document(d.id, "", d.searched) for d in task.documents()))
            for split in SPLITS:
                topics = (_trec_topic(q.id, q.text, ()) for q in task.queries(split))
                _write_lines(base / f"topics.{split}.trec", topics)
            _trec_qrels(task, base)


def _trec_document(id: str, title: str, text: str) -> str:
    return f"<DOC>\n<DOCNO> {trec_id(id)} </DOCNO>\n{title}<TEXT>\n{escape(text)}\n</TEXT>\n</DOC>"


def _trec_topic(id: str, text: str, more: Sequence[str]) -> str:
    return "\n".join((f"<top>\n<num> Number: {trec_id(id)}\n<title> {escape(_plain(text))}", *more, "</top>"))


def _about(row: ReleaseRow) -> tuple[str, str]:
    """Return the description and the narrative of a question's topic."""
    kind = f"Question type {row.question_type}, Bloom level {row.bloom or 'not tagged'}."
    return f"<desc> Description:\n{escape(_plain(row.question))}", f"<narr> Narrative:\n{kind}"


class IrDatasetsFormat:
    """Files for ``ir_datasets``' own readers, and ``datasets.json``: id (``scirgen/NAME/SETTING/SPLIT``) -> its files.

    `scirgen_bench.adapters.irds.register` reads it, so that ``ir_datasets.load(id)`` works.
    """

    def write(self, release: Release, folder: Path) -> None:
        """Write docs as TSV (id, text), queries as TSV (id, text), qrels in TREC form, and the index."""
        folder.mkdir(parents=True)
        name = "".join(c if c.isalnum() else "-" for c in release.info.name.lower())
        index: dict[str, dict[str, str]] = {}
        for unit in _units(release):
            docs = f"docs.{unit.name}.tsv"
            _write_lines(folder / docs, (f"{trec_id(d.id)}\t{_plain(f'{d.title} {d.text}')}" for d in unit.documents()))
            index[f"scirgen/{name}/{unit.name}"] = {"docs": docs}
            for split in SPLITS:
                index[f"scirgen/{name}/{unit.name}/{split}"] = {
                    "docs": docs,
                    "queries": f"queries.{split}.tsv",
                    "qrels": f"{unit.stem}.{split}.txt",
                }
            _trec_qrels(unit, folder, unit.stem)
        for split in SPLITS:
            _write_lines(
                folder / f"queries.{split}.tsv", (f"{trec_id(r.id)}\t{_plain(r.question)}" for r in release.rows(split))
            )
        (folder / "datasets.json").write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def _plain(text: str) -> str:
    """Return the text on one line."""
    return " ".join(text.split())


def _query(row: ReleaseRow) -> dict[str, object]:
    about = {"question_type": row.question_type, "bloom": row.bloom or "", "split": row.split, **row.added()}
    return {"_id": row.id, "text": row.question, "metadata": about}


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text file line by line, with the same line ends on every system."""
    with path.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(f"{line}\n" for line in lines)
