"""Formats of retrieval tool kits: BEIR, TREC, and files for ir_datasets; datasets are retrieved in two settings, and
passages where they are graded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO
from xml.sax.saxutils import escape

from scirgen import Release, ReleaseRow
from scirgen.plugin import SPLITS
from scirgen.release_files.release import SETTINGS
from scirgen_bench.rowfiles import trec_id, write_rows


class Judged(Protocol):
    """Something with qrels: a release, a task, passages."""

    def qrels(self, split: str) -> Mapping[str, Mapping[str, int]]:
        """Query id -> document id -> grade."""
        ...


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
    """All that can be retrieved."""
    graded = any(release.passage_qrels(split) for split in SPLITS)
    return [*(_Datasets(release, setting) for setting in SETTINGS), *([_Passages(release)] if graded else [])]


class BeirFormat:
    """A BEIR folder for each setting (``without-paper``, ``with-paper``) and for ``passages``: corpus.jsonl,
    queries.jsonl, qrels/SPLIT.tsv.

    Every qrels file has the split's questions; queries.jsonl has all of them, as BEIR's loader expects.
    """

    def write(self, release: Release, folder: Path) -> None:
        for unit in _units(release):
            base = folder / unit.name
            (base / "qrels").mkdir(parents=True)
            with open_new(base / "corpus.jsonl") as out:
                rows = ({"_id": d.id, "title": d.title, "text": d.text, "metadata": d.about} for d in unit.documents())
                write_rows(out, rows)
            with open_new(base / "queries.jsonl") as out:
                write_rows(out, (_query(r) for r in release.rows()))
            beir_qrels(unit, base / "qrels")


def beir_qrels(source: Judged, folder: Path) -> None:
    """Write ``SPLIT.tsv`` as BEIR reads it."""
    for split in SPLITS:
        lines = (f"{q}\t{d}\t{s}" for q, found in source.qrels(split).items() for d, s in found.items())
        write_lines(folder / f"{split}.tsv", ["query-id\tcorpus-id\tscore", *lines])


def trec_qrels(source: Judged, folder: Path, stem: str = "qrels") -> None:
    """Write ``qrels.SPLIT.txt`` as TREC has it."""
    for split in SPLITS:
        found = source.qrels(split).items()
        write_lines(
            folder / f"{stem}.{split}.txt",
            (f"{trec_id(q)} 0 {trec_id(d)} {s}" for q, of in found for d, s in of.items()),
        )


class TrecFormat:
    """TREC files: topics.SPLIT.trec, qrels.SPLIT.txt, docs.SETTING.trec (``<DOC>`` records), and docs.passages.trec
    with qrels.passages.SPLIT.txt.

    Each tag has a line of its own, since some readers work line by line and miss text on a tag's line. Blanks and tags
    in ids are percent-encoded (`trec_id`).
    """

    def write(self, release: Release, folder: Path) -> None:
        """Write topics and qrels of each split, and the documents of each setting."""
        folder.mkdir(parents=True)
        for unit in _units(release):
            write_lines(
                folder / f"docs.{unit.name}.trec",
                (
                    f"<DOC>\n<DOCNO> {trec_id(d.id)} </DOCNO>\n<TITLE>\n{escape(plain(d.title))}\n</TITLE>\n"
                    f"<TEXT>\n{escape(d.text)}\n</TEXT>\n</DOC>"
                    for d in unit.documents()
                ),
            )
            trec_qrels(unit, folder, unit.stem)
        for split in SPLITS:
            write_lines(
                folder / f"topics.{split}.trec",
                (
                    f"<top>\n<num> Number: {trec_id(r.id)}\n<title> {escape(plain(r.question))}\n"
                    f"<desc> Description:\n{escape(plain(r.question))}\n"
                    f"<narr> Narrative:\nQuestion type {r.question_type}, Bloom level "
                    f"{r.bloom or 'not tagged'}.\n</top>"
                    for r in release.rows(split)
                ),
            )


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
            write_lines(folder / docs, (f"{trec_id(d.id)}\t{plain(f'{d.title} {d.text}')}" for d in unit.documents()))
            index[f"scirgen/{name}/{unit.name}"] = {"docs": docs}
            for split in SPLITS:
                index[f"scirgen/{name}/{unit.name}/{split}"] = {
                    "docs": docs,
                    "queries": f"queries.{split}.tsv",
                    "qrels": f"{unit.stem}.{split}.txt",
                }
            trec_qrels(unit, folder, unit.stem)
        for split in SPLITS:
            write_lines(
                folder / f"queries.{split}.tsv", (f"{trec_id(r.id)}\t{plain(r.question)}" for r in release.rows(split))
            )
        (folder / "datasets.json").write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def plain(text: str) -> str:
    """Return the text on one line."""
    return " ".join(text.split())


def _query(row: ReleaseRow) -> dict[str, object]:
    about = {"question_type": row.question_type, "bloom": row.bloom or "", "split": row.split, **row.added()}
    return {"_id": row.id, "text": row.question, "metadata": about}


def open_new(path: Path) -> TextIO:
    """Open a file for writing, with the same line ends on every system."""
    return path.open("w", encoding="utf-8", newline="\n")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text file line by line."""
    with open_new(path) as out:
        out.writelines(f"{line}\n" for line in lines)
