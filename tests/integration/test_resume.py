"""The whole command against a server on loopback, killed at random moments: it loses nothing and doubles nothing."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from scirgen.core.resources import builtin_root
from scirgen.stages.filter.gates.form import SchemaGate
from scirgen.stages.generate.joint import JointStrategy
from scirgen.testing.server import FakeServer
from tests.support.small_runs import run_small, write_records
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(900)

STOPS = 10
CONCURRENCY = 8
NIGHTLY = [pytest.param(seed, marks=pytest.mark.nightly) for seed in range(101, 111)]
"""Each seed stops a run ten times, so that a night tries a hundred moments."""

HOW = ("kill", "kill", "term", "interrupt", "twice")


@dataclass
class Server:
    """A fake model server in a process of its own."""

    url: str
    probe: str = ""

    def stats(self) -> dict[str, int]:
        """Request hash -> how often it was answered."""
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/stats") as reply:
            answered: dict[str, int] = json.load(reply)["requests"]
        return answered


@pytest.fixture
def server() -> Iterator[Server]:
    command = [sys.executable, "-m", "scirgen.testing", "serve", "--port", "0", "--latency-ms", "10"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        server = Server(process.stdout.readline().split()[2])
        yield server
        process.terminate()


def command(server: Server, out: Path, *more: str) -> list[str]:
    model = f"openai:fake@{server.url}"
    return [
        sys.executable, "-m", "scirgen", "generate", "--domain", "geo", "--model", model, "--out", str(out), "--quiet",
        "--set", f"limits.concurrency={CONCURRENCY}", *more,
    ]  # fmt: skip


def run(server: Server, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(server, out, *more), capture_output=True, text=True, timeout=240)


def release_bytes(out: Path) -> dict[str, str]:
    folder = out / "release"
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def replies(out: Path) -> int:
    if not (out / "run.db").is_file():
        return 0
    db = sqlite3.connect(f"file:{out / 'run.db'}?mode=ro", uri=True)
    try:
        return int(db.execute("SELECT COUNT(*) FROM replies").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        db.close()


def asked_since(server: Server, before: Counter[str]) -> Counter[str]:
    """Request hash -> how often it was answered since then, without the probe at each start that checks for scores."""
    since = Counter(server.stats())
    since.subtract(before)
    return Counter({request: n for request, n in since.items() if n > 0 and request != server.probe})


def stages_worked(out: Path) -> list[str]:
    return [e["stage"] for e in map(json.loads, (out / "log.jsonl").read_text().splitlines()) if e["event"] == "item"]


@pytest.fixture
def undisturbed(server: Server, tmp_path: Path) -> tuple[Path, float]:
    started = time.monotonic()
    ended = run(server, tmp_path / "undisturbed")
    seconds = time.monotonic() - started
    assert ended.returncode == 0, ended.stdout + ended.stderr
    asked = Counter(server.stats())
    assert run(server, tmp_path / "undisturbed").returncode == 0
    probes = asked_since(server, asked)
    assert sum(probes.values()) <= 1, "a finished run asks nothing but the probe"
    server.probe = next(iter(probes), "")
    return tmp_path / "undisturbed", seconds


def stop(process: subprocess.Popen[bytes], how: str, draw: random.Random) -> None:
    """SIGKILL; SIGTERM or Ctrl-C, after which what is in flight is finished; or Ctrl-C twice."""
    if how == "kill":
        process.kill()
        return
    process.send_signal(signal.SIGTERM if how == "term" else signal.SIGINT)
    if how == "twice":
        try:
            process.wait(timeout=draw.uniform(0.0, 0.3))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)


@pytest.mark.parametrize("seed", [7, *NIGHTLY])
def test_ten_stops_leave_the_release_identical_and_ask_no_reply_again(
    server: Server, undisturbed: tuple[Path, float], tmp_path: Path, seed: int
) -> None:
    reference, seconds = undisturbed
    before, out, draw = Counter(server.stats()), tmp_path / "stopped", random.Random(seed)
    lost = 0
    for _ in range(STOPS):
        process = subprocess.Popen(command(server, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        how = draw.choice(HOW)
        try:
            process.wait(timeout=draw.uniform(0.15, 0.5) * seconds)
        except subprocess.TimeoutExpired:
            stop(process, how, draw)
        process.wait(timeout=60)
        # Replies in flight to a process that has died: the only ones that may be asked for again.
        lost = sum(asked_since(server, before).values()) - replies(out)
    assert run(server, out).returncode == 0
    assert release_bytes(out) == release_bytes(reference)
    assert replies(out) == replies(reference)
    assert sum(asked_since(server, before).values()) - replies(out) <= lost <= STOPS * CONCURRENCY


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_stopped_run_finishes_what_is_in_flight_and_goes_on_later(
    server: Server, undisturbed: tuple[Path, float], tmp_path: Path, number: signal.Signals
) -> None:
    reference, _ = undisturbed
    out, before = tmp_path / "drained", Counter(server.stats())
    process = subprocess.Popen(
        command(server, out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # tests under nohup inherit an ignored SIGHUP
    )  # fmt: skip
    wait_until(lambda: replies(out) >= 20 or process.poll() is not None, 600)
    assert process.poll() is None
    process.send_signal(number)
    said, noted = process.communicate(timeout=60)
    assert process.returncode == 130 and said.startswith("stopped:") and "calls in flight have" in noted
    assert sum(asked_since(server, before).values()) == replies(out), "a reply in flight arrived"
    assert "Traceback" not in noted and not (out / "release").exists()
    assert run(server, out).returncode == 0
    assert release_bytes(out) == release_bytes(reference)


def test_finished_run_asks_nothing_and_redoes_nothing(server: Server, undisturbed: tuple[Path, float]) -> None:
    out, _ = undisturbed
    asked, before = Counter(server.stats()), release_bytes(out)
    worked = len(stages_worked(out))
    assert run(server, out).returncode == 0
    assert not asked_since(server, asked)
    assert len(stages_worked(out)) == worked and release_bytes(out) == before


def test_edited_bloom_prompt_redoes_tag_and_release_alone(
    server: Server, undisturbed: tuple[Path, float], tmp_path: Path
) -> None:
    out, _ = undisturbed
    worked = len(stages_worked(out))
    ended = run(server, out, "--set", f"overrides={_edited_bloom_prompt(tmp_path)}")
    assert ended.returncode == 0, ended.stderr
    assert set(stages_worked(out)[worked:]) == {"tag", "release"}


async def test_a_finished_run_follows_what_plugins_define(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records, out = write_records(tmp_path / "records.jsonl", 3), tmp_path / "run"
    async with FakeServer() as fake:
        await run_small(fake, records, out)
        for kind, first in ((SchemaGate, "filter"), (JointStrategy, "generate")):
            worked = len(stages_worked(out))
            monkeypatch.setattr(kind, "version", 99)
            await run_small(fake, records, out)
            assert stages_worked(out)[worked:][0] == first, "an item of the stage is made again"


def _edited_bloom_prompt(tmp_path: Path) -> Path:
    """A folder of overrides that holds the Bloom prompt with one word more."""
    original = builtin_root() / "prompts" / "tag" / "bloom.yaml"
    edited = tmp_path / "mine" / "prompts" / "tag" / "bloom.yaml"
    edited.parent.mkdir(parents=True)
    text = original.read_text()
    assert "user: |\n" in text
    edited.write_text(text.replace("user: |\n", "user: |\n  Edited.\n", 1))
    return tmp_path / "mine"


RECIPES = ("--recipes", "recommend,facets,aspects", "--set", "generate.off=true", "--set", "filter.faithfulness=[]")


@pytest.mark.nightly
def test_a_killed_run_of_recipes_ends_with_the_same_queries(server: Server, tmp_path: Path) -> None:
    reference, out = tmp_path / "whole", tmp_path / "killed"
    assert run(server, reference, *RECIPES).returncode == 0
    assert any((reference / "release" / "tasks").rglob("queries.jsonl"))
    before = Counter(server.stats())
    for most in (5, 12):  # of some twenty replies
        process = subprocess.Popen(command(server, out, *RECIPES), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: replies(out) >= most or process.poll() is not None, 600)  # noqa: B023
        assert replies(out) >= most
        process.kill()
        process.wait(timeout=60)
    lost = sum(asked_since(server, before).values()) - replies(out)
    assert run(server, out, *RECIPES).returncode == 0
    assert release_bytes(out) == release_bytes(reference)
    assert sum(asked_since(server, before).values()) - replies(out) <= lost <= 2 * CONCURRENCY
