"""The on-disk cache of services' replies and downloaded files. A resumed run repeats no request."""

from __future__ import annotations

import sqlite3
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scirgen.core.files.inflate import TooLargeError, deflate, inflate
from scirgen.core.safety.files import private_file
from scirgen.plugin import StoreError
from scirgen.stages.collect.http import Reply

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies(
  url TEXT PRIMARY KEY, status INTEGER NOT NULL, etag TEXT, modified TEXT, link TEXT, body BLOB NOT NULL,
  at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS files(
  url TEXT PRIMARY KEY, name TEXT NOT NULL, media_type TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL
);
"""


@dataclass(frozen=True)
class Download:
    """The outcome of a download: the file's name below the cache's ``files``, or a code and reason."""

    name: str = ""
    media_type: str = ""
    code: str = ""
    reason: str = ""


class ReplyCache:
    """One SQLite file; safe to use from several threads.

    Raises:
        StoreError: the file cannot be opened or written.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            private_file(path)
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"{path}: cannot be opened: {error}", hint="Check the disk, or delete the file."
            ) from error

    def get(self, url: str) -> Reply | None:
        """Return the last reply, however old."""
        row = self._run("SELECT status, body, etag, modified, link, at FROM replies WHERE url=?", (url,))
        try:
            return Reply(url, row[0], inflate(row[1]), *row[2:]) if row else None
        except (zlib.error, TooLargeError):  # a damaged reply is fetched again
            return None

    def put(self, reply: Reply) -> Reply:
        now = self._clock()
        body = deflate(reply.body, 3)
        self._run(
            "INSERT OR REPLACE INTO replies VALUES(?,?,?,?,?,?,?)",
            (reply.url, reply.status, reply.etag, reply.modified, reply.link, body, now),
        )
        return Reply(reply.url, reply.status, reply.body, reply.etag, reply.modified, reply.link, now)

    def age_days(self, reply: Reply) -> float:
        """Return the days since the reply was last known to be valid."""
        return (self._clock() - reply.at) / 86400

    def download(self, url: str) -> Download | None:
        row = self._run("SELECT name, media_type, code, reason FROM files WHERE url=?", (url,))
        return Download(*row) if row else None

    def put_download(self, url: str, done: Download) -> None:
        self._run(
            "INSERT OR REPLACE INTO files VALUES(?,?,?,?,?)", (url, done.name, done.media_type, done.code, done.reason)
        )

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _run(self, statement: str, values: tuple[object, ...]) -> tuple[Any, ...] | None:
        try:
            with self._lock:
                return self._db.execute(statement, values).fetchone()  # type: ignore[no-any-return]
        except sqlite3.Error as error:
            raise StoreError(
                f"the cache of replies cannot be used: {error}", hint="Check the disk's free space."
            ) from error
