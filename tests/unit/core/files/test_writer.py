"""Transactions that are committed together: what is on the disk at which moment, and what a failure leaves."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from scirgen.core.files.writer import Writer
from tests.support.waiting import until


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    db = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE t(x INTEGER PRIMARY KEY)")
    return Writer(db)


def add(writer: Writer, *numbers: int, now: bool = False) -> None:
    with writer.transaction(now=now):
        writer.db.executemany("INSERT INTO t VALUES(?)", [(n,) for n in numbers])


def on_disk(tmp_path: Path) -> list[int]:
    """What another process would see now, and after SIGKILL."""
    db = sqlite3.connect(tmp_path / "a.db")
    try:
        return [x for (x,) in db.execute("SELECT x FROM t ORDER BY x")]
    finally:
        db.close()


def test_alone_each_transaction_is_committed_at_once(writer: Writer, tmp_path: Path) -> None:
    add(writer, 1)
    assert on_disk(tmp_path) == [1]


def test_what_cannot_wait_is_committed_at_once_with_all_before_it(writer: Writer, tmp_path: Path) -> None:
    async def main() -> None:
        with writer.grouped():
            add(writer, 1)
            await asyncio.sleep(0)
            assert on_disk(tmp_path) == []
            add(writer, 2, now=True)
            assert on_disk(tmp_path) == [1, 2]
            add(writer, 3)
            assert on_disk(tmp_path) == [1, 2]
        assert on_disk(tmp_path) == [1, 2, 3]

    asyncio.run(main())


def test_in_a_group_the_rest_is_committed_soon(writer: Writer, tmp_path: Path) -> None:
    async def main() -> None:
        with writer.grouped():
            add(writer, 1)
            await until(lambda: on_disk(tmp_path), 10)

    asyncio.run(main())


def test_an_exception_takes_back_its_own_transaction_only(writer: Writer, tmp_path: Path) -> None:
    add(writer, 1)
    with pytest.raises(sqlite3.IntegrityError):
        add(writer, 2, 1)
    add(writer, 3)
    assert on_disk(tmp_path) == [1, 3]


def test_a_failure_in_a_group_ends_all_writing(writer: Writer, tmp_path: Path) -> None:
    async def main() -> None:
        with writer.grouped():
            add(writer, 1, now=True)
            add(writer, 2)
            with pytest.raises(ZeroDivisionError), writer.transaction():
                raise ZeroDivisionError("by zero")
            with pytest.raises(sqlite3.OperationalError, match="by zero"):
                add(writer, 3)

    asyncio.run(main())
    assert on_disk(tmp_path) == [1]


def test_failed_commit_is_reported_to_the_next_writer(writer: Writer, tmp_path: Path) -> None:
    # A reference that is checked at the commit stands for a disk that is full then.
    writer.db.execute("PRAGMA foreign_keys=1")
    writer.db.execute("CREATE TABLE u(x INTEGER REFERENCES t DEFERRABLE INITIALLY DEFERRED)")

    async def main() -> None:
        with writer.grouped():
            add(writer, 1)
            with writer.transaction():
                writer.db.execute("INSERT INTO u VALUES(99)")
            await until(lambda: not writer.db.in_transaction, 10)
            with pytest.raises(sqlite3.IntegrityError):
                add(writer, 2)

    asyncio.run(main())
    assert on_disk(tmp_path) == []
