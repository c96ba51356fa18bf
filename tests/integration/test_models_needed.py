"""A run opens the models that its configured stages ask, and no others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen.core.errors import CannotScoreError, ConfigError
from scirgen.stages.filter.faithfulness.calibrated import SHIPPED
from scirgen.testing.server import FakeServer
from tests.support.small_runs import run_small, write_records


async def test_a_run_without_faithfulness_opens_no_scorer(tmp_path: Path) -> None:
    async with FakeServer(logprobs=False) as server:
        await run_small(server, write_records(tmp_path / "records.jsonl", 3), tmp_path / "run")
    assert (tmp_path / "run" / "manifest.json").exists()


async def test_a_run_that_scores_refuses_a_generator_without_log_probabilities(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 1)
    async with FakeServer(logprobs=False) as server:
        with pytest.raises(CannotScoreError):
            await run_small(server, records, tmp_path / "run", filter__faithfulness=["shift"])
        assert not server.answered


async def test_coefficients_of_another_scorer_are_refused_before_any_call(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 1)
    shipped = json.loads(next(SHIPPED.glob("*.json")).read_text(encoding="utf-8"))
    (file := tmp_path / "c.json").write_text(json.dumps(shipped | {"scorer": "openai:other"}), encoding="utf-8")
    async with FakeServer() as server:
        asked = {"filter__faithfulness": ["shift", "calibrated"]}
        with pytest.raises(ConfigError, match="fitted for openai:other, and the scorer is openai:fake"):
            await run_small(server, records, tmp_path / "run", filter__coefficients=str(file), **asked)
        with pytest.raises(ConfigError, match="no coefficients were fitted for the scorer openai:fake"):
            await run_small(server, records, tmp_path / "run", **asked)
        assert len(server.answered) <= 1, "the probe of the scorer alone"
