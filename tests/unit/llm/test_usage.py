from __future__ import annotations

import asyncio

import pytest

from scirgen.core.config import LimitsConfig
from scirgen.core.errors import BudgetReachedError
from scirgen.llm.base import ChatRequest, Usage
from scirgen.llm.server.openai_compat import reply_of
from scirgen.llm.usage import UsageMeter


async def spend(meter: UsageMeter, calls: int, at_once: int, usage: Usage, *, most: int = 1000) -> int:
    """How many of ``calls`` the caps let pass, ``at_once`` being in flight together."""
    slots, passed = asyncio.Semaphore(at_once), 0

    async def call() -> None:
        nonlocal passed
        async with slots:
            booking = await meter.book("generator", 400, most)
            await asyncio.sleep(0)
            passed += 1
            meter.add("generator", usage, booking)

    ended = await asyncio.gather(*(call() for _ in range(calls)), return_exceptions=True)
    assert all(e is None or isinstance(e, BudgetReachedError) for e in ended)
    return passed


@pytest.mark.parametrize("at_once", [1, 64, 10_000])
async def test_a_cap_on_tokens_is_not_passed_however_many_calls_are_in_flight(at_once: int) -> None:
    meter = UsageMeter(LimitsConfig(max_tokens=10_000))
    passed = await spend(meter, 10_000, at_once, Usage(100, 50))
    assert meter.tokens == passed * 150 and 9_850 <= meter.tokens <= 10_000


async def test_a_cap_on_the_cost_is_not_passed_either() -> None:
    meter = UsageMeter(LimitsConfig(max_cost=0.5))
    meter.role("generator", (1.0, 10.0))
    await spend(meter, 2_000, 100, Usage(100, 50))
    assert meter.cost is not None and 0.499 <= meter.cost <= 0.5
    with pytest.raises(BudgetReachedError, match=r"a cost of 0\.5"):
        await meter.book("generator", 400, 1000)


async def test_without_token_counts_a_cap_goes_by_what_was_booked() -> None:
    meter = UsageMeter(LimitsConfig(max_tokens=10_000))
    assert 15 <= await spend(meter, 1_000, 10, Usage(None, None), most=900) <= 18
    assert "replies without token counts" in meter.used() and meter.tokens == 0


async def test_a_call_that_came_to_nothing_leaves_room_for_another() -> None:
    meter = UsageMeter(LimitsConfig(max_tokens=700))
    first = await meter.book("generator", 400, 1000)
    second = asyncio.create_task(meter.book("generator", 400, 1000))
    await asyncio.sleep(0)
    assert not second.done(), "there is room for one only"
    meter.unbook(first)
    await second


async def test_a_cap_too_small_for_one_call_buys_nothing_and_says_so() -> None:
    meter = UsageMeter(LimitsConfig(max_tokens=10))
    assert await spend(meter, 3, 3, Usage(100, 50)) == 0
    assert meter.used() == "0 model calls, 0 tokens"


async def test_for_the_last_calls_of_a_cap_no_further_batch_is_waited_for() -> None:
    meter = UsageMeter(LimitsConfig(max_tokens=1_000), slow=True)
    held = [await meter.book("generator", 400, 400)]  # 320 tokens, more than a quarter
    waiting = asyncio.create_task(meter.book("generator", 400, 1_400))  # 820 tokens: no room beside it
    await asyncio.sleep(0)
    assert not waiting.done()
    meter.add("generator", Usage(700, 50), held.pop())  # 250 are left
    with pytest.raises(BudgetReachedError):
        await waiting
    small = await meter.book("generator", 40, 10)
    with pytest.raises(BudgetReachedError):
        await meter.book("generator", 400, 1_400)
    meter.unbook(small)


def test_cached_prompt_tokens_of_a_server_are_counted_and_priced_apart() -> None:
    answer = {
        "choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 800}},
    }
    used = reply_of(answer, ChatRequest(()), "a server").usage
    assert used == Usage(1000, 10, 800)
    meter = UsageMeter()
    meter.role("generator", (1.0, 4.0, 0.1))
    meter.add("generator", used)
    row = meter.role("generator").row()
    assert (row["prompt_tokens"], row["cached_prompt_tokens"]) == (1000, 800)
    assert row["cost"] == pytest.approx((200 * 1.0 + 800 * 0.1 + 10 * 4.0) / 1e6)
    # Without a price of its own a cached token costs what the others do; more of them than the prompt has cannot be.
    meter.role("generator", (1.0, 4.0))
    assert meter.role("generator").cost == pytest.approx(1040 / 1e6)
    assert Usage(10, 1, 11).believable() == Usage(10, 1)


@pytest.mark.parametrize("count", [-1, -(10**9), 2**53 + 1, 10**30])
def test_a_count_that_cannot_be_one_counts_as_not_given(count: int) -> None:
    assert Usage(count, 7).believable() == Usage(None, 7)
    assert Usage(7, count).believable() == Usage(7, None)
    assert Usage(0, 2**53).believable() == Usage(0, 2**53)
