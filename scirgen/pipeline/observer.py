"""Receives the events of a run. The CLI displays them; the Python API may ignore them."""

from __future__ import annotations

import io
import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

from scirgen.core import __version__
from scirgen.core.errors import ScirgenError, StoreError
from scirgen.core.files.jsonl import write_rows
from scirgen.core.safety.files import private_file
from scirgen.core.secrets import masked
from scirgen.pipeline.store import StoredResult


class Observer:
    """Receives events in the order in which they happen. It ignores them; a subclass overrides what it wants, and must
    not block."""

    def planned(self, stage: str, count: int) -> None:
        """Take note of new items of a stage."""

    def finished(self, result: StoredResult, *, reused: bool, seconds: float) -> None:
        """Take note of an item's result; ``reused`` if it was already in the store."""

    def subjects(self, chosen: int, read: int) -> None:
        """Take note of the number of datasets that continue to the later steps."""

    def note(self, message: str) -> None:
        """Show a line to the user."""

    def models(self, waiting: Callable[[], int]) -> None:
        """Take ``waiting``, which returns the number of requests that the models have not answered yet."""


class Several(Observer):
    """Passes everything on to several observers."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def planned(self, stage: str, count: int) -> None:
        for observer in self._observers:
            observer.planned(stage, count)

    def finished(self, result: StoredResult, *, reused: bool, seconds: float) -> None:
        for observer in self._observers:
            observer.finished(result, reused=reused, seconds=seconds)

    def subjects(self, chosen: int, read: int) -> None:
        for observer in self._observers:
            observer.subjects(chosen, read)

    def note(self, message: str) -> None:
        for observer in self._observers:
            observer.note(message)

    def models(self, waiting: Callable[[], int]) -> None:
        for observer in self._observers:
            observer.models(waiting)


class EarlyYield(Observer):
    """Says once, from the third dataset on, that datasets give fewer than one row for three, and how to get more."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._datasets = self._rows = 0
        self._told = False
        self._started = time.monotonic()

    def finished(self, result: StoredResult, *, reused: bool, seconds: float) -> None:
        if result.stage != "filter" or self._told:
            return
        self._datasets += 1
        self._rows += result.n_outputs
        if self._datasets >= 3 and 3 * self._rows < self._datasets:
            self._told = True
            each = (time.monotonic() - self._started) / self._datasets
            rows = "1 row" if self._rows == 1 else f"{self._rows} rows"
            self._tell(
                f"The first {self._datasets} datasets gave {rows}, in about {each:.0f} s each. A larger model gives "
                "more and better ones: stop with Ctrl-C and pass --model (docs/models.md)."
            )


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)  # a pipe without a reader is an error


class JsonLog(Observer):
    """Structured log in RUN/log.jsonl: one JSON line per event, without text of prompts or papers.

    Events: ``start``, ``item``, ``failure`` (after its item), ``note``, ``end``.

    Raises:
        StoreError: it cannot be written, or its path is a link.
    """

    def __init__(self, path: Path, *, shared: bool = False) -> None:
        try:
            if not shared:
                private_file(path)
            self._file = open(path, "a", encoding="utf-8", buffering=1, opener=_no_link)  # noqa: SIM115 - has an opener
        except OSError as error:
            raise StoreError(
                f"{path} cannot be written: {error.strerror}", hint="Remove the link, pipe or folder of that name."
            ) from error

    def leave(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close the log; an error that ends the process is its last line."""
        if isinstance(error, ScirgenError):
            self.ended("error", code=error.error_code, message=error.message)
        self.close()

    def began(self, models: Mapping[str, str]) -> None:
        """Log the start of a process, with its models (role -> identity)."""
        self._write(event="start", scirgen=__version__, process=os.getpid(), models=models)

    def ended(self, status: str, **details: object) -> None:
        """Log the end; a run without this line was killed."""
        self._write(event="end", status=status, **details)

    def finished(self, result: StoredResult, *, reused: bool, seconds: float) -> None:
        """Write a line for each item that was processed."""
        if not reused:
            self._write(
                event="item", stage=result.stage, key=result.key, status=result.status, outputs=result.n_outputs,
                rejections=result.n_rejections, seconds=round(seconds, 4),
            )  # fmt: skip
            for failure in result.failures():
                self._write(
                    event="failure", stage=result.stage, key=result.key, code=failure.code, message=failure.message
                )

    def note(self, message: str) -> None:
        self._write(event="note", message=message)

    def close(self) -> None:
        self._file.close()

    def _write(self, **fields: object) -> None:
        try:
            line = io.StringIO()
            write_rows(line, [{"time": round(time.time(), 3), **fields}])
            self._file.write(masked(line.getvalue()))
        except OSError as error:
            # The log is a convenience; a full disk is reported by the store.
            logging.getLogger("scirgen").debug("log.jsonl: %s", error)
