"""Reads a folder of papers, and finds the datasets of each file without a model.

If few files match no dataset, each of them is a candidate for every dataset; stage `match` then decides.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from scirgen.core.fingerprint import digest
from scirgen.core.grouped import grouped
from scirgen.core.records import Dataset, Paper
from scirgen.core.records.licences import normalise_licence
from scirgen.core.safety.files import is_below
from scirgen.core.text.doi import doi_in_file_name, doi_tails, find_doi, mentions_doi
from scirgen.core.text.language import detect_language, in_other_languages
from scirgen.core.text.shown import shown
from scirgen.core.text.words import letters
from scirgen.stages.collect.files.child import ChildError, ChildKilledError, printed_lines
from scirgen.stages.collect.files.mapping import statements, text, texts
from scirgen.stages.collect.files.recordfiles import RawRecord, files_below, kind_of, read_records, readable_name
from scirgen.stages.collect.source import Candidate, Fetched

PAPER_TYPES = {
    ".pdf": "application/pdf", ".xml": "application/xml", ".nxml": "application/xml", ".md": "text/markdown",
    ".markdown": "text/markdown", ".txt": "text/plain", ".html": "text/html", ".htm": "text/html", ".tex": "text/x-tex",
}  # fmt: skip
"""Suffixes of files that count as papers. Stage `parse` checks whether a file has the format that its name says."""

PAPER_FORMS = "PDF, JATS, TEI, LaTeX, HTML, Markdown, text"
"""The formats of papers, for hints."""

_DOCUMENTS = frozenset({".docx", ".doc", ".odt", ".rtf", ".pages", ".epub", ".djvu", ".ps", ".pptx", ".ppt", ".docm"})
"""Suffixes of documents in which papers come too, and which nothing here reads."""

_OUTSIDE = "outside:"

TABLE = "papers"
"""Stem of a table in the folder (``papers.csv``, ``papers.jsonl``...) that describes its files."""

_CLAUSE = re.compile(r'[.?!;“”"]|\(?\b(?:19|20)\d\d[a-z]?\b\)?[:,]?')
"""Splits a formatted reference; its longest clause that names no journal or institution is the title."""
_NO_TITLE = re.compile(
    r"\b(?:journal|proceedings|transactions|annals|bulletin|conference|press|publish\w*|universit\w+|society|academy|institut\w*)\b",
    re.IGNORECASE,
)
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
        """Return the paper. Its id is its DOI or, until the file is read, its name."""
        return Paper(
            id=self.doi or f"file:{self.name}",
            title=self.title,
            doi=self.doi,
            year=self.year,
            licence=self.licence,
            file=str(self.path),
            media_type=PAPER_TYPES.get(self.path.suffix.lower()),
        )


class _Index:
    """The files' places (in ``PaperFolder.files``) by what the table and their names say, so that finding the papers of
    a record does not read every name again."""

    def __init__(self, files: Sequence[PaperFile]) -> None:
        self.paths = frozenset(str(f.path) for f in files)
        self.datasets: dict[str, list[int]] = {}
        self.names: dict[str, list[int]] = {}
        self.dois: dict[str, list[int]] = {}
        self.dois_in_names: dict[str, list[int]] = {}
        self._stems = [f.path.stem.lower() for f in files]
        self._words: dict[str, list[int]] = {}
        for n, file in enumerate(files):
            stem = file.path.stem
            for table, keys in (
                (self.datasets, {d.lower() for d in file.dataset_ids}),
                (self.names, {file.name.lower(), file.path.name.lower(), stem.lower()}),
                (self.dois, {file.doi} - {None}),
                (self.dois_in_names, {doi_in_file_name(stem)} - {None}),
                (self._words, set(_WORD.findall(self._stems[n]))),
            ):
                for key in keys:
                    table.setdefault(str(key), []).append(n)

    def named_after(self, keys: _Keys) -> Iterator[int]:
        """Yield the files whose name holds a dataset's DOI or id; a longer DOI or id does not count."""
        doi = keys.doi
        yield from self.dois_in_names.get(doi, ())
        wanted = {doi.replace("/", "_"), doi.replace("/", "-"), keys.id if len(keys.id) >= 3 else ""}
        every = range(len(self._stems))
        for name in wanted - {""}:
            having: Iterable[Sequence[int]] = (self._words.get(word, ()) for word in _WORD.findall(name))
            yield from (n for n in min(having, key=len, default=every) if _holds(self._stems[n], name))


_WORD = re.compile(r"[^\W_]+")


def _holds(stem: str, name: str) -> bool:
    """Return whether a file's name holds another name whole: neither a letter nor a digit stands beside it."""
    at = stem.find(name)
    while at >= 0:
        end = at + len(name)
        if not (stem[max(0, at - 1) : at].isalnum() or stem[end : end + 1].isalnum()):
            return True
        at = stem.find(name, at + 1)
    return False


