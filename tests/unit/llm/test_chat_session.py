from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from scirgen.core.config import LimitsConfig
from scirgen.core.errors import (
    BudgetReachedError,
    ReplyInvalidError,
    ReplyTruncatedError,
    ServerUnavailableError,
)
from scirgen.llm.base import ChatReply, ChatRequest, Usage
from scirgen.llm.cache import ReplyCache
from scirgen.llm.chat_session import CachedChatSession
from scirgen.llm.usage import UsageMeter
from tests.support.models import LIBRARY, Scripted, prompt


class Level(BaseModel):
    level: str


GOOD = '{"level": "C1"}'


def session(model: Scripted, cache: ReplyCache | None = None, **limits: object) -> CachedChatSession:
    settings = LimitsConfig.model_validate(limits)
    return CachedChatSession(model, prompts=LIBRARY, cache=cache, limits=settings, usage=UsageMeter(settings))


async def test_ask_twice_asks_the_model_once() -> None:
    model = Scripted(GOOD)
    chat = session(model)
    first = await chat.ask(prompt("q"), Level, seed=1)
    second = await chat.ask(prompt("q"), Level, seed=1)
    assert first == second
    assert len(model.requests) == 1


async def test_ask_with_temperature_asks_again_for_another_seed_or_sample() -> None:
    model = Scripted(GOOD, forever=True)
    chat = session(model)
    for seed, sample in [(1, 0), (2, 0), (1, 1), (1, 0)]:
        await chat.ask(prompt("q", temperature=0.7), Level, seed=seed, sample=sample)
    assert [r.sampling.seed for r in model.requests] == [1, 2, 1]


async def test_ask_greedily_shares_one_reply_between_seeds() -> None:
    model = Scripted(GOOD)
    chat = session(model)
    await chat.ask(prompt("q"), Level, seed=1)
    await chat.ask(prompt("q"), Level, seed=2)
    assert model.requests[0].sampling.seed is None


async def test_equal_requests_in_flight_share_one_call() -> None:
    release = asyncio.Event()

    class Slow(Scripted):
        async def chat(self, request: ChatRequest) -> ChatReply:
            await release.wait()
            return await super().chat(request)

    model = Slow(GOOD)
    chat = session(model)
    asked = [asyncio.create_task(chat.ask(prompt("q"), Level, seed=1)) for _ in range(5)]
    await asyncio.sleep(0)
    asked[0].cancel()  # one caller that gives up does not take the reply from the others
    release.set()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(answers[0], asyncio.CancelledError)
    assert [a.value.level for a in answers[1:]] == ["C1"] * 4
    assert len(model.requests) == 1


async def test_malformed_reply_is_mended_by_a_turn_that_shows_the_fault() -> None:
    model = Scripted('{"wrong": 1}', GOOD)
    answer = await session(model).ask(prompt("q"), Level, seed=1)
    assert answer.value.level == "C1"
    turns = model.requests[1].messages
    assert [m.role for m in turns] == ["user", "assistant", "user"]
    assert turns[1].content == '{"wrong": 1}'
    assert "level: Field required" in turns[2].content


async def test_repairs_are_bounded_and_the_next_run_asks_anew() -> None:
    cache = ReplyCache.open()
    model = Scripted("prose", forever=True)
    with pytest.raises(ReplyInvalidError, match="after 2 repair turns"):
        await session(model, cache, repair_attempts=2).ask(prompt("q"), Level, seed=1)
    assert len(model.requests) == 3
    better = Scripted(GOOD)
    assert (await session(better, cache).ask(prompt("q"), Level, seed=1)).value.level == "C1"


async def test_reply_cut_at_max_tokens_is_said_as_that_and_not_repaired() -> None:
    model = Scripted(ChatReply('{"level": "C', "length"))
    with pytest.raises(ReplyTruncatedError, match="max_tokens=77"):
        await session(model).ask(prompt("q", max_tokens=77), Level, seed=1)
    assert len(model.requests) == 1


async def test_text_cut_at_max_tokens_comes_back_with_its_finish_reason() -> None:
    answer = await session(Scripted(ChatReply(" a b", "length"))).ask_text(prompt("q"), seed=1)
    assert (answer.text, answer.finish_reason) == ("a b", "length")


@pytest.mark.parametrize(
    "said", ["C2", '"C2"', "C2.", '{"choice": "C2"}', "The answer is C2", "c2"],
)  # fmt: skip
async def test_choose_finds_the_option_a_reply_names(said: str) -> None:
    answer = await session(Scripted(said)).choose(prompt("q"), ["C1", "C2", "none"], seed=1)
    assert answer.text == "C2"


@pytest.mark.parametrize("said", ["", "C1 or C2", "perhaps"])
async def test_choose_refuses_a_reply_that_names_none_or_several(said: str) -> None:
    with pytest.raises(ReplyInvalidError):
        await session(Scripted(said)).choose(prompt("q"), ["C1", "C2"], seed=1)


async def test_choose_takes_the_longer_option_where_one_is_part_of_the_other() -> None:
    answer = await session(Scripted("It is not used.")).choose(prompt("q"), ["used", "not used"], seed=1)
    assert answer.text == "not used"


async def test_failed_calls_are_counted_and_not_cached() -> None:
    model = Scripted(ServerUnavailableError("down"), GOOD)
    meter = UsageMeter()
    chat = CachedChatSession(model, prompts=LIBRARY, usage=meter)
    with pytest.raises(ServerUnavailableError):
        await chat.ask(prompt("q"), Level, seed=1)
    await chat.ask(prompt("q"), Level, seed=1)
    assert (meter.role("generator").failures, meter.role("generator").calls) == (1, 1)


async def test_budget_stops_before_the_next_paid_call_but_not_before_cached_ones() -> None:
    chat = session(Scripted(GOOD, forever=True), max_tokens=15)
    await chat.ask(prompt("a", max_tokens=8), Level, seed=1)
    await chat.ask(prompt("a", max_tokens=8), Level, seed=1)
    with pytest.raises(BudgetReachedError, match="budget reached: 15 tokens"):
        await chat.ask(prompt("b", max_tokens=8), Level, seed=1)


def test_cost_is_null_where_a_price_or_a_token_count_is_missing() -> None:
    meter = UsageMeter()
    meter.add("generator", Usage(1_000_000, 500_000))
    assert meter.summary()["total_cost"] is None
    meter.role("generator", (2.0, 4.0))
    assert meter.summary()["total_cost"] == 4.0
    meter.add("generator", Usage(None, None))
    assert meter.summary()["total_cost"] is None
    assert meter.summary()["generator"]["replies_without_token_counts"] == 1
