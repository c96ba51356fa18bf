"""report.html in a browser: figures add up, text from papers stays text, and the search works."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from scirgen.api import Run
from scirgen.cli.main import cli
from scirgen.cli.run.generate import summarise
from scirgen.core.records import (
    Aspect,
    AspectCategory,
    Block,
    BlockKind,
    Dataset,
    Document,
    Link,
    Paper,
    QAPair,
    Rejection,
    ReleaseFile,
    Score,
    Span,
)
from scirgen.pipeline.runner import Outcome
from scirgen.pipeline.store import Store
from scirgen.report import gather, write_report
from scirgen.report.charts import binned, histograms
from scirgen.report.page import render
from scirgen.report.plain import in_plain_words
from scirgen.report.profile import as_html, build_profile
from scirgen.stages.base import StageResult
from scirgen_bench.tasks.records import Query

SAMPLE = Path(__file__).parents[2] / "examples" / "release"
EVIL = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'> {{ 7411*7411 }} </script>"
TEXT = f"Snow depth was 12 cm in January. {EVIL} It rose to 30 cm in March."


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A small finished run, written through the store as the runner writes it."""
    document = Document(
        id="doc",
        paper_id="10.1/x",
        title=f"Snow {EVIL}",
        text=TEXT,
        blocks=(Block(kind=BlockKind.PARAGRAPH, start=0, end=len(TEXT), page=3),),
    )
    dataset = Dataset(id="d1", title=f"Snow depth {EVIL}", description="Depth of snow.")
    span = document.span(0, 33)
    aspect = Aspect(paper_id="10.1/x", category=AspectCategory.FINDINGS, span=span, dataset_id="d1")
    pairs = [
        QAPair(
            id=f"qa-{n}",
            dataset_id="d1",
            question=f"How deep was snow in place {n}? {EVIL}",
            answer="12 cm",
            question_type="quantification" if n % 2 else "definition",
            evidence=(span,),
            bloom=f"C{n % 3 + 1}",
            scores=(Score(name="shift", value=0.1 * n, threshold=0.0, passed=True),),
        )
        for n in range(7)
    ]
    refused = Rejection(
        stage="filter",
        code="pointing",
        reason="says 'this dataset'",
        record_kind="QAPair",
        record_id="qa-99",
        dataset_id="d1",
        question_type="definition",
        score=0.5,
        record=pairs[0].model_dump_json(),
    )
    results = {
        "collect": StageResult((dataset,)),
        "parse": StageResult((document,)),
        "match": StageResult((Link(dataset_id="d1", paper_id="10.1/x", found_by="doi", used=True),)),
        "verify": StageResult((aspect,)),
        "generate": StageResult((*pairs, pairs[0].model_copy(update={"id": "qa-99"}))),
        "filter": StageResult(tuple(pairs), (refused,)),
        "tag": StageResult(tuple(pairs)),
    }
    with Store(tmp_path / "run.db") as store:
        store.see_datasets(["d1"], 0, 1)
        for stage, result in results.items():
            store.use("d1", stage, "k", store.put(stage, "k", "f", result, 0.1).id)
        store.set_meta(
            "manifest", json.dumps({"domain": "geo", "models": {"generator": "fake:m"}, "usage": {"calls": 3}})
        )
    return tmp_path


def test_figures_add_up(run: Path) -> None:
    data = gather(run)
    assert data.rows == 7 == sum(r.rows for r in data.types) == sum(data.bloom.values())
    generate, filtered = (next(r for r in data.funnel if r.stage == s) for s in ("generate", "filter"))
    assert generate.outputs == filtered.outputs + sum(filtered.rejected.values())
    assert data.aspects[0].groups == 1 and data.aspects[0].words == 7
    assert data.papers_per_dataset == {"1": 1}
    assert {(s.name, s.accepted) for s in data.scores} == {("shift", True), ("shift", False)}


def test_first_screen_says_what_the_dataset_is(run: Path) -> None:
    page = render(gather(run))
    assert "7 questions with answers, of " in page and "about 1 dataset of the domain geo" in page
    assert "written by fake:m" in page


