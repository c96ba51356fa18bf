from __future__ import annotations

import asyncio
import random

import pytest

from scirgen.core.config import LimitsConfig
from scirgen.core.errors import ModelAccessError, RateLimitedError, RunStoppingError, ServerUnavailableError
from scirgen.llm.server.endpoints import (
    FAILURES_IN_A_ROW,
    GIVE_UP_S,
    SLOW_ALONE,
    START_RETRIES,
    EndpointPool,
    ServerGoneError,
    ask_each,
)
from scirgen.llm.server.limits import AdaptiveLimit, MinuteCap, backoff_s
from scirgen.llm.server.server_errors import SlowServerError
from tests.support.waiting import until


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def pool(time: Time, clients: list[str], **limits: object) -> EndpointPool[str]:
    settings = LimitsConfig.model_validate({"retries": 3, **limits})
    return EndpointPool(clients, settings, "openai:m", clock=time, sleep=time.sleep, rng=random.Random(0))


async def test_retry_after_is_honoured_and_never_undercut() -> None:
    time, attempts = Time(), 0

    async def call(client: str) -> str:
        nonlocal attempts
        attempts += 1
        if attempts < 3:
            raise RateLimitedError("slow down", retry_after=7.0)
        return "reply"

    assert await pool(time, ["a"]).run(call) == "reply"
    assert len(time.slept) == 2 and all(7.0 <= s <= 7.8 for s in time.slept)


async def test_retries_are_bounded_and_the_last_error_is_raised() -> None:
    calls = 0

    async def call(client: str) -> str:
        nonlocal calls
        calls += 1
        raise ServerUnavailableError(f"fault {calls}")

    with pytest.raises(ServerUnavailableError, match="fault 4"):
        await pool(Time(), ["a"]).run(call)


async def test_what_is_no_transport_fault_is_not_retried() -> None:
    calls = 0

    async def call(client: str) -> str:
        nonlocal calls
        calls += 1
        raise ModelAccessError("no such model")

    with pytest.raises(ModelAccessError):
        await pool(Time(), ["a"]).run(call)
    assert calls == 1


async def test_a_failing_endpoint_is_left_alone_and_the_other_serves() -> None:
    time, asked = Time(), {"bad": 0, "good": 0}

    async def call(client: str) -> str:
        asked[client] += 1
        if client == "bad":
            raise ServerUnavailableError("down")
        return "reply"

    servers = pool(time, ["bad", "good"], retries=5)
    for _ in range(200):
        await servers.run(call)
    assert asked["good"] == 200
    # The circuit opens after so many faults in a row, and since then only single calls try again now and then.
    assert FAILURES_IN_A_ROW <= asked["bad"] <= FAILURES_IN_A_ROW + 8


async def test_run_stops_with_one_message_when_no_server_answers() -> None:
    time = Time()

    async def call(client: str) -> str:
        raise ServerUnavailableError("refused")

    servers = pool(time, ["a", "b"], retries=100)
    with pytest.raises(ServerGoneError, match="no server has answered") as caught:
        await servers.run(call)
    assert caught.value.fatal and caught.value.retryable
    assert GIVE_UP_S <= time.now < 3 * GIVE_UP_S


async def test_calls_go_to_the_least_loaded_endpoint() -> None:
    release, asked = asyncio.Event(), []

    async def call(client: str) -> str:
        asked.append(client)
        await release.wait()
        return client

    servers = pool(Time(), ["a", "b", "c"], concurrency=8)
    calls = [asyncio.create_task(servers.run(call)) for _ in range(12)]
    await until(lambda: len(asked) == 12)
    assert sorted(asked) == ["a"] * 4 + ["b"] * 4 + ["c"] * 4
    release.set()
    await asyncio.gather(*calls)


async def test_cap_on_requests_a_minute_spreads_them() -> None:
    time = Time()

    async def call(client: str) -> str:
        return "reply"

    servers = pool(time, ["a"], requests_per_minute=60)
    for _ in range(62):
        await servers.run(call)
    assert 58 <= time.now <= 62


def drive(limit: AdaptiveLimit, windows: int, refused_share: float, latency: float = 0.1) -> None:
    for _ in range(windows):
        calls = max(4, int(limit.limit))
        for i in range(calls):
            limit.in_flight += 1
            limit.release(latency, refused=i < refused_share * calls)


def test_limit_falls_when_many_calls_are_refused_and_recovers() -> None:
    limit = AdaptiveLimit(64)
    drive(limit, 6, 0.6)
    assert limit.limit < 16
    drive(limit, 40, 0.0)
    assert limit.limit == 64


def test_limit_does_not_collapse_under_random_faults() -> None:
    limit = AdaptiveLimit(64)
    drive(limit, 100, 0.15)
    assert limit.limit == 64


