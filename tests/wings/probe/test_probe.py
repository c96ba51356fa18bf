"""Questions without an answer and nuggets: from the call that writes pairs to rows, exports and scores."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner

import scirgen
import scirgen_bench
from scirgen.api import Run, resolve_config, run_pipeline
from scirgen.cli.run.inspect import inspect
from scirgen.core.records import Block, BlockKind, Dataset, Document
from scirgen.core.registry import load_registry
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.store import StoredResult
from scirgen.report import gather_release
from scirgen.report.figures import gather
from scirgen.report.page import write_report
from scirgen.stages.base import RunView
from scirgen.stages.generate.further import with_further
from scirgen.testing.replies import chat_completion
from scirgen.testing.server import FakeServer
from scirgen_bench.honesty import refused, score_labels
from scirgen_bench.qa import QASettings, run_qa
from scirgen_bench.questions import questions_of_split
from scirgen_probe.asking import ProbeReply
from scirgen_probe.proving import Corpus
from scirgen_probe.records import Nugget, Unanswerable
from scirgen_probe.settings import ProbeConfig
from tests.support.questioning import make_context
from tests.support.small_runs import KNOWN_ITEMS, answered

MATERIAL = Path(__file__).parents[2] / "material" / "invented"


def judged(body: dict[str, Any]) -> dict[str, Any]:
    """The fake server as a judge: the first of a call is refused, the others pass."""
    found = chat_completion(body)
    message = found["choices"][0]["message"]
    properties = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    options = [str(properties.get(name)) for name in properties if name.startswith("p")]
    if "nuggets" in properties:
        asked = re.findall(r"^p(\d+)$", body["messages"][-1]["content"], re.M)
        message["content"] = json.dumps({"nuggets": [fact(int(n), 1) for n in asked] + [fact(1, 99), fact(99, 1)]})
    elif "unanswered" in " ".join(options):
        message["content"] = verdicts(properties, "answered", "unanswered")
    return found


def fact(pair: int, line: int) -> dict[str, object]:
    """A fact that names a line of an answer. Line 99 and answer 99 do not exist."""
    return {"pair": pair, "line": line, "fact": f"Fact {pair}.", "vital": True}


def verdicts(properties: dict[str, Any], first: str, others: str) -> str:
    """Give the first its verdict, the others theirs, and each question a level."""
    given = {n: first if n == "p1" else "C2" if n[0] == "l" else others for n in properties if n != "faults"}
    return json.dumps({"faults": [{"number": 1, "fault": "line 1 says it"}], **given})


FLAGS: dict[str, object] = {
    **KNOWN_ITEMS,
    "input": str(MATERIAL),
    "release.formats": ["squad", "alpaca", "beir"],
    "probe.unanswerable": 0.5,
    "probe.nuggets": True,
}


async def run_probe(server: FakeServer, out: Path, **settings: object) -> Run:
    flags = {**FLAGS, "models.generator": f"openai:fake@{server.url}", **settings}
    loaded, domain = resolve_config(domain="geo", flags=flags)
    return await run_pipeline(out, loaded.config, domain, observer=Observer())


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with both kinds, made once."""
    import asyncio

    out = tmp_path_factory.mktemp("probe") / "run"

    async def make() -> None:
        async with FakeServer(reply=judged) as server:
            run = await run_probe(server, out)
            assert run.outcome is not None and run.outcome.status == "success"
            asked = sum(answered(server).values())
            await run_probe(server, out)
            assert sum(answered(server).values()) == asked, "the second run asks nothing"

    asyncio.run(make())
    return out


def test_rows_without_an_answer_have_the_nearest_passages_and_no_qrels(probed: Path) -> None:
    release = scirgen.Release(probed)
    rows = list(release.rows())
    bare = [r for r in rows if not r.added()["answerable"]]
    assert bare and release.info.counts["unanswerable"] == len(bare)
    known = {p.id for p in release.passages()}
    qrels = {q for split in ("train", "dev", "test") for q in release.qrels(split)}
    for row in bare:
        assert (
            row.answer == ""
            and row.bloom == "C2"
            and row.evidence == ()
            and set(row.passages) <= known
            and row.passages
        )
        assert row.id not in qrels and str(row.added()["lacking"]).startswith(("missing", "near_miss"))
    assert {r.id for r in rows if r.answer} == qrels


def test_questions_that_the_judge_answers_are_rejections(probed: Path) -> None:
    run = scirgen.Run(probed)
    codes = {code for code in run.funnel()["probe"] if code.startswith("rejected:")}
    assert codes - {"rejected:duplicate", "rejected:schema"} == {"rejected:answered", "rejected:no_such_line"}
    assert run.funnel()["generate"]["outputs"] == len(list(run.records("generate", scirgen.QAPair)))
    asked = list(run.records("generate", Unanswerable))
    kept = list(run.records("probe", Unanswerable))
    assert 0 < len(kept) < len(asked)


