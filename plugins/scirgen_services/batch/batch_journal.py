"""Persistent state of a batch backend: which request is in which batch, and replies that no caller has taken yet.

Two tables next to the reply cache, in the run's own file, so a reply is always in one or the other, even if the run is
killed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from scirgen.core.files.inflate import deflate, inflate
from scirgen.core.files.writer import Writer

_TABLES = """
CREATE TABLE IF NOT EXISTS batches(name TEXT PRIMARY KEY, server TEXT NOT NULL, remote TEXT);
CREATE TABLE IF NOT EXISTS batch_requests(custom_id TEXT PRIMARY KEY, batch TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS batch_replies(custom_id TEXT PRIMARY KEY, status INTEGER NOT NULL, body BLOB NOT NULL);
"""


@dataclass(frozen=True)
class OpenBatch:
    """A batch that is not yet collected. ``remote`` is the server's id; None if the process stopped before it was
    known."""

    name: str
    remote: str | None
    requests: frozenset[str]


@dataclass(frozen=True)
class Arrived:
    """The server's answer to one request: HTTP status and JSON body."""

    status: int
    body: Any


class BatchJournal:
    """Use one per run. Every method is durable against SIGKILL when it returns.

    Raises (any method):
        StoreError: the database cannot be written.
    """

    def __init__(self, writer: Writer, server: str) -> None:
        self._writer = writer
        self._db = writer.db
        self._server = server
        with self._write():
            for statement in _TABLES.strip().split(";\n"):
                self._db.execute(statement)

    def intend(self, name: str, requests: Iterable[str]) -> None:
        """Record a batch before it is created, and so before it can cost anything."""
        with self._write():
            self._db.execute("INSERT INTO batches(name, server) VALUES(?,?)", (name, self._server))
            rows = [(custom_id, name) for custom_id in requests]
            self._db.executemany("INSERT OR REPLACE INTO batch_requests VALUES(?,?)", rows)

    def created(self, name: str, remote: str) -> None:
        """Record that the server accepted the batch under this id."""
        with self._write():
            self._db.execute("UPDATE batches SET remote=? WHERE name=?", (remote, name))

    def drop(self, name: str) -> None:
        """Drop a batch that was never created or will give no result; its requests can be sent again."""
        self.collected(name, {})

    def collected(self, name: str, arrived: Mapping[str, Arrived]) -> None:
        """Close a batch, keeping what arrived until it is taken."""
        with self._write():
            rows = [(i, a.status, deflate(json.dumps(a.body).encode())) for i, a in arrived.items()]
            self._db.executemany("INSERT OR REPLACE INTO batch_replies VALUES(?,?,?)", rows)
            self._db.execute("DELETE FROM batch_requests WHERE batch=?", (name,))
            self._db.execute("DELETE FROM batches WHERE name=?", (name,))

    def open_batches(self) -> list[OpenBatch]:
        """Return the batches of this server that are not collected, oldest first."""
        rows = self._db.execute(
            "SELECT name, remote FROM batches WHERE server=? ORDER BY rowid", (self._server,)
        ).fetchall()
        of = "SELECT custom_id FROM batch_requests WHERE batch=?"
        return [OpenBatch(n, remote, frozenset(i for (i,) in self._db.execute(of, (n,)))) for n, remote in rows]

    def reply(self, custom_id: str) -> Arrived | None:
        """Return the answer to a request for which no caller was waiting."""
        row = self._db.execute("SELECT status, body FROM batch_replies WHERE custom_id=?", (custom_id,)).fetchone()
        return Arrived(row[0], json.loads(inflate(row[1]))) if row else None

    def taken(self, custom_id: str) -> None:
        """Remove a reply that is now in the reply cache (or was unusable)."""
        with self._write():
            self._db.execute("DELETE FROM batch_replies WHERE custom_id=?", (custom_id,))

    @contextmanager
    def _write(self) -> Iterator[None]:
        with self._writer.guarded(), self._writer.transaction(now=True):
            yield
