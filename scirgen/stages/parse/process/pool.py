"""A small pool of worker processes that can be killed. Each parses one file at a time, under a time and a memory
limit."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

from scirgen.core import errors
from scirgen.core.errors import PaperError, ParserKilledError
from scirgen.core.registry import Provided
from scirgen.core.runtime import is_stopping, stopped
from scirgen.stages.parse.base import CRASHED, FileKind, ParsedPaper, ParserOptions, out_of_memory

_START_S = 60.0
_SLICE_S = 0.5
_LONGEST_REPLY = 512 * 2**20
_MEMORY_SIGNS = (b"bad_alloc", b"malloc", b"MemoryError", b"out of memory", b"Cannot allocate memory")
_OWN_FAULTS = (
    signal.SIGSEGV,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGILL,
    signal.SIGFPE,
    signal.SIGSYS,
    signal.SIGTRAP,
)
"""Signals of a process's own fault; another signal comes from a user, a service manager or a memory watchdog."""


class _Crashed(Exception):
    """The worker died; the error holds the end of what it printed."""

    def __init__(self, status: int, output: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.output = output


class _TimedOut(Exception):
    pass


class _Worker:
    """One child process."""

    def __init__(self, memory_mb: int) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the worker)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "scirgen.stages.parse.process.worker", str(os.getpid()), str(memory_mb)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            process_group=0,  # the terminal sends Ctrl-C to scirgen's own group
        )
        self._buffer = b""
        self.used = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, request: Mapping[str, object], timeout_s: float) -> dict[str, Any]:
        assert self._process.stdin is not None
        deadline = time.monotonic() + timeout_s + (0 if self.used else _START_S)
        self.used = True
        try:
            self._process.stdin.write(json.dumps(dict(request)).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._crashed() from error
        return json.loads(self._line(deadline))  # type: ignore[no-any-return]

    def _line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        poll = selectors.DefaultSelector()
        poll.register(descriptor, selectors.EVENT_READ)
        with poll:
            while b"\n" not in self._buffer:
                if is_stopping():
                    raise stopped()
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise _TimedOut
                if not poll.select(min(remaining, _SLICE_S)):
                    continue
                chunk = os.read(descriptor, 1 << 20)
                if not chunk:
                    raise self._crashed()
                self._buffer += chunk
                if len(self._buffer) > _LONGEST_REPLY:
                    raise out_of_memory()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _crashed(self) -> _Crashed:
        self._process.wait(timeout=10)
        self._log.seek(0)
        return _Crashed(self._process.returncode, self._log.read()[-4000:])

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


class ParserPool:
    """A pool of workers, which are started on demand and used again.

    A worker that was killed or crashed is replaced. One that parsed ``files_per_worker`` files is ended, so that leaks
    of native libraries stay small. All processes are started from one thread that lives as long as the pool, since
    Linux signals a child when the *thread* that started it dies.
    """

    def __init__(self, size: int, memory_mb: int, files_per_worker: int = 200) -> None:
        self._size, self._slots, self._exclusive = size, threading.BoundedSemaphore(size), threading.Lock()
        self._memory_mb = memory_mb
        self._files = files_per_worker
        self._idle: queue.SimpleQueue[tuple[_Worker, int]] = queue.SimpleQueue()
        self._all: set[_Worker] = set()
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="scirgen-parse-start")
        self._runners = ThreadPoolExecutor(size, thread_name_prefix="scirgen-parse")
        self._finalizer = weakref.finalize(self, _close_all, self._all, self._starter, self._runners)

    async def parse(
        self, plugin: Provided | Mapping[FileKind, Provided], path: Path, options: ParserOptions
    ) -> ParsedPaper:
        """Parse a file in a worker, by a parser plugin, or by the one for the kind that the worker finds it to be.

        A file whose worker dies is tried once more, in a new worker and while no other file is parsed.

        Raises:
            MissingExtraError: the parser's package is not installed.
            PaperError: what the parser raised, or ``timeout``, ``memory``, ``damaged`` (the worker crashed twice).
            ParserKilledError: the worker was killed from outside.
            RunStoppingError: the run ends.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._runners, self.parse_blocking, plugin, path, options)

    def parse_blocking(
        self, plugin: Provided | Mapping[FileKind, Provided], path: Path, options: ParserOptions
    ) -> ParsedPaper:
        """Like `parse`, on the calling thread."""
        request = {
            "parsers": (
                {"": _named(plugin)} if isinstance(plugin, Provided) else {k: _named(p) for k, p in plugin.items()}
            ),
            "path": str(path),
            "options": options.model_dump(mode="json"),
        }
        try:
            with self._slots:
                reply = self._reply(request, options.timeout_s, *self._take())
        except _Crashed:
            try:
                with self._alone():
                    reply = self._reply(request, options.timeout_s, *self._started())
            except _Crashed as crash:
                raise _crash_error(crash) from None
        if error := reply.get("error"):
            raise getattr(errors, error["kind"], PaperError)(error["message"], hint=error["hint"], code=error["code"])
        return ParsedPaper.model_validate(reply["parsed"])

    def _reply(self, request: Mapping[str, object], timeout_s: float, worker: _Worker, served: int) -> dict[str, Any]:
        try:
            reply = worker.ask(request, timeout_s)
        except _TimedOut:
            self._drop(worker)
            raise _too_slow(timeout_s) from None
        except _Crashed as crash:
            self._drop(worker)
            if is_stopping():
                raise stopped() from None
            if crash.status == -signal.SIGALRM:  # the worker's own clock
                raise _too_slow(timeout_s) from None
            raise
        except BaseException:
            self._drop(worker)
            raise
        if served + 1 >= self._files or reply.get("error", {}).get("code") == "memory" or reply.get("used_up"):
            self._drop(worker)
        else:
            self._idle.put((worker, served + 1))
        return reply

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait until no other file is parsed, and let none begin."""
        with self._exclusive, contextlib.ExitStack() as slots:
            for _ in range(self._size):
                slots.enter_context(self._slots)
            yield

    def close(self) -> None:
        """Kill all workers. The pool cannot be used again."""
        self._finalizer()

    def pids(self) -> list[int]:
        """Process ids of the living workers."""
        return sorted(w.pid for w in self._all)

    def _take(self) -> tuple[_Worker, int]:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return self._started()

    def _started(self) -> tuple[_Worker, int]:
        worker = self._starter.submit(_Worker, self._memory_mb).result()
        self._all.add(worker)
        return worker, 0

    def _drop(self, worker: _Worker) -> None:
        self._all.discard(worker)
        worker.close()


def _named(plugin: Provided) -> dict[str, str | None]:
    return {"target": plugin.target, "name": plugin.name, "extra": plugin.extra}


def _close_all(workers: set[_Worker], *executors: ThreadPoolExecutor) -> None:
    for worker in list(workers):
        worker.close()
    workers.clear()
    for executor in executors:
        executor.shutdown(wait=False, cancel_futures=True)


def _too_slow(timeout_s: float) -> PaperError:
    return PaperError(f"parsing took longer than {timeout_s:g} s", code="timeout", hint="Raise parse.timeout_s.")


def _crash_error(crash: _Crashed) -> PaperError:
    if any(sign in crash.output for sign in _MEMORY_SIGNS):
        return out_of_memory()
    if crash.status < 0 and -crash.status not in _OWN_FAULTS:
        return ParserKilledError(
            f"the process that parses it was killed from outside twice (signal {-crash.status})",
            hint="Lower parse.workers if memory is short; the next run tries the file again.",
        )
    return PaperError(
        f"{CRASHED} (status {crash.status})",
        code="damaged",
        hint="The file crashes the parser; fetch it again or convert it.",
    )
