"""The same command after an interruption at a random moment of any stage releases the same bytes."""

from __future__ import annotations

import json
import random
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from scirgen.pipeline.plan import PLAN
from tests.support.interrupting import ENDS, STOPS_WITHIN_S, Commands, Ended, Order
from tests.support.small_runs import release_bytes

pytestmark = pytest.mark.timeout(3600)

INPUT = Path(__file__).parents[1] / "material" / "invented"
STAGES = [step.stage for step in PLAN]
STOPS = 20
WITH_WORKERS = ("parse", "section", "match")
"""Stages during which papers are parsed in processes of their own."""


@dataclass
class Run:
    """The command, what it releases undisturbed, and how long an item of each stage takes, in seconds."""

    commands: Commands
    arguments: list[str]
    released: dict[str, str]
    seconds: dict[str, float]

    def __call__(self, out: Path, stage: str = "", how: str = "", seed: int = 0, *, first: bool = False) -> Ended:
        order = Order([*self.arguments, "--out", str(out)], stage, how, seed, self.seconds.get(stage, 0.0), first)
        ended = self.commands.run(order)
        assert "Traceback" not in ended.said, ended.said
        assert not ended.interrupted or (ended.status in ENDS[how] and ended.seconds < STOPS_WITHIN_S), ended
        return ended

    def assert_released(self, out: Path) -> None:
        """Run the command to its end: what failed is tried again, and the release is that of an undisturbed run."""
        assert any(self(out).status == 0 for _ in range(3))
        assert release_bytes(out) == self.released


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder, whole = tmp_path_factory.mktemp("server"), tmp_path_factory.mktemp("run") / "whole"
    serve = [sys.executable, "-m", "scirgen.testing", "serve", "--port", "0", "--latency-ms", "10"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server, Commands(folder) as commands:
        assert server.stdout is not None
        model = f"openai:fake@{server.stdout.readline().split()[2]}"
        arguments = ["generate", "--input", str(INPUT), "--domain", "geo", "--model", model, "--quiet"]
        made = Run(commands, [*arguments, "--set", "limits.concurrency=4"], {}, {})
        assert made(whole).status == 0
        made.released = release_bytes(whole)
        items = [e for e in map(json.loads, (whole / "log.jsonl").read_text().splitlines()) if e["event"] == "item"]
        for stage in STAGES:
            made.seconds[stage] = max(statistics.median(e["seconds"] for e in items if e["stage"] == stage), 0.05)
        yield made
        server.terminate()


def test_a_run_interrupted_in_each_stage_ends_with_the_same_release(run: Run, tmp_path: Path) -> None:
    stopped = 0
    for number, stage in enumerate(STAGES):
        how = ("SIGINT", "SIGKILL")[number % 2]
        stopped += run(tmp_path / "run", stage, how, seed=number, first=True).interrupted
    run.assert_released(tmp_path / "run")
    assert stopped >= len(STAGES) / 2


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("stage", "how"), [(stage, how) for stage in STAGES for how in ENDS if how != "worker" or stage in WITH_WORKERS]
)
def test_twenty_interruptions_of_a_stage_leave_the_release_identical(
    run: Run, tmp_path: Path, stage: str, how: str
) -> None:
    before, out, draw = tmp_path / "before", tmp_path / "run", random.Random(f"{stage} {how}")
    if stage != "collect":
        assert run(before, stage, "SIGKILL", first=True).interrupted
    before.mkdir(exist_ok=True)
    stops = 0
    for _ in range(5 * STOPS):
        if not out.exists():
            shutil.copytree(before, out)
        ended = run(out, stage, how, seed=draw.randrange(2**32))
        stops += ended.interrupted
        if not ended.interrupted or stops == STOPS or draw.random() < 0.12:
            run.assert_released(out)
            shutil.rmtree(out)
        if stops == STOPS:
            return
    pytest.fail(f"only {stops} interruptions hit the stage")