def test_codes_are_explained_on_hover_and_in_a_legend(run: Path) -> None:
    page = render(gather(run))
    assert '<abbr title="The question points at something its reader cannot see' in page
    assert "<dt><code>pointing</code></dt>" in page


def test_what_never_became_a_candidate_is_counted_apart(run: Path) -> None:
    nothing = Rejection(
        stage="generate", code="no_evidence", reason="none", record_kind="QAPair", record_id="c", dataset_id="d1"
    )
    with Store(run / "run.db") as store:
        store.use("d1", "generate", "k2", store.put("generate", "k2", "f", StageResult((), (nothing,)), 0.1).id)
    data = gather(run)
    assert data.defects == {"pointing": 1} and data.unwritten == {"no_evidence": 1}


@pytest.fixture
def judged(run: Path) -> Path:
    """The run with eight rows that calibrated kept, and one that it rejected."""
    kept = [
        QAPair(
            id=f"k-{n}",
            dataset_id="d1",
            question=f"Kept {n}?",
            answer="a",
            question_type="example",
            scores=(
                Score(name="calibrated", value=n / 10, threshold=0.0, passed=True),
                Score(name="shift", value=0.0, abstained=True),
            ),
        )
        for n in range(1, 9)
    ]
    bad = kept[0].model_copy(
        update={"id": "bad", "scores": (Score(name="calibrated", value=-0.5, threshold=0.0, passed=False),)}
    )
    refused = Rejection(
        stage="filter",
        code="calibrated",
        reason="the evidence prefers '3' to '4'",
        record_kind="QAPair",
        record_id="bad",
        dataset_id="d1",
        question_type="example",
        score=-0.5,
        record=bad.model_dump_json(),
    )
    with Store(run / "run.db") as store:
        store.use("d1", "tag", "k2", store.put("tag", "k2", "f", StageResult(tuple(kept)), 0.1).id)
        store.use("d1", "filter", "k2", store.put("filter", "k2", "f", StageResult((), (refused,)), 0.1).id)
    return run


def test_rejected_and_kept_rows_stand_side_by_side_at_the_threshold(judged: Path) -> None:
    data = gather(judged)
    (sides,) = data.sides
    assert sides.score == "calibrated" and [r.id for r in sides.rejected] == ["bad"]
    assert [r.id for r in sides.kept] == ["k-1", "k-2", "k-3", "k-4", "k-5"]
    assert sum(s.name == "shift" for s in data.scores) == 8, "a score that found nothing to measure is not counted"
    page = render(data)
    assert "the evidence prefers &#39;3&#39; to &#39;4&#39;" in page and "rejected by calibrated" in page
    assert '<a href="#bad">' in page


def test_what_judged_nothing_is_named(run: Path) -> None:
    idle = {"kind": "scorer", "name": "calibrated", "reason": "it found nothing to measure in 7 pairs"}
    with Store(run / "run.db") as store:
        store.set_meta("manifest", json.dumps({"judged_nothing": [idle]}))
    said = "scorer calibrated (it found nothing to measure in 7 pairs)"
    assert gather(run).judged_nothing == (said,) and said in render(gather(run))


def test_tokens_for_each_row_are_those_of_all_models_in_report_and_status(run: Path) -> None:
    usage = {n: {"calls": 3, "prompt_tokens": 7000, "completion_tokens": 700} for n in ("generator", "scorer")}
    with Store(run / "run.db") as store:
        store.set_meta("manifest", json.dumps({"usage": usage}))
        made = ReleaseFile(path="release/train.jsonl", sha256="0", bytes=1, rows=7)
        store.use("d1", "release", "k", store.put("release", "k", "f", StageResult((made,)), 0.1).id)
    page, said = render(gather(run)), CliRunner().invoke(cli, ["status", str(run)]).output
    assert "tokens in / out per row, all models" in page and "2,000 / 200" in page
    assert "took 2,000 prompt tokens and 200 reply tokens of all models" in said


