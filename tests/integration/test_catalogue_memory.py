"""A catalogue is walked in constant memory; docs/benchmarks/catalogue.md has the figures for 100,000 records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("records", "most_mb"), [(10_000, 190), pytest.param(100_000, 300, marks=pytest.mark.nightly)]
)  # fmt: skip
def test_a_large_catalogue_is_walked_in_constant_memory(tmp_path: Path, records: int, most_mb: int) -> None:
    file = tmp_path / "records.jsonl"
    with file.open("w") as out:
        for n in range(records):
            out.write(
                json.dumps({"id": f"d{n}", "title": f"Dataset {n}", "description": "Hourly values. " * 60}) + "\n"
            )
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.catalogue", "--walk", "local", str(file), str(tmp_path)],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    # 50 MB of it are the language detector, for records that state none.
    assert found["datasets"] == records
    assert found["peak_mb"] < most_mb
