"""The servers of one model. Calls go to the least loaded server; failing servers are paused, and transport errors are
retried.

Time spent waiting here is not part of a call, so it never counts as a server's timeout. Messages for the user (a server
stopped responding or answers again, a server asked for a long wait) go to the callback set with `EndpointPool.tell`.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from scirgen.core.config import LimitsConfig
from scirgen.core.errors import ModelError, RateLimitedError, RunStoppingError, ServerUnavailableError
from scirgen.llm.server.limits import RETRYABLE, AdaptiveLimit, Clock, MinuteCap, backoff_s
from scirgen.llm.server.server_errors import SlowServerError

C = TypeVar("C")
R = TypeVar("R")

FAILURES_IN_A_ROW: Final = 8
"""Number of consecutive transport errors that open an endpoint's circuit."""

GIVE_UP_S: Final = 60.0
"""After this time without an answer from any endpoint, the run stops instead of failing item after item."""

LONG_WAIT_S: Final = 20.0
"""Waits of at least this length, requested by a server, are reported to the user."""

SLOW_ALONE: Final = 2
"""Number of different calls, one at a time and without a reply to any, after which a slow server is given up. One
prompt that is never answered fails only its own item."""

START_RETRIES: Final = 3
"""Retries before work begins: enough that a temporary error does not stop a run, few enough to report a missing server
soon."""


class ServerGoneError(ServerUnavailableError):
    """No server has answered for a minute, all servers have refused every call for that long, or they give no reply
    in time even to single calls; other items would fail too."""

    fatal = True


@dataclass
class Endpoint(Generic[C]):
    """One server.

    The circuit is open until ``shut_until``; then a single call tries it again. Each further failure doubles the wait,
    up to 30 seconds.
    """

    client: C
    limit: AdaptiveLimit
    failures: int = 0
    shut_until: float = 0.0
    probing: bool = False
    last_answer: float = field(default=0.0)
    last_reply: float = field(default=0.0)
    lowered: float = field(default=-1.0)

    def available(self, now: float) -> bool:
        """Check whether it can be called now."""
        return self.failures < FAILURES_IN_A_ROW or (now >= self.shut_until and not self.probing)

    def answered(self, now: float) -> None:
        """Record an answer, including a refusal."""
        self.failures = 0
        self.probing = False
        self.last_answer = now

    def failed(self, now: float) -> None:
        """Record a connection error, a 5xx or a timeout."""
        self.failures += 1
        self.probing = False
        if self.failures >= FAILURES_IN_A_ROW:
            self.shut_until = now + min(30.0, 0.5 * 2.0 ** (self.failures - FAILURES_IN_A_ROW))


