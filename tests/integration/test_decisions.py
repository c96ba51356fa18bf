"""Decision models: typed questions about one text, a probability each, by the form of the openai client's own call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest
from aiohttp import web

from scirgen.core.config import Config
from scirgen.core.errors import (
    BudgetReachedError,
    ConfigError,
    ModelAccessError,
    ReplyRefusedError,
    ServerUnavailableError,
)
from scirgen.core.prompts import PromptLibrary, RenderedPrompt, SamplingDefaults
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.llm.encoders.entailment import Entailment, open_entailment
from scirgen.llm.open import Sessions, open_sessions
from scirgen.llm.server.decisions import MOST_QUESTIONS, decide
from scirgen.llm.uri import ModelURI
from scirgen.testing.replies import decision
from scirgen.testing.server import FakeServer

PROMPT = PromptLibrary(Resources()).get("filter/entail")
EVIDENCE = "snow lay deep in january"
PLAIN = ["snow lay deep", "rivers froze hard", "please refuse this"]
MONTHS = ("january", "july", "march")


def prompt(asked: str, evidence: str = EVIDENCE) -> RenderedPrompt:
    messages = (("system", asked), ("user", evidence))
    return RenderedPrompt("filter/test", 1, "0", "text", SamplingDefaults(), messages)


@asynccontextmanager
async def deciding(url: str, **limits: Any) -> AsyncIterator[Sessions]:
    models = {"generator": f"openai:writer@{url}", "judge": f"decision:fake@{url}"}
    config = Config.model_validate({"models": models, "limits": limits})
    sessions = await open_sessions(config, load_registry(), needs_scores=False)
    try:
        yield sessions
    finally:
        await sessions.aclose()


async def asked(url: str, *prompts: RenderedPrompt, choices: Sequence[str] = ()) -> list[Any]:
    async with deciding(url) as sessions:
        assert sessions.judge is not None
        return list(await decide(sessions.judge, prompts, choices))


async def test_the_fake_server_answers_as_the_openai_client_reads() -> None:
    async with FakeServer() as server:
        client = openai.AsyncOpenAI(base_url=server.url, api_key="none")
        body: dict[str, Any] = {"questions": [{"type": "predicate", "name": p, "instructions": p} for p in PLAIN]}
        found = await client.decisions.create(input=EVIDENCE, model="fake", **body)
        await client.close()
    assert [answer.type for answer in found.answers] == ["predicate", "predicate", "refusal"]
    assert [answer.name for answer in found.answers] == PLAIN
    assert found.usage.total_tokens > 0


async def test_each_question_has_probabilities_or_a_refusal_in_its_place() -> None:
    async with FakeServer() as server:
        yes, no, refused = await asked(server.url, *map(prompt, PLAIN))
        (choice,) = await asked(server.url, prompt("When did it lie?"), choices=MONTHS)
    assert yes == {"yes": 1.0, "no": 0.0} and no == {"yes": 0.0, "no": 1.0}
    assert sum(choice.values()) == pytest.approx(1)
    assert max(choice, key=lambda value: choice[value]) == "january" and isinstance(refused, ReplyRefusedError)


async def test_many_questions_take_several_requests() -> None:
    async with FakeServer() as server:
        found = await asked(server.url, *(prompt(f"snow {n}") for n in range(MOST_QUESTIONS + 1)))
        assert len(server.answered) == 2
    assert found == [{"yes": 0.5, "no": 0.5}] * (MOST_QUESTIONS + 1)


async def test_usage_counts_and_a_cap_stops_before_the_call() -> None:
    async with FakeServer() as server:
        async with deciding(server.url) as sessions:
            assert sessions.judge is not None
            await decide(sessions.judge, [prompt(p) for p in PLAIN])
            await decide(sessions.judge, [prompt(p) for p in PLAIN])
            used = sessions.usage()["judge"]
            assert isinstance(used, dict) and (used["calls"], used["cache_hits"]) == (1, 1)
            assert used["prompt_tokens"] > 0 and used["replies_without_token_counts"] == 0
        async with deciding(server.url, max_tokens=1) as sessions:
            assert sessions.judge is not None
            with pytest.raises(BudgetReachedError):
                await decide(sessions.judge, [prompt("snow")])
        assert len(server.answered) == 1


async def test_a_decision_model_cannot_write() -> None:
    config = Config.model_validate({"models": {"generator": "decision:fake@http://127.0.0.1:9/v1"}})
    with pytest.raises(ConfigError, match="writes nothing"):
        await open_sessions(config, load_registry(), needs_scores=False)


def _changed(**answer: Any) -> dict[str, Any]:
    body = {"model": "fake", "input": EVIDENCE, "questions": [{"type": "predicate", "instructions": PLAIN[0]}]}
    good = decision(body)
    return {**good, "answers": [{**good["answers"][0], **answer}]}


@pytest.mark.parametrize(
    "answer",
    [
        {"answers": []},
        {"answers": [{"type": "predicate"}]},
        {"choices": [{"message": {"content": "yes"}}]},
        _changed(probability=1.2),
        _changed(probability=-0.1),
        _changed(probability="high"),
        _changed(probability=float("nan")),
        _changed(type="score"),
        _changed(type="choice", probabilities=[{"value": "yes", "probability": 1.0}]),
        [],
    ],
)
async def test_an_answer_of_another_form_is_no_probability(answer: Any) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.json_response(answer)

    async def models(request: web.Request) -> web.Response:
        return web.json_response({"data": []})

    app = web.Application()
    app.router.add_post("/v1/decisions", handle)
    app.router.add_get("/v1/models", models)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        uri = ModelURI.parse(f"decision:fake@http://127.0.0.1:{runner.addresses[0][1]}/v1")
        entailment = open_entailment(str(uri), load_registry(), {}, None, PROMPT)
        (found,) = await entailment.entail([(EVIDENCE, PLAIN[0])])
        assert isinstance(found, ServerUnavailableError) and "the server's answer" in found.message
    finally:
        await runner.cleanup()


async def test_a_server_without_the_call_is_an_error_with_what_to_check() -> None:
    async with FakeServer() as server:
        with pytest.raises(ModelAccessError, match="not found"):
            await asked(server.url.removesuffix("/v1") + "/v2", prompt(PLAIN[0]))


async def test_entailment_by_a_decision_model_asks_once_a_premise() -> None:
    async with FakeServer() as server:
        judge = open_entailment(f"decision:fake@{server.url}", load_registry(), {}, None, PROMPT)
        pairs = [(EVIDENCE, "snow lay deep"), ("ice", "snow lay deep"), (EVIDENCE, "wheat grew")]
        deep, of_ice, wheat = await judge.entail(pairs)
        assert len(server.answered) == 2
    assert isinstance(deep, Entailment) and isinstance(wheat, Entailment) and isinstance(of_ice, Entailment)
    assert deep.entailment > wheat.entailment and deep.only == "entailment"
