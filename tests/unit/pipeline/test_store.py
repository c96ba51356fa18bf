"""The store: results, what the current run points at, and what it refuses."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.commands.doctor import diagnose, repair
from scirgen.core.errors import InputError, PluginError, StoreError
from scirgen.core.records import Dataset, Failure, Record, Rejection
from scirgen.pipeline.record_codec import pack, unpacked
from scirgen.pipeline.store import RUN, Store
from scirgen.pipeline.views.view import StoreView, open_view
from scirgen.stages.base import StageResult


def dataset(number: int) -> Dataset:
    return Dataset(id=f"d{number}", title=f"Dataset {number}")


def rejection(code: str) -> Rejection:
    return Rejection(stage="filter", code=code, reason="because", record_kind="QAPair", record_id="qa-1")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "run.db")
    yield opened
    opened.close()


def test_records_are_unpacked_one_at_a_time() -> None:
    records = unpacked(pack([dataset(1), dataset(2)])[:-1])
    assert next(records) == dataset(1)
    with pytest.raises(StoreError, match="damaged"):
        next(records)


def test_put_then_get_gives_the_same_records(store: Store) -> None:
    result = StageResult((dataset(1), dataset(2)), (rejection("length"),))
    stored = store.put("collect", "k", "f", result, 0.1)
    found = store.get("collect", "k", "f")
    assert found is not None and found.status == "done" and found.id == stored.id
    assert tuple(found.outputs()) == result.outputs
    assert tuple(found.rejections()) == result.rejections


def test_result_with_failures_is_partial_or_failed_and_is_replaced(store: Store) -> None:
    failure = Failure(stage="filter", code="model", message="no")
    assert store.put("filter", "k", "f", StageResult(failures=(failure,)), 0).status == "failed"
    assert store.put("filter", "k", "f", StageResult((dataset(1),), failures=(failure,)), 0).status == "partial"
    assert store.put("filter", "k", "f", StageResult((dataset(1),)), 0).status == "done"
    assert store.db.execute("SELECT COUNT(*) FROM results").fetchone() == (1,)


def test_view_shows_only_what_the_current_run_points_at(store: Store) -> None:
    old = store.put("collect", "d1", "old", StageResult((dataset(1),)), 0)
    new = store.put("collect", "d1", "new", StageResult((dataset(1).model_copy(update={"title": "New"}),)), 0)
    for result in (old, new):
        store.use("d1", "collect", "d1", result.id)
    gone = store.put("collect", "d2", "f", StageResult((dataset(2),)), 0)
    store.use("d2", "collect", "d2", gone.id)
    store.see_datasets(["d1", "d2"], 0, 1)
    store.see_datasets(["d1"], 0, 2)
    assert [d.title for d in StoreView(store).datasets()] == ["New", "Dataset 2"], (
        "the catalogue is not read to its end"
    )
    store.set_meta("collected", "2")
    assert [d.title for d in StoreView(store).datasets()] == ["New"]


def test_funnel_counts_shared_results_once_and_the_rest_as_to_do(store: Store) -> None:
    store.see_datasets(["d1", "d2"], 0, 1)
    for owner in ("d1", "d2"):
        store.plan(owner, "parse", ["paper"])
    store.plan("d1", "filter", ["d1"])
    shared = store.put("parse", "paper", "f", StageResult(rejections=(rejection("no_text"),)), 0)
    for owner in ("d1", "d2"):
        store.use(owner, "parse", "paper", shared.id)
    funnel = StoreView(store).funnel()
    assert funnel["parse"]["done"] == 1 and funnel["parse"]["rejected:no_text"] == 1
    assert funnel["filter"]["todo"] == 1


def test_page_of_papers_is_read_again_where_a_parser_crashed(store: Store) -> None:
    for cursor, reason in (("@start", "a.pdf: the parser crashed on it (status -2)"), ("100", "b.pdf: it is empty")):
        rejected = StageResult(rejections=(Rejection.of("collect", "damaged", reason, ("Paper", "a.pdf")),))
        store.use(RUN, "collect", f"page:{cursor}", store.put("collect", f"page:{cursor}", "f", rejected, 0.1).id)
        store.put_page(cursor, "f", None, "[]")
    store.forget_crashes()
    assert store.page("@start") is None and store.page("100") is not None
    assert store.get("collect", "page:@start", "f") is None and store.member(RUN, "collect", "page:100") is not None


def test_second_writer_is_refused_with_the_holders_pid(tmp_path: Path, store: Store) -> None:
    code = "import sys; from pathlib import Path; from scirgen.pipeline.store import Store; Store(Path(sys.argv[1]))"
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path / "run.db")], capture_output=True, text=True)
    assert ended.returncode != 0 and f"in use by process {os.getpid()}" in ended.stderr


@pytest.mark.parametrize(("version", "whose"), [(999, "newer"), (1, "older")])
def test_a_store_of_another_version_is_refused(tmp_path: Path, version: int, whose: str) -> None:
    sqlite3.connect(tmp_path / "run.db").execute(f"PRAGMA user_version={version}")
    with pytest.raises(StoreError, match=f"{whose} scirgen"):
        Store(tmp_path / "run.db")


def test_damaged_store_is_refused_after_an_unclean_end(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.db")
    for number in range(400):
        store.put("collect", f"d{number}", "f", StageResult((dataset(number),)), 0)
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close(clean=False)
    damaged = bytearray((tmp_path / "run.db").read_bytes())
    damaged[8192:16384] = b"\xff" * 8192
    (tmp_path / "run.db").write_bytes(damaged)
    with pytest.raises(StoreError) as caught:
        Store(tmp_path / "run.db")
    assert caught.value.error_code == "corrupt"


def test_full_disk_is_one_clear_error_and_keeps_what_was_written(store: Store) -> None:
    store.put("collect", "d1", "f", StageResult((dataset(1),)), 0)
    pages = store.db.execute("PRAGMA page_count").fetchone()[0]
    store.db.execute(f"PRAGMA max_page_count={pages}")
    draw = random.Random(0)
    noise = "".join(chr(draw.randrange(33, 0xD7FF)) for _ in range(200_000))
    with pytest.raises(StoreError) as caught:
        store.put("collect", "d2", "f", StageResult((Dataset(id="d2", title=noise),)), 0)
    assert caught.value.error_code == "disk_full" and caught.value.fatal
    assert store.get("collect", "d1", "f") is not None and store.get("collect", "d2", "f") is None


def test_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a run"):
        open_view(tmp_path)


@pytest.mark.parametrize("command", ["status", "inspect x", "report", "doctor", "doctor --repair", "audit"])
def test_commands_agree_on_the_exit_code_for_a_missing_run(tmp_path: Path, command: str) -> None:
    name, *rest = command.split()
    result = CliRunner().invoke(cli, [name, str(tmp_path / "nope"), *rest])
    assert isinstance(result.exception, InputError) and result.exception.exit_status == 2, result.output


def test_repair_of_a_run_that_is_under_way_is_refused(tmp_path: Path, store: Store) -> None:
    store.put("collect", "d1", "f", StageResult((dataset(1),)), 0)
    with pytest.raises(StoreError, match=f"in use by process {os.getpid()}") as caught:
        repair(store.path.parent)
    assert caught.value.error_code == "locked"
    store.put("collect", "d2", "f", StageResult((dataset(2),)), 0)
    assert store.path.is_file() and not store.path.with_name("run.db.damaged").exists()


def test_a_record_that_no_plugin_registered_is_refused_when_it_is_made(store: Store) -> None:
    class Unregistered(Record):
        id: str

    with pytest.raises(PluginError, match="no installed plugin has a record 'Unregistered'") as caught:
        store.put("s", "k", "f", StageResult((Unregistered(id="1"),)), 0.0)
    assert 'Provided("record", "Unregistered"' in caught.value.hint


def test_repair_keeps_what_is_intact_and_forgets_the_rest(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.db")
    for number in range(600):
        stored = store.put("collect", f"d{number}", "f", StageResult((dataset(number),)), 0)
        store.use(f"d{number}", "collect", f"d{number}", stored.id)
    store.see_datasets([f"d{n}" for n in range(600)], 0, 1)
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close(clean=False)
    assert diagnose(tmp_path) == []
    (tree,) = (
        sqlite3.connect(tmp_path / "run.db")
        .execute("SELECT pageno FROM dbstat WHERE name='results' AND pagetype='leaf' LIMIT 1 OFFSET 3")
        .fetchone()
        if _has_dbstat(tmp_path / "run.db")
        else (12,)
    )
    damaged = bytearray((tmp_path / "run.db").read_bytes())
    damaged[(tree - 1) * 4096 : tree * 4096] = os.urandom(4096)
    (tmp_path / "run.db").write_bytes(damaged)
    assert diagnose(tmp_path)
    saved = repair(tmp_path)
    assert 400 < saved.kept["results"] < 600
    assert diagnose(tmp_path) == []
    with Store(tmp_path / "run.db") as fixed:
        assert StoreView(fixed).funnel()["collect"]["todo"] == 600 - saved.kept["results"]


def _has_dbstat(path: Path) -> bool:
    try:
        sqlite3.connect(path).execute("SELECT 1 FROM dbstat LIMIT 1")
    except sqlite3.DatabaseError:
        return False
    return True
