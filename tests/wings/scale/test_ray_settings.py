"""The Ray engine without Ray: shares of limits, an error at once for an address where no cluster listens, and what an
actor keeps between items."""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scirgen.core.config import Config, LimitsConfig
from scirgen.core.errors import ConfigError
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.stages.base import Stage, StageContext, StageResult, WorkItem
from scirgen.stages.parse.readers import reader_in_use
from scirgen_scale import ray_engine
from scirgen_scale.ray_engine import RayEngine, Worker, share


def test_actors_share_the_limits_and_keep_no_budget_of_their_own() -> None:
    limits = LimitsConfig(concurrency=64, requests_per_minute=600, max_tokens=10, max_cost=1.0, max_minutes=5)
    shared = share(limits, 16)
    assert (shared.concurrency, shared.requests_per_minute, shared.tokens_per_minute) == (4, 37, None)
    assert (shared.max_tokens, shared.max_cost, shared.max_minutes) == (None, None, None)
    assert share(limits, 100).concurrency == 1


@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "ray://127.0.0.1:{port}", "nonsense"])
async def test_an_address_without_a_cluster_is_one_error_at_once(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    def init(address: str, **settings: object) -> None:
        raise ValueError(f"Invalid address format: {address}")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False, init=init))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        at = address.format(port=free.getsockname()[1])
    ctx: Any = SimpleNamespace(folder=Path())
    engine = RayEngine(Config.model_validate({"engine": "ray", "sections": {"ray": {"address": at}}}))
    began = time.monotonic()
    with pytest.raises(ConfigError, match=f"no Ray cluster at {at}") as caught:
        await engine.start(ctx, ctx, ctx)
    assert time.monotonic() - began < 30 and "--ray-address" in caught.value.hint


class _Reads(Stage):
    """Keeps the prompt and the taxonomy that each item uses."""

    name = "tag"

    def __init__(self) -> None:
        self.read: list[object] = []

    def items(self, scope: object, ctx: StageContext) -> list[WorkItem]:
        return []

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        self.read += [ctx.prompt("bloom"), ctx.taxonomies.bloom]
        return StageResult()


async def test_an_actor_reads_prompts_and_taxonomies_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def no_models(*given: object, **named: object) -> SimpleNamespace:
        return SimpleNamespace(chat=None, score=None, judge=None, entailment=None)

    stage = _Reads()
    monkeypatch.setattr(ray_engine, "open_sessions", no_models)
    monkeypatch.setattr(ray_engine, "made_stage", lambda registry, name: stage)
    worker = Worker(Config(), load_registry(), Resources(), tmp_path, reader_in_use("auto"))
    for key in "abc":
        assert await worker.execute("tag", WorkItem(key), "f") == (StageResult(), ())
    assert len(stage.read) == 6 and len({id(each) for each in stage.read}) == 2