class _Texts:
    """The parts of the papers' texts that are searched: what follows ``10.NNNN/``, by that prefix, in the whole texts
    and in their beginnings; and their letters and digits. ``languages`` counts the papers of each."""

    def __init__(self, texts: Mapping[int, tuple[str, str]]) -> None:
        self._tails, self._head_tails = (
            self._by_prefix((n, tail) for n, text in texts.items() for tail in doi_tails(text[part])) for part in (1, 0)
        )
        self._letters = {n: letters(whole) for n, (_, whole) in texts.items()}
        self.languages = Counter(detect_language(whole) for _, whole in texts.values())

    @staticmethod
    def _by_prefix(tails: Iterable[tuple[int, str]]) -> dict[str, list[tuple[int, str]]]:
        return grouped((tail.partition("/")[0].strip(), (n, tail)) for n, tail in tails)

    def naming(self, keys: _Keys) -> Iterator[tuple[int, str]]:
        """Yield (Place, how it was found) of the papers whose text names a dataset, the surest way first."""
        for doi, tails, by in (
            (keys.doi, self._tails, "doi_in_text"),
            *((doi, self._head_tails, "related_doi") for doi in keys.related),
        ):
            yield from ((n, by) for n, tail in tails.get(doi.partition("/")[0], ()) if mentions_doi([tail], doi))
        for n, found in self._letters.items():
            if keys.title in found:
                yield n, "title_in_text"
            elif any(title in found for title in keys.related_titles):
                yield n, "cites_related"


@dataclass(frozen=True)
class _Keys:
    """The texts that identify a dataset."""

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
        titles = (letters(t) for r in dataset.related for t in (r, _title_in(r)))
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
            related_titles=tuple(dict.fromkeys(t for t in titles if len(t) >= _SHORTEST_TITLE)),
        )


def _title_in(reference: str) -> str:
    return max((clause for clause in _CLAUSE.split(reference) if not _NO_TITLE.search(clause)), key=len, default="")


