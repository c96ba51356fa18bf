"""The one writer of a SQLite database: transactions, and in a run one commit for what is written at about the same time.

What is written belongs to `scirgen.pipeline.store`, `scirgen.llm.cache` and `scirgen.llm.batch.batch_journal`, which share a connection.
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
"""How long what need not be committed at once may wait for more."""


class Writer:
    """Transactions on a connection in autocommit mode (``isolation_level=None``); one thread.

    Outside of `grouped` each `transaction` is committed when its block ends. Within, one that is ``now`` is, and with it all that was
    written before; others are committed together, at most 50 ms late. The order of commits is that of writing, so after SIGKILL
    the database is as it was at some moment of the last 50 ms, with all that was written ``now``.
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
            sqlite3.Error: what was written last could not be committed.
        """
        self._loop = asyncio.get_running_loop()
        try:
            yield
        finally:
            self._loop = None
            self.commit()

    @contextmanager
    def transaction(self, *, now: bool = False) -> Iterator[None]:
        """What is written in the block is committed whole or not at all; an exception takes it back.

        Raises:
            sqlite3.Error: it cannot be written. Within `grouped` this takes back all that is not committed yet, which others may rely
                on already; so from then on each transaction raises.
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
            sqlite3.Error: it is lost.
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
        """SQLite's exceptions as `StoreError`."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise store_error(self.path, error) from error

    @property
    def path(self) -> Path:
        """The database's file."""
        return Path(self.db.execute("PRAGMA database_list").fetchone()[2] or ":memory:")

    def _commit_due(self) -> None:
        # Nobody could catch it here: the next who writes gets it.
        with suppress(sqlite3.Error):
            self.commit()

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            self.db.rollback()


def store_error(path: Path, error: sqlite3.DatabaseError) -> StoreError:
    """What an exception of SQLite's means to a user, and what to do."""
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
    return StoreError(f"{path}: {text}", hint="Run the same command again; if it stays, run: scirgen doctor RUN")
