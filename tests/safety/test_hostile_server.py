"""Forty ways in which a model server may lie: each costs its own items, never the run's store, and an honest rerun
succeeds."""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from scirgen.api import Run, resolve_config, run_pipeline
from scirgen.commands.doctor import diagnose
from scirgen.core.errors import ModelAccessError
from scirgen.pipeline.observer import Observer
from scirgen.testing.replies import chat_completion
from scirgen.testing.server import FakeServer
from tests.support.raw_servers import RawServer
from tests.support.small_runs import run_small, write_records


def chat(content: object = "text", usage: object = None, finish: object = "stop", **more: object) -> bytes:
    body = {
        "id": "x", "object": "chat.completion", "created": 1, "model": "fake",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish,
                     **more}],
        "usage": usage if usage is not None else {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip
    return json.dumps(body).encode()


def http(body: bytes, head: str = "200 OK", **headers: str) -> bytes:
    lines = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close", **headers}
    return "".join([f"HTTP/1.1 {head}\r\n", *(f"{k}: {v}\r\n" for k, v in lines.items()), "\r\n"]).encode() + body


PAIR = '{"pairs": [{"question": "%s", "answer": "%s", "evidence": ["%s"]}]}'
BOMB = zlib.compressobj(9, zlib.DEFLATED, 31)
BOMBED = BOMB.compress(b" " * 200_000_000) + BOMB.flush()
MODES: dict[str, bytes] = {
    "nothing": b"",
    "no http": b"hello\r\n\r\n",
    "empty body": http(b""),
    "null": http(b"null"),
    "a list": http(b"[]"),
    "a number": http(b"1e999"),
    "deep json": http(b"[" * 200_000),
    "deep reply": http(chat("[" * 100_000)),
    "not utf-8": http(b"\xff\xfe\x00"),
    "no choices": http(b'{"choices": []}'),
    "choices of nonsense": http(b'{"choices": 7}'),
    "null content": http(chat(None)),
    "content of objects": http(chat({"a": 1})),
    "tokens of 10**30": http(chat(usage={"prompt_tokens": 10**30, "completion_tokens": 10**30})),
    "negative tokens": http(chat(usage={"prompt_tokens": -(10**9), "completion_tokens": -5})),
    "tokens of text": http(chat(usage={"prompt_tokens": "many", "completion_tokens": []})),
    "tokens that are not numbers": http(chat().replace(b'"prompt_tokens": 1', b'"prompt_tokens": NaN')),
    "fractions of tokens": http(chat(usage={"prompt_tokens": 1.5, "completion_tokens": 1e300})),
    "nine megabytes": http(chat("a" * 9_000_000)),
    "blanks": http(chat(" " * 1_000_000)),
    "signs": http(chat("-" * 1_000_000)),
    "question marks": http(chat(PAIR % ("?" * 100_000, "a", "b"))),
    "a bomb": http(BOMBED, **{"Content-Encoding": "gzip"}),
    "a broken gzip": http(b"\x1f\x8b\x08broken", **{"Content-Encoding": "gzip"}),
    "brotli": http(chat(), **{"Content-Encoding": "br"}),
    "a wrong length": http(chat(), **{"Content-Length": "99999"}),
    "a negative length": http(chat(), **{"Content-Length": "-5"}),
    "a redirect": http(b"", "302 Found", Location="http://127.0.0.1:9/v1/chat/completions"),
    "a redirect to a file": http(b"", "307 Temporary Redirect", Location="file:///etc/passwd"),
    "wait a thousand years": http(b"{}", "429 Too Many Requests", **{"Retry-After": "31536000000"}),
    "wait for text": http(b"{}", "503 Service Unavailable", **{"Retry-After": "soon"}),
    "bad request": http(b'{"error": {"message": "\x1b[2J no"}}', "400 Bad Request"),
    "server error": http(b"<html>oops</html>", "500 Internal Server Error"),
    "teapot": http(b"", "418 I'm a teapot"),
    "status 999": http(b"{}", "999 What"),
    "endless head": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
    "a long header": http(chat(), **{"X-Long": "a" * 1_000_000}),
    "another finish": http(chat("text", finish="\x1b[31m")),
    "control characters": http(chat("\x00\x07\x1b]0;owned\x07" * 100)),
    "half a character": http(chat().replace(b'"text"', b'"\\ud800"')),
}


MODELS = http(json.dumps({"data": [{"id": "fake", "max_model_len": 10**30}]}).encode())


REDIRECTS = ("a redirect", "a redirect to a file")
"""They stop a run, so each has a run of its own."""


def liar_with(*lies: bytes) -> RawServer:
    """A server that tells each record another lie, and the records after them the truth."""

    def answer(request: bytes) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        if b"/models" in head.partition(b"\r\n")[0]:
            return MODELS
        about = re.search(rb"station (\d+)", body)
        if about is not None and int(about[1]) < len(lies):
            return lies[int(about[1])]
        return http(json.dumps(chat_completion(json.loads(body))).encode())  # also where no station is named: levels

    return RawServer(answer)


async def lied_to(out: Path, records: Path, *lies: bytes) -> Run:
    """A run against such a server."""
    liar = liar_with(*lies)
    settings = {
        "input": str(records), "models.generator": f"openai:fake@{liar.url}/v1", "models.pack": "standard",
        "filter.faithfulness": [], "generate.types_without_paper": 1, "limits.retries": 0, "limits.timeout_s": 5.0,
        "limits.max_minutes": 5.0,
    }  # fmt: skip
    loaded, domain = resolve_config(domain="geo", flags=settings)
    try:
        return await run_pipeline(out, loaded.config, domain, observer=Observer())
    finally:
        liar.close()


async def test_lies_of_a_server_cost_their_own_items(tmp_path: Path) -> None:
    assert len(MODES) == 40
    lies = [answer for name, answer in MODES.items() if name not in REDIRECTS]
    records, out = write_records(tmp_path / "records.jsonl", len(lies) + 6), tmp_path / "run"
    run = await lied_to(out, records, *lies)
    assert run.outcome is not None and run.outcome.status == "partial"
    with closing(sqlite3.connect(out / "run.db")) as db:
        done = {key[:6] for (key,) in db.execute("SELECT key FROM results WHERE stage='generate' AND status='done'")}
        codes = {code for (code,) in db.execute("SELECT code FROM rows WHERE kind='Failure'")}
    assert {f"d{len(lies) + n:05}" for n in range(6)} <= done
    assert "internal_error" not in codes
    assert not any(b"owned" in page.read_bytes() for page in out.rglob("*.md"))
    async with FakeServer() as server:
        honest = await run_small(server, records, out, limits__retries=1)
    assert honest.outcome is not None and honest.outcome.status == "success"
    assert diagnose(out) == []


@pytest.mark.parametrize("name", REDIRECTS)
async def test_a_redirect_stops_a_run_which_an_honest_server_completes(name: str, tmp_path: Path) -> None:
    records, out = write_records(tmp_path / "records.jsonl", 1), tmp_path / "run"
    with pytest.raises(ModelAccessError, match="redirects") as error:
        await lied_to(out, records, MODES[name])
    assert "\x1b" not in error.value.in_full
    async with FakeServer() as server:
        honest = await run_small(server, records, out)
    assert honest.outcome is not None and honest.outcome.status == "success"
    assert diagnose(out) == []
