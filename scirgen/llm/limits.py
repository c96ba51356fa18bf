"""Bounded retries with exponential backoff and full jitter; what is worth retrying is decided by the error's class."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from scirgen.core.errors import RateLimitedError, ServerUnavailableError

R = TypeVar("R")

RETRYABLE = (RateLimitedError, ServerUnavailableError)
"""Faults of the transport. A reply's content is never retried here."""


def backoff_s(
    attempt: int, retry_after: float | None, rng: random.Random, base: float = 0.5, cap: float = 30.0
) -> float:
    """Seconds to wait before retry ``attempt`` (0 is the first).

    Full jitter: uniform in [0, min(cap, base 2^attempt)], see Brooker, "Exponential Backoff And Jitter" (AWS, 2015). A
    server's Retry-After is a lower bound, to which a tenth of jitter is added so that callers do not come back together.
    """
    jitter = rng.uniform(0, min(cap, base * 2.0**attempt))
    if retry_after is None:
        return jitter
    return retry_after + rng.uniform(0, 0.1 * retry_after + 0.01)


async def with_retries(
    call: Callable[[], Awaitable[R]],
    retries: int,
    *,
    on_retry: Callable[[Exception, float], None] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    rng: random.Random | None = None,
) -> R:
    """Await ``call()``, again after a transport fault, at most ``retries`` more times; then the last fault is raised."""
    rng = rng or random.Random()
    for attempt in range(retries):
        try:
            return await call()
        except RETRYABLE as error:
            after = error.retry_after if isinstance(error, RateLimitedError) else None
            wait = backoff_s(attempt, after, rng)
            if on_retry is not None:
                on_retry(error, wait)
        await sleep(wait)
    return await call()
