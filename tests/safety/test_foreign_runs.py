"""Runs that others made or touched: edited rows, records that unpack to gigabytes, links in place of files."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from scirgen.api import resolve_config, run_pipeline
from scirgen.commands import doctor
from scirgen.commands.doctor import diagnose, repair
from scirgen.core.errors import InputError, PluginError, ScirgenError, StoreError
from scirgen.core.files.inflate import TooLargeError, deflate, inflate, open_maybe_gzipped
from scirgen.llm.cache import ReplyCache
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.record_codec import unpack
from scirgen.pipeline.store import Store
from scirgen.release_files.qafiles import open_qa
from scirgen.report import write_report
from scirgen.testing.server import FakeServer
from scirgen_scale import merge
from tests.support.counting_runs import World
from tests.support.small_runs import release_bytes, run_small, write_records


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run of counting stages."""
    (tmp_path / "run").mkdir()
    World(tmp_path / "run", 3).run()
    return tmp_path / "run"


def alter(run: Path, sql: str, *values: object) -> None:
    with sqlite3.connect(run / "run.db") as db:
        assert db.execute(sql, values).rowcount > 0
    db.close()


# -- edited rows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["outputs", "rejections", "status", "key", "n_outputs"])
def test_doctor_notices_an_edited_result_and_says_which(run: Path, column: str) -> None:
    assert diagnose(run) == []
    value = {
        "outputs": deflated(
            b'QAPair\t{"id":"forged","dataset_id":"d1","question":"q","answer":"a","question_type":"t"}'
        ),
        "rejections": deflated(b'Rejection\t{"stage":"x","code":"y","reason":"z","record_kind":"k","record_id":"i"}'),
        "status": "partial", "key": "other", "n_outputs": 7,
    }[column]  # fmt: skip
    alter(run, f"UPDATE results SET {column}=? WHERE stage='tag' AND key='d1'", value)
    [problem] = diagnose(run)
    assert problem.startswith(f"tag {'other' if column == 'key' else 'd1'}: ")


