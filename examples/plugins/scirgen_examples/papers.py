"""A paper service: finds papers of datasets beside any source (``collect.papers_from: [notes]``)."""

from collections.abc import Iterator
from pathlib import Path

from scirgen import Candidate, Dataset, Fetched, Paper, SourceSetup


class NotesService:
    """``FOLDER/station-7.note`` belongs to the dataset ``station-7``; ``collect.paper_options.notes.folder`` names the
    folder."""

    name = "notes"

    def __init__(self, setup: SourceSetup) -> None:
        self._folder = Path(str(setup.options.get("folder", ".")))

    def papers(self, dataset: Dataset) -> Iterator[Candidate]:
        file = self._folder / f"{dataset.id}.note"
        if file.is_file():
            yield Candidate(Paper(id=file.name, title=f"Notes of {dataset.id}", file=str(file)), "file_name")

    def fetch(self, paper: Paper) -> Fetched:
        file = Path(paper.file or "")
        if not file.is_file():
            return Fetched(code="no_open_copy", reason=f"there are no notes for {paper.id}")
        return Fetched(file=file, media_type="text/plain")
