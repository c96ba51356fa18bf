"""Runs a coroutine to its end from plain code, also inside a running event loop (a notebook, a server)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def blocking(work: Coroutine[object, object, T]) -> T:
    """The coroutine's result. Where this thread's event loop is running, the work gets one in a thread of its own.

    An interrupt (a notebook's stop button) cancels the work, waits until it has closed what it holds, and goes on up.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = Future()
    ended: Future[T] = Future()

    async def main() -> T:
        task = asyncio.current_task()
        assert task is not None
        begun.set_result((asyncio.get_running_loop(), task))
        return await work

    def run() -> None:
        try:
            ended.set_result(asyncio.run(main()))
        except BaseException as error:
            ended.set_exception(error)

    thread = threading.Thread(target=run, name="scirgen")
    try:
        thread.start()
        return ended.result()
    except BaseException:
        if not ended.done():
            loop, task = begun.result()
            loop.call_soon_threadsafe(task.cancel)
        raise
    finally:
        thread.join()
