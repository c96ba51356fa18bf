"""Without --out, a command continues the run of its own input and touches no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.testing.serving import serving
from tests.support.small_runs import SETTINGS, release_bytes, write_records


def test_other_input_gets_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = (write_records(tmp_path / f"{name}.jsonl", 2) for name in ("first", "second"))
    sets = [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
    with serving() as model:

        def run(records: Path) -> str:
            given = ["generate", str(records.relative_to(tmp_path)), "--domain", "geo", "--model", model, "--quiet"]
            result = CliRunner().invoke(cli, [*given, *sets], catch_exceptions=False)
            assert result.exit_code == 0, result.output
            return next(line.split()[1] for line in result.output.splitlines() if line.startswith("release"))

        assert run(first) == "runs/latest/release"
        before = release_bytes(Path("runs/latest"))
        assert run(second) == "runs/latest-2/release"
        assert run(first) == "runs/latest/release" and release_bytes(Path("runs/latest")) == before
        assert sorted(p.name for p in Path("runs").iterdir()) == ["latest", "latest-2"]