def test_losses_are_those_of_all_steps_in_the_unit_of_their_step(run: Path) -> None:
    lost = [
        Rejection(
            stage="verify", code="irrelevant", reason="r", record_kind="Aspect", record_id=f"a{n}", dataset_id="d1"
        )
        for n in range(9)
    ]
    with Store(run / "run.db") as store:
        store.see_datasets(["d1", "d2"], 0, 1)
        store.use("d1", "verify", "k9", store.put("verify", "k9", "f", StageResult((), tuple(lost)), 0.1).id)
        other = Dataset(id="d2", title="Ice", description="Ice.")
        store.use("d2", "collect", "k9", store.put("collect", "k9", "f", StageResult((other,)), 0.1).id)
    page = render(gather(run))
    assert "sentences kept, counted for each dataset that uses their paper" in page
    assert "about 1 of 2 datasets of the domain geo" in page


def test_a_table_that_is_not_read_is_no_lost_paper(run: Path) -> None:
    lost = [
        Rejection(stage=stage, code=code, reason="r", record_kind=kind, record_id=code, dataset_id="d1")
        for stage, code, kind in (
            ("parse", "table_columns", "Table"),
            ("parse", "no_sentence", "Paper"),
            ("answer", "one_document", "QAPair"),
        )
    ]
    with Store(run / "run.db") as store:
        for one in lost:
            store.use("d1", one.stage, one.code, store.put(one.stage, one.code, "f", StageResult((), (one,)), 0.1).id)
    page = render(gather(run))
    flow = page[page.index('class="flow"') :].partition("</ol>")[0]
    assert "no sentence" in flow and "table columns" not in flow and "one document" not in flow
    assert "table columns 1" in page.replace("</abbr>", "")


def test_evidence_is_shown_in_its_surroundings_with_its_page(run: Path) -> None:
    shown = next(r for r in gather(run).sample if r.status == "accepted").evidence[0]
    assert shown.text == TEXT[0:33] and shown.after.startswith(TEXT[33:40]) and shown.where.endswith("page 3")


def test_cells_are_shown_after_their_headers_and_evidence_left_out_is_counted(run: Path) -> None:
    pieces = [Span(document_id="doc", start=n, end=n + 1, text=TEXT[n], page=3) for n in range(5)]
    cell = {"document_id": "doc", "page": 8, "medium": "table"}
    pieces[1:1] = [
        Span(start=17, end=19, text="12", headers=("[15, 45]", "Iter."), **cell),
        Span(start=44, end=46, text="30", headers=("[15, 45]", "RE"), **cell),
        *(Span(start=0, end=4, text=text, role="context", **cell) for text in ("[15, 45]", "Iter.", "RE")),
    ]
    pair = QAPair(id="t", dataset_id="d1", question="Q?", answer="12", question_type="example", evidence=tuple(pieces))
    with Store(run / "run.db") as store:
        store.use("d1", "tag", "t", store.put("tag", "t", "f", StageResult((pair,)), 0.1).id)
    evidence = next(r for r in gather(run).sample if r.id == "t").evidence
    assert evidence[1].text == "[15, 45]; Iter.: 12\n[15, 45]; RE: 30"
    assert (evidence[1].before, evidence[1].after) == ("", "") and evidence[1].where.endswith("page 8")
    assert len(evidence) == 5 and evidence[4].where == "2 more: scirgen inspect RUN ROW_ID"


def test_a_rejection_without_a_question_shows_its_reason_in_its_place(run: Path) -> None:
    nothing = Rejection(
        stage="generate",
        code="no_evidence",
        reason="the metadata holds nothing",
        record_kind="QAPair",
        record_id="cand-1",
    )
    with Store(run / "run.db") as store:
        store.use("d1", "generate", "k2", store.put("generate", "k2", "f", StageResult((), (nothing,)), 0.1).id)
    shown = next(r for r in gather(run).sample if r.id == "cand-1")
    assert shown.question == "(no question: the metadata holds nothing)"
    assert gather(run).sample_of == 9


def test_sample_has_every_type_and_reason_and_is_always_the_same(run: Path) -> None:
    with Store(run / "run.db") as store:
        common = tuple(
            QAPair(id=f"c-{n}", dataset_id="d1", question=f"Q {n}?", answer="a", question_type="example")
            for n in range(90)
        )
        store.use("d1", "tag", "common", store.put("tag", "common", "f", StageResult(common), 0.1).id)
    first, again = gather(run, sample=12), gather(run, sample=12)
    assert first == again
    types = [r.question_type for r in first.sample if r.status == "accepted"]
    assert len(types) == 12 and types.count("quantification") == 3 and types.count("definition") == 4
    assert first.sample_of == 98


