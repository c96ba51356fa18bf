"""The usage of a run that took several invocations."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from scirgen.cli.run.status import status
from scirgen.testing.server import FakeServer
from tests.support.small_runs import run_small, write_records


async def test_usage_is_the_whole_run_s_with_the_last_invocation_beside_it(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 3)
    async with FakeServer() as server:
        await run_small(server, records, tmp_path / "run", collect__limit=1, filter__gates=["schema"])
        first = json.loads((tmp_path / "run" / "manifest.json").read_text())
        await run_small(server, records, tmp_path / "run", filter__gates=["schema"])
        await run_small(server, records, tmp_path / "run", filter__gates=["schema"])
    last = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert first["usage"]["generator"]["calls"] == first["usage_last_invocation"]["generator"]["calls"] > 0
    assert last["usage"]["generator"]["calls"] > first["usage"]["generator"]["calls"]
    assert last["usage"]["generator"]["prompt_tokens"] > first["usage"]["generator"]["prompt_tokens"]
    assert last["usage_last_invocation"]["generator"]["calls"] == 0
    shown = CliRunner().invoke(status, [str(tmp_path / "run")]).output
    assert f"generator: {last['usage']['generator']['calls']:,} calls" in shown
    assert "last invocation, generator: 0 calls" in shown
