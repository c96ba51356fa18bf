"""Papers listed in a BibTeX or RIS file (a Zotero or Mendeley export), with the files it names, if any; and plain
folders."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from scirgen import Candidate, Dataset, Fetched, InputError, Paper, SourceSetup
from scirgen.core.files.yamlfile import validate
from scirgen.core.safety.files import is_below, named_files
from scirgen.plugin import Frozen, require
from scirgen.stages.collect.files.paperfolder import PAPER_FORMS, PAPER_TYPES, PaperFile, PaperFolder
from scirgen_services.forms.fields import find_doi


class BibliographyOptions(Frozen):
    """``file`` is the .bib or .ris file, and ``datasets_field`` the field of an entry that names ids or DOIs of
    datasets.

    Files that entries name are read only below ``files_root``, which is the bibliography's own folder if it is not
    given.
    """

    file: str
    datasets_field: str = "keywords"
    files_root: str = ""


class BibliographyService:
    """Entries with a file are matched like the files of a folder; the others are candidates if a record names their
    DOI.

    Raises:
        InputError: the file does not exist or cannot be parsed.
        MissingExtraError: the parser is not installed.
    """

    name = "bibliography"

    def __init__(self, setup: SourceSetup) -> None:
        self._options = validate(dict(setup.options), BibliographyOptions, "options of bibliography")
        path, files = named_files(self._options.file, "the bibliography")
        if files != [path]:
            raise InputError(f"the bibliography {path} is a folder", hint="Check the path.", code="missing_input")
        root = Path(self._options.files_root).expanduser() if self._options.files_root else path.parent
        read = _read_ris if path.suffix.lower() == ".ris" else _read_bibtex
        self._entries = [_entry(fields, path.parent, root, self._options.datasets_field) for fields in read(path)]
        self._folder = _Listed(root, tuple(e for e in self._entries if e.path.is_file()))

    def papers(self, dataset: Dataset) -> list[Candidate]:
        """Return the entries whose file matches the dataset, then entries without a file if the record names them or
        they name the dataset."""
        found = self._folder.candidates(dataset)
        own = {dataset.id.lower(), (dataset.doi or "").lower()} - {""}
        related = {d for r in dataset.related if (d := find_doi(r))}
        for entry in self._entries:
            linked = own & {d.lower() for d in entry.dataset_ids} or entry.doi in related
            if entry.doi and not entry.path.is_file() and linked:
                paper = entry.paper().model_copy(update={"file": None, "media_type": None})
                found.append(Candidate(paper, "bibliography"))
        return found

    def fetch(self, paper: Paper) -> Fetched:
        if paper.file:
            return self._folder.fetch(paper)
        return Fetched(code="no_open_copy", reason=f"the bibliography has no file of {paper.doi or paper.title!r}")


class FolderOptions(Frozen):
    """``folder`` holds papers: PDF, JATS, TEI, Markdown, plain text."""

    folder: str
    everyone_up_to: int = 50
    scan_up_to: int = 500


class FolderService:
    """A folder of papers in addition to any source; files are matched as the ``local`` source does.

    Raises:
        InputError: there is no such folder, or no papers in it.
    """

    name = "folder"

    def __init__(self, setup: SourceSetup) -> None:
        options = validate(dict(setup.options), FolderOptions, "options of folder")
        root = Path(options.folder).expanduser()
        self._folder = PaperFolder(root, everyone_up_to=options.everyone_up_to, scan_up_to=options.scan_up_to)
        if not root.is_dir() or not self._folder.files:
            raise InputError(f"{root} contains no papers", hint=f"Put papers there: {PAPER_FORMS}.", code="no_papers")

    def papers(self, dataset: Dataset) -> list[Candidate]:
        """Return the files that match the dataset, and files that match no dataset if they are few."""
        return self._folder.candidates(dataset)

    def fetch(self, paper: Paper) -> Fetched:
        if paper.file:
            return self._folder.fetch(paper)
        return Fetched(code="no_open_copy", reason=f"the folder has no file of {paper.doi or paper.title!r}")


class _Listed(PaperFolder):
    """A folder whose files are those that a bibliography lists."""

    def __init__(self, root: Path, files: tuple[PaperFile, ...]) -> None:
        super().__init__(root)
        self._listed = files

    @cached_property
    def files(self) -> tuple[PaperFile, ...]:
        return self._listed


def _entry(fields: Mapping[str, str], folder: Path, root: Path, datasets_field: str) -> PaperFile:
    doi = find_doi(fields.get("doi", "")) or find_doi(fields.get("url", ""))
    year = re.search(r"\d{4}", fields.get("year", "") or fields.get("date", ""))
    names = [n for n in re.split(r"\s*;\s*", fields.get("file", "")) if n]
    # Zotero writes "title:path:type", Mendeley ":path:type"; a plain path also occurs.
    paths = (p for n in names for p in (n, *n.split(":")) if Path(p).suffix.lower() in PAPER_TYPES)
    found = next((folder / p for p in paths if (folder / p).is_file() and is_below(folder / p, root)), None)
    title = re.sub(r"[{}]", "", fields.get("title", ""))
    key = fields.get("key") or doi or title
    return PaperFile(
        path=found or folder / "(no file)" / re.sub(r"\W+", "-", key),
        name=key,
        doi=doi,
        title=title,
        year=int(year.group()) if year else None,
        dataset_ids=tuple(d for d in re.split(r"\s*[,;]\s*", fields.get(datasets_field, "")) if d),
    )


def _read_bibtex(path: Path) -> Iterator[Mapping[str, str]]:
    with require("sources", "BibTeX files"):
        from bibtexparser.entrypoint import parse_string
    library = parse_string(path.read_text(encoding="utf-8", errors="replace"))
    if not library.entries and library.failed_blocks:
        raise InputError(f"{path} is not BibTeX", hint="Export it as BibTeX or RIS.", code="malformed_bibliography")
    for entry in library.entries:
        yield {"key": entry.key, **{k.lower(): str(f.value) for k, f in entry.fields_dict.items()}}


def _read_ris(path: Path) -> Iterator[Mapping[str, str]]:
    with require("sources", "RIS files"):
        import rispy
    try:
        entries = rispy.loads(path.read_text(encoding="utf-8-sig", errors="replace"))
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{path} is not RIS: {error}", hint="Export it as BibTeX or RIS.", code="malformed_bibliography"
        ) from error
    for entry in entries:
        flat = {k: "; ".join(map(str, v)) if isinstance(v, list) else str(v) for k, v in entry.items()}
        title = flat.get("title") or flat.get("primary_title", "")
        file = flat.get("file_attachments1") or flat.get("file_attachments2", "")
        yield {**flat, "title": title, "file": file, "key": flat.get("id", "")}