def test_score_steps_lose_nothing_and_keep_borders_apart() -> None:
    step, counts = binned([(n / 1000, bool(n % 3)) for n in range(-200, 1001)])
    assert step == 0.05 and counts.total() == 1201 and len({n for n, _ in counts}) <= 41
    assert counts[0, True] + counts[0, False] == 50, "0.000 to 0.049; a value on a border begins the next step"
    assert binned([(0.3, True)])[1].total() == 1


def test_charts_show_both_verdicts_and_the_threshold_on_one_axis(judged: Path) -> None:
    calibrated, shift = histograms(gather(judged).scores)
    assert (calibrated.name, shift.name) == ("calibrated", "shift")
    assert [(p.verdict, p.pairs) for p in calibrated.panels] == [("rejected", 1), ("kept", 8)]
    ((place, value),) = calibrated.thresholds
    assert value == 0.0 and calibrated.panels[0].bars[0][0] < place < calibrated.panels[1].bars[0][0]
    assert all(left >= 0 and left + wide <= 100.1 for p in calibrated.panels for left, _, wide, _ in p.bars)


def test_who_judged_and_what_was_lost_where_is_on_the_first_screen(run: Path) -> None:
    page = render(gather(run).model_copy(update={"judged": ("Judged by x; not tested against people.",)}))
    first, _, _ = page.partition('id="types"')
    assert "Judged by x; not tested against people." in first and f"<h1>{run.name}</h1>" in first
    assert "<b>−1 pointing</b> <span>The question points at something its reader cannot see." in first


def test_losses_are_said_in_plain_sentences(run: Path) -> None:
    documents = [Document(id=f"doc{n}", paper_id=f"10.1/{n}", text=TEXT, blocks=()) for n in range(7)]
    files = [Paper(id=f"10.1/{n}", title="Ice", file=f"/home/me/{n}.pdf") for n in (6, 5, 4, 3, "s")]
    scan = Rejection(stage="parse", code="no_text", reason="scan", record_kind="Paper", record_id="10.1/s")
    table = Rejection(stage="parse", code="table_header", reason="no", record_kind="Table", record_id="10.1/2#0")
    unnamed = Rejection(stage="match", code="not_named", reason="no", record_kind="Link", record_id="d1|10.1/2")
    with Store(run / "run.db") as store:
        store.see_datasets(["d1", "d2"], 0, 1)
        for stage, result in (
            ("parse", StageResult(tuple(documents), (scan, table))),
            ("match", StageResult((), (unnamed,))),
            ("collect", StageResult((Dataset(id="d2", title="Ice", description="Ice."), *files))),
        ):
            store.use("d1", stage, "k9", store.put(stage, "k9", "f", result, 0.1).id)
    assert in_plain_words(gather(run)) == [
        "Read: 2 records of datasets and 8 papers.",
        "1 of 9 papers could not be read (s.pdf). The file contains no text (1).",
        "1 remark on papers that were read. No row of the table names its columns (1).",
        "7 of your 8 papers are used by no dataset (3.pdf, 4.pdf, 5.pdf, ...). "
        "The paper does not name the dataset (1).",
        "1 of 2 records gave no question.",
        "7 of 8 candidate questions were kept. The question points at something its reader cannot see (1).",
    ]


@pytest.mark.parametrize(("model", "first"), [("bundled:smollm2-135m@x", True), ("openai:m", False)])
def test_the_report_begins_with_what_the_embedded_model_is(run: Path, model: str, first: bool) -> None:
    page = render(gather(run).model_copy(update={"models": {"generator": model, "scorer": "bundled:smollm2-135m"}}))
    lead = page.partition("</h1>")[2].lstrip()
    assert (
        lead.startswith('<p class="lead why"><strong>The embedded model (135M parameters) and its rules wrote') is first
    )
    assert ("not a dataset to use" in page) is first


