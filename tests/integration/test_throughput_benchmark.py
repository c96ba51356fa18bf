"""The throughput benchmark runs with today's prompts; the test is small and ignores the time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_the_throughput_benchmark_writes_every_reply(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    command = [
        sys.executable,
        "-m",
        "benchmarks.throughput",
        "--only",
        "scirgen",
        "--requests",
        "32",
        "--concurrency",
        "8",
    ]
    done = subprocess.run(
        [*command, "--json", str(table)], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr[-3000:]
    [row] = json.loads(table.read_text())["rows"]
    assert row["rows"] == 32
