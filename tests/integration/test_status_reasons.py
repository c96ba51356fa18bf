"""`scirgen status --reasons` lists rejected items by file name, with the reason, up to the limit."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from click import Command
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.cli.run.generate import summarise
from scirgen.cli.run.inspect import inspect, show_scores
from scirgen.cli.run.status import place_of, status
from scirgen.core.errors import InputError, ModelAccessError
from scirgen.core.records import Block, BlockKind, Document, QAPair, Rejection, Score
from scirgen.pipeline.store import Store, StoredResult
from scirgen.release_files.release import Release
from scirgen.testing.faults import Faults
from scirgen.testing.server import FakeServer
from tests.support.made_papers import made_pdf, sentence
from tests.support.small_runs import run_small, write_records


async def test_reasons_name_the_papers_file_and_json_gives_the_records(tmp_path: Path) -> None:
    write_records(tmp_path / "in.jsonl", 2)
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "cut.pdf").write_bytes(b"%PDF-1.7\n%%EOF")
    for name in ("login.pdf", "consent.pdf"):
        (papers / name).write_text(f"<html><body>Please accept {name}</body></html>", encoding="utf-8")
    async with FakeServer() as server:
        run = await run_small(server, tmp_path / "in.jsonl", tmp_path / "run", papers=str(papers))
    folder = str(run.folder)

    def said(*arguments: str) -> str:
        return CliRunner().invoke(status, [folder, *arguments], catch_exceptions=False).output

    lines = said("--reasons", "parse").splitlines()
    assert sorted(line.split()[0] for line in lines) == ["damaged", "not_a_pdf", "not_a_pdf"]
    assert any("(login.pdf): the file is an HTML page, not a paper. " in line for line in lines)
    assert said("--reasons", "section") == "section rejected nothing\n"
    (first, *_) = [json.loads(line) for line in said("--reasons", "parse", "--json").splitlines()]
    assert first["stage"] == "parse" and first["reason"]
    assert said("--reasons", "parse", "--most", "1").splitlines()[-1] == "not_a_pdf: 1 more; --most shows them"
    rows = list(run.rows())
    assert rows
    for pair in rows:
        shown = CliRunner().invoke(inspect, [folder, pair.id], catch_exceptions=False).output
        assert "gates passed: schema, not_verbatim" in shown
        assert f"dataset {pair.dataset_id} “Snow depth at station" in shown and shown.count(pair.question) == 1


async def test_a_table_that_is_not_read_is_named_by_file_page_and_caption(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    table = "<p>Table 1. Ice of two lakes by year</p><p>62 63 and 7</p><p>70 to 75 in all</p>"
    made_pdf(tmp_path / "in" / "ice.pdf", headings=("Methods", f"Results</h2>{table}<h2>More"))
    text = f"# Ice\n\n{sentence(1)} {sentence(2)}\n\n| 1 | 2 |\n| --- | --- |\n| 3 | 4 |\n"
    (tmp_path / "in" / "snow.md").write_text(text, "utf-8")
    async with FakeServer() as server:
        run = await run_small(server, tmp_path / "in", tmp_path / "run", collect__source="papers")
    said = CliRunner().invoke(status, [str(run.folder), "--reasons", "parse"], catch_exceptions=False).output
    assert "#0 (ice.pdf), page 1, “Table 1. Ice of two lakes by year”: where" in said
    assert "#0 (snow.md), “1 | 2 3 | 4”: no row names its columns" in said


async def test_a_refused_file_is_not_called_by_the_name_of_its_twin(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a.md", "b.md"):
        (tmp_path / "in" / name).write_text("# Lake ice\n\nIce of 63 lakes was measured each winter.\n", "utf-8")
    table = "file,doi,licence\na.md,10.5072/own,cc-by-nc-4.0\nb.md,10.5072/own,cc-by-4.0\n"
    (tmp_path / "in" / "papers.csv").write_text(table, "utf-8")
    async with FakeServer() as server:
        run = await run_small(
            server, tmp_path / "in", tmp_path / "run", collect__source="papers", collect__licences=["cc-by"]
        )
    said = CliRunner().invoke(status, [str(run.folder), "--reasons", "collect"], catch_exceptions=False).output
    assert said.split(":")[0].split() == ["licence", "10.5072/own"]


async def test_a_run_that_a_wrong_key_ended_names_the_error_and_has_no_release(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    async with FakeServer(faults=Faults(die_after=0, die_with=401)) as server:
        with pytest.raises(ModelAccessError) as ended:
            await run_small(server, write_records(tmp_path / "in.jsonl", 1), folder)
    last = json.loads((folder / "log.jsonl").read_text("utf-8").splitlines()[-1])
    assert (last["event"], last["status"], last["code"]) == ("end", "error", "model_access")
    said = CliRunner().invoke(status, [str(folder)], catch_exceptions=False).output
    assert f"the last process ended with an error: [model_access] {ended.value.message}" in said
    for place in (folder, folder / "release"):
        with pytest.raises(InputError, match="is a run without a release yet"):
            Release(place)
        pushed = CliRunner().invoke(cli, ["push", str(place), "me/snow", "--dry-run"])
        assert "is a run without a release yet" in str(pushed.exception or pushed.output)
    with pytest.raises(InputError, match="relaese is not a release"):
        Release(folder / "relaese")
    for line in (
        '["x"]',
        '{"event": "end", "status": "error"}',
        "[" * 9999,
        '{"status":"error","message":"a\\u001b]0;b\\nc"}',
    ):
        (folder / "log.jsonl").write_text(f"{line}\n", "utf-8")
        said = CliRunner().invoke(status, [str(folder)], catch_exceptions=False).output
        assert "\x1b" not in said and ("error: [None] a]0;b c" in said) == ("message" in line)


def test_a_bare_label_is_found_at_the_caption_and_not_in_prose() -> None:
    prose, label = "Ice is as Table 1 shows.", "Table 1"
    blocks = (
        Block(kind=BlockKind.PARAGRAPH, start=0, end=len(prose), page=1),
        Block(kind=BlockKind.CAPTION, start=len(prose) + 2, end=len(prose) + 2 + len(label), page=3),
    )
    document = Document(id="d", paper_id="p", text=f"{prose}\n\n{label}", blocks=blocks)
    table = Rejection.of("parse", "table_columns", "no", ("Table", "p#0"), record=label)
    assert place_of(table, cast(StoredResult, SimpleNamespace(outputs=lambda: (document,)))) == ", page 3, “Table 1”"


async def test_types_that_were_not_chosen_are_no_rejections_and_rows_left_out_are_no_released_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = write_records(tmp_path / "in.jsonl", 3)
    async with FakeServer() as server:
        run = await run_small(server, records, tmp_path / "run", generate__types_without_paper=9)
        row = next(iter(run.rows()))
        (tmp_path / "bench.jsonl").write_text(json.dumps({"question": row.question, "answer": row.answer}))
        more = {"generate__types_without_paper": 9, "release__decontaminate": [str(tmp_path / "bench.jsonl")]}
        run = await run_small(server, records, tmp_path / "run", **more)
    assert "not chosen" in CliRunner().invoke(status, [str(run.folder)], catch_exceptions=False).output
    assert "unchosen" not in (run.release / "README.md").read_text("utf-8")
    capsys.readouterr()
    summarise(run)
    accepted, released = len(list(run.rows())), sum(run.released().values())
    assert 0 < released < accepted and f"{accepted} accepted of" in (said := capsys.readouterr().out)
    assert f", {released} released, from 3 datasets" in said and "unchosen" not in said


async def test_status_names_what_judged_nothing_and_inspect_shows_scores(tmp_path: Path) -> None:
    write_records(tmp_path / "in.jsonl", 30)
    async with FakeServer() as server:
        run = await run_small(
            server, tmp_path / "in.jsonl", tmp_path / "run", language="it", filter__gates=["schema", "language"],
            filter__faithfulness=["shift"], filter__thresholds={"shift": {"quantification": 0.99}},
            generate__types=["quantification", "definition"], generate__types_without_paper=2,
        )  # fmt: skip
    folder = str(run.folder)

    def shown(command: Command, *arguments: str) -> str:
        return CliRunner().invoke(command, [folder, *arguments], catch_exceptions=False).output

    assert "judged nothing: gate language (it has no patterns for language 'it')" in shown(status)
    named = {(i["kind"], i["name"]) for i in json.loads(shown(status, "--json"))["judged_nothing"]}
    assert named == {("gate", "language")}
    refused = [json.loads(line) for line in shown(status, "--reasons", "filter", "--json").splitlines()]
    low = next(r for r in refused if r["code"] == "shift")
    assert low["reason"].startswith("the evidence barely raises the answer's probability")
    seen = shown(inspect, low["record_id"])
    assert "rejected as shift" in seen and "score shift" in seen and "(threshold 0.99) failed" in seen


async def test_inspect_shows_a_passage_with_its_text_and_the_rows_that_grade_it(tmp_path: Path) -> None:
    async with FakeServer() as server:
        run = await run_small(server, write_records(tmp_path / "in.jsonl", 2), tmp_path / "run")
    release = Release(run.release)
    query, grades = next(iter(release.passage_qrels(None).items()))
    id, grade = next(iter(grades.items()))
    passage = next(p for p in release.passages() if p.id == id)
    row = next(r for r in release.rows() if r.id == query)

    def shown(*arguments: str) -> str:
        return CliRunner().invoke(inspect, [str(run.folder), *arguments], catch_exceptions=False).output

    said = shown(id)
    assert passage.document_id in said and passage.text in said and f"grade {grade} {query} {row.question}" in said
    about, graded = map(json.loads, shown(id, "--json").splitlines())
    assert about["text"] == passage.text and graded["grades"][query] == grade
    with pytest.raises(InputError, match="no record") as missing:
        shown(f"{id}x")
    assert "scirgen status RUN --reasons STAGE --json" in str(missing.value.hint)


@pytest.mark.parametrize(("passed", "told"), [(True, False), (False, True)])
def test_inspect_says_what_speaks_against_a_pair_only_where_it_did_not_pass(
    passed: bool, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    against = "the evidence barely raises the answer's probability"
    score = Score(name="calibrated", value=0.6, threshold=0.5, passed=passed, detail=against)
    show_scores(QAPair(id="q", dataset_id="d", question="Why?", answer="So.", question_type="x", scores=(score,)))
    assert (against in capsys.readouterr().out) is told


@pytest.mark.parametrize(("setting", "value"), [("semantic_samples", 10), ("window", "no longer a window")])
async def test_inspect_shows_a_run_whose_settings_this_version_does_not_have(
    tmp_path: Path, setting: str, value: object
) -> None:
    write_records(tmp_path / "in.jsonl", 1)
    async with FakeServer() as server:
        run = await run_small(server, tmp_path / "in.jsonl", tmp_path / "run")
    with closing(Store(run.folder / "run.db")) as store:
        manifest = json.loads(store.meta("manifest") or "")
        manifest["settings"]["filter"][setting] = value
        store.set_meta("manifest", json.dumps(manifest))
    (row, *_) = run.rows()
    shown = CliRunner().invoke(inspect, [str(run.folder), row.id], catch_exceptions=False)
    assert shown.exit_code == 0 and row.answer in shown.output
    assert "gates passed: schema, not_verbatim" in shown.output
