"""The run's store: one SQLite file (WAL) with one writer. `members` says which dataset uses which item; `results` has
the results.

A result is written once under (stage, key, fingerprint) and never changed, so an older prompt's results are still
available if the prompt is changed back. `scirgen.pipeline.views.view` has views of the current state.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from scirgen.core.errors import InputError, StoreError
from scirgen.core.files.named import ordinary
from scirgen.core.files.writer import Writer, store_error
from scirgen.core.records import Failure, QAPair, Record, Rejection
from scirgen.core.safety.files import private_file, private_folder
from scirgen.pipeline.record_codec import pack, record_id, unpack
from scirgen.stages.base import StageResult
from scirgen.stages.parse.base import CRASHED

SCHEMA_VERSION = 2
CHECKED_ALWAYS = 200 * 2**20
"""Size in bytes that SQLite checks in a fifth of a second. Larger stores are checked only after an unclean end."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS results(
  id INTEGER PRIMARY KEY, stage TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL,
  status TEXT NOT NULL CHECK(status IN ('done','partial','failed')),
  outputs BLOB NOT NULL, rejections BLOB NOT NULL, failures BLOB NOT NULL,
  n_outputs INTEGER NOT NULL, n_rejections INTEGER NOT NULL, seconds REAL NOT NULL, finished REAL NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE(stage, key, fingerprint));
