from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from scirgen.core.errors import StoreError
from scirgen.llm.base import Usage
from scirgen.llm.cache import ReplyCache, Spent
from scirgen.llm.usage import UsageMeter, whole_usage


def test_get_after_put_gives_the_reply_and_its_usage_back() -> None:
    cache = ReplyCache.open()
    cache.put(
        "k", {"messages": [["user", "é"]]}, "a reply \ud800", finish_reason="length", usage=Usage(3, None), model="m"
    )
    found = cache.get("k")
    assert found is not None
    assert (found.text, found.finish_reason, found.usage, found.model) == (
        "a reply \ud800",
        "length",
        Usage(3, None),
        "m",
    )
    assert json.loads(found.request) == {"messages": [["user", "é"]]}
    assert cache.get("other") is None
    assert len(cache) == 1


def test_spoiled_replies_are_not_used_again_but_can_be_looked_at() -> None:
    cache = ReplyCache.open()
    cache.put("k", {}, "bad")
    cache.spoil("k")
    assert cache.get("k") is None
    assert cache.peek("k") is not None
    cache.put("k", {}, "good")
    found = cache.get("k")
    assert found is not None and found.text == "good"


def test_cache_in_a_store_of_others_leaves_the_connection_open(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "run.db", isolation_level=None)
    cache = ReplyCache(db)
    cache.put("k", {}, "x")
    cache.close()
    assert db.execute("SELECT COUNT(*) FROM replies").fetchone() == (1,)


def test_reading_a_store_without_replies_finds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    sqlite3.connect(path).execute("CREATE TABLE t(x)").connection.close()
    cache = ReplyCache(sqlite3.connect(f"file:{path}?mode=ro", uri=True))
    assert cache.get("k") is None
    assert len(cache) == 0


def test_put_then_sigkill_loses_no_reply(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from scirgen.llm.cache import ReplyCache, Spent\n"
        "cache = ReplyCache.open(sys.argv[1])\n"
        "for i in range(50): cache.put(f'k{i}', {}, f'reply {i}')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "replies.db")], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    cache = ReplyCache.open(tmp_path / "replies.db")
    assert [cache.get(f"k{i}").text for i in range(50)] == [f"reply {i}" for i in range(50)]


def test_a_reply_that_cannot_be_stored_says_why_and_what_to_do(tmp_path: Path) -> None:
    cache = ReplyCache.open(tmp_path / "replies.db")
    cache.put("k", {}, "x")
    pages = cache.writer.db.execute("PRAGMA page_count").fetchone()[0]
    cache.writer.db.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(StoreError, match="the disk is full") as full:
        cache.put("other", {}, "".join(random.Random(0).choices("abcdefghijklmnop0123456789", k=100_000)))
    assert full.value.error_code == "disk_full" and cache.get("k") is not None
    cache.close()
    with (tmp_path / "replies.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (4096 * (pages - 1)))
    with pytest.raises(StoreError, match="damaged") as damaged:
        ReplyCache.open(tmp_path / "replies.db").get("k")
    assert "doctor" in damaged.value.hint


def test_spent_counts_every_paid_reply_also_one_that_took_another_s_place() -> None:
    cache = ReplyCache.open()
    cache.put("a", {}, "one", usage=Usage(10, 2))
    cache.spoil("a")
    cache.put("a", {}, "two", usage=Usage(10, 3))
    cache.put("b", {}, "three", usage=Usage(5, None))
    cache.put("c", {}, "-1.5", kind="score", usage=Usage(7, 1))
    cache.put("d", {}, "yes", model="decision:j", usage=Usage(4, 1))
    judged = Spent("chat", 1, 4, 1, 0, model="decision:j")
    assert cache.spent() == [Spent("chat", 3, 25, 5, 1), judged, Spent("score", 1, 7, 1, 0)]
    meter = UsageMeter()
    meter.role("judge", (1.0, 1.0))
    whole = whole_usage(cache.spent(), meter, {"generator": "openai:w", "judge": "decision:j"})
    assert whole["judge"] == {
        "calls": 1, "prompt_tokens": 4, "completion_tokens": 1, "cached_prompt_tokens": 0,
        "replies_without_token_counts": 0, "cost": pytest.approx(5e-6),
    }  # fmt: skip
    assert (whole["total_tokens"], whole["total_cost"]) == (43, None)


def test_spent_of_a_store_without_the_table_is_counted_by_its_replies(tmp_path: Path) -> None:
    cache = ReplyCache.open(tmp_path / "run.db")
    cache.put("a", {}, "one", usage=Usage(10, 2))
    cache.close()
    db = sqlite3.connect(tmp_path / "run.db", isolation_level=None)
    db.execute("DROP TABLE spent")
    old = ReplyCache(db)
    assert old.spent() == [Spent("chat", 1, 10, 2, 0)]
    old.put("b", {}, "two", usage=Usage(1, 1))
    assert old.spent() == [Spent("chat", 2, 11, 3, 0)]
