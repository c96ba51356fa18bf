"""Reads a folder of papers, and finds the datasets of each file without a model.

If few files match no dataset, each of them is a candidate for every dataset; stage `match` then decides.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from scirgen.core.fingerprint import digest
from scirgen.core.licences import normalise_licence
from scirgen.core.records import Dataset, Paper
from scirgen.core.safety.files import is_below
from scirgen.core.text.doi import doi_in_file_name, doi_tails, find_doi, mentions_doi
from scirgen.core.text.language import detect_language, in_other_languages
from scirgen.core.text.shown import shown
from scirgen.core.text.words import letters
from scirgen.stages.collect.files.child import ChildError, printed_lines
from scirgen.stages.collect.files.mapping import statements, text, texts
from scirgen.stages.collect.files.recordfiles import RawRecord, files_below, kind_of, read_records, readable_name
from scirgen.stages.collect.source import Candidate, Fetched

PAPER_TYPES = {
    ".pdf": "application/pdf", ".xml": "application/xml", ".nxml": "application/xml", ".md": "text/markdown",
    ".markdown": "text/markdown", ".txt": "text/plain", ".html": "text/html", ".htm": "text/html", ".tex": "text/x-tex",
}  # fmt: skip
"""Suffixes of files that count as papers. Stage `parse` checks whether a file has the format that its name says."""

_DOCUMENTS = frozenset({".docx", ".doc", ".odt", ".rtf", ".pages", ".epub", ".djvu", ".ps", ".pptx", ".ppt", ".docm"})
"""Suffixes of documents in which papers come too, and which nothing here reads."""

_OUTSIDE = "outside:"

TABLE = "papers"
"""Stem of a table in the folder (``papers.csv``, ``papers.jsonl``...) that describes its files."""

_SHORTEST_TITLE = 32  # letters and digits; shorter titles ("Soil moisture") occur by chance


@dataclass(frozen=True)
class PaperFile:
    """A file of the folder; ``dataset_ids`` are the ids or DOIs of datasets that the folder's table names for it."""

    path: Path
    name: str
    doi: str | None = None
    title: str = ""
    licence: str = "unknown"
    year: int | None = None
    dataset_ids: tuple[str, ...] = ()

    def paper(self) -> Paper:
        """The paper. Its id is its DOI or, until the file is read, its name."""
        return Paper(
            id=self.doi or f"file:{self.name}",
            title=self.title,
            doi=self.doi,
            year=self.year,
            licence=self.licence,
            file=str(self.path),
            media_type=PAPER_TYPES.get(self.path.suffix.lower()),
        )


@dataclass(frozen=True)
class _Text:
    """The parts of a paper's text that are searched: the DOI tails of the whole text and of its beginning, and its
    letters and digits; and its language."""

    tails: list[str]
    head_tails: list[str]
    letters: str
    language: str


@dataclass(frozen=True)
class _Keys:
    """The texts that identify a dataset; computed once and compared with every file."""

    id: str
    doi: str
    own: frozenset[str]
    named: frozenset[str]
    related: frozenset[str]
    title: str
    related_titles: tuple[str, ...]

    @classmethod
    def of(cls, dataset: Dataset, named: Sequence[str]) -> _Keys:
        doi = (dataset.doi or "").lower()
        titles = (letters(r) for r in dataset.related)
        title = letters(dataset.title)
        return cls(
            id=dataset.id.lower(),
            doi=doi,
            own=frozenset({dataset.id.lower(), doi} - {""}),
            named=frozenset(
                {n.lower() for n in named} | {_last(n) for n in named} | {d for n in named if (d := find_doi(n))}
            ),
            related=frozenset(d for r in dataset.related if (d := find_doi(r))),
            title=title if len(title) >= _SHORTEST_TITLE else "\0",
            related_titles=tuple(t for t in titles if len(t) >= _SHORTEST_TITLE),
        )


def _last(name: str) -> str:
    """A file's name without folders ("papers/A.pdf", with either slash), in lower case."""
    return name.replace("\\", "/").rpartition("/")[2].lower()


