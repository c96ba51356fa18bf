"""A source of one's own, without a plugin: tide gauges from a CSV file, and a report on one of them.

    python examples/custom_source.py --model openai:NAME@http://localhost:8000/v1 --out runs/tides

`scirgen.Source` has five members; docs/sources.md says what each promises. This one is asynchronous; plain methods work
too.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import AsyncIterator
from pathlib import Path

import scirgen
from scirgen import Candidate, Cursor, Dataset, Fetched, Paper, Rejection

HERE = Path(__file__).parent / "tide_gauges"


class TideGauges:
    """One dataset a gauge; reports are matched by the gauge's code in their name."""

    name = "tide-gauges"

    def revision(self, cursor: str | None) -> str | None:
        """Never read again: the file does not change. A hash of the file would be better where it does."""
        return None

    async def datasets(self, cursor: str | None = None) -> AsyncIterator[Dataset | Cursor | Rejection]:
        """All gauges; a cursor after each, so that a killed run goes on with the next."""
        with (HERE / "gauges.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        for number, row in enumerate(rows[int(cursor or 0) :], start=int(cursor or 0)):
            if not row["name"]:
                yield Rejection(
                    stage="collect", code="no_title", reason=f"gauge {row['code']} has no name", record_kind="Dataset",
                    record_id=row["code"],
                )  # fmt: skip
            else:
                yield Dataset(
                    id=row["code"],
                    title=f"Hourly sea level at {row['name']}",
                    description=row["description"],
                    fields=(("Position", row["position"]), ("Years", row["years"])),
                    licence="cc0-1.0",
                )
            if number + 1 < len(rows):
                yield Cursor(str(number + 1))

    async def papers(self, dataset: Dataset) -> AsyncIterator[Candidate]:
        """Reports whose file name has the gauge's code."""
        for path in sorted(HERE.glob(f"*{dataset.id}*.md")):
            yield Candidate(Paper(id=path.stem, file=str(path)), "file_name")

    async def fetch(self, paper: Paper) -> Fetched:
        """The report's file."""
        return Fetched(file=Path(paper.file or ""), media_type="text/markdown")


def main() -> None:
    """Make a release from the gauges, and show a row of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="bundled:smollm2-135m")
    parser.add_argument("--out", default="runs/tides")
    given = parser.parse_args()
    run = scirgen.generate(given.out, source=TideGauges(), model=given.model)
    rows = list(run.rows())
    print(f"{len(rows)} rows in {run.release}")
    for row in rows[:1]:
        print(f"[{row.dataset_id}, {row.question_type}, {row.bloom}] {row.question} -> {row.answer}")


if __name__ == "__main__":
    main()