def _last(name: str) -> str:
    """Return a file's name without folders ("papers/A.pdf", with either slash), in lower case."""
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
        """Return lines about papers in another language than the questions, if their texts were searched, about
        files that are not read, and about files that the table names and the folder lacks."""
        searched = "_texts" in vars(self)
        foreign = in_other_languages(self._texts.languages, language, "papers") if searched else ""
        below = (p for p in files_below(self.root) if p.is_file() and not p.name.startswith("~"))
        plain = [p for p in below if not _is_about_folder(p)]
        unread = [p for p in plain if not kind_of(p) and p.suffix.lower() not in PAPER_TYPES]
        # Figures and styles lie beside papers: they are counted, unless nothing is read.
        named = [p.name for p in unread if p.suffix.lower() in _DOCUMENTS or len(unread) == len(plain)]
        forms = Counter(p.suffix.lower() or "no suffix" for p in unread if p.name not in named)
        kinds = ", ".join(PAPER_TYPES)
        documents = f"not read: {shown(named, 4)}. Save them as PDF; papers are {kinds}" if named else ""
        others = f"files that are neither papers nor records are not read: {counted_forms(forms)}" if forms else ""
        lacking = [name for name, _ in self._promised if self._is_lacking(name)]
        absent = f"the table of papers names files that are not there: {shown(lacking, 4)}" if lacking else ""
        return [line for line in (foreign, documents, others, absent) if line]

    @cached_property
    def outside(self) -> frozenset[str]:
        """Names of links in the folder that lead out of it. They are reported and never opened."""
        found = (p for p in files_below(self.root) if p.is_symlink() and not is_below(p, self.root))
        return frozenset(_relative(p, self.root) for p in found if p.suffix.lower() in PAPER_TYPES or p.is_dir())

    @cached_property
    def revision(self) -> str:
        """Hash of place, names, sizes and times of change."""
        listed = [(f.name, f.path.stat().st_size, f.path.stat().st_mtime_ns) for f in self.files]
        tables = [(p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in self._tables()]
        return digest(str(self.root.resolve()), listed, tables)

    def candidates(self, dataset: Dataset, named: Sequence[str] = ()) -> list[Candidate]:
        """Return the papers for a dataset, sorted by how they were found (the surest way first), then by file name.

        Args:
            dataset: the record.
            named: file names and DOIs of the dataset's papers, according to its record.
        """
        return [Candidate(self.files[n].paper(), by) for n, by in self.places(dataset, named)]

    def places(self, dataset: Dataset, named: Sequence[str] = ()) -> list[tuple[int, str]]:
        """Return the `candidates` as (place in ``files``, how it was found)."""
        found: dict[int, str] = {}
        for n, by in self._ranked_places(_Keys.of(dataset, named)):
            found.setdefault(n, by)
        return sorted(found.items(), key=lambda f: (_ORDER.index(f[1]), self.files[f[0]].name))

    def missing(self, dataset: Dataset, named: Sequence[str]) -> list[Candidate]:
        """Return the files that the record or the folder's table names for a dataset, but that are not in the folder.

        They have no path, so that no name leads out of the folder.
        """
        own = {dataset.id.lower(), (dataset.doi or dataset.id).lower()}
        listed = (name for name, ids in self._promised if own & ids)
        return [
            Candidate(Paper(id=name), "column")
            for name in dict.fromkeys((*named, *listed))
            if Path(name).suffix.lower() in PAPER_TYPES and self._is_lacking(name) and not find_doi(name)
        ] + [Candidate(Paper(id=f"{_OUTSIDE}{name}"), "folder") for name in sorted(self.outside)]

    def _is_lacking(self, name: str) -> bool:
        return name.lower() not in self._index.names and _last(name) not in self._index.names

    def fetch(self, paper: Paper) -> Fetched:
        """Return the paper's file at its place."""
        if paper.id.startswith(_OUTSIDE) and not paper.file:
            name = paper.id.removeprefix(_OUTSIDE)
            return Fetched(code="outside", reason=f"{name!r} is a link that leads out of the folder of papers")
        if paper.file and paper.file not in self._index.paths and not is_below(Path(paper.file), self.root):
            return Fetched(code="outside", reason=f"{Path(paper.file).name!r} is outside the folder of papers")
        if not paper.file:
            return Fetched(code="not_found", reason=f"{paper.id!r} is named but is not in the folder of papers")
        path = Path(paper.file)
        if not path.is_file():
            return Fetched(code="not_found", reason=f"{paper.file}: no such file")
        if path.stat().st_size == 0:
            return Fetched(code="damaged", reason=f"{path.name}: the file is empty")
        return Fetched(file=path, media_type=paper.media_type)

    def _ranked_places(self, keys: _Keys) -> Iterator[tuple[int, str]]:
        """Yield (Place, how it was found) of a dataset's papers, the surest way of each first."""
        index = self._index
        yield from ((n, "column") for key in keys.own for n in index.datasets.get(key, ()))
        yield from ((n, "column") for key in keys.named for n in (*index.names.get(key, ()), *index.dois.get(key, ())))
        yield from ((n, "related_doi") for doi in keys.related for n in index.dois.get(doi, ()))
        yield from ((n, "file_name") for n in index.named_after(keys))
        yield from self._texts.naming(keys)
        yield from ((n, "folder") for n in self._nobodys)

    @cached_property
    def _index(self) -> _Index:
        return _Index(self.files)

    @cached_property
    def _nobodys(self) -> list[int]:
        """Files that no table and no name assigns to a dataset, unless they are too many to be candidates for all. A
        mention in its text does not assign a file."""
        found = [n for n, f in enumerate(self.files) if not f.dataset_ids]
        return found if len(found) <= self._everyone_up_to else []

    @cached_property
    def _texts(self) -> _Texts:
        scanned = [f.path for f in self.files] if len(self.files) <= self._scan_up_to else []
        read = paper_texts(scanned)
        return _Texts({n: read[path] for n, path in enumerate(scanned) if path in read})

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


def counted_forms(forms: Counter[str]) -> str:
    """Return the most frequent suffixes, each with its number of files."""
    return shown((f"{form} {number}" for form, number in forms.most_common()), 4)


def _is_about_folder(path: Path) -> bool:
    return path.stem.lower() in {"readme", "license", "licence"} or path.name.startswith(".")


def _is_paper(path: Path) -> bool:
    return path.suffix.lower() in PAPER_TYPES and not _is_about_folder(path) and path.is_file()


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


_SECONDS_A_FILE = 20
_BATCH = {True: 8, False: 100}  # PDFs, others
_HEAD = 4000


def paper_texts(files: Sequence[Path]) -> dict[Path, tuple[str, str]]:
    """Return (beginning, whole text) of each file that has one.

    Raises:
        ChildKilledError: the process that reads a file was killed from outside twice.
        RunStoppingError: the run ends.
    """
    found: dict[Path, str] = {}
    for are_pdf, size in _BATCH.items():
        mine = [f for f in files if (f.suffix.lower() == ".pdf") == are_pdf]
        for at in range(0, len(mine), size):
            batch = mine[at : at + size]
            texts = _work(batch)
            if texts is None:
                # A file is too slow or crashes the process: read each one separately, so that only that file is lost.
                texts = [t for f in batch for t in (_work([f], alone=True) or [""])]
            found.update({f: t for f, t in zip(batch, texts, strict=True) if t})
    return {f: (t[:_HEAD], t) for f, t in found.items()}


def _work(files: Sequence[Path], *, alone: bool = False) -> list[str] | None:
    try:
        lines = list(printed_lines("text", list(files), _SECONDS_A_FILE))
    except ChildKilledError:
        if alone:
            raise  # without its text, the file would lose its datasets, and no later run would know
        return None
    except ChildError:
        return None
    return [str(json.loads(line)) for line in lines] if len(lines) == len(files) else None
