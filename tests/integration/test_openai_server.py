"""The OpenAI-compatible backend against a real server on loopback, well and ill."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from aiohttp import web
from pydantic import BaseModel

from scirgen.core.config import Config, LimitsConfig, ModelsConfig
from scirgen.core.errors import (
    CannotScoreError,
    ConfigError,
    ModelAccessError,
    ModelError,
    ReplyInvalidError,
    ReplyRefusedError,
    ReplyTruncatedError,
    ServerUnavailableError,
)
from scirgen.core.registry import load_registry
from scirgen.core.text.untrusted import fence
from scirgen.llm.base import ChatRequest, Message, Sampling, ScoreReply, ScoreRequest
from scirgen.llm.chat_session import choice_schema
from scirgen.llm.open import open_chat, open_scoring, open_sessions
from scirgen.testing.faults import FAULTS, Faults
from scirgen.testing.server import FakeServer
from tests.support.models import config_for, prompt

DATA = fence("Snow depth was measured at 40 stations. The lake lost two metres of water in ten years.")


@asynccontextmanager
async def served(answer: Callable[[web.Request, dict[str, Any]], web.Response]) -> AsyncIterator[str]:
    """A server on loopback that lists the model "fake" and answers every POST with ``answer``; an AssertionError is a
    404."""

    async def post(request: web.Request) -> web.Response:
        try:
            return answer(request, await request.json())
        except (AssertionError, KeyError):
            return web.json_response({"error": {"message": "not found"}}, status=404)

    async def models(request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "fake", "object": "model", "max_model_len": 4096}]})

    app = web.Application()
    app.router.add_get("/v1/models", models)
    app.router.add_post("/{path:.*}", post)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    await runner.cleanup()


class Pair(BaseModel):
    evidence: str
    question: str
    level: Literal["C1", "C2"]


class Pairs(BaseModel):
    pairs: list[Pair]


async def test_structured_replies_are_valid_and_quote_the_data() -> None:
    async with FakeServer() as server:
        sessions = await open_sessions(config_for(server.url), load_registry())
        answer = await sessions.chat.ask(prompt(f"Ask.\n{DATA}"), Pairs, seed=1)
        assert answer.value.pairs
        assert all(pair.evidence in DATA for pair in answer.value.pairs)
        chosen = await sessions.chat.choose(prompt(f"Level?\n{DATA}"), ["C1", "C2"], seed=1)
        assert chosen.text in ("C1", "C2")
        await sessions.aclose()


async def test_a_choice_has_room_for_the_object_it_comes_in() -> None:
    """A server that cuts the reply at max_tokens, counting four characters a token."""

    def cutting(request: web.Request, body: dict[str, Any]) -> web.Response:
        whole = json.dumps({"choice": "abstract_introduction"}, indent=2)
        text = whole[: 4 * body["max_tokens"]]
        reason = "stop" if text == whole else "length"
        return web.json_response({"choices": [{"message": {"content": text}, "finish_reason": reason}]})

    async with served(cutting) as url:
        chat = await open_chat(f"openai:fake@{url}", Config(), load_registry())
        short = Sampling(max_tokens=8)
        choice = choice_schema(["method", "abstract_introduction"])
        reply = await chat.chat(ChatRequest((Message("user", "Which section?"),), choice, short))
        assert reply.text == "abstract_introduction"
        await chat.aclose()


@pytest.mark.parametrize("form", ["json_object", "prompt"])
async def test_a_server_without_json_schema_is_asked_another_way_and_only_once(form: str) -> None:
    async with FakeServer(json_schema=False) as server:
        config = config_for(server.url)
        sessions = await open_sessions(config, load_registry())
        for n in range(3):
            await sessions.chat.ask(prompt(f"{n}\n{DATA}"), Pairs, seed=1)
        await sessions.chat.choose(prompt(f"Level?\n{DATA}"), ["C1", "C2"], seed=1)
        assert sum(server.answered.values()) == 4 + 1  # and the scorer's probe
        await sessions.aclose()


async def test_scores_of_a_server_follow_the_contract_and_rise_with_the_context() -> None:
    async with FakeServer() as server:
        model = await open_scoring(f"openai:fake@{server.url}", Config(), load_registry())
        with_context, without, over_boundary = await model.score(
            [
                ScoreRequest("Snow depth fell. Question: what fell? Answer:", " Snow depth"),
                ScoreRequest("Question: what fell? Answer:", " Snow depth"),
                ScoreRequest("Answer: sno", "w depth"),
            ]
        )
        assert with_context.tokens == without.tokens == (" Snow", " depth")
        assert with_context.mean > without.mean
        # A token that overlaps the boundary belongs to the continuation.
        assert over_boundary.tokens == (" snow", " depth")
        (chat_prompt,) = await model.score([ScoreRequest((Message("user", "q"),), " a")])
        assert isinstance(chat_prompt, Exception)
        await model.aclose()


async def test_model_that_cannot_score_is_refused_before_anything_runs() -> None:
    async with FakeServer(logprobs=False) as server:
        with pytest.raises(CannotScoreError) as caught:
            await open_sessions(scored_by_its_writer(server), load_registry())
        assert "--scorer" in caught.value.hint
        assert not server.answered


def scored_by_its_writer(server: FakeServer) -> Config:
    config = config_for(server.url)
    return config.model_copy(
        update={"models": config.models.model_copy(update={"scorer": f"openai:fake@{server.url}"})}
    )


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_a_service_that_only_chats_cannot_score(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scirgen_embedded.model.bundled_file", lambda: Path())
    async with FakeServer(completions=status) as server:
        with pytest.raises(CannotScoreError, match="no log-probabilities"):
            await open_sessions(scored_by_its_writer(server), load_registry())
        sessions = await open_sessions(config_for(server.url), load_registry())
        assert sessions.identities()["scorer"].startswith("bundled:smollm2-135m")
        await sessions.aclose()
        monkeypatch.setattr("scirgen.llm.open.find_spec", lambda name: None if name == "torch" else name)
        with pytest.raises(CannotScoreError, match=r"not installed \(torch\)") as caught:
            await open_sessions(config_for(server.url), load_registry())
        assert "pip install 'scirgen[local]'" in caught.value.hint and "--scorer" in caught.value.hint
        assert not server.answered, "no paid call"


async def test_an_unlisted_model_that_chats_cannot_score_and_one_that_does_not_is_unknown() -> None:
    def gateway(request: web.Request, body: dict[str, Any]) -> web.Response:
        known = body["model"] == "deployed" and request.path.endswith("/chat/completions")
        said = {"choices": [{"message": {"content": "yes"}}]} if known else {"error": {"message": "Not Found"}}
        return web.json_response(said, status=200 if known else 404)

    async with served(gateway) as url:
        with pytest.raises(CannotScoreError):
            await open_scoring(f"openai:deployed@{url}", Config(), load_registry())
        with pytest.raises(ModelAccessError, match="not found"):
            await open_scoring(f"openai:typo@{url}", Config(), load_registry())


async def test_a_server_that_answers_echo_with_an_error_of_its_own_cannot_score() -> None:
    def like_llama_cpp(request: web.Request, body: dict[str, Any]) -> web.Response:
        if body.get("echo"):
            return web.json_response({"error": {"message": "Only no echo is supported"}}, status=500)
        return web.json_response({"choices": [{"index": 0, "text": " blue", "finish_reason": "length"}]})

    async with served(like_llama_cpp) as url:
        with pytest.raises(CannotScoreError):
            await open_scoring(f"openai:fake@{url}", Config(), load_registry())


async def test_answers_are_found_by_tokens_where_offsets_are_shifted() -> None:
    text = "Question: how cold?\nAnswer: -2 °C"
    # A begin-of-text token, a character of two tokens, and one token that was generated.
    tokens = [
        "<s>",
        "Question",
        ":",
        " how",
        " cold",
        "?",
        "\n",
        "Answer",
        ":",
        " -",
        "2",
        " \ufffd",
        "\ufffd",
        "C",
        ".",
    ]
    offsets = [sum(len(t) for t in tokens[:i]) for i in range(len(tokens))]

    def with_begin_token(request: web.Request, body: dict[str, Any]) -> web.Response:
        if body["prompt"] != text:
            pieces, values, at = ["The", " sky", " is", " blue", "."], [None, -1.0, -1.0, -1.0, -1.0], [0, 3, 7, 10, 15]
        else:
            pieces, values, at = tokens, [None, *(-float(i) for i in range(1, len(tokens)))], offsets
        logprobs = {"tokens": pieces, "token_logprobs": values, "text_offset": at, "top_logprobs": None}
        choice = {"index": 0, "text": body["prompt"], "finish_reason": "length", "logprobs": logprobs}
        usage = {"prompt_tokens": len(pieces) - 1, "completion_tokens": 1, "total_tokens": len(pieces)}
        return web.json_response({"choices": [choice], "usage": usage})

    async with served(with_begin_token) as url:
        model = await open_scoring(f"openai:fake@{url}", Config(), load_registry())
        prompt = text.partition(" -")[0]
        reply, lost = await model.score([ScoreRequest(prompt, text[len(prompt) :]), ScoreRequest("The sea", " is")])
        assert isinstance(reply, ScoreReply) and reply.prompt_tokens == 9
        assert reply.logprobs == (-9.0, -10.0, -11.0, -12.0, -13.0)
        assert isinstance(lost, ModelError) and lost.error_code == "no_alignment"
        await model.aclose()


class TokenServer:
    """Speaks vLLM's token-level endpoints over words; its cache knows the longest prefix it has read."""

    def __init__(self, says_cached: bool, unwritten: int = 0) -> None:
        self.says_cached = says_cached
        self.unwritten = unwritten
        self.seen: list[list[int]] = []
        self.words: dict[str, int] = {}
        self.read: list[bool] = []

    def __call__(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        if request.path.endswith("/render"):
            chat = "".join(f"<{m['role']}>{m['content']}" for m in body.get("messages", ()))
            text = chat or body["prompt"]
            found = list(re.finditer(r"\s*[^\s<>]+|<\w+>", text))
            ids = [self.words.setdefault(m.group().strip(), len(self.words) + 1) for m in found]
            one = {"token_ids": ids, "token_offsets": [m.span() for m in found]}
            return web.json_response(one if chat else [one])
        assert request.path == "/inference/v1/generate"
        ids, sampling = body["token_ids"], body["sampling_params"]
        may_read = not sampling.get("skip_reading_prefix_cache", False)
        if "prompt_logprobs" in sampling:
            self.read.append(may_read)
        cached = max([common(ids, s) for s in self.seen], default=0) if may_read else 0
        self.seen.append(ids)
        # A row comes from the token before it; where that was read from the cache, the row holds rubbish.
        rows: list[Any] = [{str(t): {"logprob": -float(t)}} for t in ids]
        rows[: cached + 1] = [None, *[{"9": {"logprob": 0}}] * cached][: len(rows)]
        if cached and "prompt_logprobs" in sampling and self.unwritten > 0:
            self.unwritten -= 1
            return web.json_response(
                {"error": {"message": "Out of range float values are not JSON compliant"}}, status=400
            )
        usage: dict[str, Any] = {"prompt_tokens": len(ids)}
        if self.says_cached:
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
        return web.json_response({"prompt_logprobs": rows, "usage": usage, "choices": []})


def common(a: list[int], b: list[int]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@pytest.mark.parametrize(("says_cached", "unwritten"), [(True, 0), (False, 0), (True, 1), (True, 3), (True, 99)])
async def test_a_vllm_server_reads_its_cache_only_where_that_can_be_checked(says_cached: bool, unwritten: int) -> None:
    server = TokenServer(says_cached, unwritten)
    context = " ".join(f"word{i}" for i in range(100))
    requests = [ScoreRequest(f"{context} Answer:", f" {a}") for a in ("yes it is", "no it is not", "yes it was")]
    requests.append(ScoreRequest((Message("user", context),), "yes it is"))
    async with served(server) as url:
        model = await open_scoring(f"openai:fake@{url}", Config(), load_registry())
        for _ in range(2):  # the second time the answers are in the cache, and their rows rubbish
            replies = await model.score(requests)
            for reply, request in zip(replies, requests, strict=True):
                assert isinstance(reply, ScoreReply), reply
                assert "".join(reply.tokens) == request.continuation
                assert reply.logprobs == tuple(-float(server.words[w]) for w in request.continuation.split())
        assert (True in server.read) == says_cached
        await model.aclose()


@pytest.mark.parametrize("logprobs", [True])
async def test_an_unknown_option_is_refused_with_the_nearest_known(logprobs: bool) -> None:
    config = Config(models=ModelsConfig(generator="openai:fake@http://127.0.0.1:9/v1", options={"api_key": "x"}))
    with pytest.raises(ConfigError, match="reads 'api_key'") as caught:
        await open_sessions(config, load_registry())
    assert "api_key_env" in caught.value.hint


async def test_an_unknown_model_is_fatal_and_says_so() -> None:
    async with FakeServer(model="other") as server:
        model = await open_chat(f"openai:fake@{server.url}", Config(), load_registry())
        from scirgen.llm.base import ChatRequest

        with pytest.raises(ModelAccessError, match="does not exist") as caught:
            await model.chat(ChatRequest((Message("user", "q"),)))
        assert caught.value.fatal
        await model.aclose()


@pytest.mark.parametrize(("status", "said"), [(404, "Check the model's name"), (401, "Check the key")])
async def test_a_model_that_is_not_listed_is_asked_for_one_token_before_work(status: int, said: str) -> None:
    asked: list[dict[str, Any]] = []

    def named(model: str, url: str) -> Config:
        return Config(models=ModelsConfig(generator=f"openai:{model}@{url}"))

    def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        asked.append(body)
        if body["model"] == "alias":
            return web.json_response({"choices": [{"message": {"content": "Hi"}}]})
        return web.json_response({"error": {"message": "no"}}, status=status)

    async with served(answer) as url:
        for model, requests in (("fake", 0), ("alias", 1)):
            await (await open_sessions(named(model, url), load_registry(), needs_scores=False)).aclose()
            assert len(asked) == requests
        assert asked[0]["max_tokens"] == 1
        with pytest.raises(ModelAccessError) as caught:
            await open_sessions(named("typo", url), load_registry(), needs_scores=False)
        assert said in caught.value.hint


async def test_nobody_at_the_address_is_one_clear_error_before_work() -> None:
    config = Config(models=ModelsConfig(generator="openai:fake@http://127.0.0.1:9/v1"), limits=LimitsConfig(retries=0))
    with pytest.raises(ServerUnavailableError) as caught:
        await open_sessions(config, load_registry(), needs_scores=False)
    assert "127.0.0.1:9" in caught.value.message and "running" in caught.value.hint


async def test_a_hosted_api_without_a_key_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelAccessError, match="OPENAI_API_KEY"):
        await open_chat("openai:gpt-5", Config(), load_registry())


async def test_the_key_appears_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-verysecretkey123456")

    def echo_the_key(body: dict[str, Any]) -> dict[str, Any]:
        return {"choices": []}

    async with FakeServer(faults=Faults(die_after=0, die_with=401), reply=echo_the_key) as server:
        model = await open_chat(f"openai:fake@{server.url}", Config(), load_registry())
        from scirgen.llm.base import ChatRequest

        with pytest.raises(ModelAccessError) as caught:
            await model.chat(ChatRequest((Message("user", "q"),)))
        assert "verysecret" not in repr(caught.value) + caught.value.hint
        await model.aclose()


HEALED = [
    "429", "429_bare", "500", "502", "503", "reset_before", "reset_in_body", "reset_after_body", "slow_body",
    "slow_first_byte", "broken_json", "truncated_reply", "wrong_schema", "prose", "empty", "wrong_id",
]  # fmt: skip


@pytest.mark.parametrize("fault", HEALED)
async def test_a_fault_of_every_third_attempt_loses_no_reply(fault: str) -> None:
    faults = Faults({fault: 0.34}, seed=3, retry_after_s=0.01, slow_s=0.05)
    async with FakeServer(faults=faults) as server:
        config = config_for(server.url, retries=8, repair_attempts=6)
        sessions = await open_sessions(config, load_registry(), needs_scores=False)
        answers = await asyncio.gather(*(sessions.chat.ask(prompt(f"{n}\n{DATA}"), Pairs, seed=n) for n in range(20)))
        assert len(answers) == 20 and all(a.value.pairs for a in answers)
        assert faults.injected[fault] > 0
        assert max(server.answered.values()) == 1, "a reply already received was asked for again"
        await sessions.aclose()


@pytest.mark.parametrize(
    ("fault", "error"),
    [("refusal", ReplyRefusedError), ("length", ReplyTruncatedError), ("wrong_schema", ReplyInvalidError)],
)
async def test_a_reply_that_cannot_be_used_fails_with_its_own_code(fault: str, error: type[Exception]) -> None:
    async with FakeServer(faults=Faults({fault: 1.0})) as server:
        sessions = await open_sessions(config_for(server.url), load_registry(), needs_scores=False)
        with pytest.raises(error):
            await sessions.chat.ask(prompt(DATA), Pairs, seed=1)
        await sessions.aclose()


async def test_a_duplicated_reply_is_still_a_valid_one() -> None:
    async with FakeServer(faults=Faults({"duplicated": 0.5})) as server:
        sessions = await open_sessions(config_for(server.url), load_registry(), needs_scores=False)
        answers = [await sessions.chat.ask(prompt(f"{n}\n{DATA}"), Pairs, seed=n) for n in range(6)]
        assert all(a.value.pairs for a in answers)
        await sessions.aclose()


@pytest.mark.parametrize("status", [401, 404])
async def test_a_key_revoked_or_a_model_unloaded_in_mid_run_is_fatal(status: int) -> None:
    async with FakeServer(faults=Faults(die_after=3, die_with=status)) as server:
        sessions = await open_sessions(config_for(server.url), load_registry(), needs_scores=False)
        for n in range(3):
            await sessions.chat.ask_text(prompt(f"{n}\n{DATA}"), seed=n)
        with pytest.raises(ModelAccessError) as caught:
            await sessions.chat.ask_text(prompt("four"), seed=1)
        assert caught.value.fatal
        await sessions.aclose()


async def test_a_slow_server_is_unavailable_and_our_queue_is_not_counted() -> None:
    async with FakeServer(latency_s=0.2) as server:
        config = config_for(server.url, concurrency=1, timeout_s=0.9, retries=0)
        sessions = await open_sessions(config, load_registry(), needs_scores=False)
        # Eight in a queue of one wait longer than the time-out in all, and none of them fails.
        await asyncio.gather(*(sessions.chat.ask_text(prompt(f"{n}"), seed=n) for n in range(8)))
        server.latency_s = 5
        with pytest.raises(ServerUnavailableError, match="no answer in time"):
            await sessions.chat.ask_text(prompt("slow"), seed=1)
        await sessions.aclose()


async def test_two_servers_share_the_load() -> None:
    async with FakeServer(latency_s=0.02) as one, FakeServer(latency_s=0.02) as two:
        sessions = await open_sessions(
            config_for(f"{one.url},{two.url}", concurrency=8), load_registry(), needs_scores=False
        )
        await asyncio.gather(*(sessions.chat.ask_text(prompt(f"{n}"), seed=n) for n in range(40)))
        served = [sum(s.answered.values()) for s in (one, two)]
        assert sum(served) == 40 and min(served) >= 12
        await sessions.aclose()


def test_every_fault_is_covered_here() -> None:
    assert set(FAULTS) == {*HEALED, "refusal", "length", "duplicated"}


async def test_stats_count_each_request() -> None:
    import aiohttp

    async with FakeServer() as server, aiohttp.ClientSession() as client:
        body = {"model": "fake", "messages": [{"role": "user", "content": "q"}]}
        for _ in range(2):
            async with client.post(f"{server.url}/chat/completions", json=body) as reply:
                first = await reply.text()
        async with client.get(server.url.removesuffix("/v1") + "/stats") as reply:
            stats = json.loads(await reply.text())
        assert (stats["answered"], stats["distinct"], stats["most_for_one_request"]) == (2, 1, 2)
        assert json.loads(first)["choices"][0]["message"]["content"]
