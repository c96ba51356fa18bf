"""Limits the rate of calls: bounded retries with jitter, an adaptive concurrency limit, caps on requests and tokens per
minute.

`endpoints` chooses the server; the error classes define what an error means.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from scirgen.core.errors import RateLimitedError, ServerUnavailableError

RETRYABLE: Final = (RateLimitedError, ServerUnavailableError)
"""Transport errors. This module never retries because of a reply's content."""

Clock = Callable[[], float]


def backoff_s(
    attempt: int, retry_after: float | None, rng: random.Random, base: float = 0.25, cap: float = 30.0
) -> float:
    """Return the seconds to wait before retry ``attempt`` (0 is the first).

    Full jitter: uniform in [0, min(cap, base 2^attempt)], see Brooker, "Exponential Backoff And Jitter" (AWS, 2015). A
    server's Retry-After is a lower bound; a jitter of up to a tenth is added so callers do not return together.
    """
    if retry_after is not None:
        return retry_after + rng.uniform(0, 0.1 * retry_after + 0.01)
    return rng.uniform(0, min(cap, base * 2.0**attempt))


class AdaptiveLimit:
    """At most ``limit`` calls at a time; the limit adapts to the server, between 1 and ``most``.

    It starts at ``most`` and is adjusted once per window of ``limit`` finished calls (about one round trip each):

    - more than `OVERLOAD_SHARE` of them refused for load (429, 503, time-outs): multiplied by ``1 - share / 2``. A
      single refusal does not count, for random faults would otherwise push the limit to nothing (the classic AIMD of
      TCP settles near sqrt(1.5 / p) calls at a loss rate p);
    - their mean latency above `SLOWER` times the long-run mean: multiplied by 0.9, down to an eighth of ``most``. A
      vLLM server never refuses; it queues;
    - otherwise one twentieth of ``most`` is added.

    Not thread-safe; one event loop.
    """

    OVERLOAD_SHARE: Final = 0.2
    SLOWER: Final = 2.0

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(most)
        self.in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._window: list[float] = []
        self._refused = 0
        self._usual: float | None = None

    async def acquire(self) -> None:
        if self.in_flight < int(self.limit) and not self._waiting:
            self.in_flight += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()  # the place was assigned just before the cancellation, so pass it on
            raise

    def release(self, latency_s: float | None = None, *, refused: bool = False) -> None:
        """End a call: free its place, and record its latency or that it was refused for load."""
        if refused:
            self._refused += 1
        elif latency_s is not None:
            self._window.append(latency_s)
        if self._refused + len(self._window) >= max(4, int(self.limit)):
            self._adapt()
        self._leave()

    def fall(self) -> None:
        """Continue with a quarter of the calls that are in flight."""
        self.limit = max(1.0, min(self.limit, self.in_flight) / 4)

    @property
    def load(self) -> float:
        """Share of the limit in use, including waiting calls."""
        return (self.in_flight + len(self._waiting)) / self.limit

    def _leave(self) -> None:
        self.in_flight -= 1
        while self._waiting and self.in_flight < int(self.limit):
            place = self._waiting.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)

    def _adapt(self) -> None:
        share = self._refused / (self._refused + len(self._window))
        latency = sum(self._window) / len(self._window) if self._window else None
        if share > self.OVERLOAD_SHARE:
            self.limit = max(1.0, self.limit * (1 - share / 2))
        elif latency is not None and self._usual is not None and latency > self.SLOWER * self._usual:
            self.limit = max(min(self.limit, max(1.0, self.most / 8)), self.limit * 0.9)
        else:
            self.limit = min(float(self.most), self.limit + max(1.0, self.most / 20))
        if latency is not None:
            # Falls at once and rises slowly, so a server that has become slow does not soon count as normal.
            self._usual = latency if self._usual is None else min(latency, 0.98 * self._usual + 0.02 * latency)
        self._window.clear()
        self._refused = 0


class MinuteCap:
    """At most ``per_minute`` units in any minute, with a burst of two seconds' worth. A leaky bucket."""

    def __init__(self, per_minute: float, clock: Clock = time.monotonic) -> None:
        self._rate = per_minute / 60
        self._burst = max(1.0, self._rate * 2)
        self._clock = clock
        self._level = 0.0
        self._at = clock()

    def take(self, units: float) -> float:
        """Book ``units`` and return the seconds to wait before using them."""
        self._leak()
        self._level += units
        return max(0.0, (self._level - self._burst) / self._rate)

    def settle(self, booked: float, used: float) -> None:
        """Correct a booking with the actual usage."""
        self._leak()
        self._level = max(0.0, self._level + used - booked)

    def _leak(self) -> None:
        now = self._clock()
        self._level = max(0.0, self._level - (now - self._at) * self._rate)
        self._at = now