def test_nuggets_point_at_their_words(probed: Path) -> None:
    run = scirgen.Run(probed)
    texts = {d.id: d.text for d in run.records("collect", Dataset)}
    texts |= {d.id: d.text for d in run.records("parse", Document)}
    rows = [r for r in scirgen.Release(probed).rows() if r.added()["nuggets"]]
    assert rows
    for row in rows:
        nuggets: Any = row.added()["nuggets"]
        assert 1 <= len(nuggets) <= 6
        for nugget in nuggets:
            assert texts[nugget["document_id"]][nugget["start"] : nugget["end"]] == nugget["text"] and nugget["vital"]
    accepted = {p.id for p in run.records("filter", scirgen.QAPair)}
    assert {n.pair_id for n in run.records("probe", Nugget)} <= accepted


def test_inspect_shows_facts_and_what_nothing_says(probed: Path) -> None:
    rows = {bool(r.answer): r for r in scirgen.Release(probed).rows() if r.added()["nuggets"] or not r.answer}
    with_facts, bare = (CliRunner().invoke(inspect, [str(probed), rows[has].id]).output for has in (True, False))
    nugget = cast(Any, rows[True].added()["nuggets"])[0]
    assert "== probe: " in with_facts and f"fact: {nugget['fact']}" in with_facts and nugget["text"] in with_facts
    assert f"question: {rows[False].question}" in bare.replace("\n     ", " ") and '{"' not in bare


def test_exports_know_rows_without_an_answer(probed: Path) -> None:
    release = scirgen.Release(probed)
    bare = {r.id for r in release.rows() if not r.answer}
    impossible: set[str] = set()
    for split in ("train", "dev", "test"):
        for article in json.loads((release.folder / "squad" / f"{split}.json").read_text())["data"]:
            for paragraph in article["paragraphs"]:
                for entry in paragraph["qas"]:
                    assert entry["is_impossible"] == (entry["answers"] == []) == (not entry["answerable"])
                    impossible |= {entry["id"]} if entry["is_impossible"] else set()
        alpaca = (release.folder / "alpaca" / f"{split}.jsonl").read_text().splitlines()
        assert not bare & {json.loads(line)["id"] for line in alpaca}
    assert impossible == bare


def test_the_report_counts_rows_without_an_answer_apart(probed: Path) -> None:
    bare = sum(not r.answer for r in scirgen.Release(probed).rows())
    for data in (gather(probed), gather_release(scirgen.Release(probed))):
        assert data.bare == bare > 0
    write_report(probed)
    assert f"{bare} that nothing in the texts answers" in (probed / "report.html").read_text(encoding="utf-8")


def test_an_audit_finds_no_fault_in_a_missing_answer(probed: Path) -> None:
    report = scirgen_bench.audit(probed / "release")
    bare = {r.question for r in scirgen.Release(probed).rows() if not r.answer}
    assert bare and report.defects["schema"] == 0


async def test_benchmarks_leave_them_out_or_score_abstention(probed: Path, tmp_path: Path) -> None:
    release = scirgen.Release(probed)
    assert all(r.answer for r in questions_of_split(release, "train"))
    (first, *others) = [r for r in release.rows("train") if not r.answer]
    same = [r for r in release.rows("train") if r.answer and first.question in r.question]

    def refusing(body: dict[str, Any]) -> dict[str, Any]:
        found = judged(body)
        if first.question in body["messages"][-1]["content"]:
            found["choices"][0]["message"]["content"] = "Unanswerable."
        return found

    async with FakeServer(reply=refusing) as server:
        settings = QASettings(f"openai:fake@{server.url}", ks=(1,), split="train")
        report = await run_qa(release, settings, load_registry(), tmp_path)
    row, yes = report.rows[0], report.rows[1]
    assert row.questions == sum(bool(r.answer) for r in release.rows("train"))
    assert row.metrics["unanswerable answered"] == pytest.approx(len(others) / (len(others) + 1), abs=1e-6)
    assert row.metrics["answerable refused"] == pytest.approx(len(same) / row.questions, abs=1e-6)
    assert yes.metrics["unanswerable answered"] == 1 and yes.metrics["answerable refused"] == 0
    assert "nuggets lenient" not in row.metrics, "no judge of nuggets is named"


async def test_answers_are_scored_by_the_nuggets_they_support(probed: Path, tmp_path: Path) -> None:
    release = scirgen.Release(probed)
    split = next(r.split for r in release.rows() if r.added()["nuggets"])
    async with FakeServer(reply=judged) as server:
        model = f"openai:fake@{server.url}"
        settings = QASettings(model, ks=(1,), split=split, nugget_judge=model)
        report = await run_qa(release, settings, load_registry(), tmp_path)
    row, copied = report.rows[0], report.rows[2]
    scored = [a.nuggets for a in report.answers if a.nuggets is not None]
    assert scored and row.metrics["nuggets lenient"] == pytest.approx(
        sum(n.lenient for n in scored) / len(scored), abs=1e-5
    )
    assert "nuggets contradicted" in row.metrics and "nuggets lenient" not in copied.metrics