def test_limit_falls_when_latency_rises_but_keeps_an_eighth() -> None:
    limit = AdaptiveLimit(64)
    drive(limit, 10, 0.0, latency=0.1)
    drive(limit, 5, 0.0, latency=0.5)
    assert limit.limit < 64
    drive(limit, 20, 0.0, latency=50.0)
    assert limit.limit >= 8


async def test_cancelled_waiter_passes_its_place_on() -> None:
    limit = AdaptiveLimit(1)
    await limit.acquire()
    waiters = [asyncio.create_task(limit.acquire()) for _ in range(3)]
    await asyncio.sleep(0)
    waiters[0].cancel()
    limit.release(0.1)
    waiters[1].cancel()
    await asyncio.gather(*waiters[:2], return_exceptions=True)
    await asyncio.wait_for(waiters[2], 5)
    assert limit.in_flight == 1


def test_minute_cap_settles_what_was_booked_too_high() -> None:
    time = Time()
    cap = MinuteCap(6000, time)
    assert cap.take(200) == 0.0
    assert cap.take(1000) == pytest.approx(10.0)
    cap.settle(1000, 0)
    assert cap.take(0) == 0.0


def test_backoff_grows_within_its_cap() -> None:
    rng = random.Random(1)
    waits = [max(backoff_s(n, None, rng) for _ in range(200)) for n in range(12)]
    assert waits[0] <= 0.25 and waits[4] > 2.0 and max(waits) <= 30.0


async def test_draining_pool_lets_calls_come_back_and_retries_nothing() -> None:
    settings = LimitsConfig(retries=3, requests_per_minute=60)
    servers = EndpointPool(["a"], settings, "openai:m")  # a real clock: the waits are cut short
    answer, asked = asyncio.Event(), 0

    async def slow(client: str) -> str:
        await answer.wait()
        return "reply"

    async def refused(client: str) -> str:
        nonlocal asked
        asked += 1
        raise RateLimitedError("slow down", retry_after=3600.0)

    on_its_way = asyncio.create_task(servers.run(slow))
    to_retry = asyncio.create_task(servers.run(refused))
    at_the_cap = [asyncio.create_task(servers.run(slow)) for _ in range(5)]
    while not asked:
        await asyncio.sleep(0)
    servers.drain()
    with pytest.raises(RunStoppingError):
        await to_retry
    assert asked == 1
    for call in at_the_cap:
        with pytest.raises(RunStoppingError):
            await call
    answer.set()
    assert await on_its_way == "reply"
    with pytest.raises(RunStoppingError):
        await servers.run(refused)


async def test_a_server_that_falls_silent_and_comes_back_is_told_of_once_each() -> None:
    time, told, down = Time(), list[str](), True
    servers = pool(time, ["http://a", "http://b"], retries=30)

    async def call(client: str) -> str:
        if client == "http://a" and down:
            raise ServerUnavailableError("refused")
        time.now += 1.0
        return client

    servers.tell(told.append)
    for _ in range(60):
        await servers.run(call)
    assert told == [f"http://a: {FAILURES_IN_A_ROW} consecutive errors (refused); the other servers continue"]
    down = False
    for _ in range(120):
        await servers.run(call)
    assert told[1:] == ["http://a answers again"]


async def test_a_long_wait_that_a_server_asks_for_is_told_of_once() -> None:
    time, told, attempts = Time(), list[str](), 0

    async def call(client: str) -> str:
        nonlocal attempts
        attempts += 1
        if attempts <= 4:
            raise RateLimitedError("slow down", retry_after=60.0)
        return "reply"

    servers = pool(time, ["http://a"])
    servers.tell(told.append)
    await asyncio.gather(*(servers.run(call) for _ in range(4)))
    assert told == ["http://a: asks for a wait of 60 s (rate limit)"]


async def test_before_work_faults_are_retried_and_dead_servers_left_out() -> None:
    told, asked = list[str](), list[str]()

    async def ask(client: str) -> str:
        asked.append(client)
        if client == "http://b" or asked.count(client) < 3:
            raise ServerUnavailableError("refused")
        return client

    servers = pool(Time(), ["http://a", "http://b"])
    limits = LimitsConfig(retries=2)
    assert await ask_each(servers, limits, ask) == ["http://a"]
    servers.tell(told.append)
    assert told == ["http://b: refused; the other servers continue"]
    with pytest.raises(ServerUnavailableError):
        await ask_each(pool(Time(), ["http://b"]), LimitsConfig(retries=9), ask)
    assert asked.count("http://b") == 3 + START_RETRIES + 1


async def test_before_work_nobody_is_kept_waiting_for_an_hour() -> None:
    time = Time()

    async def ask(client: str) -> str:
        raise RateLimitedError("slow down", retry_after=3600.0)

    with pytest.raises(RateLimitedError):
        await ask_each(pool(time, ["http://a"]), LimitsConfig(), ask)
    assert not time.slept


