"""Runs coroutines from synchronous code, also inside a running event loop; waits that end with the run; garbage
collection during a run."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar

from scirgen.core.errors import RunStoppingError

T = TypeVar("T")

_stopping = threading.Event()


def end_waits() -> None:
    """Make all waits in threads (for a service, a file, a parser) give up within a second, because the run is
    ending."""
    _stopping.set()


def allow_waits() -> None:
    """Allow waits again, because a run begins."""
    _stopping.clear()


def is_stopping() -> bool:
    """Check whether the run is ending."""
    return _stopping.is_set()


def stop_here() -> None:
    """Raise an error if the run is ending; long work in a thread calls this from time to time.

    Raises:
        RunStoppingError: the run is ending.
    """
    if _stopping.is_set():
        raise stopped()


def pause(seconds: float) -> None:
    """Like `time.sleep`, but ends with the run.

    Raises:
        RunStoppingError: the run ends.
    """
    if _stopping.wait(seconds):
        raise stopped()


def stopped() -> RunStoppingError:
    """Return the error for work in a thread that stops because the run ends."""
    return RunStoppingError("the run is stopping", hint="Run the same command again to continue.")


@contextmanager
def rare_collections() -> Iterator[None]:
    """Search for cyclic garbage after 20,000 new objects instead of 700, and not among what is loaded already.

    With Python's defaults this takes 0.5 to 0.7 s of processor time in a run of 2,000 requests
    (`docs/benchmarks/throughput.md`).
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def blocking(work: Coroutine[object, object, T]) -> T:
    """Return the coroutine's result. If this thread already runs an event loop, the work runs in another thread.

    An interrupt (a notebook's stop button) cancels the work, waits until it has released its resources, and propagates.
    """
    running = True
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        running = False
    if not running:  # not inside the handler: an error of the work would then be chained to this one
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
