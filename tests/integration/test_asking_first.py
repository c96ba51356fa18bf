"""Questions first, through the whole command: asked, searched, answered, filtered, released."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

from click.testing import CliRunner

from scirgen.api import generate
from scirgen.cli.run.inspect import inspect
from scirgen.cli.run.status import collect_status
from scirgen.core.config import load_config
from scirgen.core.corpus.questions import Pool, Question
from scirgen.core.records import QAPair
from scirgen.pipeline.views.view import open_view
from scirgen.release_files.release import Release
from scirgen.report.figures import gather
from scirgen.report.page import write_report
from scirgen.testing import serving
from scirgen.testing.server import FakeServer
from tests.support import seeking_people
from tests.support.small_runs import answered, release_bytes, run_small, write_records

MIX = {"generate__mix": {"seeking": 0.7, "known_item": 0.3}, "ask__questions_per_subject": 3}


def kept(out: Path, kind: type, stage: str) -> dict[str, object]:
    with open_view(out) as view:
        return {r.id: r for r in view.records(stage, kind)}


async def test_a_run_asks_searches_and_answers_and_says_so(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 12)
    async with FakeServer() as server:
        run = await run_small(server, records, tmp_path / "run", **MIX)
        first = release_bytes(tmp_path / "run")
        calls = answered(server)
        again = await run_small(server, records, tmp_path / "run", **MIX)
        assert (again.outcome.status, answered(server)) == ("success", calls)  # type: ignore[union-attr]
        await run_small(server, records, tmp_path / "other", **MIX)
    assert release_bytes(tmp_path / "other") == first
    asked = run.asked()
    answered_ones = kept(tmp_path / "run", QAPair, "answer")
    assert asked["asked"] == len(kept(tmp_path / "run", Question, "ask")) > 0
    assert asked["answered"] == len(answered_ones) > 0
    rows = list(Release(tmp_path / "run" / "release").rows())
    sought = [r for r in rows if r.asked != "known_item"]
    assert sought and len(sought) < len(rows)
    for row in sought:
        assert row.need and set(row.dataset_ids or (row.dataset_id,)) <= {f"d{n:05}" for n in range(12)}
        assert all(e.role in ("answer", "context") for e in row.evidence) and row.passages
    # The corpus is there for use of one's own.
    lines = (tmp_path / "run" / "corpus" / "datasets" / "passages.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["document_id"] for line in lines} == {f"d{n:05}" for n in range(12)}


async def test_by_default_people_ask_first_and_known_items_fill_the_rest(tmp_path: Path) -> None:
    records, out = write_records(tmp_path / "records.jsonl", 12), tmp_path / "run"
    async with FakeServer() as server:
        await run_small(server, records, out, generate__mix=None, ask__questions_per_subject=1)
    assert load_config().config.generate.mix == {"seeking": 0.7, "known_item": 0.3}
    release = Release(out / "release")
    ways = Counter(r.asked for r in release.rows())
    people, wanted = ways["seeking"] + ways["narrowed"], math.ceil(0.7 * ways.total())
    assert 0 < people < wanted
    assert {name: n for name, n in release.info.counts.items() if name.startswith("rows_")} == {
        f"rows_{way}": n for way, n in ways.items()
    }
    card, report = (out / "release" / "README.md").read_text(), write_report(out).read_text()
    assert f"| of them asked by somebody who had not read the texts | {ways['seeking']} |" in card
    assert f"{people} of {wanted} wanted rows" in card and f"known items fill {wanted - people} rows" in card
    assert f"{ways['seeking']} asked by somebody who had not read the texts" in report
    assert f"70% were to be asked by people; known items fill {wanted - people:,} of these rows." in report


def test_the_stand_in_asks_about_papers_and_answers(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    for name, what in (("a", "glacier"), ("b", "forest")):
        lines = (f"Annual {what} measurements from satellites support regional planning of {k}." for k in _NEEDS)
        (tmp_path / "papers" / f"{name}.md").write_text(f"# About {what} maps\n\n## Abstract\n\n" + "\n".join(lines))
    with serving() as model:
        run = generate(tmp_path / "run", input=tmp_path / "papers", model=model)
    counts = run.asked()
    assert counts["asked"] > 0 and counts["answered"] > 0
    assert "seeking" in {row.asked for row in Release(run.release).rows()}
    # Card, datasheet and report of papers alone speak of papers.
    card, sheet = ((run.release / name).read_text() for name in ("README.md", "datasheet.md"))
    assert "its gold paper" in card and "| datasets |" not in card and "gold dataset" not in card + sheet
    report = (run.folder / "report.html").read_text()
    assert "<dt>datasets</dt>" not in report and "<caption>Rows of each paper</caption>" in report


_NEEDS = ("irrigation", "hydropower", "tourism", "agriculture", "conservation", "settlements", "transport")


async def test_a_new_record_redoes_only_the_answers_whose_pool_changed(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 8)
    settings = {**MIX, "search__depth": 1}
    async with FakeServer() as server:
        await run_small(server, records, tmp_path / "run", **settings)
        before = kept(tmp_path / "run", Pool, "search")
        calls = answered(server)
        new = {"id": "new", "title": "Bird song of cities", "description": "Songs of finches were recorded at dawn."}
        records.write_text(records.read_text("utf-8") + "\n" + json.dumps(new), "utf-8")
        await run_small(server, records, tmp_path / "run", **settings)
        fresh = answered(server) - calls
    after = kept(tmp_path / "run", Pool, "search")
    changed = {id for id in before if before[id] != after[id]}
    assert len(changed) < len(before) < len(after)
    # Calls: those about the new record, and one for each changed pool.
    about_new = {id for id, pool in after.items() if id not in before}
    assert 0 < sum(fresh.values()) <= 8 + 3 * (len(changed) + len(about_new))


async def test_a_target_takes_its_share_of_rows_that_somebody_asked(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 12)
    async with FakeServer() as server:
        run = await run_small(server, records, tmp_path / "run", **MIX, generate__quota={"total": 10})
    rows = list(Release(run.folder / "release").rows())
    assert len(rows) <= 10 and 0 < sum(r.asked != "known_item" for r in rows) <= 7


def subjects_of(out: Path) -> set[str]:
    """The datasets for which any item after reading was made."""
    with open_view(out) as view:
        rows = view.store.rows(
            "SELECT DISTINCT dataset_id FROM members WHERE stage NOT IN ('collect','parse','release')"
        )
        return {id for (id,) in rows}


async def test_pairs_are_about_the_chosen_subjects_and_all_else_is_searched(tmp_path: Path) -> None:
    records, out = write_records(tmp_path / "records.jsonl", 30), tmp_path / "run"
    (tmp_path / "ids.txt").write_text("d00003\n\nd00017\n", "utf-8")
    async with FakeServer() as server:
        await run_small(server, records, out, **MIX, generate__about=str(tmp_path / "ids.txt"))
        assert subjects_of(out) == {"d00003", "d00017"}
        lines = (out / "corpus" / "datasets" / "passages.jsonl").read_text("utf-8").splitlines()
        assert len(lines) == 30
        assert {q.dataset_id for q in kept(out, Question, "ask").values()} == {"d00003", "d00017"}  # type: ignore[attr-defined]
        calls = answered(server)
        again = await run_small(server, records, out, **MIX, generate__about=["d00003", "d00017"])
        assert (again.outcome.status, answered(server)) == ("success", calls)  # type: ignore[union-attr]
        # Another choice keeps what is made, and shows only what it chose.
        await run_small(server, records, out, **MIX, generate__about=["d00003"])
        assert (subjects_of(out), answered(server)) == ({"d00003"}, calls)
        # A number is drawn by the seed, and a target's rounds stay with what was drawn.
        await run_small(server, records, out, **MIX, generate__about=5, generate__quota={"total": 40})
        drawn = subjects_of(out)
        await run_small(server, records, tmp_path / "other", **MIX, generate__about=5)
        assert len(drawn) == 5 and subjects_of(tmp_path / "other") == drawn
        await run_small(server, records, out, **MIX)
    assert len(subjects_of(out)) == 30


async def test_the_users_questions_are_searched_answered_and_released(tmp_path: Path) -> None:
    records, out = write_records(tmp_path / "records.jsonl", 8), tmp_path / "run"
    needs = [f"daily {what} depth data" for what in ("snow", "ice", "river", "soil", "lake", "rain")]
    lines = [json.dumps({"question": need, "wants": "data"}) for need in needs]
    first = json.dumps({"question": "At which 3 stations was snow measured with sensors?", "id": "mine-1"})
    (tmp_path / "mine.jsonl").write_text("\n".join([first, *lines]), "utf-8")
    own = {"generate__questions": str(tmp_path / "mine.jsonl"), "generate__mix": {"known_item": 0}}
    async with FakeServer() as server:
        await run_small(server, records, out, **own)
        shown = CliRunner().invoke(inspect, [str(out), "mine-1"], catch_exceptions=False).output
        assert "At which 3 stations was snow measured with sensors?" in shown
        calls = answered(server)
        # Another record moves none of them, and redoes those that it is found for.
        (tmp_path / "mine.jsonl").write_text("\n".join(lines), "utf-8")
        await run_small(server, records, out, **own)
        assert answered(server) == calls
    asked = kept(out, Question, "ask").values()
    told = {(q.text, q.wants, q.asked) for q in asked}  # type: ignore[attr-defined]
    assert told == {(need, "data", "user") for need in needs}
    assert all(q.rewordings for q in asked)  # type: ignore[attr-defined]
    rows = [row for row in Release(out / "release").rows() if row.asked == "user"]
    assert len(rows) == sum(1 for _ in Release(out / "release").rows())
    # Report, card and status say what became of each.
    own = gather(out).own
    counts = Counter(fate.outcome for fate in own)
    assert {fate.question for fate in own} == set(needs) and counts["answered"] == len(rows)
    assert counts.keys() <= {"answered", "not here", "rejected"} and all(f.why for f in own if f.outcome != "answered")
    page = (out / "report.html").read_text()
    assert '<a href="#own">Your questions</a>' in page and '<section id="own"><h2>Your questions</h2>' in page
    assert "Of 6 questions that the user gave:" in (out / "release" / "README.md").read_text()
    with open_view(out) as view:
        assert collect_status(out, view)["own_questions"] == dict(counts)


async def test_rounds_ask_new_questions_until_the_target_is_met_or_the_subjects_are_exhausted(tmp_path: Path) -> None:
    records, out = write_records(tmp_path / "records.jsonl", 4), tmp_path / "run"
    settings = {**MIX, "generate__quota": {"total": 24}, "ask__questions_per_subject": 2}
    async with FakeServer() as server:
        await run_small(server, records, out, **settings)
        calls, first = answered(server), release_bytes(out)
        await run_small(server, records, out, **settings)
        assert (answered(server), release_bytes(out)) == (calls, first)
    questions = list(kept(out, Question, "ask").values())
    assert {q.round for q in questions} > {0}  # type: ignore[attr-defined]
    release = Release(out / "release")
    rows = list(release.rows())
    people = sum(r.asked != "known_item" for r in rows)
    assert len(rows) <= 24 and people <= 17
    said = " ".join(release.info.notes)
    assert people == 17 or f"{people} of 17 wanted rows" in said


async def test_answers_to_questions_asked_first_are_candidates_of_the_budget(tmp_path: Path) -> None:
    records, out = write_records(tmp_path / "records.jsonl", 4), tmp_path / "run"
    settings = {**MIX, "generate__quota": {"total": 24, "candidates": 12}, "ask__questions_per_subject": 2}
    async with FakeServer() as server:
        await run_small(server, records, out, **settings)
    made = [p for step in ("answer", "generate") for p in kept(out, QAPair, step).values()]
    rounds = Counter(p.round for p in made)  # type: ignore[attr-defined]
    assert len(rounds) > 1 and rounds[0] < 12 and len(made) <= 12
    assert (
        "the budget of 12 candidates was used up (generate.quota.candidates)"
        in (out / "release" / "README.md").read_text()
    )


PAPER = """# Songs of finches in three cities

