"""Runs in parts, merged: the same release as one run's; what cannot be merged is refused and says why."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import scirgen_scale
from scirgen.api import Run, resolve_config, run_pipeline
from scirgen.cli.main import cli
from scirgen.core.errors import ConfigError, InputError, ScirgenError, StoreError
from scirgen.core.records import QAPair
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.store import Store
from scirgen.pipeline.views.view import open_view
from scirgen.release_files.release import Release
from scirgen.stages.filter.base import Verdict
from scirgen.stages.filter.gates.form import SchemaGate
from scirgen.testing.faults import Faults
from scirgen.testing.server import FakeServer
from scirgen_scale.merging.merge import UNJUDGED
from scirgen_scale.merging.parts import open_parts
from tests.support import seeking_people
from tests.support.small_runs import KNOWN_ITEMS, SETTINGS, answered, release_bytes, run_small, write_records

SAMPLE = Path(__file__).parents[2] / "material" / "invented"


def small(records: Path, out: Path, *, faults: Faults | None = None, model: str = "fake", **settings: object) -> Run:
    async def go() -> Run:
        async with FakeServer(faults=faults, model=model) as server:
            named = {"models__generator": f"openai:{model}@{server.url}", "generate__types_without_paper": 6}
            return await run_small(server, records, out, **{**named, **settings})

    return asyncio.run(go())


def written(run: Path) -> list[QAPair]:
    view = open_view(run)
    try:
        return list(view.records("generate", QAPair))
    finally:
        view.close()


def command(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(a) for a in arguments])


def refused(*arguments: object) -> ScirgenError:
    result = command("merge", *arguments)
    assert isinstance(result.exception, ScirgenError), result.output
    return result.exception


def split_file(records: Path, *parts: slice) -> list[Path]:
    lines = records.read_text(encoding="utf-8").split("\n")
    made = []
    for number, part in enumerate(parts):
        made.append(records.with_name(f"records{number}.jsonl"))
        made[-1].write_text("\n".join(lines[part]), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run ``whole`` of nine records, and the runs ``p0`` and ``p1`` of five and four of them."""
    folder = tmp_path_factory.mktemp("parts")
    records = write_records(folder / "records.jsonl", 9)
    small(records, folder / "whole")
    for number, file in enumerate(split_file(records, slice(0, 9, 2), slice(1, 9, 2))):
        small(file, folder / f"p{number}")
    return folder


@pytest.fixture
def copied(parts: Path, tmp_path: Path) -> Path:
    """The same, to be broken."""
    shutil.copytree(parts, tmp_path / "runs")
    return tmp_path / "runs"


