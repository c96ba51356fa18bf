"""Waits for a condition, and fails if it does not come true. Tests sleep nowhere else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

_STEP_S = 0.01


async def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Let other tasks run until the condition is true."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(_STEP_S)


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Block until the condition is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not true after {seconds} s"
        time.sleep(_STEP_S)