## Abstract

Songs of finches were recorded at dawn in three cities, and their pitch was compared with the noise of streets.

## Results

The pitch of songs rose by 300 Hz beside loud streets. Finches in parks sang 12 songs a minute, those beside streets 7.
Songs were shorter in the noisy city than in the quiet one. Males sang earlier where lamps were lit all night.
"""


async def test_a_paper_that_no_dataset_uses_is_asked_about_once_and_is_no_datasets_gold(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "papers").mkdir(parents=True)
    write_records(folder / "records.jsonl", 6)
    (folder / "papers" / "finches.md").write_text(PAPER, "utf-8")
    settings = {**MIX, "match__strategy": "mention", "generate__mix": {"seeking": 1.0}}
    async with FakeServer(reply=seeking_people.reply) as server:
        await run_small(server, folder, tmp_path / "run", **settings)
        await run_small(server, folder, tmp_path / "chosen", **settings, generate__about=["d00000"])
    asked = [q for q in kept(tmp_path / "run", Question, "ask").values() if q.wants == "answer"]  # type: ignore[attr-defined]
    assert asked and {(q.dataset_id, q.subject) for q in asked} == {("d00000", asked[0].document_id)}  # type: ignore[attr-defined]
    assert {q.wants for q in kept(tmp_path / "chosen", Question, "ask").values()} == {"data"}  # type: ignore[attr-defined]
    release = Release(tmp_path / "run" / "release")
    rows = {r.id: r for r in release.rows() if r.about is None}
    assert rows and all(not r.gold and r.passages for r in rows.values())
    assert all({e.document_id for e in r.evidence} == {asked[0].document_id} for r in rows.values())  # type: ignore[attr-defined]
    assert not any(rows.keys() & release.qrels(split) for split in ("train", "dev", "test"))
    assert rows.keys() & release.passage_qrels(None).keys() == rows.keys()
    report = json.loads(write_report(tmp_path / "run", pages=True).with_suffix(".json").read_text("utf-8"))
    named = {r["id"] for r in report["sample"] if r["dataset"] == "about no dataset"}
    assert rows.keys() <= named and report["papers"] == report["papers_cited"] == 0
    shown = sum(page.read_text("utf-8").count('<li id="row-') for page in (tmp_path / "run" / "datasets").iterdir())
    assert shown == sum(r["rows"] for r in report["records"]) == report["released"] - len(rows)
    card = (release.folder / "README.md").read_text("utf-8")
    assert "papers that use them" not in card and "from 1 paper that no dataset uses" in card
