"""The examples run as they stand."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

from scirgen.testing import check_source

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_custom_source_keeps_the_contract() -> None:
    spec = importlib.util.spec_from_file_location("custom_source", EXAMPLES / "custom_source.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    report = check_source(module.TideGauges())
    assert (report.datasets, report.cursors, report.candidates, report.files) == (2, 1, 1, 1)


def test_the_custom_source_example_runs_to_a_release(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scirgen.testing", "serve", "--latency-ms", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = re.search(r"http://\S+", server.stdout.readline())
        assert address is not None
        try:
            done = subprocess.run(
                [sys.executable, str(EXAMPLES / "custom_source.py"), "--model", f"openai:fake@{address.group()}",
                 "--out", "tides"],
                cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False,
            )  # fmt: skip
        finally:
            server.terminate()
    assert done.returncode == 0, done.stderr
    count = re.search(r"^(\d+) rows in tides/release$", done.stdout, re.M)
    assert count and int(count.group(1)) > 0
    assert re.search(r"^\[TG\d+, \w*, C[1-6]\] .+ -> .+", done.stdout, re.M)