class EndpointPool(Generic[C]):
    """Runs calls against one of several equal servers.

    Args:
        clients: one per server; messages use its string form.
        limits: concurrency (over all servers), retries, requests and tokens per minute.
        where: names the model in messages.
        patience_s: how long all calls may be refused for load, beyond the waits that servers request.
        clock, sleep, rng: replaced in tests.
    """

    def __init__(
        self,
        clients: Sequence[C],
        limits: LimitsConfig,
        where: str,
        *,
        patience_s: float = GIVE_UP_S,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        now = clock()
        self.endpoints = [Endpoint(c, AdaptiveLimit(limits.concurrency), 0, 0.0, False, now, now) for c in clients]
        self._patience = patience_s
        self._asked_to_wait = 0.0
        self._slow_alone: set[object] = set()
        self.retried = 0
        self._early_notes: list[str] = []
        self.note: Callable[[str], None] = self._early_notes.append
        self._quiet_until = 0.0
        self._stopping = False
        self._pauses: set[asyncio.Future[None]] = set()
        self._retries = limits.retries
        self._longest_wait = limits.timeout_s
        self._where = where
        self._clock, self._sleep, self._rng = clock, sleep, rng or random.Random()
        self._requests = MinuteCap(limits.requests_per_minute, clock) if limits.requests_per_minute else None
        self._tokens = MinuteCap(limits.tokens_per_minute, clock) if limits.tokens_per_minute else None

    async def run(
        self,
        call: Callable[[C], Awaitable[R]],
        *,
        tokens: Callable[[], float] = lambda: 0.0,
        used: Callable[[R], float | None] = lambda _: None,
    ) -> R:
        """Await ``call(client)``; after a transport error, retry at most ``limits.retries`` times.

        While every call of every caller is refused for load, no call fails for that reason; otherwise the run's next
        thousand items would fail. Callers wait until one is served, or all have been refused for ``patience_s``.
        If a server answers no call in time, it gets fewer and fewer calls at once before any fails.

        Args:
            call: one attempt; raises our errors.
            tokens: estimate of the tokens of an attempt; only called with a cap on tokens.
            used: the tokens that it actually used, or None.

        Raises:
            ServerGoneError: no server has answered for `GIVE_UP_S`, or none gives a reply in time to single calls.
            RunStoppingError: `drain` was called before this call started.
            ModelError: the last attempt's.
        """
        failed: Endpoint[C] | None = None
        name, refused_at = object(), self._clock()
        for attempt in itertools.count():
            booked = tokens() if self._tokens else 0.0
            endpoint = await self._place(booked, failed)
            began, alone = self._clock(), int(endpoint.limit.limit) <= 1
            try:
                reply = await call(endpoint.client)
            except SlowServerError as error:
                failed, wait = endpoint, 0.0
                stuck = self._slow(endpoint, error, began, name if alone else None)
                if not self._patience or (attempt >= self._retries and (alone or not stuck)):
                    raise
            except RETRYABLE as error:
                self._learn(endpoint, error)
                failed = endpoint
                self._give_up(self._clock())
                after = self._asked_wait(error)
                if attempt >= self._retries and not (
                    isinstance(error, RateLimitedError) and self._all_refused(refused_at)
                ):
                    raise
                refused_at = self._clock()
                wait = backoff_s(attempt, after, self._rng)
            except BaseException:
                endpoint.answered(self._clock())
                endpoint.limit.release()
                raise
            else:
                now = self._clock()
                if endpoint.failures >= FAILURES_IN_A_ROW:
                    self.note(f"{endpoint.client} answers again")
                endpoint.answered(now)
                endpoint.last_reply = now
                self._slow_alone.clear()
                endpoint.limit.release(now - began)
                spent = used(reply)
                if self._tokens and spent is not None:
                    self._tokens.settle(booked, spent)
                return reply
            self.retried += 1
            await self._pause(wait)
        raise AssertionError("unreachable")

    def tell(self, to: Callable[[str], None]) -> None:
        """Set the callback for messages to the user; earlier messages are passed on now."""
        for message in self._early_notes:
            to(message)
        self._early_notes, self.note = [], to

    def drain(self) -> None:
        """Stop retrying and waiting for a cap or a server, since the run ends; calls in flight finish."""
        self._stopping = True
        for pause in self._pauses:
            pause.cancel()

    async def _pause(self, seconds: float) -> None:
        if not self._stopping:
            pause = asyncio.ensure_future(self._sleep(seconds))
            self._pauses.add(pause)
            try:
                await asyncio.wait({pause})
            finally:
                self._pauses.discard(pause)
                pause.cancel()
        if self._stopping:
            raise RunStoppingError(f"{self._where}: the run is stopping; this call was not made")

    async def _place(self, tokens: float, failed: Endpoint[C] | None) -> Endpoint[C]:
        """Wait until the caps, a circuit and a limit allow a call, if possible on another server than the one that just
        failed."""
        wait = max(
            self._requests.take(1) if self._requests else 0.0,
            self._tokens.take(tokens) if self._tokens else 0.0,
        )
        if wait > 0:
            await self._pause(wait)
        while True:
            now = self._clock()
            open_ = [e for e in self.endpoints if e.available(now)]
            if not open_:
                self._give_up(now)
                await self._pause(max(0.05, min(e.shut_until for e in self.endpoints) - now))
                continue
            endpoint = min(open_, key=lambda e: (e is failed, e.limit.load))
            await endpoint.limit.acquire()
            if not endpoint.available(self._clock()):  # its circuit opened while this call was waiting
                endpoint.limit.release()
                continue
            if endpoint.failures >= FAILURES_IN_A_ROW:
                endpoint.probing = True
            return endpoint

    def _learn(self, endpoint: Endpoint[C], error: Exception) -> None:
        now = self._clock()
        if isinstance(error, RateLimitedError):
            endpoint.answered(now)
            wait = self._asked_wait(error) or 0.0
            self._asked_to_wait = max(self._asked_to_wait, wait)
            if wait >= LONG_WAIT_S and now >= self._quiet_until:
                self._quiet_until = now + wait
                self.note(f"{endpoint.client}: asks for a wait of {wait:.0f} s (rate limit)")
        else:
            endpoint.failed(now)
            if endpoint.failures == FAILURES_IN_A_ROW:
                others = any(e.failures < FAILURES_IN_A_ROW for e in self.endpoints)
                left = (
                    "the other servers continue"
                    if others
                    else f"the run stops if no server answers for {GIVE_UP_S:.0f} s"
                )
                self.note(f"{endpoint.client}: {FAILURES_IN_A_ROW} consecutive errors ({error}); {left}")
        endpoint.limit.release(refused=True)

    def _slow(self, endpoint: Endpoint[C], error: SlowServerError, began: float, alone: object) -> bool:
        """Put fewer calls on a server that gave no reply in time; return whether no call got one meanwhile.

        ``alone`` names the call if it was the server's only one.

        Raises:
            ServerGoneError: no server gives one, even to single calls.
        """
        now, limit = self._clock(), endpoint.limit
        endpoint.answered(now)  # it accepted the connection
        stuck = endpoint.last_reply <= began
        if stuck and not alone and endpoint.lowered <= began:
            before, endpoint.lowered = limit.in_flight, now
            limit.fall()
            self.note(
                f"{error.message}; it accepts connections, so scirgen waits, with {int(limit.limit)} instead of "
                f"{before} calls in flight (limits.concurrency)"
            )
        limit.release(refused=not stuck)
        if stuck and alone:
            self._slow_alone.add(alone)
        others = any(int(e.limit.limit) > 1 and e.failures < FAILURES_IN_A_ROW for e in self.endpoints)
        if len(self._slow_alone) >= SLOW_ALONE and not others and self._patience:
            raise ServerGoneError(
                f"{error.message}, even with one call at a time",
                hint="Raise limits.timeout_s, or look at the server (limits.concurrency: 1 asks it for one reply at a "
                "time); the same command continues from here.",
            )
        return stuck

    def _asked_wait(self, error: Exception) -> float | None:
        """Return the seconds that a server asks for, at most ``limits.timeout_s``."""
        after = error.retry_after if isinstance(error, RateLimitedError) else None
        return None if after is None else min(after, self._longest_wait)

    def _all_refused(self, since: float) -> bool:
        """Check whether no call was served since then (when the caller was refused before) and waiting can still help.

        Raises:
            ServerGoneError: it cannot.
        """
        served = max(e.last_reply for e in self.endpoints)
        if not self._patience or served > since:
            return False
        refused = self._clock() - served
        if refused >= self._patience + self._asked_to_wait:
            raise ServerGoneError(
                f"{self._where}: servers have refused every call because of load for {refused:.0f} s",
                hint="Check the account's limits, lower limits.concurrency or set limits.requests_per_minute; the "
                "same command continues from here.",
                code="rate_limited",
            )
        return True

    def _give_up(self, now: float) -> None:
        silent = now - max(e.last_answer for e in self.endpoints)
        if silent >= GIVE_UP_S and all(e.failures >= FAILURES_IN_A_ROW for e in self.endpoints):
            raise ServerGoneError(
                f"{self._where}: no server has answered for {silent:.0f} s",
                hint="Start the server again, then run the same command; it continues from here.",
            )


async def ask_each(pool: EndpointPool[C], limits: LimitsConfig, ask: Callable[[C], Awaitable[R]]) -> list[R]:
    """Ask each server before work begins, with retries of temporary errors. A server that is down is left out and
    reported.

    This never waits long: a server that asks for a long wait counts as down.

    Raises:
        ModelError: that of the first server, if all are down; an error that is not a transport error is raised at once.
    """
    few = limits.model_copy(update={"retries": min(limits.retries, START_RETRIES)})

    async def soon(client: C) -> R | RateLimitedError:
        try:
            return await ask(client)
        except RateLimitedError as error:
            if (error.retry_after or 0.0) < LONG_WAIT_S:
                raise
            return error

    found: list[R] = []
    down: list[tuple[C, ModelError]] = []
    for endpoint in pool.endpoints:
        try:
            said = await EndpointPool([endpoint.client], few, str(endpoint.client), patience_s=0).run(soon)
            if isinstance(said, RateLimitedError):
                raise said
            found.append(said)
        except RETRYABLE as error:
            down.append((endpoint.client, error))
    if not found:
        raise down[0][1]
    for client, fault in down:
        pool.note(f"{client}: {fault.message}; the other servers continue")
    return found
