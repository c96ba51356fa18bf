"""Ctrl-C, SIGTERM and --max-minutes end a run in each of its phases, however long it would have to wait."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from scirgen.testing.server import FakeServer
from scirgen.testing.web import Answer, LoopbackServer
from tests.support.raw_servers import RawServer
from tests.support.small_runs import write_records
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(1800)
END_S = 1500
"""Each phase waits for something that takes at least an hour, so a run that ends within this time was stopped, even on
a busy machine."""
CHILD = """
import sys
from scirgen.pipeline import run
from scirgen.stages.release import rows
run.GRACE_S = 1.0
made = rows.corpus_rows
def endless(content, *, with_paper):
    row = next(made(content, with_paper=with_paper))
    print("releasing", flush=True)
    while True:
        yield row
if "--endless-release" in sys.argv:
    sys.argv.remove("--endless-release")
    rows.corpus_rows = endless
from scirgen.cli.main import main
main()
"""


@pytest.fixture
def silence() -> Iterator[RawServer]:
    made = RawServer(lambda request: b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n", trickle=0.2)
    yield made
    made.close()


class Slow(FakeServer):
    """Answers chats or scores, but never both, except for the probe at the start."""

    never = ""
    waited = False

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        if self.never == "chats":
            self.waited = True
            await asyncio.Event().wait()
        return await super()._chat(request)

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        if self.never == "scores" and (await request.json()).get("prompt") != "The sky is blue":
            self.waited = True
            await asyncio.Event().wait()
        return await super()._completions(request)


@dataclass
class Phase:
    """The arguments of a command whose run stays in one phase; ``begun``: whether it is there."""

    arguments: list[str]
    begun: object
    printed: str = ""
    closing: list[LoopbackServer] = field(default_factory=list)


def phase(name: str, folder: Path, silence: RawServer, server: Slow) -> Phase:
    records = folder / "records.jsonl"
    write_records(records, 1)
    given = ["--model", f"openai:fake@{server.url}", "--set", "limits.timeout_s=3600", "--set", "limits.retries=0"]
    if name == "catalogue":
        options = [
            "collect.source=ckan", f"collect.options.base_url={silence.url}",
            "collect.http.allow_private_addresses=true",
            "collect.http.max_file_s=3600",
        ]  # fmt: skip
        return Phase([*given, *sets(*options)], silence.asked.is_set)
    given += ["--input", str(records)]
    if name == "download":
        work = {"id": "W1", "doi": "10.1234/p", "title": "P", "best_oa_location": {"pdf_url": f"{silence.url}/p.pdf"}}
        service = LoopbackServer({"/": lambda asked: Answer({**work, "results": [work], "meta": {}})})
        records.write_text(json.dumps({"id": "d", "title": "Snow", "doi": "10.5555/snow"}))
        options = [
            f"collect.paper_options.openalex.base_url={service.url}", "collect.http.allow_private_addresses=true",
            "collect.http.max_file_s=3600", "collect.http.contact=a@example.org",
        ]  # fmt: skip
        given += ["--papers-from", "openalex"]
        return Phase([*given, *sets(*options)], silence.asked.is_set, closing=[service])
    if name == "parse":
        (folder / "papers").mkdir()
        (folder / "papers" / "d00000.pdf").write_bytes(b"%PDF-1.7\n" + b"x" * 1000)
        options = ["parse.parser=grobid", f"parse.grobid_url={silence.url}", "parse.timeout_s=3600"]
        return Phase([*given, "--papers", str(folder / "papers"), *sets(*options)], silence.asked.is_set)
    if name == "model":
        server.never = "chats"
        return Phase(given, lambda: server.waited)
    if name == "scores":
        options = ["filter.faithfulness=[shift]", "filter.gates=[schema]"]
        server.never = "scores"
        return Phase([*given, *sets(*options)], lambda: server.waited)
    options = ["filter.faithfulness=[]", "--endless-release"]
    return Phase([*given, *sets(options[0]), options[1]], None, printed="releasing")


def sets(*settings: str) -> list[str]:
    return [part for setting in settings for part in ("--set", setting)]


PHASES = ("catalogue", "download", "parse", "model", "scores", "release")
HOW = ("interrupt", "term", "minutes")
QUICK = {("parse", "interrupt"), ("model", "term"), ("release", "minutes")}


@pytest.mark.parametrize(
    ("name", "how"),
    [pytest.param(p, h, marks=() if (p, h) in QUICK else pytest.mark.nightly) for p in PHASES for h in HOW],
)
async def test_a_run_ends_in_each_phase_when_it_is_told_to(
    name: str, how: str, tmp_path: Path, silence: RawServer
) -> None:
    async with Slow() as server:
        wanted = phase(name, tmp_path, silence, server)
        for service in wanted.closing:
            service.__enter__()
        minutes = ["--max-minutes", "0.05"] if how == "minutes" else []
        command = [sys.executable, "-c", CHILD, "generate", "--domain", "geo", "--out", str(tmp_path / "run")]
        process = await asyncio.create_subprocess_exec(
            *command, *wanted.arguments, *minutes, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:
            assert process.stdout is not None and process.stderr is not None
            if how != "minutes":
                await asyncio.wait_for(_reached(wanted, process), END_S)
                process.send_signal(signal.SIGINT if how == "interrupt" else signal.SIGTERM)
            said, noted = await asyncio.wait_for(process.communicate(), END_S)
        finally:
            if process.returncode is None:
                process.kill()
            for service in wanted.closing:
                service.__exit__(None, None, None)
        assert process.returncode == (4 if how == "minutes" else 130), (said + noted).decode()
        assert b"Traceback" not in noted and not (tmp_path / "run" / "release").exists()
        assert not (tmp_path / "run" / ".release.making").exists()


async def _reached(wanted: Phase, process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None
    if wanted.printed:
        while wanted.printed.encode() not in await process.stdout.readline():
            assert not process.stdout.at_eof()
        return
    await until(lambda: wanted.begun() or process.returncode is not None)
    if not wanted.begun():
        raise AssertionError(await process.communicate())
