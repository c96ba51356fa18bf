"""The reply cache, which ensures that no reply is paid for twice: one SQLite table, which can be in a run's own
database file."""

from __future__ import annotations

import sqlite3
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from scirgen.core.errors import StoreError
from scirgen.core.files.inflate import TooLargeError, deflate, inflate
from scirgen.core.files.writer import Writer
from scirgen.core.fingerprint import encoded
from scirgen.core.secrets import masked_bytes
from scirgen.llm.base import Usage

_TABLE = """
CREATE TABLE IF NOT EXISTS replies(
  key TEXT PRIMARY KEY, kind TEXT NOT NULL, model TEXT NOT NULL, request BLOB NOT NULL, reply BLOB NOT NULL,
  finish_reason TEXT NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER, spoiled INTEGER NOT NULL DEFAULT 0
)"""

_SPENT = """
CREATE TABLE IF NOT EXISTS spent(
  kind TEXT NOT NULL, model TEXT NOT NULL, calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL, uncounted INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
  PRIMARY KEY (kind, model)
)"""
_ADD = """
INSERT INTO spent VALUES(?, ?, 1, ?, ?, ?, ?) ON CONFLICT (kind, model) DO UPDATE SET
  calls = calls + 1, prompt_tokens = prompt_tokens + excluded.prompt_tokens,
  completion_tokens = completion_tokens + excluded.completion_tokens, uncounted = uncounted + excluded.uncounted,
  cached_tokens = cached_tokens + excluded.cached_tokens"""
_SPENT_BEFORE = """
SELECT kind, model, COUNT(*) AS calls, COALESCE(SUM(prompt_tokens), 0) AS prompt_tokens,
  COALESCE(SUM(completion_tokens), 0) AS completion_tokens,
  SUM(prompt_tokens IS NULL OR completion_tokens IS NULL) AS uncounted, 0 AS cached_tokens FROM replies
  GROUP BY kind, model"""


@dataclass(frozen=True)
class Spent:
    """Usage of all replies of one kind ("chat", "score") and model, including earlier invocations and replaced replies.

    ``uncounted`` replies have no token counts, so the sums are lower bounds. ``cached_tokens`` are the prompt tokens
    from servers' prefix caches.
    """

    kind: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    uncounted: int
    cached_tokens: int = 0
    model: str = ""


@dataclass(frozen=True)
class CachedReply:
    """A stored reply. ``request`` is JSON (messages, sampling, schema); ``text`` is the raw reply.

    ``spoiled`` replies led to an item's failure: they stay readable, but the next run requests them again.
    """

    key: str
    kind: str
    model: str
    request: str
    text: str
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    spoiled: bool = False


@dataclass(frozen=True)
class NewReply:
    """A reply as it arrives."""

    key: str
    kind: Literal["chat", "score"]
    model: str
    request: object
    text: str
    finish_reason: str
    usage: Usage