def test_ten_rows_and_what_may_be_published_come_before_the_figures(tmp_path: Path) -> None:
    page = write_report(SAMPLE / "release" / "en", tmp_path).read_text("utf-8").partition('id="types"')[0]
    assert page.count("<article>") == 10 and ", page " in page
    table = page.partition('id="publishing"')[2]
    assert "yes, naming the source" in table and "each by the strictest of its licences" in table


def test_each_dataset_gets_a_page_that_the_report_links(run: Path) -> None:
    page = write_report(run, pages=True).read_text("utf-8")
    (file,) = (run / "datasets").iterdir()
    text = file.read_text("utf-8")
    assert f'<a href="datasets/{file.name}">' in page
    assert text.count('<li id="row-') == 7 and "<script" not in text and "<img src=x" not in text


def test_a_page_full_of_long_rows_stays_under_five_megabytes(run: Path) -> None:
    filler = " ".join(f"word{n}" for n in range(400))
    text = ". ".join(f"{n} {filler}" for n in range(5))
    document = Document(id="long", paper_id="10.1/y", title="Long", text=text, blocks=())
    spans = tuple(document.span(n * 500, n * 500 + 400) for n in range(4))
    pairs = tuple(
        QAPair(id=f"l-{n}", dataset_id="d1", question=f"Q {n}?", answer=text, question_type="example", evidence=spans)
        for n in range(400)
    )
    refused = tuple(
        Rejection(
            stage="filter",
            code="shift",
            reason="too low",
            record_kind="QAPair",
            record_id=f"r-{n}",
            dataset_id="d1",
            question_type="example",
            record=p.model_dump_json(),
        )
        for n, p in enumerate(pairs)
    )
    with Store(run / "run.db") as store:
        for stage, result in (
            ("parse", StageResult((document,))),
            ("tag", StageResult(pairs)),
            ("filter", StageResult((), refused)),
        ):
            store.use("d1", stage, "long", store.put(stage, "long", "f", result, 0.1).id)
    page = write_report(run)
    assert gather(run).sample_of == 808 and len(gather(run).sample) == 600
    assert page.stat().st_size < 5_000_000


def test_text_from_papers_is_escaped_in_the_file(run: Path) -> None:
    page = write_report(run).read_text()
    assert "<script>window.hacked" not in page and "<img src=x" not in page and "54922921" not in page
    assert json.loads((run / "report.json").read_text())["rows"] == 7
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page


VISIBLE = "[...document.querySelectorAll('#list > li')].filter(row => !row.hidden).length"
CONTRAST = """selector => {
  const luminance = rgb => rgb.map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const parse = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const element = document.querySelector(selector);
  const probe = document.createElement("i");
  probe.style.color = "Canvas";
  document.body.append(probe);
  const ground = getComputedStyle(element).backgroundColor;
  const behind = /, 0\\)$/.test(ground) ? parse(getComputedStyle(probe).color) : parse(ground);
  const [light, dark] = [luminance(parse(getComputedStyle(element).color)), luminance(behind)].sort((x, y) => y - x);
  return (light + .05) / (dark + .05);
}"""
"""Contrast of an element's text with its background, as WCAG 2 defines it."""


@pytest.fixture
def long_run(run: Path) -> Path:
    """The run with 50 more rows, so that the table has several pages."""
    with Store(run / "run.db") as store:
        pairs = tuple(
            QAPair(
                id=f"more-{n:02}",
                dataset_id="d1",
                question=f"How wide was lake {n}?",
                answer=f"{n} km {EVIL}",
                question_type="quantification",
                bloom="C2",
            )
            for n in range(50)
        )
        store.use("d1", "tag", "more", store.put("tag", "more", "f", StageResult(pairs), 0.1).id)
    return run


