"""A run opens the models that its configured stages ask, and no others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen.core.config import Config, ModelsConfig
from scirgen.core.errors import CannotScoreError, ConfigError, PluginError
from scirgen.core.registry import Plugin, Provided, load_registry
from scirgen.llm.base import Backend, Capabilities
from scirgen.llm.open import open_chat
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


async def test_an_ensemble_of_another_scorer_is_refused_before_any_call(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 1)
    model = {"features": ["known"], "mean": [0], "scale": [1], "coefficients": [1], "intercept": 0, "threshold": 0.5}
    labels = {"sha256": "0", "rows": 20, "faithful": 10, "description": "made up"}
    file = tmp_path / "e.json"
    file.write_text(
        json.dumps({"scorer": "openai:other", "labels": labels, "groups": {"text": model}}), encoding="utf-8"
    )
    async with FakeServer() as server:
        with pytest.raises(ConfigError, match="fitted for openai:other, and the scorer is openai:fake"):
            await run_small(
                server, records, tmp_path / "run", filter__faithfulness=["ensemble"], filter__ensemble=str(file)
            )
        with pytest.raises(ConfigError, match="no ensemble was fitted for the scorer openai:fake"):
            await run_small(server, records, tmp_path / "run", filter__faithfulness=["ensemble"])
        assert len(server.answered) <= 1, "the probe of the scorer alone"


class Stray:
    """Has what a backend has, and is none."""

    async def start(self) -> None: ...

    async def chat(self, request: object) -> None: ...

    async def aclose(self) -> None: ...


async def test_a_backend_of_another_kind_is_refused() -> None:
    registry = load_registry()
    registry.add(Plugin("mine", "1", (Provided("chat_model", "mine", f"{__name__}:Stray", "", None),)))
    with pytest.raises(PluginError, match="not a Backend"):
        await open_chat("mine:m", Config(models=ModelsConfig(generator="mine:m")), registry)


def test_a_backend_has_a_default_for_all_but_its_work() -> None:
    from scirgen.core.config import LimitsConfig
    from scirgen.llm.uri import ModelURI

    backend = Backend(ModelURI.parse("mine:m"), ModelsConfig(), LimitsConfig())
    assert str(backend.identity) == "mine:m" and backend.capabilities == Capabilities() and backend.retried == 0
    backend.tell(print)
    backend.drain()
