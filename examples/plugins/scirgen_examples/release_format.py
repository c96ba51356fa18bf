"""A release format: another shape of the release, in a folder of its name. The same release gives the same bytes."""

import csv
from pathlib import Path

from scirgen import Release


class CsvFormat:
    """``csv/questions.csv``: split, id, question, answer."""

    def write(self, release: Release, folder: Path) -> None:
        folder.mkdir()
        with (folder / "questions.csv").open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["split", "id", "question", "answer"])
            for row in release.rows():
                out.writerow([row.split, row.id, row.question, row.answer])
