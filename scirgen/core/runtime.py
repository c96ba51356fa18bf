"""Runs a coroutine to its end from plain code, also inside a running event loop; and waits that end with the run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import TypeVar

from scirgen.core.errors import RunStoppingError

T = TypeVar("T")

_stopping = threading.Event()


def end_waits() -> None:
    """Let all that wait in threads (for a service, a file, a parser) give up within a second: the run is ending."""
    _stopping.set()


def allow_waits() -> None:
    """A run begins: waiting is allowed again."""
    _stopping.clear()


def is_stopping() -> bool:
    """Whether the run is ending."""
    return _stopping.is_set()


def stop_here() -> None:
    """Called now and then by long work in a thread: ends it with the run.

    Raises:
        RunStoppingError: the run is ending.
    """
    if _stopping.is_set():
        raise stopped()


def pause(seconds: float) -> None:
    """As `time.sleep`, until the run ends.

    Raises:
        RunStoppingError: it ends.
    """
    if _stopping.wait(seconds):
        raise stopped()


def stopped() -> RunStoppingError:
    """The error for work in a thread that was given up because the run ends."""
    return RunStoppingError("the run is stopping", hint="Run the same command again to go on.")


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
