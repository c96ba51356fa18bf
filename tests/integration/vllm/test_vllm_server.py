"""Against a real ``vllm serve`` on loopback: scores by each of its ways, chat with a schema, and requests that
overlap."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from scirgen.core.config import Config, LimitsConfig, ModelsConfig
from scirgen.core.errors import ContextTooLongError, ModelError
from scirgen.core.registry import load_registry
from scirgen.llm.base import ChatRequest, Message, Sampling, ScoreReply, ScoreRequest
from scirgen.llm.open import open_chat, open_scoring
from scirgen.llm.server.openai_scoring import OpenAIScoring
from scirgen.llm.server.vllm_server import VLLMServer
from scirgen.llm.uri import ModelURI
from scirgen_local.transformers_scoring import TransformersScoring

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900), pytest.mark.asyncio(loop_scope="module")]
MODEL = os.environ.get("SCIRGEN_VLLM_MODEL", "")
NAME = "smollm2-135m-instruct"
CONTEXT = (
    "The dataset holds daily precipitation of the Tibetan Plateau (青藏高原) from 1979 to 2018 at a resolution of ⅓°. "
    "It merges gauges, reanalysis and satellite retrievals; snow melts above 2 °C. "
) * 8
PAIRS = (
    ("Which period does the dataset cover?", " From 1979 to 2018."),
    ("Does it hold daily values?", " Yes"),
    ("When does snow melt?", " above 2 °C, in 青藏高原"),
    ("What was merged?", " gauges, reanalysis and satellite retrievals"),
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if not MODEL:
        pytest.fail("SCIRGEN_VLLM_MODEL is not set: run make test-vllm")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(Path(sys.executable).with_name("vllm")), "serve", MODEL, "--served-model-name", NAME, "--host", "127.0.0.1",
        "--port", str(port), "--dtype", "float32", "--max-model-len", "2048", "--max-num-seqs", "16", "--enforce-eager",
        "--enable-scale-out", "--enable-prompt-tokens-details",
    ]  # fmt: skip
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert server.stdout is not None
    said: list[str] = []
    for line in server.stdout:
        said.append(line)
        if "Application startup complete" in line:
            break
    else:
        pytest.fail("vllm serve ended:\n" + "".join(said[-40:]))
    threading.Thread(target=lambda: said.extend(server.stdout or ()), daemon=True).start()
    yield f"http://127.0.0.1:{port}/v1"
    server.terminate()
    server.wait(60)


def plain() -> list[ScoreRequest]:
    given = [ScoreRequest(f"Context:\n{CONTEXT}\nQuestion: {q}\nAnswer:", a) for q, a in PAIRS]
    return given + [ScoreRequest(f"Question: {q}\nAnswer:", a) for q, a in PAIRS]


def chat() -> list[ScoreRequest]:
    return [ScoreRequest((Message("user", f"{CONTEXT}\n\n{q}"),), a.strip()) for q, a in PAIRS]


async def in_process(requests: list[ScoreRequest]) -> list[ScoreReply]:
    reference = TransformersScoring(ModelURI("hf", MODEL), ModelsConfig(), LimitsConfig())
    await reference.start()
    return [r for r in await reference.score(requests) if isinstance(r, ScoreReply)]


async def opened(url: str) -> OpenAIScoring:
    scoring = await open_scoring(f"openai:{NAME}@{url}", Config(), load_registry())
    assert isinstance(scoring, OpenAIScoring)
    return scoring


def assert_same(found: list[ScoreReply | Exception], expected: list[ScoreReply]) -> None:
    for reply, wanted in zip(found, expected, strict=True):
        assert isinstance(reply, ScoreReply), reply
        assert len(reply.tokens) == len(wanted.tokens) and reply.prompt_tokens == wanted.prompt_tokens
        assert reply.logprobs == pytest.approx(wanted.logprobs, abs=2e-3)


async def test_a_server_that_takes_tokens_scores_as_transformers_does(url: str) -> None:
    scoring = await opened(url)
    server = scoring._tokens
    assert server is not None and server.reads_cache and not scoring.capabilities.separate_scores
    requests = [*plain(), *chat()]
    expected = await in_process(requests)
    before = cached_tokens(url)
    assert_same(await scoring.score(requests), expected)
    # Each of the four contexts in plain framing, and of the four in chat, except the one that was computed first.
    assert cached_tokens(url) - before > 6 * 0.8 * (expected[0].prompt_tokens - 40)
    print(f"{server.unwritten} replies that vLLM could not write, {server.recomputed} requests computed whole")
    # Now the answers are in the cache too; the same scores come again.
    assert_same(await scoring.score(requests), expected)
    replies = await scoring.score([ScoreRequest(CONTEXT * 9, " Yes"), requests[0]])
    assert isinstance(replies[0], ContextTooLongError) and isinstance(replies[1], ScoreReply)
    assert "".join(replies[1].tokens) == PAIRS[0][1]
    await scoring.aclose()


async def test_an_answer_that_is_in_the_cache_itself_is_computed_again(url: str) -> None:
    scoring = await opened(url)
    request = ScoreRequest("A list of numbers:", " " + " ".join(str(i) for i in range(300)))
    first, second = (await scoring.score([request]))[0], (await scoring.score([request]))[0]
    assert isinstance(first, ScoreReply) and isinstance(second, ScoreReply)
    assert scoring._tokens is not None and scoring._tokens.recomputed == 1
    assert second.logprobs == pytest.approx(first.logprobs, abs=1e-4)
    await scoring.aclose()


async def test_a_server_started_without_options_gives_the_same(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def absent(self: VLLMServer, server: object) -> bool:
        raise ModelError("HTTP 404")

    monkeypatch.setattr(VLLMServer, "answers", absent)
    scoring = await opened(url)
    assert scoring._tokens is None, "a vLLM server takes echo"
    assert_same(await scoring.score(plain()), await in_process(plain()))
    long, refused = await scoring.score([ScoreRequest(CONTEXT * 9, " Yes"), chat()[0]])
    assert isinstance(long, ContextTooLongError), long
    assert isinstance(refused, ModelError) and "--enable-scale-out" in refused.hint
    await scoring.aclose()


async def test_chat_through_a_server_follows_a_schema(url: str) -> None:
    backend = await open_chat(f"openai:{NAME}@{url}", Config(), load_registry())
    messages = (Message("user", f"{CONTEXT}\n\nWhich region does the dataset cover?"),)
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"answer": {"type": "string", "maxLength": 40}, "sure": {"type": "boolean"}},
        "required": ["answer", "sure"],
        "additionalProperties": False,
    }
    reply = await backend.chat(ChatRequest(messages, schema, Sampling(max_tokens=80)))
    value = json.loads(reply.text)
    assert set(value) == {"answer", "sure"} and isinstance(value["sure"], bool)
    choice = await backend.chat(ChatRequest(messages, {"type": "string", "enum": ["Asia", "Africa"]}, Sampling()))
    assert choice.text in ("Asia", "Africa")
    await backend.aclose()


async def test_concurrent_requests_are_one_batch_of_the_server(url: str) -> None:
    backend = await open_chat(f"openai:{NAME}@{url}", Config(), load_registry())
    asked = [ChatRequest((Message("user", f"Count to {n}."),), sampling=Sampling(max_tokens=48)) for n in range(90, 98)]
    work = asyncio.gather(*(backend.chat(r) for r in asked))
    most = 0.0
    while not work.done():
        most = max(most, await asyncio.to_thread(metric, url, "vllm:num_requests_running"))
    replies = await work
    assert len(replies) == 8 and all(r.text for r in replies)
    assert most >= 4
    await backend.aclose()


def metric(url: str, name: str) -> float:
    with urllib.request.urlopen(url.removesuffix("/v1") + "/metrics", timeout=30) as reply:
        found = re.findall(rf"^{name}(?:{{[^}}]*}})? ([\d.e+]+)$", reply.read().decode(), re.M)
    return sum(map(float, found))


def cached_tokens(url: str) -> float:
    return metric(url, "vllm:prefix_cache_hits_total")
