"""A run shows, counts and releases what its current inputs and settings give, and nothing of an earlier state."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.api import Run, resolve_config, run_pipeline
from scirgen.cli.main import cli
from scirgen.cli.run.generate import summarise
from scirgen.core.errors import InputError
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.store import Store
from scirgen.pipeline.views.view import open_view
from scirgen.release_files.release import Release
from scirgen.testing.server import FakeServer
from tests.support.small_runs import release_bytes, run_small, write_records

SAMPLE = Path(__file__).parents[1] / "material" / "invented"


def spoil(records: Path, *numbers: int) -> None:
    """Take the id and the title of these records, as a renamed column does."""
    lines = records.read_text("utf-8").split("\n")
    for number in numbers:
        lines[number] = json.dumps({"about": json.loads(lines[number])["title"]})
    records.write_text("\n".join(lines), "utf-8")


def status(out: Path) -> str:
    return CliRunner().invoke(cli, ["status", str(out)]).output


def report(out: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((out / "report.json").read_text("utf-8"))
    return found


async def test_catalogue_whose_records_all_broke_is_an_error(tmp_path: Path) -> None:
    records = write_records(tmp_path / "r.jsonl", 5)
    async with FakeServer() as server:
        await run_small(server, records, tmp_path / "run")
        before = release_bytes(tmp_path / "run")
        records.write_text("\n".join(json.dumps({"x": n}) for n in range(5)))
        with pytest.raises(InputError) as caught:
            await run_small(server, records, tmp_path / "run")
    assert caught.value.error_code == "nothing_made" and " 5" in caught.value.message
    assert "the release of an earlier run is kept" in caught.value.message
    assert release_bytes(tmp_path / "run") == before
    assert Run(tmp_path / "run").funnel()["tag"]["outputs"] == 0 and list(Run(tmp_path / "run").rows()) == []
    assert (
        report(tmp_path / "run")["rows"] == 0
        and "The record has no title" in (tmp_path / "run/report.html").read_text()
    )


async def test_records_that_left_leave_the_release_and_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = write_records(tmp_path / "r.jsonl", 6)
    async with FakeServer() as server:
        await run_small(server, records, tmp_path / "run")
        kept = [line for n, line in enumerate(records.read_text("utf-8").split("\n")) if n % 2]
        records.write_text("\n".join(kept), "utf-8")
        run = await run_small(server, records, tmp_path / "run")
        await run_small(server, records, tmp_path / "fresh")
    assert release_bytes(tmp_path / "run") == release_bytes(tmp_path / "fresh")
    assert report(tmp_path / "run")["dropped_datasets"] == 3 and report(tmp_path / "fresh")["dropped_datasets"] == 0
    assert "3 datasets of an earlier run left the catalogue" in (tmp_path / "run/report.html").read_text()
    assert "; 3 of earlier runs left the catalogue or the selection" in status(tmp_path / "run")
    summarise(run)
    assert "3 datasets of earlier runs left" in capsys.readouterr().out


async def test_rejections_of_repaired_records_are_gone_everywhere(tmp_path: Path) -> None:
    records = write_records(tmp_path / "r.jsonl", 6)
    good = records.read_text("utf-8")
    spoil(records, 1, 3)
    async with FakeServer() as server:
        await run_small(server, records, tmp_path / "run")
        assert Run(tmp_path / "run").funnel()["collect"]["rejected"] == 2
        assert any(code.startswith("collect: ") for code in Release(tmp_path / "run").info.left_out)
        records.write_text(good, "utf-8")
        await run_small(server, records, tmp_path / "run")
        await run_small(server, records, tmp_path / "fresh")
    assert Run(tmp_path / "run").funnel() == Run(tmp_path / "fresh").funnel()
    assert release_bytes(tmp_path / "run") == release_bytes(tmp_path / "fresh")
    assert status(tmp_path / "run").split("\n")[1:10] == status(tmp_path / "fresh").split("\n")[1:10]


async def test_stopped_run_shows_no_result_of_the_settings_before(tmp_path: Path) -> None:
    records = write_records(tmp_path / "r.jsonl", 6)
    async with FakeServer() as server:
        await run_small(server, records, tmp_path / "run")
        before = release_bytes(tmp_path / "run")
        kept = {p.id for p in Run(tmp_path / "run").rows()}
        changed = {"generate__types_without_paper": 3, "limits__max_tokens": 1}
        run = await run_small(server, records, tmp_path / "run", **changed)
        assert run.outcome is not None and run.outcome.status == "budget"
        assert not kept & {p.id for p in run.rows()} and not any(run.released().values())
        assert report(tmp_path / "run")["released"] is None
        with open_view(tmp_path / "run") as view:
            assert all(view.find(id) == [] for id in kept)
        await run_small(server, records, tmp_path / "run")
    assert release_bytes(tmp_path / "run") == before and {p.id for p in Run(tmp_path / "run").rows()} == kept


async def test_all_numbers_agree_where_papers_differ(tmp_path: Path) -> None:
    """Collected, used and cited papers differ; report, card, manifest and status tell the same of them."""
    folder = tmp_path / "input"
    shutil.copytree(SAMPLE, folder)
    rows = [json.loads(line) for line in (folder / "records.jsonl").read_text("utf-8").splitlines()]
    unrelated = "# Bread\n\n## Abstract\n\nWe bake bread at home. It rises for two hours in a warm room.\n"
    named = f"# Floods\n\n## Data\n\nWe used {rows[0]['title']}, doi {rows[0]['doi']}, of Demir and Lund.\n"
    for name, text in {"bread.md": unrelated, "floods.md": named}.items():
        (folder / "papers" / name).write_text(text, "utf-8")
    rows[0]["papers"].append("floods.md")
    (folder / "records.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    out = tmp_path / "run"
    async with FakeServer() as server:
        flags: dict[str, object] = {
            "input": str(folder), "models.generator": f"openai:fake@{server.url}",
            "generate.types": ["definition"], "generate.mix": {"known_item": 1.0}, "seed": 1,
        }  # fmt: skip
        loaded, domain = resolve_config(domain="geo", flags=flags)
        run = await run_pipeline(out, loaded.config, domain, observer=Observer())
    told, info = report(out), Release(out).info
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    shown = json.loads(CliRunner().invoke(cli, ["status", str(out), "--json"]).output)
    collected, used, cited = (int(str(told[name])) for name in ("papers_collected", "papers", "papers_cited"))
    assert collected > used > cited > 0
    assert info.counts["papers"] == used and info.counts["datasets_with_papers"] == told["datasets_with_papers"]
    assert info.counts["datasets"] == told["datasets"] == shown["datasets"] == len(rows)
    assert info.counts["rows"] == told["released"] == sum(run.released().values())
    assert manifest["counts"] == run.funnel()
    assert {s: row["outputs"] for s, row in shown["stages"].items()} == {
        s: row["outputs"] for s, row in manifest["counts"].items()
    }
    page, card = (out / "report.html").read_text("utf-8"), (out / "release" / "README.md").read_text("utf-8")
    (said,) = re.findall(r'<p class="lead"><strong>(.*?)</strong>', page)
    assert f" {told['released']} questions" in f" {said}" and f"and {used} papers that use them" in said
    assert f"| papers | {used} |" in card and f"| questions | {told['released']} |" in card
    types = told["types"]
    assert isinstance(types, list) and sum(row["rows"] for row in types) == told["released"]


def test_repair_names_each_lost_row_also_of_meta(tmp_path: Path) -> None:
    with Store(tmp_path / "run.db") as store:
        for n in range(400):
            store.set_meta(f"note {n:03}", "x" * 90)
        pages = [p for (p,) in store.db.execute("SELECT pageno FROM dbstat WHERE name='meta' AND pagetype='leaf'")]
        named = {key for (key,) in store.db.execute("SELECT key FROM meta")}
    with (tmp_path / "run.db").open("r+b") as file:
        file.seek((pages[len(pages) // 2] - 1) * 4096)
        file.write(b"\xff" * 4096)
    said = CliRunner().invoke(cli, ["doctor", str(tmp_path), "--repair"]).output
    with Store(tmp_path / "run.db", writable=False) as store:
        left = {key for (key,) in store.db.execute("SELECT key FROM meta")}
    lost = sorted(named - left)
    assert len(lost) > 5 and f"lost {len(lost)} meta: " in said and all(key in said for key in lost[:20])
