"""`scirgen.generate` in a notebook: there an event loop runs already in the thread that calls it."""

from __future__ import annotations

import asyncio
import signal
import threading
from pathlib import Path

import pytest

import scirgen
from scirgen.core.runtime import blocking
from scirgen.testing.server import FakeServer
from tests.support.small_runs import SETTINGS, write_records


async def three() -> int:
    await asyncio.sleep(0)
    return 3


def test_work_when_no_loop_runs_then_its_result() -> None:
    assert blocking(three()) == 3


async def test_work_when_a_loop_runs_then_its_result_and_no_thread_is_left() -> None:
    before = threading.active_count()
    assert blocking(three()) == 3
    assert threading.active_count() == before


def test_an_error_of_the_work_is_chained_to_nothing() -> None:
    async def failing() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError) as raised:
        blocking(failing())
    assert raised.value.__context__ is None


async def test_work_when_it_raises_then_the_error_comes_out_as_itself() -> None:
    async def failing() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        blocking(failing())


async def test_interrupted_work_closes_what_it_holds_before_it_returns() -> None:
    closed = []

    async def waiting() -> None:
        try:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # as Ctrl-C does
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            blocking(waiting())
    finally:
        signal.signal(signal.SIGINT, previous)
    assert closed == [True]


async def test_generate_when_called_in_a_running_loop_then_it_runs(tmp_path: Path) -> None:
    records = write_records(tmp_path / "r.jsonl", 2)
    started = threading.Event()
    stop = threading.Event()
    address: list[str] = []

    async def serve() -> None:
        async with FakeServer() as server:
            address.append(server.url)
            started.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    started.wait()
    try:
        run = scirgen.generate(
            tmp_path / "run", domain="geo", input=records, model=f"openai:fake@{address[0]}", settings=SETTINGS
        )
    finally:
        stop.set()
        thread.join()
    assert run.outcome is not None and run.outcome.status == "success" and list(run.rows())