async def test_calls_refused_by_a_busy_server_wait_and_are_served_later() -> None:
    time = Time()

    async def call(client: str) -> str:
        if time.now < 40:
            raise RateLimitedError("slow down")
        return "reply"

    servers = pool(time, ["a"], retries=2)
    assert await asyncio.gather(*(servers.run(call) for _ in range(5))) == ["reply"] * 5
    assert time.now >= 40


@pytest.mark.parametrize("asked", [None, 300.0])
async def test_a_run_stops_after_a_minute_of_refused_calls(
    asked: float | None,
) -> None:
    time = Time()

    async def call(client: str) -> str:
        raise RateLimitedError("slow down", retry_after=asked)

    with pytest.raises(ServerGoneError, match="servers have refused every call because of load") as caught:
        await pool(time, ["a"], retries=2).run(call)
    assert caught.value.fatal and GIVE_UP_S + (asked or 0) <= time.now < GIVE_UP_S + 40 + 3 * (asked or 0)


class Slow:
    """A server whose replies all take longer than the time limit of ten minutes while ``most`` or more are asked."""

    def __init__(self, time: Time, most: int) -> None:
        self.time, self.most, self.in_flight, self.peaks = time, most, 0, list[int]()

    async def __call__(self, client: str) -> str:
        self.in_flight += 1
        for _ in range(20):
            await asyncio.sleep(0)
        most = self.in_flight
        self.peaks.append(most)
        for _ in range(20):
            await asyncio.sleep(0)
        self.in_flight -= 1
        if most >= self.most:
            self.time.now = max(self.time.now, 600.0 * (1 + len(set(self.peaks))))
            raise SlowServerError("m: no answer in time: waited 600 s for /chat/completions (limits.timeout_s)")
        self.time.now += 1
        return "reply"


async def test_a_slow_server_gets_fewer_calls_and_no_item_fails() -> None:
    time, told = Time(), list[str]()
    call, servers = Slow(time, most=4), pool(time, ["http://a"], concurrency=16, retries=0)
    servers.tell(told.append)
    assert await asyncio.gather(*(servers.run(call) for _ in range(40))) == ["reply"] * 40
    assert "4 instead of 16 calls in flight (limits.concurrency)" in told[0] and "limits.timeout_s" in told[0]
    assert "1 instead of 4" in told[1]


async def test_a_server_without_a_reply_to_single_calls_ends_the_run() -> None:
    time = Time()
    call, servers = Slow(time, most=1), pool(time, ["a"], concurrency=16)
    with pytest.raises(ServerGoneError, match=r"/chat/completions \(limits.timeout_s\), even with one call") as caught:
        await asyncio.gather(*(servers.run(call) for _ in range(40)))
    assert caught.value.fatal and "limits.concurrency" in caught.value.hint
    assert call.peaks.count(16) == 16 and call.peaks.count(4) == 4 and call.peaks.count(1) == SLOW_ALONE


async def test_one_slow_call_among_others_fails_after_its_retries() -> None:
    attempts = 0

    async def lucky(client: str) -> str:
        return "reply"

    async def unlucky(client: str) -> str:
        nonlocal attempts
        attempts, time.now = attempts + 1, time.now + 600
        await servers.run(lucky)
        raise SlowServerError("no answer in time")

    time = Time()
    servers = pool(time, ["a"], retries=2)
    with pytest.raises(SlowServerError):
        await servers.run(unlucky)
    assert attempts == 3


@pytest.mark.parametrize("concurrency", [1, 16])
async def test_last_call_of_a_run_that_is_never_answered_fails_alone(concurrency: int) -> None:
    time, attempts = Time(), 0

    async def endless(client: str) -> str:
        nonlocal attempts
        attempts, time.now = attempts + 1, time.now + 600
        raise SlowServerError("no answer in time")

    with pytest.raises(SlowServerError) as caught:
        await pool(time, ["a"], concurrency=concurrency, retries=3).run(endless)
    assert attempts == 4 and not caught.value.fatal


async def test_before_work_a_slow_server_is_asked_once() -> None:
    asked = 0

    async def ask(client: str) -> str:
        nonlocal asked
        asked += 1
        raise SlowServerError("no answer in time")

    with pytest.raises(SlowServerError):
        await ask_each(pool(Time(), ["a"]), LimitsConfig(), ask)
    assert asked == 1


async def test_one_refused_call_fails_after_its_retries() -> None:
    time, attempts = Time(), 0
    servers = pool(time, ["a"], retries=2)

    async def unlucky(client: str) -> str:
        nonlocal attempts
        attempts += 1
        await servers.run(lucky)
        raise RateLimitedError("slow down")

    async def lucky(client: str) -> str:
        return "reply"

    with pytest.raises(RateLimitedError):
        await servers.run(unlucky)
    assert attempts == 3
