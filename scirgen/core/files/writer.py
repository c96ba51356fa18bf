"""The only writer of a SQLite database. It groups writes into transactions and, during a run, commits nearby
transactions together.

`scirgen.pipeline.store`, `scirgen.llm.cache` and backends that keep a journal define the content and share a
connection.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from scirgen.core.errors import StoreError

_WITHIN_S: Final = 0.05
"""Seconds for which a write that is not urgent may wait for others before it is committed."""


class Writer:
    """Transactions on a connection in autocommit mode (``isolation_level=None``); one thread.

    Outside `grouped`, each `transaction` is committed when its block ends. Within `grouped`, a transaction marked
    ``now`` is committed at once, together with everything written before; others are committed together, at most 50 ms
    late. Commits keep the order of writing. After SIGKILL, the database is therefore in the state of some moment of the
    last 50 ms, and includes everything written with ``now``.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due: asyncio.TimerHandle | None = None
        self._lost: sqlite3.Error | None = None

    @contextmanager
    def grouped(self) -> Iterator[None]:
        """Group commits within the block, on the running event loop.

        Raises:
            sqlite3.Error: the last writes could not be committed.
        """
        self._loop = asyncio.get_running_loop()
        try:
            yield
        finally:
            self._loop = None
            self.commit()

    @contextmanager
    def transaction(self, *, now: bool = False) -> Iterator[None]:
        """Commit the block's writes completely or not at all; an exception rolls them back.

        Raises:
            sqlite3.Error: writing failed. Within `grouped` this rolls back everything that is not yet committed,
            although others may already rely on it; every later transaction therefore raises too.
        """
        if self._lost is not None:
            raise self._lost
        if not self.db.in_transaction:
            self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException as error:
            if self._loop is not None:
                self._lost = error if isinstance(error, sqlite3.Error) else sqlite3.OperationalError(str(error))
            self._roll_back()
            raise
        if now or self._loop is None:
            self.commit()
        elif self._due is None:
            self._due = self._loop.call_later(_WITHIN_S, self._commit_due)

    def commit(self) -> None:
        """Commit what has been written.

        Raises:
            sqlite3.Error: the writes are lost.
        """
        if self._due is not None:
            self._due.cancel()
            self._due = None
        try:
            self.db.commit()
        except sqlite3.Error as error:
            self._lost = error if self._loop is not None else None
            self._roll_back()
            raise

    @contextmanager
    def guarded(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise store_error(self.path, error) from error

    @property
    def path(self) -> Path:
        return Path(self.db.execute("PRAGMA database_list").fetchone()[2] or ":memory:")

    def _commit_due(self) -> None:
        # No caller could catch the error here, so the next writer gets it.
        with suppress(sqlite3.Error):
            self.commit()

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            self.db.rollback()


def store_error(path: Path, error: sqlite3.DatabaseError) -> StoreError:
    """Return the error that tells a user what an SQLite exception means and what to do."""
    text = str(error)
    if "full" in text:
        return StoreError(
            f"the disk is full; {path} keeps everything written so far", code="disk_full",
            hint="Free some space and run the same command again.",
        )  # fmt: skip
    if "malformed" in text or "not a database" in text:
        return StoreError(f"{path} is damaged: {text}", code="corrupt", hint="Run: scirgen doctor RUN --repair")
    if "readonly" in text or "unable to open" in text:
        return StoreError(f"{path} cannot be written: {text}", hint="Check the folder's permissions.")
    return StoreError(
        f"{path}: {text}", hint="Run the same command again; if the error persists, run: scirgen doctor RUN"
    )
