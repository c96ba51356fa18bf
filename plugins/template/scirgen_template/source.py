"""The source adapter: from this field's catalogue to scirgen's records.

It reads a folder with ``catalogue.json`` and ``papers/``. For a catalogue on the web, `scirgen.open_http(setup)` gives
a client with rate limits, retries, a cache and safe downloads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scirgen import Candidate, Cursor, Dataset, Fetched, InputError, Paper, Rejection, SourceSetup, normalise_licence

PAGE = 100


class TemplateSource:
    """Records of ``catalogue.json``, in the file's order."""

    name = "template"

    def __init__(self, setup: SourceSetup) -> None:
        if setup.input is None or not self.claims(setup.input):
            raise InputError(f"no catalogue.json in {setup.input}", hint="Pass --input with the catalogue's folder.")
        self._folder = setup.input
        self._file = setup.input / "catalogue.json"

    @classmethod
    def claims(cls, path: Path) -> bool:
        """Return whether this adapter reads the path; called if ``collect.source`` is ``auto``."""
        return (path / "catalogue.json").is_file()

    def revision(self, cursor: str | None) -> str | None:
        """Return a value that changes with the catalogue, so that a run reads it again; None for a catalogue on the
        web."""
        return hashlib.sha256(self._file.read_bytes()).hexdigest()

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        """Yield all records from the cursor on; a cursor every hundred. A broken record is set aside; the others
        continue."""
        start = int(cursor or 0)
        for number, record in enumerate(self._records()):
            if number < start:
                continue
            if number > start and number % PAGE == 0:
                yield Cursor(str(number))
            yield self._dataset(record, number)

    def papers(self, dataset: Dataset) -> Iterator[Candidate]:
        """Yield the papers that may use the dataset, and how they were found. Whether they do is decided by a later
        stage."""
        for record in self._records():
            if record.get("id") == dataset.id:
                for name in record.get("papers", []):
                    path = self._folder / "papers" / name
                    yield Candidate(Paper(id=name, file=str(path), licence="cc0-1.0"), "catalogue")

    def fetch(self, paper: Paper) -> Fetched:
        """Return the paper's file, or why there is none."""
        path = Path(paper.file or "")
        if not path.is_file():
            return Fetched(code="not_found", reason=f"{path.name} is not in the folder of papers")
        return Fetched(file=path, media_type="text/markdown")

    def _records(self) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = json.loads(self._file.read_text(encoding="utf-8"))
        return records

    def _dataset(self, record: dict[str, Any], number: int) -> Dataset | Rejection:
        try:
            if not record["title"]:
                raise ValueError("the title is empty")
            return Dataset(
                id=record["id"],
                title=record["title"],
                description=record.get("description", ""),
                doi=record.get("doi"),
                keywords=tuple(record.get("keywords", [])),
                fields=tuple((label, str(record[key])) for key, label in (("area", "Area"), ("years", "Years")) if key in record),
                licence=normalise_licence(record.get("licence")),
            )
        except (KeyError, TypeError, ValueError) as error:  # a key is missing, or its value is of the wrong kind
            return Rejection(
                stage="collect",
                code="malformed_record",
                reason=f"record {number}: {type(error).__name__}: {error}",
                record_kind="Dataset",
                record_id=f"record {number}",
            )
