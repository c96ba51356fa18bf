"""A run opens the models that its configured stages ask, and no others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen.core.errors import CannotScoreError, ConfigError
from scirgen.stages.filter.faithfulness.calibrated import SHIPPED
from scirgen.testing.server import FakeServer
from tests.support.models import EmbeddedScores
from tests.support.small_runs import run_small, write_records


async def test_a_run_without_faithfulness_opens_no_scorer(tmp_path: Path) -> None:
    async with FakeServer(logprobs=False) as server:
        await run_small(server, write_records(tmp_path / "records.jsonl", 3), tmp_path / "run")
    assert (tmp_path / "run" / "manifest.json").exists()


async def test_a_run_that_scores_refuses_a_scorer_without_log_probabilities(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 1)
    async with FakeServer(logprobs=False) as server:
        scorer = f"openai:fake@{server.url}"
        with pytest.raises(CannotScoreError):
            await run_small(server, records, tmp_path / "run", filter__faithfulness=["shift"], models__scorer=scorer)
        assert not server.answered


async def test_a_hosted_model_alone_makes_a_release_that_the_bundled_model_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scirgen_embedded.model.BundledScoring", EmbeddedScores)
    records = write_records(tmp_path / "records.jsonl", 2)
    async with FakeServer(completions=404) as server:
        low = {"shift": {"*": -100.0}}  # the stand-in believes nothing the more for its evidence
        asked = {"filter__faithfulness": ["shift"], "filter__thresholds": low}
        run = await run_small(server, records, tmp_path / "run", **asked)
    events = [json.loads(line) for line in (run.folder / "log.jsonl").read_text().splitlines()]
    (models,) = (e["models"] for e in events if e["event"] == "start")
    assert models["scorer"].startswith("bundled:smollm2-135m")
    assert [e["message"] for e in events if e["event"] == "note" and "measures how much likelier" in e["message"]]


async def test_coefficients_of_another_scorer_are_refused_before_any_call(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 1)
    shipped = json.loads(next(SHIPPED.glob("*.json")).read_text(encoding="utf-8"))
    (file := tmp_path / "c.json").write_text(json.dumps(shipped | {"scorer": "openai:other"}), encoding="utf-8")
    async with FakeServer() as server:
        asked = {"filter__faithfulness": ["shift", "calibrated"]}
        with pytest.raises(ConfigError, match="fitted for openai:other, but the scorer is openai:fake"):
            await run_small(server, records, tmp_path / "run", filter__coefficients=str(file), **asked)
        with pytest.raises(ConfigError, match="no coefficients were fitted for the scorer openai:fake"):
            await run_small(server, records, tmp_path / "run", **asked)
        assert len(server.answered) <= 1, "the probe of the scorer alone"
