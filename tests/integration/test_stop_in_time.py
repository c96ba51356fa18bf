"""The first SIGTERM ends a run within a bounded time, whatever the model does."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from scirgen.pipeline import run as pipeline_run
from scirgen.testing.server import FakeServer
from tests.support.small_runs import run_small, write_records


async def test_first_sigterm_ends_a_run_whose_model_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline_run, "GRACE_S", 1.0)
    records = write_records(tmp_path / "records.jsonl", 2)
    async with FakeServer() as server:

        async def slow() -> None:
            while not server.answered:
                await asyncio.sleep(0.02)
            server.latency_s = 600
            await asyncio.sleep(0.5)
            os.kill(os.getpid(), signal.SIGTERM)

        stopper = asyncio.create_task(slow())
        began = time.monotonic()
        run = await run_small(server, records, tmp_path / "run", filter__gates=["schema"])
        took = time.monotonic() - began
        await stopper
        server.latency_s = 0.0
    assert run.outcome is not None and run.outcome.status == "stopped"
    assert took < 40