@pytest.mark.parametrize(
    ("labels", "vital", "scores"),
    [
        (["support", "not_support", "partial_support"], [True, True, False], (0.5, 0.5, 0.0)),
        (["partial_support", "contradicted"], [True, False], (0.0, 0.25, 0.5)),
        (["support"], [False], (None, 1.0, 0.0)),
    ],
)
def test_nugget_recall_is_that_of_trec_rag(
    labels: list[str], vital: list[bool], scores: tuple[float | None, float, float]
) -> None:
    found = score_labels(labels, vital)
    assert (found.strict, found.lenient, found.contradicted) == scores


@pytest.mark.parametrize(
    ("answer", "refuses"),
    [("UNANSWERABLE", True), ("Unanswerable.", True), ("This is unanswerable", True), ("24", False), (None, False)],
)
def test_a_refusal_is_the_word_at_the_start(answer: str | None, refuses: bool) -> None:
    assert refused(answer) == refuses


def test_a_listing_and_cells_of_a_table_are_searched_and_references_are_not() -> None:
    pieces = {
        "other": "8 Vienna 17.23468",
        "table": "Tyrol 12.1",
        "reference": "Roe, Vienna, 2001",
        "paragraph": "Rain.",
    }
    text = "\n".join(pieces.values())
    blocks = tuple(
        Block(kind=BlockKind(kind), start=text.index(said), end=text.index(said) + len(said), page=1)
        for kind, said in pieces.items()
    )
    document = Document(id="doc-1", paper_id="p-1", text=text, blocks=blocks)
    run = SimpleNamespace(
        datasets=lambda: (Dataset(id="d-1", title="Poverty"),), uses=lambda: {"d-1": ["p-1"]},
        records=lambda stage, kind: iter((document,)),
    )  # fmt: skip
    found = " | ".join(Corpus(cast(RunView, run)).nearest("What is the poverty rate of Vienna?", "d-1"))
    assert "17.23468" in found and "Tyrol" in found and "2001" not in found


def test_without_the_section_the_call_stays_as_it_was() -> None:
    ctx, _ = make_context()
    prompt = ctx.prompts.get("generate/name").render(title="t", start="s")
    assert with_further(prompt, ProbeReply, 8, 0, ctx) == (prompt, ProbeReply, 0)


def test_a_strategy_that_would_not_ask_is_refused() -> None:
    ctx, _ = make_context(probe={"unanswerable": 0.5}, generate={"strategy": "evidence"})
    stage = load_registry().get("stage", "generate")
    with pytest.raises(scirgen.ConfigError, match=r"needs generate\.strategy=joint"):
        stage().check(ctx)  # type: ignore[operator]
    alone, _ = make_context(probe={"nuggets": True}, generate={"strategy": "evidence"})
    stage().check(alone)  # type: ignore[operator]  # nuggets need no call that writes pairs


def test_an_empty_section_says_what_to_set() -> None:
    with pytest.raises(scirgen.ConfigError, match=r"settings: probe: .* set probe\.unanswerable .* or probe\.nuggets"):
        resolve_config(flags={"probe": {}})
    off, _ = resolve_config(flags={"probe.unanswerable": 0})
    assert off.config.part("probe", ProbeConfig) == resolve_config()[0].config.part("probe", ProbeConfig)


SNOW = (
    "Snow depth was measured by three ultrasonic sensors every hour from 2001 to 2009. The sensors failed when the "
    "soil froze in the winter of 2004. Values were averaged over each day, because the wind moved the snow."
)


async def test_a_larger_corpus_proves_the_questions_again(tmp_path: Path) -> None:
    records = tmp_path / "in"
    records.mkdir()
    (records / "a.json").write_text(json.dumps({"id": "a", "title": "Snow depth at Arvel", "description": SNOW}))
    settings: dict[str, object] = {"input": str(records), "probe.unanswerable": 1.0}
    async with FakeServer(reply=judged) as server:
        run = await run_probe(server, tmp_path / "run", **settings)
        assert list(run.records("generate", Unanswerable))
        (records / "b.json").write_text(json.dumps({"id": "b", "title": "Snow depth at Norrun", "description": SNOW}))
        done = Done()
        flags = {**FLAGS, "models.generator": f"openai:fake@{server.url}", **settings}
        loaded, domain = resolve_config(domain="geo", flags=flags)
        await run_pipeline(tmp_path / "run", loaded.config, domain, observer=done)
    assert sorted(key for stage, key in done.executed if stage == "probe") == ["a", "b"]
    assert [key for stage, key in done.executed if stage == "filter"] == ["b"]


class Done(Observer):
    """Notes the items that were executed, not reused."""

    def __init__(self) -> None:
        self.executed: list[tuple[str, str]] = []

    def finished(self, result: StoredResult, *, reused: bool, seconds: float) -> None:
        if not reused:
            self.executed.append((result.stage, result.key))