CREATE TABLE IF NOT EXISTS members(
  dataset_id TEXT NOT NULL, stage TEXT NOT NULL, key TEXT NOT NULL, result_id INTEGER, round INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(dataset_id, stage, key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS members_result ON members(result_id);
CREATE TABLE IF NOT EXISTS rows(
  result_id INTEGER NOT NULL, kind TEXT NOT NULL, record_id TEXT NOT NULL, code TEXT, question_type TEXT);
CREATE INDEX IF NOT EXISTS rows_result ON rows(result_id);
CREATE INDEX IF NOT EXISTS rows_record ON rows(record_id);
CREATE TABLE IF NOT EXISTS datasets(
  id TEXT PRIMARY KEY, position INTEGER NOT NULL, seen INTEGER NOT NULL, fingerprint TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS pages(
  cursor TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, next TEXT, dataset_ids TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""

_USE = (
    "INSERT INTO members(dataset_id, stage, key, result_id) VALUES(?,?,?,?) "
    "ON CONFLICT DO UPDATE SET result_id=excluded.result_id WHERE result_id IS NOT excluded.result_id"
)

_ANEW = "Name another folder with --out."

RUN = "@run"
"""The dataset id under which results of the whole run are kept; it is not a dataset's."""


@dataclass(frozen=True)
class StoredResult:
    """A result as stored; records are unpacked on demand.

    ``just_made``: the records themselves, if the result was just stored and need not be unpacked.
    """

    id: int
    stage: str
    key: str
    fingerprint: str
    status: str
    outputs_blob: bytes
    rejections_blob: bytes
    failures_blob: bytes
    n_outputs: int
    n_rejections: int
    just_made: tuple[Record, ...] | None = field(default=None, compare=False, repr=False)

    def outputs(self) -> list[Record]:
        return unpack(self.outputs_blob) if self.just_made is None else list(self.just_made)

    def rejections(self) -> list[Rejection]:
        return unpack(self.rejections_blob, Rejection)

    def failures(self) -> list[Failure]:
        """Return the failures: items that could not be decided."""
        return unpack(self.failures_blob, Failure)


COLUMNS = (
    "r.id, r.stage, r.key, r.fingerprint, r.status, r.outputs, r.rejections, r.failures, r.n_outputs, r.n_rejections"
)


def no_run(folder: Path) -> InputError:
    """Return the error for a folder that holds no run."""
    return InputError(
        f"{folder} is not a run: it has no run.db", hint="Give the folder that --out named.", code="no_run"
    )


class Store:
    """A run's database. It contains prompts, so only the owner can read the folder (0700) and the file (0600), unless
    ``shared``.

    Raises (any method):
        InputError: the folder to read holds no run.
        StoreError: disk full, damaged file, locked by another process, written by another version. All are fatal.
    """

    def __init__(self, path: Path, *, writable: bool = True, shared: bool = False) -> None:
        self.path = path
        self._shared = shared
        self._lock: int | None = None
        if writable:
            self._take_lock()
        elif not path.is_file():
            raise no_run(path.parent)
        try:
            with self.guarded():
                self.writer = Writer(self._open(writable))
        except BaseException:
            self._drop_lock()
            raise

    def _open(self, writable: bool) -> sqlite3.Connection:
        target = str(self.path) if writable else self._read_only()
        db = sqlite3.connect(target, uri=not writable, isolation_level=None, check_same_thread=False, timeout=30)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, SCHEMA_VERSION):
            db.close()
            other, hint = ("a newer", "Upgrade scirgen.") if version > SCHEMA_VERSION else ("an older", _ANEW)
            raise StoreError(f"{self.path} was written by {other} scirgen (store version {version})", hint=hint)
        if writable:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            # A WAL of up to 40 MB and 16 MB of cached pages take a third less processor time per result than SQLite's
            # defaults.
            db.execute("PRAGMA wal_autocheckpoint=10000")
            db.execute("PRAGMA cache_size=-16000")
            db.executescript(_SCHEMA)
            db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            unclean = db.execute("SELECT 1 FROM meta WHERE key='clean' AND value='0'").fetchone()
            if unclean or self.path.stat().st_size <= CHECKED_ALWAYS:
                self._check(db)
            db.execute("INSERT OR REPLACE INTO meta VALUES('clean', '0')")
        return db

    def _read_only(self) -> str:
        # SQLite cannot create its -wal and -shm files in a folder without write permission.
        alone = not os.access(self.path.parent, os.W_OK) and not self.path.with_name(f"{self.path.name}-wal").exists()
        return f"{self.path.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"

    @property
    def db(self) -> sqlite3.Connection:
        """The connection, for reading."""
        return self.writer.db

    def check(self) -> None:
        """Run SQLite's own integrity check: after an unclean end, and for `scirgen doctor`."""
        self._check(self.db)

    def _check(self, db: sqlite3.Connection) -> None:
        problems = [row[0] for row in db.execute("PRAGMA quick_check(3)")]
        if problems != ["ok"]:
            raise StoreError(
                f"{self.path} is damaged: {problems[0]}", code="corrupt", hint="Run: scirgen doctor RUN --repair"
            )

    # -- writing ---------------------------------------------------------------------------------------------------

    def plan(self, dataset_id: str, stage: str, keys: Sequence[str], round: int = 0) -> None:
        """Record that a dataset's path includes these items; items that are no longer planned are removed.

        In a later round, the earlier items of the stage stay.
        """
        if round:
            with self.transaction():
                self.db.executemany(
                    "INSERT INTO members(dataset_id, stage, key, round) VALUES(?,?,?,?) "
                    "ON CONFLICT DO UPDATE SET round=excluded.round",
                    [(dataset_id, stage, k, round) for k in keys],
                )
            return
        rows = self.rows("SELECT key FROM members WHERE dataset_id=? AND stage=?", dataset_id, stage)
        known = {key for (key,) in rows}
        if known == set(keys):
            return
        with self.transaction():
            self.db.executemany(
                "DELETE FROM members WHERE dataset_id=? AND stage=? AND key=?",
                [(dataset_id, stage, k) for k in known - set(keys)],
            )
            self.db.executemany(
                "INSERT OR IGNORE INTO members(dataset_id, stage, key) VALUES(?,?,?)",
                [(dataset_id, stage, k) for k in keys if k not in known],
            )

    def forget_rounds(self) -> None:
        """Remove items of later rounds from all paths. Rounds that are still needed plan them again, and their results
        are still there."""
        with self.transaction():
            self.db.execute("DELETE FROM members WHERE round>0")

    def drop(self, dataset_id: str, stage: str, key: str) -> None:
        """Remove one item from a dataset's path."""
        with self.transaction():
            self.db.execute("DELETE FROM members WHERE dataset_id=? AND stage=? AND key=?", (dataset_id, stage, key))

    def supersede(self, dataset_id: str | None, keep: Sequence[str]) -> None:
        """Mark a dataset's items as to do, except those of the stages ``keep``; None: the items of all datasets.

        Views then show no result that the current settings and inputs would not give. Results that still hold are
        found by their fingerprints and used again.
        """
        where, parameters = ("", []) if dataset_id is None else ("dataset_id=? AND ", [dataset_id])
        marks = ",".join("?" * len(keep))
        with self.transaction():
            self.db.execute(
                f"UPDATE members SET result_id=NULL WHERE {where}result_id IS NOT NULL AND stage NOT IN ({marks})",
                (*parameters, *keep),
            )
            self.db.execute(f"UPDATE datasets SET fingerprint='' {'WHERE id=?' if parameters else ''}", parameters)

    def read_only(self, datasets: Mapping[str, str], keep: Sequence[str]) -> None:
        """Record that datasets stop after the stages ``keep``: id -> the fingerprint of their complete path."""
        marks = ",".join("?" * len(keep))
        with self.transaction():
            self.db.executemany(
                f"DELETE FROM members WHERE dataset_id=? AND stage NOT IN ({marks})", [(d, *keep) for d in datasets]
            )
            self.db.executemany("UPDATE datasets SET fingerprint=? WHERE id=?", [(f, d) for d, f in datasets.items()])

    def use(self, dataset_id: str, stage: str, key: str, result_id: int) -> None:
        """Let a dataset's path point at a result."""
        with self.transaction():
            self.db.execute(_USE, (dataset_id, stage, key, result_id))

    def put(
        self,
        stage: str,
        key: str,
        fingerprint: str,
        result: StageResult,
        seconds: float,
        *,
        used_by: str | None = None,
    ) -> StoredResult:
        """Write one result. A failed or partial result is replaced.

        ``used_by``: the dataset whose path points at it from now on, as with `use`, but in the same transaction.
        """
        status = "done" if not result.failures else ("partial" if result.outputs or result.rejections else "failed")
        blobs = pack(result.outputs), pack(result.rejections), pack(result.failures)
        hashed = result_hash(stage, key, fingerprint, status, *blobs)
        with self.transaction():
            row = self.db.execute(
                "INSERT INTO results(stage,key,fingerprint,status,outputs,rejections,failures,n_outputs,n_rejections,"
                "seconds,finished,hash) VALUES(?,?,?,?,?,?,?,?,?,?,?,?) "
                "ON CONFLICT(stage,key,fingerprint) DO UPDATE SET status=excluded.status, "
                "outputs=excluded.outputs, rejections=excluded.rejections, "
                "failures=excluded.failures, n_outputs=excluded.n_outputs, n_rejections=excluded.n_rejections, "
                "seconds=excluded.seconds, finished=excluded.finished, hash=excluded.hash RETURNING id",
                (stage, key, fingerprint, status, *blobs, len(result.outputs), len(result.rejections), seconds,
                 time.time(), hashed),
            ).fetchone()  # fmt: skip
            self.db.execute("DELETE FROM rows WHERE result_id=?", row)
            self.db.executemany("INSERT INTO rows VALUES(?,?,?,?,?)", _index(row[0], result))
            if used_by is not None:
                self.db.execute(_USE, (used_by, stage, key, row[0]))
        return StoredResult(
            row[0], stage, key, fingerprint, status, *blobs, len(result.outputs), len(result.rejections), result.outputs
        )

    def forget(self, result_id: int) -> None:
        with self.transaction():
            self.db.execute("DELETE FROM rows WHERE result_id=?", (result_id,))
            self.db.execute("UPDATE members SET result_id=NULL WHERE result_id=?", (result_id,))
            self.db.execute("DELETE FROM results WHERE id=?", (result_id,))

    def forget_crashes(self) -> None:
        """Mark for redoing the papers that were rejected because a parser's process died: they may be sound."""
        ids = self.rows("SELECT DISTINCT result_id FROM rows WHERE kind='Rejection' AND code IN ('damaged', 'killed')")
        for (result_id,) in ids:
            result = StoredResult(*self.row(f"SELECT {COLUMNS} FROM results r WHERE r.id=?", result_id))
            if not any(r.code == "killed" or CRASHED in r.reason for r in result.rejections()):
                continue
            with self.transaction():
                self.db.execute("DELETE FROM pages WHERE cursor=?", (result.key.removeprefix("page:"),))
                self.db.execute(
                    "UPDATE datasets SET fingerprint='' WHERE id IN (SELECT dataset_id FROM members WHERE result_id=?)",
                    (result_id,),
                )
            self.forget(result_id)

    def see_datasets(self, ids: Sequence[str], position: int, run: int) -> None:
        """Record that these datasets belong to this run, starting at this position."""
        with self.transaction():
            self.db.executemany(
                "INSERT INTO datasets(id, position, seen) VALUES(?,?,?) "
                "ON CONFLICT(id) DO UPDATE SET position=excluded.position, seen=excluded.seen",
                [(d, position + n, run) for n, d in enumerate(ids)],
            )

    def complete_dataset(self, dataset_id: str, fingerprint: str) -> None:
        """Record that the dataset's whole path is done for this fingerprint ("" to undo)."""
        with self.transaction():
            self.db.execute("UPDATE datasets SET fingerprint=? WHERE id=?", (fingerprint, dataset_id))

    def put_page(self, cursor: str, fingerprint: str, next_cursor: str | None, dataset_ids: str) -> None:
        """Record a catalogue page that was read completely."""
        with self.transaction():
            self.db.execute(
                "INSERT OR REPLACE INTO pages VALUES(?,?,?,?)", (cursor, fingerprint, next_cursor, dataset_ids)
            )

    def set_meta(self, key: str, value: str) -> None:
        with self.transaction():
            self.db.execute("INSERT OR REPLACE INTO meta VALUES(?,?)", (key, value))

    # -- reading ---------------------------------------------------------------------------------------------------

    def rows(self, query: str, *values: object) -> list[Any]:
        """Return the rows that a query finds."""
        with self.guarded():
            return self.db.execute(query, values).fetchall()

    def row(self, query: str, *values: object) -> Any:
        """Return the first row that a query finds; None if there is none."""
        return next(iter(self.rows(query, *values)), None)

    def get(self, stage: str, key: str, fingerprint: str) -> StoredResult | None:
        """Return the result under this fingerprint, whatever its status."""
        where = "stage=? AND key=? AND fingerprint=?"
        row = self.row(f"SELECT {COLUMNS} FROM results r WHERE {where}", stage, key, fingerprint)
        return StoredResult(*row) if row else None

    def page(self, cursor: str) -> tuple[str, str | None, str] | None:
        """Return (fingerprint, next cursor, JSON list of dataset ids) of a page read before."""
        found: tuple[str, str | None, str] | None = self.row(
            "SELECT fingerprint, next, dataset_ids FROM pages WHERE cursor=?", cursor
        )
        return found

    def next_run(self) -> int:
        """Return the number of a new run over this store: above all that datasets were seen in."""
        (seen,) = self.row("SELECT COALESCE(MAX(seen), 0) FROM datasets")
        return max(int(self.meta("run") or 0), int(seen)) + 1

    def member(self, dataset_id: str, stage: str, key: str) -> int | None:
        """Return the number of the result that an item points at; None: to do, or not on its path."""
        where = "dataset_id=? AND stage=? AND key=?"
        row = self.row(f"SELECT result_id FROM members WHERE {where}", dataset_id, stage, key)
        return row[0] if row else None

    def completed(self, dataset_id: str) -> str:
        """Return the fingerprint for which the dataset's path is complete, or ""."""
        row = self.row("SELECT fingerprint FROM datasets WHERE id=?", dataset_id)
        return row[0] if row else ""

    def members(self, dataset_id: str, stages: Sequence[str]) -> Iterator[StoredResult]:
        """Yield the results a dataset's path points at, by stage and key."""
        marks = ",".join("?" * len(stages))
        rows = self.rows(
            f"SELECT {COLUMNS} FROM members m JOIN results r ON r.id=m.result_id "
            f"WHERE m.dataset_id=? AND m.stage IN ({marks}) ORDER BY m.stage, m.key",
            dataset_id,
            *stages,
        )
        return (StoredResult(*row) for row in rows)

    def meta(self, key: str) -> str | None:
        row = self.row("SELECT value FROM meta WHERE key=?", key)
        return row[0] if row else None

    # -- life cycle ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def grouped(self) -> Iterator[None]:
        """Commit writes within the block with the next reply, at most 50 ms late; see `Writer`."""
        with self.guarded(), self.writer.grouped():
            yield

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit the block's writes completely or not at all; they then survive SIGKILL (but see `grouped`)."""
        with self.guarded(), self.writer.transaction():
            yield

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise store_error(self.path, error) from error

    def close(self, *, clean: bool = True) -> None:
        """Close; ``clean=False`` makes the next opening check the file first."""
        if self._lock is not None and clean:
            with contextlib.suppress(StoreError):
                self.set_meta("clean", "1")
        self.db.close()
        self._drop_lock()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close(clean=not isinstance(error, StoreError))

    def _take_lock(self) -> None:
        try:
            if self._shared:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            else:
                private_folder(self.path.parent)
                for name in (self.path, *(self.path.with_name(self.path.name + s) for s in ("-wal", "-shm"))):
                    if name == self.path or name.exists():
                        private_file(name)
            if (lock := self.path.with_suffix(".lock")).exists():
                ordinary(lock, None)
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StoreError(
                f"{self.path.parent} cannot be written: {error.strerror}", hint="Choose another folder with --out."
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise StoreError(
                f"{self.path.parent} is in use by process {holder}", code="locked", hint="Wait for it, or stop it."
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        self._lock = descriptor

    def _drop_lock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def result_hash(stage: str, key: str, fingerprint: str, status: str, *blobs: bytes) -> str:
    """Return the SHA-256 of a result's key and content; `scirgen doctor` compares it to find rows that were edited."""
    hasher = hashlib.sha256()
    for part in (stage.encode(), key.encode("utf-8", "surrogatepass"), fingerprint.encode(), status.encode(), *blobs):
        hasher.update(len(part).to_bytes(8, "big") + part)
    return hasher.hexdigest()


def _index(result_id: int, result: StageResult) -> Iterator[tuple[int, str, str, str | None, str | None]]:
    for record in result.outputs:
        yield (
            result_id, type(record).__name__, record_id(record), None,
            record.question_type if isinstance(record, QAPair) else None,
        )  # fmt: skip
    for rejection in result.rejections:
        yield result_id, "Rejection", rejection.record_id, rejection.code, rejection.question_type
    for failure in result.failures:
        yield result_id, "Failure", failure.record_id or "", failure.code, None