def test_a_result_of_a_plugin_that_is_gone_is_sound_and_not_dropped(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(blob: bytes) -> list[object]:
        raise PluginError("no installed plugin has a record 'Gone'")

    monkeypatch.setattr(doctor, "unpack", gone)
    assert diagnose(run) == []
    alter(run, "UPDATE results SET status='partial' WHERE stage='tag' AND key='d1'")
    assert [p.split(":")[0] for p in diagnose(run)] == ["tag d1"]


def deflated(raw: bytes) -> bytes:
    return b"z" + zlib.compress(raw)


def test_repair_drops_an_edited_result_and_the_next_run_makes_it_again(run: Path) -> None:
    world = World(run, 3)
    alter(run, "UPDATE results SET outputs=? WHERE stage='tag' AND key='d1'", deflated(b""))
    assert len(repair(run).lost["results"]) == 1 and diagnose(run) == []
    world.run()
    assert world.calls["tag d1"] == 1 and world.calls["tag d0"] == 0 and world.pairs() == ["qa-d0", "qa-d1", "qa-d2"]


def test_a_result_whose_hash_was_emptied_counts_as_edited(run: Path) -> None:
    alter(run, "UPDATE results SET hash='' WHERE stage='tag' AND key='d1'")
    (found,) = diagnose(run)
    assert "edited" in found


# -- what unpacks to much ----------------------------------------------------------------------------------------------


def zeros(packed: int, level: int = 9, wbits: int = 15, head: bytes = b"") -> bytes:
    """Compressed blanks of about so many bytes: a thousand times as much unpacked."""
    made = zlib.compressobj(level, zlib.DEFLATED, wbits)
    parts, size = [made.compress(head)], 0
    while size < packed:
        parts.append(made.compress(b" " * 2**24))
        size += len(parts[-1])
    return b"".join([*parts, made.flush()])


def test_what_we_pack_we_unpack_and_what_others_pack_is_bounded() -> None:
    for raw in (b"", b"abc", b"\0" * 40_000_000):
        assert inflate(deflate(raw)) == raw
    with pytest.raises(TooLargeError, match="more than 17 MB"):
        inflate(zlib.compress(b"\0" * 20_000_000, 9))
    with pytest.raises(zlib.error):
        inflate(deflate(b"abc")[:-2])
    with pytest.raises(StoreError, match="unpacks to more"):
        unpack(b"z" + zlib.compress(b'Dataset\t{"id":"a","title":"' + b"a" * 20_000_000, 9))


READERS = {
    "release": lambda p: list(open_qa(p).rows()),
    "json": lambda p: list(open_qa(p.rename(p.with_name("records.json.gz"))).rows()),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_gzip_file_of_questions_that_unpacks_to_much_is_refused(reader: str, tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl.gz").write_bytes(zeros(40_000, wbits=31, head=b'{"question": "'))
    with pytest.raises(ScirgenError, match="unpacks to more"):
        READERS[reader](tmp_path / "questions.jsonl.gz")


def test_importers_refuse_a_gzip_file_that_unpacks_to_much(tmp_path: Path) -> None:
    from scirgen_bench.published.reading import rows
    from scirgen_bench.published.scirgen_geo import read_records

    (tmp_path / "records.jsonl.gz").write_bytes(zeros(40_000, wbits=31))
    with pytest.raises(ScirgenError, match="unpacks to more"):
        list(rows(tmp_path / "records.jsonl.gz"))
    with pytest.raises(ScirgenError, match="unpacks to more"):
        list(read_records(tmp_path))


def test_a_cached_reply_that_unpacks_to_much_is_a_damaged_store(tmp_path: Path) -> None:
    cache = ReplyCache.open(tmp_path / "replies.db")
    cache.put("k", {}, "text")
    cache._db.execute("UPDATE replies SET reply=?", (zlib.compress(b" " * 20_000_000, 9),))
    with pytest.raises(StoreError, match="unpacks to more"):
        cache.get("k")
    cache.close()


LIMITED = """
import atexit, resource, sys
def say_peak():
    who = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    print("peak", max(resource.getrusage(one).ru_maxrss for one in who), file=sys.stderr)
atexit.register(say_peak)
resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
from scirgen.cli.main import main
sys.argv = ["scirgen", *sys.argv[1:]]
main()
"""


@pytest.mark.nightly
@pytest.mark.parametrize("command", ["report", "doctor", "status", "audit"])
def test_commands_hold_2_gb_on_a_store_and_a_file_of_gigabytes(run: Path, command: str) -> None:
    """A record of 1.5 MB that unpacks to 1.5 GB, and a gzip file of 3 MB that unpacks to 3 GB."""
    blob = b"z" + zeros(1_500_000, head=b'Dataset\t{"id":"d1","title":"')
    alter(run, "UPDATE results SET outputs=? WHERE stage='collect' AND key='d1'", blob)
    (run / "q.jsonl.gz").write_bytes(zeros(3_000_000, wbits=31, head=b'{"question": "'))
    given = run / "q.jsonl.gz" if command == "audit" else run
    done = subprocess.run([sys.executable, "-c", LIMITED, command, str(given)], capture_output=True, text=True)
    assert "Traceback" not in done.stderr and "MemoryError" not in done.stderr
    assert "unpacks to more" in done.stdout + done.stderr or command == "status"
    assert int(done.stderr.rpartition("peak ")[2]) < 1.5 * 2**20


def test_plain_text_and_gzip_files_are_opened_alike(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("über", encoding="utf-8")
    (tmp_path / "a.txt.GZ").write_bytes(zlib.compressobj(9, zlib.DEFLATED, 31).flush())
    with open_maybe_gzipped(tmp_path / "a.txt") as plain, open_maybe_gzipped(tmp_path / "a.txt.GZ") as packed:
        assert plain.read() == "über" and packed.read() == ""


# -- links in a foreign run --------------------------------------------------------------------------------------------


def test_a_report_on_a_foreign_run_follows_no_planted_link(run: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    names = ["report.html", "report.json", ".report.html.part", ".report.json.part", "manifest.json"]
    for name in names:
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(victim)
    write_report(run)
    assert victim.read_text() == "mine"
    assert not (run / "report.html").is_symlink() and not (run / "report.json").is_symlink()


async def test_a_merge_writes_through_no_link_of_a_part(tmp_path: Path) -> None:
    async with FakeServer() as server:
        await run_small(server, write_records(tmp_path / "records.jsonl", 1), tmp_path / "part")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in ("run.lock", "report.html", ".release.making"):
        (tmp_path / "part" / name).unlink(missing_ok=True)
        (tmp_path / "part" / name).symlink_to(victim)
    before = {p.name: p.lstat().st_mtime_ns for p in (tmp_path / "part").iterdir() if p.is_file()}
    merge(tmp_path / "merged", [tmp_path / "part"])
    assert victim.read_text() == "mine" and (tmp_path / "merged" / "release").is_dir()
    after = {p.name: p.lstat().st_mtime_ns for p in (tmp_path / "part").iterdir() if p.is_file()}
    assert {n: t for n, t in after.items() if n in before and not n.startswith("run.db-")} == {
        n: t for n, t in before.items() if not n.startswith("run.db-")
    }


@pytest.mark.timeout(120)
async def test_a_merge_opens_no_pipe_and_sums_no_words_of_a_part(tmp_path: Path) -> None:
    async with FakeServer() as server:
        await run_small(server, write_records(tmp_path / "records.jsonl", 1), tmp_path / "part")
    (tmp_path / "part" / "run.lock").unlink()
    os.mkfifo(tmp_path / "part" / "run.lock")
    with Store(tmp_path / "part" / "run.db", writable=False) as store:
        manifest = json.loads(store.meta("manifest") or "")
    forged = {**manifest["usage"], "calls": "many", "tokens": [1]}
    with sqlite3.connect(tmp_path / "part" / "run.db") as db:
        db.execute("UPDATE meta SET value=? WHERE key='manifest'", (json.dumps({**manifest, "usage": forged}),))
    merge(tmp_path / "merged", [tmp_path / "part"])
    usage = json.loads((tmp_path / "merged" / "manifest.json").read_text())["usage"]
    assert usage["calls"] is None and (tmp_path / "merged" / "release").is_dir()


# -- settings in a foreign run -----------------------------------------------------------------------------------------


FOREIGN = {
    "duplicates_model": "st:attacker/any", "decontaminate": ["/dev/zero", "/etc/passwd"], "labels": ["/etc"],
    "ratios": [0, 0, 1], "formats": ["jsonl", "beir"], "name": "theirs",
    "about": {"creator": "Mallory\u009b31m", "licence": "cc-by-4.0", "contact": "mallory@example.org"},
}  # fmt: skip


def forge(run: Path, **sections: dict[str, object]) -> None:
    """Change the settings in a run's manifest, as the person who made it could."""
    with Store(run / "run.db") as store:
        manifest = json.loads(store.meta("manifest") or "")
        for name, given in sections.items():
            manifest["settings"][name] = {**manifest["settings"].get(name, {}), **given}
        store.set_meta("manifest", json.dumps({**manifest, "seed": 99}))


@pytest.mark.timeout(120)
async def test_settings_of_a_foreign_run_are_shown_and_do_not_act(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeServer() as server:
        await run_small(server, write_records(tmp_path / "records.jsonl", 3), tmp_path / "part")
    own = release_bytes(tmp_path / "part")
    forge(tmp_path / "part", release=FOREIGN, generate={"quota": {"total": 1, "max_rounds": 0}})
    opened: list[str] = []
    monkeypatch.setattr("scirgen.stages.release.stage.embedder_of", lambda uri, _: opened.append(uri))
    notes: list[str] = []

    class Notes(Observer):
        def note(self, message: str) -> None:
            notes.append(message)

    merge(tmp_path / "merged", [tmp_path / "part"], observer=Notes())
    assert release_bytes(tmp_path / "merged") == own and not opened
    shown = [n.partition("does not use: ")[2].partition(":")[0] for n in notes if "does not use" in n]
    flat = {f"release.about.{k}" for k in FOREIGN["about"]} | {f"release.{k}" for k in FOREIGN} - {"release.about"}
    assert set(shown) == {*flat, "generate.quota.total", "generate.quota.max_rounds", "seed"}
    assert all(n.isprintable() for n in notes) and any("st:attacker/any (part)" in n for n in notes)
    kept = json.loads((tmp_path / "merged" / "manifest.json").read_text())["merged"]["parts"][0]["settings"]
    assert kept["release"]["duplicates_model"] == "st:attacker/any"


async def test_a_plugins_settings_in_a_foreign_run_do_not_act(tmp_path: Path) -> None:
    async with FakeServer() as server:
        flags = {
            "input": str(Path(__file__).parents[1] / "material" / "invented"), "collect.limit": 2,
            "models.generator": f"openai:fake@{server.url}", "generate.types": ["definition"],
            "query.recipes": ["recommend"],
        }  # fmt: skip
        loaded, domain = resolve_config(domain="geo", flags=flags)
        await run_pipeline(tmp_path / "part", loaded.config, domain, observer=Observer())
    own = release_bytes(tmp_path / "part")
    forge(tmp_path / "part", query={"judgements": ["/dev/zero"], "abstracts": "all"})
    merge(tmp_path / "merged", [tmp_path / "part"])
    assert release_bytes(tmp_path / "merged") == own and any(n.startswith("tasks/") for n in own)
    with pytest.raises(InputError, match=r"query\.judgements: /dev/zero: not a regular file"):
        merge(tmp_path / "mine", [tmp_path / "part"], settings={"query.judgements": ["/dev/zero"]})


# -- modes -------------------------------------------------------------------------------------------------------------


def modes(folder: Path) -> dict[str, int]:
    return {p.name: stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir() if p.is_file()}


async def test_an_existing_folder_keeps_its_mode_and_the_files_in_it_are_private(tmp_path: Path) -> None:
    out, records = tmp_path / "mine", write_records(tmp_path / "records.jsonl", 1)
    out.mkdir(mode=0o755)
    out.chmod(0o755)
    async with FakeServer() as server:
        await run_small(server, records, out, shared=True)
        assert modes(out)["run.db"] & 0o044 and modes(out)["manifest.json"] & 0o044
        await run_small(server, records, out)
    write_report(out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o755
    assert set(modes(out).values()) == {0o600}, modes(out)


def test_a_store_that_was_shared_is_private_again_without_the_setting(tmp_path: Path) -> None:
    with Store(tmp_path / "run" / "run.db", shared=True) as store:
        shutil.copy(store.path, tmp_path / "copy")
    with Store(tmp_path / "run" / "run.db") as store:
        store.set_meta("a", "b")
        assert {m for n, m in modes(tmp_path / "run").items() if n.startswith("run.db")} == {0o600}
