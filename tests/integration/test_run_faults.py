"""Whole runs against servers, disks and clocks that fail: nothing lost, nothing doubled, nothing silent."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import ConfigError, ModelAccessError, ScirgenError, StoreError
from scirgen.core.records import Failure
from scirgen.pipeline import store as store_module
from scirgen.pipeline.store import Store
from scirgen.pipeline.views.view import open_view
from scirgen.testing.faults import Faults
from scirgen.testing.server import FakeServer
from tests.support.small_runs import answered, release_bytes, run_small, write_records

ITEMS = ("collect", "generate", "filter", "tag")
THIRTY_PERCENT = (
    "429", "500", "502", "503", "reset_before", "reset_in_body", "broken_json", "truncated_reply", "wrong_schema",
    "empty", "refusal", "length",
)  # fmt: skip


def failures(out: Path) -> list[Failure]:
    view = open_view(out)
    try:
        return [f for stage in ITEMS for result in view.results(stage) for f in result.failures()]
    finally:
        view.close()


async def test_five_thousand_items_with_faulty_replies_are_all_accounted_for(
    tmp_path: Path,
) -> None:
    records = write_records(tmp_path / "records.jsonl", 1400)
    fast = {"limits__concurrency": 64, "limits__datasets_in_flight": 128}
    faults = Faults(dict.fromkeys(THIRTY_PERCENT, 0.3 / len(THIRTY_PERCENT)), seed=1, retry_after_s=0.01)
    async with FakeServer(faults=faults) as server:
        run = await run_small(server, records, tmp_path / "run", **fast)
        assert max(answered(server).values()) == 1, "an answered request was sent again"
    assert sum(faults.injected.values()) > 800 and set(faults.injected) == set(THIRTY_PERCENT)
    funnel = run.funnel()
    done = {stage: funnel[stage]["done"] for stage in ITEMS}
    ill = {stage: funnel[stage]["failed"] + funnel[stage]["partial"] for stage in ITEMS}
    # Each dataset has one item per stage; an item that failed in one stage has none in the next.
    assert funnel["collect"]["done"] == funnel["generate"]["done"] + ill["generate"] == 1400
    assert sum(done.values()) + sum(ill.values()) > 4500 and not any(funnel[s]["todo"] for s in ITEMS)
    assert run.outcome is not None and run.outcome.status == "partial"
    assert run.outcome.failed_items == sum(ill.values()) > 10
    codes = {f.code for f in failures(tmp_path / "run")}
    assert codes <= {
        "reply_truncated", "reply_invalid", "reply_refused", "rate_limited", "server_unavailable", "unreadable_answer",
    }  # fmt: skip
    assert "reply_truncated" in codes and all(
        "max_tokens" in f.message for f in failures(tmp_path / "run") if "trunc" in f.code
    )

    async with FakeServer() as server:
        again = await run_small(server, records, tmp_path / "run", **fast)
        assert again.outcome is not None and again.outcome.status == "success"
        assert sum(answered(server).values()) < 500, "only what failed is asked again"
    assert not failures(tmp_path / "run")
    third = await _finished(records, tmp_path / "run")
    assert third == again.funnel()


async def _finished(records: Path, out: Path) -> dict[str, dict[str, int]]:
    async with FakeServer() as server:
        run = await run_small(server, records, out)
        assert not answered(server)
    return run.funnel()


@pytest.mark.parametrize(("status", "says"), [(401, "access denied"), (404, "not found")])
async def test_revoked_key_or_unloaded_model_stops_the_run_within_seconds(
    tmp_path: Path, status: int, says: str
) -> None:
    records = write_records(tmp_path / "records.jsonl", 300)
    faults = Faults(die_after=30, die_with=status)
    async with FakeServer(faults=faults) as server:
        began = time.monotonic()
        with pytest.raises(ModelAccessError, match=says):
            await run_small(server, records, tmp_path / "run")
        assert time.monotonic() - began < 30
        # 16 in flight, and those that took their places before the run was stopped.
        assert faults.injected["dead"] <= 64
    async with FakeServer() as server:
        run = await run_small(server, records, tmp_path / "run", collect__limit=20)
        assert run.outcome is not None and run.outcome.status == "success"


def test_a_fatal_fault_is_one_message_on_the_command_line(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 40)
    code = (
        "import asyncio, sys\n"
        "from scirgen.testing.faults import Faults\n"
        "from scirgen.testing.server import FakeServer\n"
        "async def main():\n"
        "    async with FakeServer(faults=Faults(die_after=9, die_with=401)) as s:\n"
        "        p = await asyncio.create_subprocess_exec(sys.executable, '-m', 'scirgen', 'generate', '--model',\n"
        "            f'openai:fake@{s.url}', '--set', 'filter.faithfulness=[]', *sys.argv[1:])\n"
        "        sys.exit(await p.wait())\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", code, "--input", str(records), "--out", str(tmp_path / "run"), "--quiet"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1, ended.stderr
    assert ended.stderr.count("error [") == 1 and "error [model_access]" in ended.stderr and "hint:" in ended.stderr
    assert "Traceback" not in ended.stderr and not (tmp_path / "run" / "release").exists()


@pytest.mark.parametrize(
    ("fault", "code", "stage", "mix"),
    [
        ("refusal", "reply_refused", "generate", {"known_item": 1.0}),
        ("length", "reply_truncated", "generate", {"known_item": 1.0}),
        ("length", "reply_truncated", "ask", {"seeking": 1.0}),
    ],
)
async def test_stage_that_yields_nothing_at_all_is_an_error_that_says_why(
    tmp_path: Path, fault: str, code: str, stage: str, mix: dict[str, float]
) -> None:
    records = write_records(tmp_path / "records.jsonl", 6)
    async with FakeServer(faults=Faults({fault: 1.0})) as server:
        with pytest.raises(ConfigError, match=f"{stage} produced no output.*{code}") as caught:
            await run_small(server, records, tmp_path / "run", generate__mix=mix)
    assert caught.value.error_code == "nothing_made" and caught.value.exit_status != 0
    assert not (tmp_path / "run" / "release").exists(), "an empty release is none"


async def test_full_disk_in_mid_run_is_one_error_and_the_next_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = write_records(tmp_path / "records.jsonl", 40)
    async with FakeServer() as server:
        await run_small(server, records, tmp_path / "whole")
        opened = Store._open

        def small_disk(self: Store, writable: bool) -> sqlite3.Connection:
            db = opened(self, writable)
            if writable:
                db.execute("PRAGMA max_page_count=80")
            return db

        with monkeypatch.context() as patch:
            patch.setattr(Store, "_open", small_disk)
            with pytest.raises(StoreError) as caught:
                await run_small(server, records, tmp_path / "run")
        assert caught.value.fatal and ("full" in caught.value.message or "space" in caught.value.hint)
        view = open_view(tmp_path / "run")
        assert view.funnel()["generate"]["done"] > 0
        view.close()
        used = sum(answered(server).values())
        run = await run_small(server, records, tmp_path / "run")
        assert run.outcome is not None and run.outcome.status == "success"
        lost = sum(n > 2 for n in answered(server).values())
        assert lost <= 32, "only replies that came when nothing could be written are asked for again"
        assert sum(answered(server).values()) - used < used / 2
    assert release_bytes(tmp_path / "run") == release_bytes(tmp_path / "whole")


def test_a_file_that_may_not_grow_is_one_error_without_a_traceback(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 60)

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    serve = [sys.executable, "-m", "scirgen.testing", "serve", "--latency-ms", "0"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().split()[2]
        command = [
            sys.executable, "-m", "scirgen", "generate", "--model", f"openai:fake@{url}", "--input", str(records),
            "--out", str(tmp_path / "run"), "--set", "filter.faithfulness=[]", "--quiet",
        ]  # fmt: skip
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, preexec_fn=limited)
        assert ended.returncode == 1, ended.stderr
        assert ended.stderr.count("error [") == 1 and "hint:" in ended.stderr and "Traceback" not in ended.stderr
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
        server.terminate()
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "run" / "release" / "train.jsonl").is_file()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
async def test_a_small_file_system_that_fills_up_keeps_a_sound_store(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("no tmpfs may be mounted here")
    records = write_records(tmp_path / "records.jsonl", 60)
    try:
        async with FakeServer() as server:
            with pytest.raises(StoreError) as caught:
                await run_small(server, records, disk / "run")
            assert caught.value.fatal and caught.value.hint
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
            run = await run_small(server, records, disk / "run")
            assert run.outcome is not None and run.outcome.status == "success"
            await run_small(server, records, tmp_path / "whole")
        assert release_bytes(disk / "run") == release_bytes(tmp_path / "whole")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


async def test_a_clock_that_goes_backwards_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = write_records(tmp_path / "records.jsonl", 8)

    def backwards() -> Iterator[float]:
        now = 2e9
        while True:
            now -= 3600
            yield now

    clock = backwards()
    async with FakeServer() as server:
        await run_small(server, records, tmp_path / "whole")
        with monkeypatch.context() as patch:
            patch.setattr(store_module.time, "time", lambda: next(clock))
            await run_small(server, records, tmp_path / "run", collect__limit=4)
            await run_small(server, records, tmp_path / "run")
        asked = sum(answered(server).values())
        await run_small(server, records, tmp_path / "run")
        assert sum(answered(server).values()) == asked
    assert release_bytes(tmp_path / "run") == release_bytes(tmp_path / "whole")


@pytest.mark.parametrize("table", ["results", "members", "meta"])
async def test_a_damaged_store_is_refused_repaired_and_finished(tmp_path: Path, table: str) -> None:
    records = write_records(tmp_path / "records.jsonl", 60)
    out = tmp_path / "run"
    async with FakeServer() as server:
        await run_small(server, records, tmp_path / "whole")
        await run_small(server, records, out)
        database = out / "run.db"
        db = sqlite3.connect(database)
        pages = [p for (p,) in db.execute("SELECT pageno FROM dbstat WHERE name=? AND pagetype='leaf'", (table,))]
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        with database.open("r+b") as file:
            file.seek((pages[len(pages) // 2] - 1) * 4096)
            file.write(b"\xff" * 4096)
        with pytest.raises(StoreError) as caught:
            await run_small(server, records, out)
        assert caught.value.error_code == "corrupt" and "--repair" in caught.value.hint
        seen = CliRunner().invoke(cli, ["status", str(out)])
        assert seen.exit_code == 0 or isinstance(seen.exception, StoreError), seen.output
        repaired = CliRunner().invoke(cli, ["doctor", str(out), "--repair"])
        assert repaired.exit_code == 0 and "kept" in repaired.output, repaired.output
        asked = sum(answered(server).values())
        run = await run_small(server, records, out)
        assert run.outcome is not None and run.outcome.status == "success"
        assert sum(answered(server).values()) == asked, "the replies were intact, so nothing is asked for again"
    assert release_bytes(out) == release_bytes(tmp_path / "whole")


async def test_release_is_written_again_where_another_took_its_place(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 8)
    out = tmp_path / "run"
    async with FakeServer() as server:
        await run_small(server, records, out, collect__limit=5)
        before = release_bytes(out)
        await run_small(server, records, out)
        assert release_bytes(out) != before
        again = await run_small(server, records, out, collect__limit=5)
    assert release_bytes(out) == before
    rows = sum(len((out / "release" / f"{split}.jsonl").read_text().splitlines()) for split in again.released())
    assert rows == sum(again.released().values()) > 0


def test_watching_ends_with_ctrl_c_and_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(tmp_path / "run" / "run.db").close()

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupt)
    watched = CliRunner().invoke(cli, ["status", str(tmp_path / "run"), "--watch"])
    assert watched.exit_code == 0 and "collect" in watched.output and "Abort" not in watched.output


def refused(out: Path, records: Path) -> ScirgenError:
    model = ["--model", "openai:x@http://127.0.0.1:9/v1"]
    command = ["generate", "--input", str(records), "--out", str(out), "--quiet", *model]
    result = CliRunner().invoke(cli, command)
    assert isinstance(result.exception, ScirgenError), result.output
    return result.exception


def test_a_second_process_on_the_run_is_refused_with_the_holders_pid(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 2)
    with Store(tmp_path / "run" / "run.db"):
        error = refused(tmp_path / "run", records)
    assert error.error_code == "locked" and f"process {os.getpid()}" in error.message


def test_a_store_of_a_newer_version_is_refused_untouched(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 2)
    Store(tmp_path / "run" / "run.db").close()
    db = sqlite3.connect(tmp_path / "run" / "run.db")
    db.execute("PRAGMA user_version=999")
    db.close()
    before = (tmp_path / "run" / "run.db").read_bytes()
    assert "newer scirgen" in refused(tmp_path / "run", records).message
    assert (tmp_path / "run" / "run.db").read_bytes() == before


async def test_a_cap_on_the_cost_without_a_price_is_refused_before_any_call(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 2)
    async with FakeServer() as server:
        with pytest.raises(ConfigError, match="needs a price for fake"):
            await run_small(server, records, tmp_path / "run", limits__max_cost=1.0)
        assert not answered(server)


async def test_at_a_cap_a_run_stops_below_it_says_what_it_used_and_goes_on_later(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 60)
    capped = {"limits__concurrency": 64, "limits__max_tokens": 20_000}
    async with FakeServer(latency_s=0.01) as server:
        whole = await run_small(server, records, tmp_path / "whole")
        run = await run_small(server, records, tmp_path / "run", **capped)
        assert run.outcome is not None and run.outcome.status == "budget"
        used = re.search(r"reached: 20,000 tokens; used (\d+) model calls, ([\d,]+) tokens", run.outcome.message)
        assert used and 17_000 < int(used[2].replace(",", "")) <= 20_000
        log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
        assert (log[0]["event"], log[-1]["event"], log[-1]["status"]) == ("start", "end", "budget")
        for _ in range(20):
            run = await run_small(server, records, tmp_path / "run", **capped)
            if run.outcome is not None and run.outcome.status == "success":
                break
        assert max(answered(server).values()) == 2, "each request was paid for once by either run"
    assert run.funnel() == whole.funnel() and release_bytes(tmp_path / "run") == release_bytes(tmp_path / "whole")


async def test_a_cap_on_minutes_holds_while_calls_wait_to_be_tried_again(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 6)
    async with FakeServer(faults=Faults(die_after=2, die_with=429)) as server:
        began = time.monotonic()
        stopped_soon = {"limits__max_minutes": 0.02, "limits__retries": 1000}
        run = await run_small(server, records, tmp_path / "run", **stopped_soon)
        assert time.monotonic() - began < 20
    assert run.outcome is not None and run.outcome.status == "budget" and "0.02 minutes" in run.outcome.message
    assert run.funnel()["generate"]["todo"] > 0 and not failures(tmp_path / "run"), "what was not asked has not failed"


class Odd(FakeServer):
    """Its fifth answer to a request for scores holds none."""

    def __init__(self) -> None:
        super().__init__()
        self.scored = 0

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        self.scored += 1
        return (
            web.json_response({"choices": [{"text": "none"}]})
            if self.scored == 5
            else await super()._completions(request)
        )


async def test_one_odd_answer_of_the_scorer_fails_its_item_and_not_the_run(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 12)
    scored = {"filter__faithfulness": ["shift"], "filter__thresholds": {"shift": {"*": -100.0}}}
    async with Odd() as server:
        run = await run_small(server, records, tmp_path / "run", **scored)
        assert run.outcome is not None and (run.outcome.status, run.outcome.failed_items) == ("partial", 1)
        assert [f.code for f in failures(tmp_path / "run")] == ["no_scores"]
        run = await run_small(server, records, tmp_path / "run", **scored)
        assert run.outcome is not None and run.outcome.status == "success"