@pytest.mark.browser
def test_page_opens_without_errors_and_its_filters_work(run: Path) -> None:
    for page, problems in _opened(write_report(run)):
        assert page.evaluate("window.hacked") is None
        assert page.evaluate(VISIBLE) == 8
        page.select_option("[data-filter=status]", "rejected")
        assert page.evaluate(VISIBLE) == 1
        assert page.inner_text("#list > li:not([hidden]) .tags strong") == "rejected: pointing"
        page.select_option("[data-filter=type]", "quantification")
        assert page.evaluate(VISIBLE) == 0
        page.fill("[data-filter=search]", "no such words")
        assert page.inner_text("#count") == "No row fits, of 8"
        page.click("#clear")
        page.fill("[data-filter=search]", "place 6")
        assert page.evaluate(VISIBLE) == 1
        assert page.inner_text("#count") == "Showing rows 1 to 1 of 1 that fit, of 8"
        page.set_viewport_size({"width": 380, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 380
        unnamed = "[...document.querySelectorAll('svg')].filter(s => !s.getAttribute('aria-label')).length"
        assert page.evaluate(unnamed) == 0
        assert problems == []


@pytest.mark.browser
def test_a_datasets_page_fits_a_window_and_a_phone(run: Path, tmp_path: Path) -> None:
    found = build_profile(run, "d1")
    row = found.rows[0].model_copy(update={"asked_with": "Depth of snow " * 20})
    (tmp_path / "page.html").write_text(as_html(found.model_copy(update={"rows": (row,)})), encoding="utf-8")
    for page, _ in _opened(tmp_path / "page.html"):
        for width in (1000, 390):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
def test_rows_come_in_pages_and_open_on_demand(long_run: Path) -> None:
    for page, problems in _opened(write_report(long_run)):
        assert page.evaluate(VISIBLE) == 20
        assert page.evaluate("document.querySelectorAll('#list details[open]').length") == 0
        assert page.inner_text("#count") == "Showing rows 1 to 20 of 58"
        first = page.inner_text("#list > li:not([hidden]) .q")
        page.click("nav[aria-label='Pages, above'] [data-page='1']")
        assert page.inner_text("#list > li:not([hidden]) .q") != first
        page.click("nav[aria-label='Pages, below'] [data-page='1']")
        assert page.evaluate(VISIBLE) == 18
        assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
        assert page.get_attribute("nav[aria-label='Pages, below'] [data-page='1']", "aria-disabled") == "true"
        page.evaluate("""document.querySelector("nav[aria-label='Pages, below'] [data-page='1']").click()""")
        assert page.evaluate(VISIBLE) == 18
        page.click("#open")
        assert page.evaluate("document.querySelectorAll('#list details[open]').length") == 18
        page.fill("[data-filter=search]", "lake")
        assert page.inner_text("#count") == "Showing rows 1 to 20 of 50 that fit, of 58"
        assert page.evaluate("window.hacked") is None
        assert problems == []


@pytest.mark.browser
def test_a_row_opens_by_keyboard_and_by_its_address(long_run: Path) -> None:
    file = write_report(long_run)
    for page, problems in _opened(file):
        page.focus("#clear")
        for _ in range(4):  # Previous, Next, Open all, the first row
            page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.querySelector('#list > li:not([hidden]) summary')")
        page.keyboard.press("Enter")
        assert page.evaluate("document.querySelector('#list > li:not([hidden]) details').open")
        page.goto(file.as_uri() + "#more-49")
        assert page.is_visible("#more-49 p")
        assert page.evaluate("document.querySelectorAll('#list details[open]').length") >= 1
        page.evaluate("location.hash = 'qa-99'")
        page.wait_for_selector("#qa-99 .why", state="visible")
        page.evaluate("location.hash = '%'")
        assert problems == []


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_coloured_text_can_be_read_in_light_and_dark(run: Path, scheme: str) -> None:
    for page, _ in _opened(write_report(run), color_scheme=scheme):
        page.click("#open")
        for selector in ("body", "a", ".accepted summary strong", ".rejected summary strong", ".why", "mark"):
            assert page.evaluate(CONTRAST, selector) >= 4.5, selector


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_that_keeps_people_out(judged: Path, scheme: str) -> None:
    """axe-core's rules (WCAG 2 A and AA, best practices) over the report with all rows open."""
    from axe_playwright_python.sync_playwright import Axe

    for page, _ in _opened(write_report(judged), color_scheme=scheme, bypass_csp=True):
        page.evaluate("document.querySelector('#open')?.click()")
        found = Axe().run(page).response["violations"]
        assert [(v["id"], v["nodes"][0]["html"]) for v in found] == []


@pytest.mark.browser
def test_a_page_without_javascript_lists_every_row(long_run: Path) -> None:
    for page, _ in _opened(write_report(long_run), java_script_enabled=False):
        assert page.locator("#list > li:visible").count() == 58
        assert page.locator(".controls:visible, nav.pager:visible").count() == 0
        page.click("#list > li summary")
        assert page.locator("#list > li p:visible").count() > 0


@pytest.mark.browser
def test_a_run_without_rows_says_so(tmp_path: Path) -> None:
    with Store(tmp_path / "run.db") as store:
        store.see_datasets(["d1"], 0, 1)
    for page, problems in _opened(write_report(tmp_path)):
        assert page.inner_text("#rows p") == "There are none yet: no candidate was accepted or rejected."
        assert page.locator("nav.pager, .controls").count() == 0
        assert problems == []


@pytest.mark.browser
def test_a_release_has_a_report_too(tmp_path: Path) -> None:
    record = {
        "id": "r1",
        "context": {"metadata": {"titleEn": f"Snow {EVIL}", "description": "Depth."}},
        "extract_pdfs_data": [{"background": ["One two."]}],
        "query": {
            "Definition": [
                {"QuestionEn": f"What is it, {n}? {EVIL}", "AnswerEn": EVIL, "Level": "C2"} for n in range(30)
            ]
        },
        "split": "train",
    }
    (tmp_path / "records.jsonl").write_text(json.dumps(record) + "\n")
    for command in (
        ["import", "scirgen-geo", str(tmp_path / "records.jsonl"), str(tmp_path / "geo")],
        ["report", str(tmp_path / "geo")],
    ):
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == 0, result.output
    for page, problems in _opened(tmp_path / "geo-report" / "report.html"):
        assert page.evaluate(VISIBLE) == 20
        page.click("#open")
        assert page.evaluate("window.hacked") is None
        assert page.inner_text("h1") == "ScIRGen-Geo"
        assert page.locator("#funnel, #usage").count() == 0
        assert problems == []


@pytest.mark.parametrize("language", ["en", "es", "pt"])
def test_the_public_sample_s_report_counts_what_its_card_says(language: str, tmp_path: Path) -> None:
    release, stated = SAMPLE / "release" / language, json.loads((SAMPLE / "figures.json").read_text())["runs"][language]
    shown = json.loads(write_report(release, tmp_path).with_suffix(".json").read_text())
    lines = [line for split in ("train", "dev", "test") for line in (release / f"{split}.jsonl").open(encoding="utf-8")]
    assert shown["rows"] == len(lines) == stated["accepted"]
    assert sum(t["rows"] for t in shown["types"]) == stated["accepted"]


def _opened(file: Path, **context: Any) -> Iterator[tuple[Any, list[str]]]:
    """The page, and what went wrong on it: messages, errors, requests."""
    problems: list[str] = []
    for browser in _browser():
        page = browser.new_context(**context).new_page()
        page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: problems.append(str(e)))
        page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else problems.append(r.url))
        page.goto(file.as_uri())
        yield page, problems


def _browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    flags = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        yield browser
        browser.close()


def test_a_run_of_queries_alone_names_them_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        Query(id=f"q{n}", recipe=recipe, form="facet", text="t", paper_id="p1")
        for n, recipe in enumerate(("facets", "facets", "recommend"))
    ]
    with Store(tmp_path / "run.db") as store:
        store.see_datasets(["d1"], 0, 1)
        store.use("d1", "query", "k", store.put("query", "k", "f", StageResult(tuple(asked)), 0.1).id)
    assert render(gather(tmp_path)).count("3 retrieval queries (facets 2, recommend 1)") >= 1
    shown = CliRunner().invoke(cli, ["status", str(tmp_path)], catch_exceptions=False).output
    assert "queries: facets 2, recommend 1" in shown
    assert summarise(Run(tmp_path, Outcome("success", 1, 0))) == 0
    said = capsys.readouterr().out
    assert said.startswith("success: 3 queries (facets 2, recommend 1), from 1 dataset\n")
    assert "no questions; queries in tasks/" in said and "scirgen inspect" not in said