class PaperFolder:
    """The papers below a folder.

    Args:
        root: the folder.
        everyone_up_to: files that match no dataset are candidates for all datasets if there are at most this many.
        scan_up_to: the files' texts are searched for DOIs and titles if there are at most this many files.
        kinds: suffixes of the files that are papers.
    """

    def __init__(
        self,
        root: Path,
        *,
        everyone_up_to: int = 50,
        scan_up_to: int = 500,
        kinds: Container[str] = PAPER_TYPES,
    ) -> None:
        self.root = root
        self._kinds = kinds
        self._everyone_up_to = everyone_up_to
        self._scan_up_to = scan_up_to

    @cached_property
    def files(self) -> tuple[PaperFile, ...]:
        """All papers, by name."""
        table = {str(r.get("file") or r.get("path") or r.get("filename")): r for r in self._table()}
        found = (
            readable_name(p)
            for p in files_below(self.root)
            if _is_paper(p) and p.suffix.lower() in self._kinds and is_below(p, self.root)
        )
        return tuple(self._file(p, table.get(_relative(p, self.root)) or table.get(p.name) or {}) for p in found)

    def warnings(self, language: str) -> list[str]:
        """Lines about papers in another language than the questions, by their texts, and about documents that are not
        read."""
        others = in_other_languages(Counter(t.language for t in self._texts.values()), language, "papers")
        plain = (p.name for p in files_below(self.root) if not p.name.startswith((".", "~")))
        unread = [name for name in plain if Path(name).suffix.lower() in _DOCUMENTS]
        kinds = ", ".join(PAPER_TYPES)
        documents = f"not read: {shown(unread, 4)}. Save them as PDF; papers are {kinds}" if unread else ""
        return [line for line in (others, documents) if line]

    @cached_property
    def outside(self) -> frozenset[str]:
        """Names of links in the folder that lead out of it. They are reported and never opened."""
        found = (p for p in files_below(self.root) if p.is_symlink() and not is_below(p, self.root))
        return frozenset(_relative(p, self.root) for p in found if p.suffix.lower() in PAPER_TYPES or p.is_dir())

    @cached_property
    def revision(self) -> str:
        """Hash of names, sizes and times of change."""
        listed = [(f.name, f.path.stat().st_size, f.path.stat().st_mtime_ns) for f in self.files]
        tables = [(p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in self._tables()]
        return digest(listed, tables)

    def candidates(self, dataset: Dataset, named: Sequence[str] = ()) -> list[Candidate]:
        """Papers for a dataset, sorted by how they were found (the surest way first), then by file name.

        Args:
            dataset: the record.
            named: file names and DOIs of the dataset's papers, according to its record.
        """
        return [Candidate(self.files[n].paper(), by) for n, by in self.places(dataset, named)]

    def places(self, dataset: Dataset, named: Sequence[str] = ()) -> list[tuple[int, str]]:
        """The `candidates` as (place in ``files``, how it was found)."""
        keys = _Keys.of(dataset, named)
        found = [(self._found_by(f, keys), n) for n, f in enumerate(self.files)]
        ordered = sorted((_ORDER.index(by), self.files[n].name, by, n) for by, n in found if by)
        return [(n, by) for _, _, by, n in ordered]

    def missing(self, dataset: Dataset, named: Sequence[str]) -> list[Candidate]:
        """Files that the record or the folder's table names for a dataset, but that are not in the folder.

        They have no path, so that no name leads out of the folder.
        """
        here = {n.lower() for f in self.files for n in (f.name, f.path.name)}
        own = {dataset.id.lower(), (dataset.doi or dataset.id).lower()}
        listed = (name for name, ids in self._promised if own & ids)
        return [
            Candidate(Paper(id=name), "column")
            for name in dict.fromkeys((*named, *listed))
            if Path(name).suffix.lower() in PAPER_TYPES
            and not {name.lower(), _last(name)} & here
            and not find_doi(name)
        ] + [Candidate(Paper(id=f"{_OUTSIDE}{name}"), "folder") for name in sorted(self.outside)]

    def fetch(self, paper: Paper) -> Fetched:
        """The paper's file at its place."""
        if paper.id.startswith(_OUTSIDE) and not paper.file:
            name = paper.id.removeprefix(_OUTSIDE)
            return Fetched(code="outside", reason=f"{name!r} is a link that leads out of the folder of papers")
        if paper.file and not is_below(Path(paper.file), self.root):
            return Fetched(code="outside", reason=f"{Path(paper.file).name!r} is outside the folder of papers")
        if not paper.file:
            return Fetched(code="not_found", reason=f"{paper.id!r} is named but is not in the folder of papers")
        path = Path(paper.file)
        if not path.is_file():
            return Fetched(code="not_found", reason=f"{paper.file}: no such file")
        if path.stat().st_size == 0:
            return Fetched(code="damaged", reason=f"{path.name}: the file is empty")
        return Fetched(file=path, media_type=paper.media_type)

    def _found_by(self, file: PaperFile, keys: _Keys) -> str:
        if keys.own & {d.lower() for d in file.dataset_ids}:
            return "column"
        if {file.name.lower(), file.path.name.lower(), file.path.stem.lower()} & keys.named:
            return "column"
        if file.doi and file.doi in keys.named:
            return "column"
        if file.doi and file.doi in keys.related:
            return "related_doi"
        if _named_after(file.path.stem, keys):
            return "file_name"
        return self._by_text(file, keys) or self._by_folder(file)

    def _by_text(self, file: PaperFile, keys: _Keys) -> str:
        content = self._texts.get(file.path)
        if content is None:
            return ""
        if keys.doi and mentions_doi(content.tails, keys.doi):
            return "doi_in_text"
        if any(mentions_doi(content.head_tails, doi) for doi in keys.related):
            return "related_doi"
        if keys.title in content.letters:
            return "title_in_text"
        return "cites_related" if any(t in content.letters for t in keys.related_titles) else ""

    def _by_folder(self, file: PaperFile) -> str:
        return "folder" if len(self._nobodys) <= self._everyone_up_to and file in self._nobodys else ""

    @cached_property
    def _nobodys(self) -> frozenset[PaperFile]:
        """Files that no table and no name assigns to a dataset. A mention in its text does not assign a file."""
        return frozenset(f for f in self.files if not f.dataset_ids)

    @cached_property
    def _texts(self) -> Mapping[Path, _Text]:
        if len(self.files) > self._scan_up_to:
            return {}
        texts_of = paper_texts([f.path for f in self.files])
        return {
            p: _Text(doi_tails(whole), doi_tails(head), letters(whole), detect_language(whole))
            for p, (head, whole) in texts_of.items()
        }

    def _file(self, path: Path, row: Mapping[str, object]) -> PaperFile:
        year = text(row.get("year"))
        return PaperFile(
            path=path,
            name=_relative(path, self.root),
            doi=find_doi(text(row.get("doi"))) or doi_in_file_name(path.stem),
            title=text(row.get("title")),
            licence=normalise_licence(statements(row.get("licence") or row.get("license"))),
            year=int(year) if year.isdecimal() else None,
            dataset_ids=tuple(find_doi(d) or d for d in texts(row.get("datasets") or row.get("dataset"))),
        )

    @cached_property
    def _promised(self) -> list[tuple[str, frozenset[str]]]:
        """The table's rows: a file's name, and the datasets that it belongs to."""
        return [
            (name, frozenset((find_doi(d) or d).lower() for d in texts(row.get("datasets") or row.get("dataset"))))
            for row in self._table()
            if (name := text(row.get("file") or row.get("path") or row.get("filename")))
        ]

    def _tables(self) -> list[Path]:
        return [
            p for p in sorted(self.root.glob(f"{TABLE}.*")) if kind_of(p) and p.is_file() and is_below(p, self.root)
        ]

    def _table(self) -> Iterator[Mapping[str, object]]:
        for path in self._tables():
            for entry in read_records(path, path.name):
                if isinstance(entry, RawRecord):
                    yield entry.value


_ORDER = ("column", "related_doi", "file_name", "doi_in_text", "title_in_text", "cites_related", "folder")


def _named_after(stem: str, keys: _Keys) -> bool:
    name = stem.lower()
    if keys.doi and (
        doi_in_file_name(stem) == keys.doi or keys.doi.replace("/", "_") in name or keys.doi.replace("/", "-") in name
    ):
        return True
    return len(keys.id) >= 3 and _whole_word(name, keys.id)


def _whole_word(name: str, wanted: str) -> bool:
    at = name.find(wanted)
    while at >= 0:
        before, after = name[at - 1 : at] if at else "", name[at + len(wanted) : at + len(wanted) + 1]
        if not before.isalnum() and not after.isalnum():
            return True
        at = name.find(wanted, at + 1)
    return False


def _is_paper(path: Path) -> bool:
    about_the_folder = path.stem.lower() in {"readme", "license", "licence"} or path.name.startswith(".")
    return path.suffix.lower() in PAPER_TYPES and not about_the_folder and path.is_file()


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


_SECONDS_A_FILE = 20
_BATCH = {True: 8, False: 100}  # PDFs, others
_HEAD = 4000


def paper_texts(files: Sequence[Path]) -> dict[Path, tuple[str, str]]:
    """(beginning, whole text) of each file that has one.

    Raises:
        RunStoppingError: the run ends.
    """
    found: dict[Path, str] = {}
    for are_pdf, most in _BATCH.items():
        mine = [f for f in files if (f.suffix.lower() == ".pdf") == are_pdf]
        for at in range(0, len(mine), most):
            batch = mine[at : at + most]
            texts = _work(batch)
            if texts is None:
                # A file is too slow or crashes the process: read each one separately, so that only that file is lost.
                texts = [t for f in batch for t in (_work([f]) or [""])]
            found.update({f: t for f, t in zip(batch, texts, strict=True) if t})
    return {f: (t[:_HEAD], t) for f, t in found.items()}


def _work(files: Sequence[Path]) -> list[str] | None:
    try:
        lines = list(printed_lines("text", list(files), _SECONDS_A_FILE))
    except ChildError:
        return None
    return [str(json.loads(line)) for line in lines] if len(lines) == len(files) else None