class ReplyCache:
    """Replies by key. Each `put` commits, so SIGKILL loses no reply that has been received.

    Not for use from several threads at once unless the connection is. Given a connection in autocommit mode
    (``isolation_level=None``), or the `Writer` that shares one with a run's store, it neither closes it nor changes its
    settings.
    """

    def __init__(self, database: sqlite3.Connection | Writer, *, owned: bool = False) -> None:
        self.writer = database if isinstance(database, Writer) else Writer(database)
        self._db = connection = self.writer.db
        self._owned = owned
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
        self._there, self._counted = "replies" in tables, "spent" in tables

    @classmethod
    def open(cls, path: Path | str = ":memory:") -> ReplyCache:
        """Open a cache in its own file, or in memory."""
        try:
            db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
        except sqlite3.Error as error:
            raise StoreError(f"cannot open the reply cache {path}: {error}") from error
        return cls(db, owned=True)

    def get(self, key: str) -> CachedReply | None:
        """Return the usable reply under this key; None if there is none, or it is spoiled."""
        found = self.peek(key)
        return None if found is None or found.spoiled else found

    def peek(self, key: str) -> CachedReply | None:
        """Return the reply under this key, spoiled or not, for display."""
        if not self._there:
            return None
        with self.writer.guarded():
            row = self._db.execute(
                "SELECT kind, model, request, reply, finish_reason, prompt_tokens, completion_tokens, spoiled"
                " FROM replies WHERE key = ?",
                (key,),
            ).fetchone()
        if row is None:
            return None
        kind, model, request, reply, finish, prompt_tokens, completion_tokens, spoiled = row
        return CachedReply(
            key, kind, model, _unpack(request), _unpack(reply), finish,
            Usage(prompt_tokens, completion_tokens), bool(spoiled),
        )  # fmt: skip

    def put(
        self,
        key: str,
        request: object,
        text: str,
        *,
        kind: Literal["chat", "score"] = "chat",
        model: str = "",
        finish_reason: str = "stop",
        usage: Usage | None = None,
    ) -> None:
        """Like `keep`, with the parts of the reply as arguments."""
        self.keep(NewReply(key, kind, model, request, text, finish_reason, usage or Usage()))

    def keep(self, new: NewReply) -> None:
        """Store a reply; durable against SIGKILL when this returns.

        Raises:
            StoreError: the database cannot be written (disk full, locked, read-only).
        """
        usage = new.usage
        packed = deflate(masked_bytes(encoded(new.request)))
        reply = deflate(masked_bytes(new.text.encode("utf-8", "surrogatepass")))
        with self.writer.guarded():
            with self.writer.transaction(now=True):
                if not self._there:
                    self._db.execute(_TABLE)
                if not self._counted:
                    self._db.execute(_SPENT)
                    self._db.execute(f"INSERT INTO spent {_SPENT_BEFORE}")
                self._db.execute(
                    "INSERT OR REPLACE INTO replies VALUES(?,?,?,?,?,?,?,?,0)",
                    (
                        new.key, new.kind, new.model, packed, reply, new.finish_reason, usage.prompt_tokens,
                        usage.completion_tokens,
                    ),
                )  # fmt: skip
                uncounted = usage.prompt_tokens is None or usage.completion_tokens is None
                self._db.execute(
                    _ADD,
                    (
                        new.kind, new.model, usage.prompt_tokens or 0, usage.completion_tokens or 0, int(uncounted),
                        usage.cached_tokens or 0,
                    ),
                )  # fmt: skip
            self._there = self._counted = True

    def spent(self) -> list[Spent]:
        """Return the usage of the replies of all invocations; where a damaged store lost the sums, that of its stored
        replies."""
        table = "spent" if self._counted else f"({_SPENT_BEFORE})" if self._there else None
        if table is None:
            return []
        columns = "kind, calls, prompt_tokens, completion_tokens, uncounted, cached_tokens, model"
        with self.writer.guarded():
            rows = self._db.execute(f"SELECT {columns} FROM {table} ORDER BY kind, model").fetchall()  # noqa: S608
        return [Spent(*row) for row in rows]

    def spoil(self, *keys: str) -> None:
        """Mark replies as unusable, because their item failed; the next run requests them again."""
        if self._there and keys:
            with self.writer.guarded(), self.writer.transaction():
                self._db.executemany("UPDATE replies SET spoiled = 1 WHERE key = ?", [(key,) for key in keys])

    def __len__(self) -> int:
        return int(self._db.execute("SELECT COUNT(*) FROM replies").fetchone()[0]) if self._there else 0

    def close(self) -> None:
        """Close the connection, if it is the cache's own."""
        if self._owned:
            self._db.close()


def _unpack(blob: bytes) -> str:
    try:
        return inflate(blob).decode("utf-8", "surrogatepass")
    except (zlib.error, TooLargeError, ValueError) as error:
        raise StoreError(f"a stored reply is damaged: {error}", hint="Run: scirgen doctor RUN --repair") from error