# -- as one run --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packaged sample with two of its papers, as the run ``whole`` and by ids as ``a``, ``b`` and ``c``, which
    share papers."""
    folder = tmp_path_factory.mktemp("sample")
    (folder / "input" / "papers").mkdir(parents=True)
    for name in ("arvel-streamflow.md", "issvar-lake-ice.xml"):
        shutil.copy(SAMPLE / "papers" / name, folder / "input" / "papers")
    rows = [json.loads(line) for line in (SAMPLE / "records.jsonl").read_text("utf-8").splitlines()]
    # The third and the sixth, which are a part of their own, have the papers of the first two as candidates.
    rows[2]["papers"], rows[5]["papers"] = rows[0]["papers"], rows[1]["papers"]
    (folder / "input" / "records.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")

    async def go() -> None:
        async with FakeServer() as server:
            for name, ids in {"whole": None, **part_ids()}.items():
                flags = {
                    **KNOWN_ITEMS,  # a part is searched alone
                    "generate.types": ["definition", "verification", "comparison"],
                    "collect.ids": ids,
                    "input": str(folder / "input"),
                    "models.generator": f"openai:fake@{server.url}",
                }
                loaded, domain = resolve_config(domain="geo", flags=flags)
                await run_pipeline(folder / name, loaded.config, domain, observer=Observer())

    asyncio.run(go())
    return folder


def part_ids() -> dict[str, list[str]]:
    ids = [json.loads(line)["id"] for line in (SAMPLE / "records.jsonl").read_text("utf-8").splitlines()]
    return {"a": ids[0::3], "b": ids[1::3], "c": ids[2::3]}


def test_three_merged_parts_give_the_release_of_one_run(sample: Path, tmp_path: Path) -> None:
    run = scirgen_scale.merge(tmp_path / "m", [sample / "c", sample / "a", sample / "b"])
    assert run.outcome is not None and run.outcome.status == "success" and run.outcome.datasets == 6
    merged, whole = release_bytes(tmp_path / "m"), release_bytes(sample / "whole")
    assert merged == whole and {"README.md", "release.json", "corpus/papers.jsonl"} <= set(whole)
    assert Release(tmp_path / "m").info.counts["papers"] > 0 and all(run.released().values())
    assert [p.id for p in run.rows()] == [p.id for p in Run(sample / "whole").rows()]


def test_what_parts_did_for_a_paper_they_share_is_counted_once(sample: Path, tmp_path: Path) -> None:
    run = scirgen_scale.merge(tmp_path / "m", [sample / "a", sample / "b", sample / "c"])
    whole = Run(sample / "whole").funnel()
    assert run.funnel() == whole
    alone = [Run(sample / n).funnel()["parse"]["done"] for n in "abc"]
    assert whole["parse"]["done"] < sum(alone), "the parts share papers, or nothing is tested"
    one, other = open_view(tmp_path / "m"), open_view(sample / "whole")
    assert one.state_digest() == other.state_digest()
    assert one.rejected_by_type() == other.rejected_by_type()
    one.close(), other.close()
    left, right = (json.loads((f / "report.json").read_text()) for f in (tmp_path / "m", sample / "whole"))
    for told in (left, right):
        del told["usage"], told["last_usage"], told["name"]
    assert left == right


def test_the_manifest_and_a_table_say_which_part_each_dataset_is_from(sample: Path, tmp_path: Path) -> None:
    scirgen_scale.merge(tmp_path / "m", [sample / "a", sample / "b", sample / "c"])
    manifest = json.loads((tmp_path / "m" / "manifest.json").read_text())
    whole = json.loads((sample / "whole" / "manifest.json").read_text())
    assert [(p["name"], p["datasets"]) for p in manifest["merged"]["parts"]] == [("a", 2), ("b", 2), ("c", 2)]
    for part in manifest["merged"]["parts"]:
        assert part["settings"] == {"collect": {"ids": part_ids()[part["name"]]}}
    same = ("domain", "language", "models", "seed", "prompts", "prompt_pack", "taxonomies", "counts", "scirgen")
    assert {k: manifest[k] for k in same} == {k: whole[k] for k in same}
    assert manifest["stages"] == {k: v for k, v in whole["stages"].items() if k != "collect"}
    calls = [p["usage"]["generator"]["calls"] for p in manifest["merged"]["parts"]]
    assert manifest["usage"]["generator"]["calls"] == sum(calls) > 0
    assert str(sample) not in (tmp_path / "m" / "manifest.json").read_text()
    table = (tmp_path / "m" / "parts.tsv").read_text().splitlines()
    assert table[0] == "dataset_id\tpart"
    assert sorted(table[1:]) == sorted(f"{i}\t{name}" for name, ids in part_ids().items() for i in ids)


def test_a_merged_row_is_traced_to_its_prompt_reply_and_paper(sample: Path, tmp_path: Path) -> None:
    run = scirgen_scale.merge(tmp_path / "m", [sample / "a", sample / "b", sample / "c"])
    row = next(r for r in Release(tmp_path / "m").rows() if any(e.source == "paper" for e in r.evidence))
    shown, brief = (command("inspect", run.folder, row.id, *more).output for more in (("--prompt",), ()))
    assert "[system]" in shown and "-- reply" in shown and row.evidence[0].text in shown
    assert "[system]" not in brief and "-- reply" not in brief and row.evidence[0].text in brief
    assert shown == command("inspect", sample / "whole", row.id, "--prompt").output
    assert command("inspect", run.folder, row.id[:10]).output == brief
    assert "no record" in str(command("inspect", run.folder, "qa-nothing").exception)


def test_everything_that_reads_a_run_reads_a_merged_one(sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "m"
    assert command("merge", sample / "a", sample / "b", sample / "c", "--out", out, "--no-report").exit_code == 0
    assert not (out / "report.html").exists()
    first, *one = command("status", out).output.splitlines()[:12]
    assert first.endswith("; merged from a, b, c")
    assert one == command("status", sample / "whole").output.splitlines()[1:12]
    dataset = part_ids()["b"][0]
    assert command("profile", out, dataset).output == command("profile", sample / "whole", dataset).output
    for given in (["report", out], ["audit", out], ["push", out, "me/geo", "--dry-run"], ["doctor", out]):
        result = command(*given)
        assert result.exit_code == 0, (given, result.output)
    assert (out / "report.html").is_file()


# -- settled over all parts --------------------------------------------------------------------------------------------


def test_near_duplicates_and_conflicts_across_parts_are_settled(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in write_records(tmp_path / "r.jsonl", 24).read_text().split("\n")]
    # Every text twice, so that its questions are asked of two datasets that lie in different parts.
    twins = [{**row, "id": f"twin-{row['id']}"} for row in rows]
    for name, records in {"whole": [*rows, *twins], "p0": rows, "p1": twins}.items():
        file = tmp_path / f"{name}.jsonl"
        file.write_text("\n".join(json.dumps(r) for r in records))
        small(file, tmp_path / name, generate__types_without_paper=8)
    merged = scirgen_scale.merge(tmp_path / "m", [tmp_path / "p0", tmp_path / "p1"])
    dropped = merged.funnel()["release"]
    assert dropped["rejected"] > sum(Run(tmp_path / p).funnel()["release"]["rejected"] for p in ("p0", "p1"))
    assert dropped.get("rejected:merged", 0) > 0
    several = [r for r in Release(tmp_path / "m").rows() if r.dataset_ids]
    assert any({i, f"twin-{i}"} <= set(r.dataset_ids) for r in several for i in r.dataset_ids)
    assert len({r.split for r in Release(tmp_path / "m").rows() if r.group == several[0].group}) == 1
    assert release_bytes(tmp_path / "m") == release_bytes(tmp_path / "whole")
    rejected = next(iter(open_view(tmp_path / "m").rejections("release")))
    assert f"rejected as {rejected.code}" in command("inspect", tmp_path / "m", rejected.record_id).output


def test_a_target_counts_over_all_parts(parts: Path, tmp_path: Path) -> None:
    quota, records = {"total": 18, "max_rounds": 0}, parts / "records.jsonl"
    small(records, tmp_path / "whole", generate__quota=quota)
    for number, file in enumerate(split_file(records, slice(0, 9, 2), slice(1, 9, 2))):
        small(file, tmp_path / f"p{number}", generate__quota=quota)
    settings = {f"generate.quota.{key}": value for key, value in quota.items()}
    merged = scirgen_scale.merge(tmp_path / "m", [tmp_path / "p0", tmp_path / "p1"], settings=settings)
    assert release_bytes(tmp_path / "m") == release_bytes(tmp_path / "whole")
    assert 0 < sum(merged.released().values()) < sum(Run(parts / "whole").released().values())


def test_benchmarks_and_formats_can_be_given_to_the_merge(parts: Path, tmp_path: Path) -> None:
    row = next(Release(parts / "whole").rows())
    (tmp_path / "bench.jsonl").write_text(json.dumps({"question": row.question, "answer": row.answer}))
    (tmp_path / "c.yaml").write_text(
        "limits: {concurrency: 3}\ngenerate: {types_without_paper: 7}\n"
        "release: {formats: [beir], about: {creator: Me}}\n"
    )
    settings = ["--set", f"release.decontaminate=[{tmp_path / 'bench.jsonl'}]", "--config", tmp_path / "c.yaml"]
    result = command("merge", parts / "p0", parts / "p1", "--out", tmp_path / "m", *settings)
    assert result.exit_code == 0 and "contaminated " in result.output, result.output
    release = Release(tmp_path / "m")
    assert row.id not in {r.id for r in release.rows()} and (tmp_path / "m/release/beir").is_dir()
    assert release.info.about == {"creator": "Me"}
    again = command("merge", parts / "p0", parts / "p1", "--out", tmp_path / "m")
    assert again.exit_code == 0 and release_bytes(tmp_path / "m") == release_bytes(parts / "whole")
    assert "contaminated" not in again.output
    triples = command(
        "merge", parts / "p0", parts / "p1", "--out", tmp_path / "m", "--set", "release.formats=[triples,preference]"
    )
    assert triples.exit_code == 0 and list((tmp_path / "m/release/triples").iterdir())
    missing = not (tmp_path / "m/release/preference").exists()
    assert ("The format preference is not written" in triples.output) is missing


def test_merging_again_does_nothing_until_a_part_has_changed(copied: Path, tmp_path: Path) -> None:
    given = ("merge", copied / "p0", copied / "p1", "--out", tmp_path / "m")
    assert command(*given).exit_code == 0
    before = (tmp_path / "m/release/release.json").stat().st_mtime_ns
    assert command(*given).exit_code == 0
    assert (tmp_path / "m/release/release.json").stat().st_mtime_ns == before
    small(split_file(copied / "records.jsonl", slice(0, 9, 2), slice(3, 9, 2))[1], copied / "p1")
    assert command(*given).exit_code == 0
    assert Release(tmp_path / "m").info.counts["datasets"] == 8


def test_a_merged_run_may_be_a_part(parts: Path, tmp_path: Path) -> None:
    scirgen_scale.merge(tmp_path / "one", [parts / "p0"])
    scirgen_scale.merge(tmp_path / "m", [tmp_path / "one", parts / "p1"])
    assert release_bytes(tmp_path / "m") == release_bytes(parts / "whole")
    scirgen_scale.merge(tmp_path / "again", [tmp_path / "m", parts / "p0"])
    assert release_bytes(tmp_path / "again") == release_bytes(parts / "whole")
    assert "named twice" in refused(parts / "p0", parts / "p0", "--out", tmp_path / "x").message
    assert not (tmp_path / "x").exists()


def test_what_somebody_asked_in_parts_is_unjudged_elsewhere_until_the_merged_run_searches_all(tmp_path: Path) -> None:
    mix = {"generate__mix": {"seeking": 0.7, "known_item": 0.3}, "ask__questions_per_subject": 2, "search__depth": 1}
    records = write_records(tmp_path / "records.jsonl", 6)
    small(records, tmp_path / "whole", **mix)
    for number, file in enumerate(split_file(records, slice(0, 6, 2), slice(1, 6, 2))):
        small(file, tmp_path / f"p{number}", **mix)
    scirgen_scale.merge(tmp_path / "m", [tmp_path / "p0", tmp_path / "p1"])
    assert UNJUDGED in Release(tmp_path / "m").info.notes
    assert UNJUDGED not in Release(tmp_path / "p0").info.notes
    assert release_bytes(tmp_path / "m") != release_bytes(tmp_path / "whole")
    small(records, tmp_path / "m", **mix)
    assert UNJUDGED not in Release(tmp_path / "m").info.notes
    assert release_bytes(tmp_path / "m") == release_bytes(tmp_path / "whole")


ANIMALS = ("finches", "tits", "frogs", "crickets")
USES = {"finches": "10.5072/s0 and 10.5072/s2", "tits": "10.5072/s1", "frogs": "10.5072/s2", "crickets": "of our own"}


@pytest.fixture
def noisy(tmp_path: Path) -> Path:
    """Three datasets with a paper each, of which the first is of two datasets; and a paper that no dataset uses."""
    folder = tmp_path / "in"
    (folder / "papers").mkdir(parents=True)
    rows = []
    for n, animal in enumerate(ANIMALS):
        text = (
            f"# Songs of {animal} in three cities\n\n## Methods\n\nWe used the data {USES[animal]}.\n\n## Results\n\n"
            f"The songs of {animal} rose by {n + 2}00 Hz beside loud streets. In winter the songs of {animal} lasted "
            "longest where lamps were lit all night.\n"
        )
        (folder / "papers" / f"{animal}.md").write_text(text, "utf-8")
        papers = [f"{animal}.md", "finches.md"][: 1 + (n == 2)]
        rows.append({"id": f"s{n}", "title": f"Recordings of {animal}", "doi": f"10.5072/s{n}", "papers": papers})
    (folder / "records.jsonl").write_text("\n".join(map(json.dumps, rows[:3])), "utf-8")
    own = ["How loud are streets at night?", *(f"How long are songs of {animal} in winter?" for animal in ANIMALS)]
    (tmp_path / "own.txt").write_text("\n".join(own), "utf-8")
    return folder


def test_parts_that_share_a_corpus_give_the_release_of_one_run(noisy: Path, tmp_path: Path) -> None:
    parts = {"p0": ["s0", "s1"], "p1": ["s2"]}
    settings = {"generate.mix": {"seeking": 1.0}, "generate.questions": str(tmp_path / "own.txt")}

    async def go() -> None:
        async with FakeServer(reply=seeking_people.reply) as server:

            async def run(name: str, ids: list[str] | None, **more: object) -> None:
                given = {key.replace("__", "."): value for key, value in more.items()}
                flags = {
                    **SETTINGS, **settings, "input": str(noisy), "collect.ids": ids, "match.strategy": "mention",
                    "models.generator": f"openai:fake@{server.url}", **given,
                }  # fmt: skip
                loaded, domain = resolve_config(domain="geo", flags={k: v for k, v in flags.items() if v is not None})
                await run_pipeline(tmp_path / name, loaded.config, domain, observer=Observer())

            await run("whole", None)
            for name, ids in parts.items():
                await run(name, ids, generate__off=True)
            told = command("merge", *(tmp_path / name for name in parts), "--corpus", tmp_path / "corpus")
            assert "3 datasets and 4 papers of 2 runs" in told.output, told.output
            for name, ids in parts.items():
                await run(name, ids, search__corpus=str(tmp_path / "corpus"))
            calls = answered(server)
            scirgen_scale.merge(tmp_path / "m", [tmp_path / "p1", tmp_path / "p0"])
            assert release_bytes(tmp_path / "m") == release_bytes(tmp_path / "whole")
            assert UNJUDGED not in Release(tmp_path / "m").info.notes
            await run("m", None)
            assert answered(server) == calls

    asyncio.run(go())
    rows = list(Release(tmp_path / "m" / "release").rows())
    assert {r.about for r in rows} >= {"paper", None} and any(r.asked == "user" for r in rows)
    # A part's own release has no row that cites what only another part has read, and its status says so.
    answered_here = 0
    for name in parts:
        part = Release(tmp_path / name / "release")
        assert {e.document_id for r in part.rows() for e in r.evidence} <= {p.document_id for p in part.passages()}
        with open_view(tmp_path / name) as view:
            fates = view.own_questions()
        own = sum(fate.outcome == "answered" for fate in fates)
        assert own == sum(r.asked == "user" for r in part.rows())
        assert any(fate.why.startswith("other_part: ") for fate in fates)
        assert part.info.left_out["release: other_part"] > 0
        answered_here += own
    assert answered_here < sum(r.asked == "user" for r in rows)
    assert next(r.dataset_ids for r in rows if "finches" in r.question) == ("s0", "s2")
    states = []
    for name in ("m", "whole"):
        with open_view(tmp_path / name) as view:
            states.append(view.state_digest())
    assert states[0] == states[1]


# -- datasets in two parts ---------------------------------------------------------------------------------------------


def test_a_dataset_that_two_parts_did_alike_comes_once(parts: Path, tmp_path: Path) -> None:
    merged = scirgen_scale.merge(tmp_path / "m", [parts / "p0", parts / "whole"])
    assert release_bytes(tmp_path / "m") == release_bytes(parts / "whole")
    assert merged.funnel() == Run(parts / "whole").funnel()
    assert {line.split("\t")[1] for line in (tmp_path / "m/parts.tsv").read_text().splitlines()[1:]} == {"p0", "whole"}


def test_dataset_with_different_results_is_refused_or_the_firsts(parts: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (parts / "records.jsonl").read_text().split("\n")][2:4]
    file = tmp_path / "other.jsonl"
    for row in rows:
        row["description"] = row["description"].replace("snow depth", "wind speed").replace("sensors", "anemometers")
    file.write_text("\n".join(json.dumps(r) for r in rows))
    small(file, tmp_path / "other")
    error = refused(tmp_path / "other", parts / "p0", "--out", tmp_path / "m")
    assert isinstance(error, InputError) and "d00002 (other, p0)" in error.message and "--first-wins" in error.hint
    assert "d00003" not in error.message and not (tmp_path / "m").exists()
    for first, second in ((tmp_path / "other", parts / "p0"), (parts / "p0", tmp_path / "other")):
        out = tmp_path / f"m-{first.name}"
        assert command("merge", first, second, "--out", out, "--first-wins").exit_code == 0
        (document,) = (d for d in Release(out).corpus() if d.id == "d00002")
        assert ("wind speed" in document.text) == (first.name == "other")
        mine = {p.id for p in Run(first).rows() if p.dataset_id == "d00002"}
        theirs = {p.id for p in written(second) if p.dataset_id == "d00002"} - {p.id for p in written(first)}
        assert {p.id for p in Run(out).rows() if p.dataset_id == "d00002"} == mine
        assert theirs and all(isinstance(command("inspect", out, i).exception, InputError) for i in theirs)
        assert Run(out).funnel()["collect"]["done"] == len(list(Release(out).corpus()))


def test_a_bad_record_that_every_part_read_is_counted_once(tmp_path: Path) -> None:
    records = write_records(tmp_path / "r.jsonl", 4)
    records.write_text(records.read_text() + "\n{broken\n")
    small(records, tmp_path / "whole")
    for name, ids in {"p0": ["d00000", "d00002"], "p1": ["d00001", "d00003"]}.items():
        small(records, tmp_path / name, collect__ids=ids)
        assert Run(tmp_path / name).funnel()["collect"]["rejected"] == 1
    merged = scirgen_scale.merge(tmp_path / "m", [tmp_path / "p0", tmp_path / "p1"])
    assert release_bytes(tmp_path / "m") == release_bytes(tmp_path / "whole")
    assert merged.funnel()["collect"]["rejected"] == 1
    assert sum(n for k, n in merged.funnel()["collect"].items() if k.startswith("rejected:")) == 1


# -- made differently --------------------------------------------------------------------------------------------------


def test_parts_of_different_models_need_mixed_and_the_card_says_so(parts: Path, tmp_path: Path) -> None:
    file = split_file(parts / "records.jsonl", slice(1, 9, 2))[0]
    small(file, tmp_path / "other", model="fake-2", filter__gates=["schema", "language"])
    error = refused(parts / "p0", tmp_path / "other", "--out", tmp_path / "m")
    assert isinstance(error, ConfigError) and error.error_code == "mixed" and "--mixed" in error.hint
    assert "models.generator: openai:fake (p0), openai:fake-2 (other)" in error.message
    assert "filter.gates" in error.message and not (tmp_path / "m").exists()
    assert command("merge", parts / "p0", tmp_path / "other", "--out", tmp_path / "m", "--mixed").exit_code == 0
    release = Release(tmp_path / "m")
    assert any("made differently" in note and "openai:fake-2 (other)" in note for note in release.info.notes)
    assert "openai:fake-2 (other)" in (release.folder / "README.md").read_text()
    assert {"openai:fake", "openai:fake-2"} == set(release.info.models)
    assert {r.model for r in release.rows()} == {"openai:fake", "openai:fake-2"}
    manifest = json.loads((tmp_path / "m/manifest.json").read_text())
    assert manifest["models"]["generator"] == "openai:fake, openai:fake-2"
    assert [p["models"]["generator"] for p in manifest["merged"]["parts"]] == ["openai:fake", "openai:fake-2"]
    assert "generator" not in manifest["stages"] and "stages" in manifest["merged"]["parts"][0]


def test_a_seed_or_setting_of_the_release_is_the_mergers_and_the_parts_is_shown(parts: Path, tmp_path: Path) -> None:
    file = split_file(parts / "records.jsonl", slice(1, 9, 2))[0]
    small(file, tmp_path / "seeded", seed=7)
    given = (parts / "p0", tmp_path / "seeded", "--out", tmp_path / "m")
    assert "seed: 0 (p0), 7 (seeded)" in refused(*given).message
    shown = command("merge", *given, "--mixed").output
    assert "does not use: seed: 0 (this merge, p0), 7 (seeded); change it with --set" in shown
    assert Release(tmp_path / "m").info.seed == 0
    assert "does not use" not in command("merge", *given, "--mixed", "--set", "seed=3").output
    assert Release(tmp_path / "m").info.seed == 3
    small(file, tmp_path / "formats", release__formats=["jsonl", "beir"])
    given = (parts / "p0", tmp_path / "formats", "--out", tmp_path / "f")
    assert 'release.formats: ["jsonl"] (this merge, p0), ["jsonl", "beir"] (formats)' in command("merge", *given).output
    assert release_bytes(tmp_path / "f") == release_bytes(parts / "whole")
    of_part = json.loads((tmp_path / "f" / "manifest.json").read_text())["merged"]["parts"][1]
    assert of_part["settings"]["release"] == {"formats": ["jsonl", "beir"]}


def test_a_setting_that_an_older_part_did_not_know_is_that_of_the_others(copied: Path, tmp_path: Path) -> None:
    with Store(copied / "p0" / "run.db") as store:
        manifest = json.loads(store.meta("manifest") or "")
        del manifest["settings"]["release"]["decontaminate_words"]
        store.set_meta("manifest", json.dumps(manifest))
    scirgen_scale.merge(tmp_path / "m", [copied / "p0", copied / "p1"])
    assert release_bytes(tmp_path / "m") == release_bytes(copied / "whole")


def test_merge_refuses_mixed_languages_and_settings_of_models(parts: Path, tmp_path: Path) -> None:
    small(split_file(parts / "records.jsonl", slice(1, 9, 2))[0], tmp_path / "pt", language="pt", seed=1)
    given = (parts / "p0", tmp_path / "pt", "--out", tmp_path / "m", "--mixed")
    assert "language: en (p0), pt (pt)" in refused(*given).message
    error = refused(parts / "p0", parts / "p1", "--out", tmp_path / "m", "--set", "models.generator=x")
    assert "cannot be set in a merge" in error.message
    assert "unknown key" in refused(parts / "p0", "--out", tmp_path / "m", "--set", "release.formts=[x]").message
    assert not (tmp_path / "m").exists()


def test_a_merge_adds_what_a_release_part_measures_without_a_step(parts: Path, tmp_path: Path) -> None:
    result = command("merge", parts / "p0", "--out", tmp_path / "m", "--set", "difficulty={}")
    assert result.exit_code == 0, result.output
    ranks = [row.added()["bm25_rank"] for row in Release(tmp_path / "m").rows() if row.answer]
    assert ranks and any(rank == 1 for rank in ranks)


# -- parts that are not whole ------------------------------------------------------------------------------------------


def test_an_unfinished_part_needs_a_flag_and_is_named_on_the_card(parts: Path, tmp_path: Path) -> None:
    file = split_file(parts / "records.jsonl", slice(1, 9, 2))[0]
    outcome = small(file, tmp_path / "ill", faults=Faults({"length": 0.4}, seed=1), limits__repair_attempts=0).outcome
    assert outcome is not None and outcome.status == "partial"
    stopped = small(file, tmp_path / "stopped", limits__max_tokens=2500, limits__concurrency=1).outcome
    assert stopped is not None and stopped.status == "budget"
    for name, said in (("ill", "items failed"), ("stopped", "datasets are not complete")):
        given = (parts / "p0", tmp_path / name, "--out", tmp_path / f"m-{name}")
        error = refused(*given)
        assert error.error_code == "unfinished" and said in error.message and "--partial" in error.hint
        assert not (tmp_path / f"m-{name}").exists()
        result = command("merge", *given, "--partial")
        assert result.exit_code == 3 and "partial:" in result.output
        notes = Release(tmp_path / f"m-{name}").info.notes
        assert any(note.startswith(f"{name} is incomplete:") and said in note for note in notes)


def test_a_finished_part_that_went_on_and_was_stopped_is_unfinished(copied: Path, tmp_path: Path) -> None:
    store = Store(copied / "p1" / "run.db")
    # As a run does that finds one more record of the catalogue and is killed before the next.
    with store.transaction():
        store.db.execute("INSERT INTO datasets(id, position, seen) VALUES('more', 9, 2)")
    store.close()
    error = refused(copied / "p0", copied / "p1", "--out", tmp_path / "m")
    assert error.error_code == "unfinished" and "1 of 5 datasets are not complete" in error.message


def test_a_part_without_pairs_is_merged_but_not_if_all_are(
    parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "bare.jsonl"
    file.write_text(json.dumps({"id": "bare", "title": "Q"}))
    with monkeypatch.context() as patched, pytest.raises(ConfigError, match="produced no output"):
        patched.setattr(SchemaGate, "judge", lambda *_: Verdict(False, "no row of this part is wanted"))
        small(file, tmp_path / "bare")
    run = scirgen_scale.merge(tmp_path / "m", [parts / "p0", tmp_path / "bare", parts / "p1"])
    assert run.outcome is not None and run.outcome.status == "success"
    assert Release(tmp_path / "m").info.counts["datasets"] == 10
    error = refused(tmp_path / "bare", "--out", tmp_path / "nothing")
    assert error.error_code == "nothing_made" and not (tmp_path / "nothing" / "release").exists()


def test_a_part_cannot_be_written_and_merged_at_once(copied: Path, tmp_path: Path) -> None:
    with Store(copied / "p1" / "run.db"):
        error = refused(copied / "p0", copied / "p1", "--out", tmp_path / "m")
    assert error.error_code == "locked" and f"process {os.getpid()}" in error.message
    with ExitStack() as reading:
        open_parts([copied / "p0", copied / "p1"], reading)
        with pytest.raises(StoreError, match=f"in use by process {os.getpid()}"):
            Store(copied / "p0" / "run.db")
        assert command("merge", copied / "p0", copied / "p1", "--out", tmp_path / "m").exit_code == 0
    Store(copied / "p0" / "run.db").close()


def _garbage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[: 4096 * 3] = os.urandom(4096 * 3)
    path.write_bytes(data)


def _pages(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for start in range(8192, len(data), 4096):
        data[start : start + 16] = b"\xff" * 16
    path.write_bytes(data)


def _blob(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("UPDATE results SET outputs=x'7a0102' WHERE stage='tag'")
    db.commit()
    db.close()


def _newer(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=999")
    db.close()


@pytest.mark.parametrize(
    ("harm", "said"),
    [(_garbage, "damaged"), (_pages, "damaged"), (_blob, "damaged"), (_newer, "newer scirgen")],
)
def test_a_damaged_or_newer_part_is_named_and_the_earlier_release_stays(
    harm: object, said: str, copied: Path, tmp_path: Path
) -> None:
    assert callable(harm)
    given = (copied / "p0", copied / "p1", "--out", tmp_path / "m")
    scirgen_scale.merge(tmp_path / "m", [copied / "p0"])
    before = release_bytes(tmp_path / "m")
    harm(copied / "p1" / "run.db")
    error = refused(*given)
    assert isinstance(error, StoreError) and said in error.message and "p1" in error.message, error.message
    assert release_bytes(tmp_path / "m") == before
    assert not [p for p in (tmp_path / "m").iterdir() if p.name.startswith(".release")]


def test_folders_that_are_no_part_or_no_place_for_a_merge_are_refused(copied: Path, tmp_path: Path) -> None:
    p0, p1 = copied / "p0", copied / "p1"
    assert "one of the parts" in refused(p0, p1, "--out", p0).message
    assert "already contains a run" in refused(p0, p1, "--out", copied / "whole").message
    assert "not a run" in refused(p0, tmp_path / "nothing", "--out", tmp_path / "m").message
    assert "is a release, not a run" in refused(p0, p1 / "release", "--out", tmp_path / "m").message
    assert not (tmp_path / "m").exists()


def test_a_merged_run_needs_its_parts_no_more(copied: Path, tmp_path: Path) -> None:
    scirgen_scale.merge(tmp_path / "m", [copied / "p0", copied / "p1"])
    row = next(Release(tmp_path / "m").rows())
    shutil.rmtree(copied)
    assert "-- reply" in command("inspect", tmp_path / "m", row.id, "--prompt").output
    for given in (["audit"], ["report"], ["doctor"], ["status"]):
        assert command(*given, tmp_path / "m").exit_code == 0


def test_a_merged_run_is_resumed_as_an_ordinary_one(parts: Path, tmp_path: Path) -> None:
    scirgen_scale.merge(tmp_path / "m", [parts / "p0", parts / "p1"])
    before = Run(tmp_path / "m").funnel()

    async def resume(records: Path) -> tuple[Run, int]:
        async with FakeServer() as server:
            run = await run_small(server, records, tmp_path / "m", generate__types_without_paper=6)
            return run, sum(answered(server).values())

    run, asked = asyncio.run(resume(parts / "records.jsonl"))
    assert asked == 0 and run.outcome is not None and run.outcome.status == "success"
    assert run.funnel() == before and release_bytes(tmp_path / "m") == release_bytes(parts / "whole")
    run, asked = asyncio.run(resume(write_records(tmp_path / "more.jsonl", 10)))
    assert asked > 0 and run.funnel()["collect"]["done"] == 10
    assert "already contains a run" in refused(parts / "p0", "--out", tmp_path / "m").message


def test_parts_of_the_same_name_are_told_apart_by_their_path(copied: Path, tmp_path: Path) -> None:
    for name in ("p0", "p1"):
        (tmp_path / name).mkdir()
        (copied / name).rename(tmp_path / name / "run")
    scirgen_scale.merge(tmp_path / "m", [tmp_path / "p0/run", tmp_path / "p1/run"])
    assert {line.split("\t")[1] for line in (tmp_path / "m/parts.tsv").read_text().splitlines()[1:]} == {
        "p0/run",
        "p1/run",
    }


def test_a_merge_that_fails_at_the_end_leaves_the_release_of_before(
    parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scirgen_scale.merge(tmp_path / "m", [parts / "p0"])
    before = release_bytes(tmp_path / "m")

    def full(*_: object) -> Iterator[None]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("scirgen.stages.release.write.write_croissant", full)
    error = refused(parts / "p0", parts / "p1", "--out", tmp_path / "m")
    assert isinstance(error, StoreError) and "No space left" in error.message
    assert release_bytes(tmp_path / "m") == before
    assert command("status", tmp_path / "m").exit_code == 0
