"""Decision models: typed questions about one text, a probability each, by the form of the openai client's own call."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from aiohttp import web

from scirgen.core.errors import ModelAccessError, ReplyRefusedError, ServerUnavailableError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.llm.encoders.entailment import Entailment, open_entailment
from scirgen.llm.server.decisions import MOST_QUESTIONS, DecisionModel, Question
from scirgen.llm.uri import ModelURI
from scirgen.testing.replies import decision
from scirgen.testing.server import FakeServer

EVIDENCE = "snow lay deep in january"
QUESTIONS = [
    Question("snow lay deep"),
    Question("rivers froze hard"),
    Question("When did it lie?", ("january", "july", "march")),
    Question("please refuse this"),
]


def model(url: str) -> DecisionModel:
    return DecisionModel(ModelURI.parse(f"decision:fake@{url}"), {})


async def test_the_fake_server_answers_as_the_openai_client_reads() -> None:
    async with FakeServer() as server:
        client = openai.AsyncOpenAI(base_url=server.url, api_key="none")
        body: dict[str, Any] = {"questions": [q.body(f"q{n}") for n, q in enumerate(QUESTIONS)]}
        found = await client.decisions.create(input=EVIDENCE, model="fake", **body)
        await client.close()
    assert [answer.type for answer in found.answers] == ["predicate", "predicate", "choice", "refusal"]
    assert [answer.name for answer in found.answers] == ["q0", "q1", "q2", "q3"]
    assert found.usage.total_tokens > 0


async def test_each_question_has_probabilities_or_a_refusal_in_its_place() -> None:
    async with FakeServer() as server:
        yes, no, choice, refused = await model(server.url).ask(EVIDENCE, QUESTIONS)
    assert yes == {"yes": 1.0, "no": 0.0} and no == {"yes": 0.0, "no": 1.0}
    assert isinstance(choice, dict) and sum(choice.values()) == pytest.approx(1)
    assert max(choice, key=lambda value: choice[value]) == "january" and isinstance(refused, ReplyRefusedError)


async def test_many_questions_take_several_requests() -> None:
    async with FakeServer() as server:
        found = await model(server.url).ask(EVIDENCE, [Question(f"snow {n}") for n in range(MOST_QUESTIONS + 1)])
        assert len(server.answered) == 2
    assert found == [{"yes": 0.5, "no": 0.5}] * (MOST_QUESTIONS + 1)


def _changed(**answer: Any) -> dict[str, Any]:
    body = {"model": "fake", "input": EVIDENCE, "questions": [QUESTIONS[0].body("q0")]}
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

    app = web.Application()
    app.router.add_post("/v1/decisions", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        with pytest.raises(ServerUnavailableError, match="the server's answer"):
            await model(f"http://127.0.0.1:{runner.addresses[0][1]}/v1").ask(EVIDENCE, QUESTIONS[:1])
    finally:
        await runner.cleanup()


async def test_a_server_without_the_call_is_an_error_with_what_to_check() -> None:
    async with FakeServer() as server:
        with pytest.raises(ModelAccessError, match="not found"):
            await model(server.url.removesuffix("/v1") + "/v2").ask(EVIDENCE, QUESTIONS)


async def test_entailment_by_a_decision_model_asks_once_a_premise() -> None:
    prompt = PromptLibrary(Resources()).get("filter/entail")
    async with FakeServer() as server:
        judge = open_entailment(f"decision:fake@{server.url}", load_registry(), {}, None, prompt)
        pairs = [(EVIDENCE, "snow lay deep"), ("ice", "snow lay deep"), (EVIDENCE, "wheat grew")]
        deep, of_ice, wheat = await judge.entail(pairs)
        assert len(server.answered) == 2
    assert isinstance(deep, Entailment) and isinstance(wheat, Entailment) and isinstance(of_ice, Entailment)
    assert deep.entailment > wheat.entailment and deep.only == "entailment"
