"""Checks a run's store, and copies the intact data of a damaged one into a new store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scirgen.core.errors import PluginError, StoreError
from scirgen.pipeline.record_codec import unpack
from scirgen.pipeline.store import Store, no_run, result_hash

_STEP = 256
_OF_MODELS = ("replies", "spent", "batches", "batch_requests", "batch_replies")
"""Tables of `scirgen.llm.cache` and of journals of batches, whose replies were paid for."""


@dataclass(frozen=True)
class Salvaged:
    """The result of a repair.

    Attributes:
        kept: table -> number of rows copied.
        lost: table -> the lost rows by their keys; a row that not even its index names is ``row N``.
        damaged: path of the damaged file.
    """

    kept: dict[str, int]
    lost: dict[str, list[str]]
    damaged: Path


def diagnose(folder: Path) -> list[str]:
    """Return the problems of a run's store: SQLite's own integrity check, then every stored result unpacked and hashed.
    An empty result means sound.

    A result whose hash differs was edited, or damaged where SQLite cannot see it. The hash protects against mistakes,
    not against forgery: whoever edits a result can also change its hash.

    Raises:
        InputError: the folder has no run.
    """
    with Store(folder / "run.db", writable=False) as store:
        try:
            problems = [str(row[0]) for row in store.db.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
            if problems:
                return problems
            store.db.row_factory = sqlite3.Row
            rows = map(dict, store.db.execute("SELECT * FROM results"))
            return [f"{row['stage']} {row['key']}: {fault}" for row in rows if (fault := _fault(row))]
        except sqlite3.DatabaseError as error:
            return [str(error)]


def repair(folder: Path) -> Salvaged:
    """Copy every intact row into a new store, and list the others; the next run redoes what is lost.

    The damaged file stays next to it as ``run.db.damaged``.

    Raises:
        InputError: the folder has no run.
        StoreError: it is in use.
    """
    path = folder / "run.db"
    if not path.is_file():
        raise no_run(folder)
    damaged = path.with_name("run.db.damaged")
    # With this name its lock is the run's own, so no run can be active or start meanwhile.
    fresh_path = path.with_suffix(".repaired")
    old = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    old.row_factory = sqlite3.Row
    kept: dict[str, int] = {}
    lost: dict[str, list[str]] = {}
    with Store(fresh_path) as fresh:
        for (copied,) in fresh.db.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall():
            fresh.db.execute(f"DELETE FROM {copied}")  # by a repair that was killed
        # The pages are not copied, since results of a page may be lost. The next run reads the catalogue again and
        # reuses intact results.
        tables = ("results", "members", "rows", "datasets", "meta", *_OF_MODELS)
        for table in tables:
            kept[table] = 0
            unread = lost.setdefault(table, [])
            for row in _intact_rows(old, table, unread):
                if table == "results" and (fault := _fault(row)):
                    unread.append(f"{row['stage']} {row['key']}: {fault}")
                    continue
                _ensure(fresh.db, old, table)
                marks = ",".join("?" * len(row))
                try:
                    fresh.db.execute(
                        f"INSERT OR REPLACE INTO {table}({','.join(row)}) VALUES({marks})", tuple(row.values())
                    )
                except sqlite3.IntegrityError as error:  # a damaged page can be read, and hold what no row may
                    unread.append(str(error))
                    continue
                kept[table] += 1
        # Items with lost results, and their datasets, must be redone.
        fresh.db.execute("UPDATE members SET result_id=NULL WHERE result_id NOT IN (SELECT id FROM results)")
        fresh.db.execute("DELETE FROM rows WHERE result_id NOT IN (SELECT id FROM results)")
        fresh.db.execute("UPDATE datasets SET fingerprint=''")
        lost = {table: names for table, names in lost.items() if names}
        fresh.set_meta("clean", "1")
        fresh.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        fresh.db.close()
        old.close()
        path.replace(damaged)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        fresh_path.replace(path)
    return Salvaged(kept, lost, damaged)


def _ensure(new: sqlite3.Connection, old: sqlite3.Connection, table: str) -> None:
    if not new.execute("SELECT 1 FROM sqlite_master WHERE name=?", (table,)).fetchone():
        new.execute(old.execute("SELECT sql FROM sqlite_master WHERE name=?", (table,)).fetchone()[0])


def _intact_rows(db: sqlite3.Connection, table: str, unread: list[str]) -> Iterator[dict[str, object]]:
    """Yield every row that can still be read; the others are added to ``unread``.

    Tables with row ids are walked in short ranges around the damage.
    """
    try:
        (last,) = db.execute(f"SELECT MAX(rowid) FROM {table}").fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return
        try:  # a table without row ids
            yield from map(dict, db.execute(f"SELECT * FROM {table}"))
        except (sqlite3.DatabaseError, IndexError) as damage:
            unread.append(f"the rows from a damaged page on: {damage}")
        return
    except sqlite3.DatabaseError as damage:
        unread.append(f"all rows: {damage}")
        return
    for low in range(0, (last or 0) + 1, _STEP):
        yield from _range(db, table, low, low + _STEP, unread)


def _range(db: sqlite3.Connection, table: str, low: int, high: int, unread: list[str]) -> list[dict[str, object]]:
    rows = f"SELECT * FROM {table} WHERE rowid>=? AND rowid<?"
    try:
        return [dict(row) for row in db.execute(rows, (low, high))]
    except (sqlite3.DatabaseError, IndexError):  # a row of a damaged page may lack columns
        if high - low == 1:
            if name := _named(db, table, low):
                unread.append(name)
            return []
        middle = (low + high) // 2
        return _range(db, table, low, middle, unread) + _range(db, table, middle, high, unread)


_KEYS = {"results": "stage, key", "meta": "key", "datasets": "id", "replies": "key"}
"""Columns by which an index of the table still names a row whose own page is damaged."""


def _named(db: sqlite3.Connection, table: str, number: int) -> str:
    """Return the key of an unreadable row; "" if there is no such row, since row numbers have gaps."""
    if table not in _KEYS:
        return f"row {number}"
    try:
        index = f"sqlite_autoindex_{table}_1"
        found = db.execute(
            f"SELECT {_KEYS[table]} FROM {table} INDEXED BY {index} WHERE +rowid=?", (number,)
        ).fetchone()
    except sqlite3.DatabaseError:  # the index is damaged too
        return f"row {number}"
    return " ".join(found) if found else ""


def _fault(row: Mapping[str, Any]) -> str:
    """Return the fault of a result; "" if it is sound."""
    blobs = [row["outputs"], row["rejections"], row["failures"]]
    written = [row["n_outputs"], row["n_rejections"]]
    try:
        counts = [len(unpack(bytes(blob))) for blob in blobs][:2]
    except PluginError:  # the plugin that made it is not installed: its hash tells
        counts = written
    except StoreError as error:
        return f"the stored records cannot be read: {error.message}"
    except (TypeError, AttributeError):
        return "the stored records cannot be read"
    named = (row["stage"], row["key"], row["fingerprint"], row["status"])
    if row["hash"] != result_hash(*named, *map(bytes, blobs)):
        return "edited since it was written (its hash differs)"
    if counts != written:
        return "it holds another number of records than were written"
    return ""
