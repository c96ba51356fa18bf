"""``scirgen profile``: a dataset's profile as a person reads it, from a run's folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen.core.records import (
    Aspect,
    AspectCategory,
    Block,
    BlockKind,
    Dataset,
    Document,
    Grade,
    Link,
    Paper,
    QAPair,
    Rejection,
    SectionClass,
)
from scirgen.pipeline.store import Store
from scirgen.report.figures import gather
from scirgen.report.profile import Sheet, as_html, as_markdown, build_profile, markdown_text
from scirgen.stages.base import StageResult

EVIL = (
    "<script>alert(1)</script> <img src=x onerror=alert(2)> "
    "[click](javascript:alert(3)) `code` **bold** {{ 7411*7411 }}"
)
SENTENCE = f"Streamflow fell by 18 % in summer {EVIL}."
PLAIN = "Snow melted earlier, as the four stations show."


@pytest.fixture
def run(tmp_path: Path) -> Path:
    file = tmp_path / "a (first) paper.pdf"
    file.write_bytes(b"%PDF-")
    text = f"{SENTENCE}\n\n{PLAIN}"
    cut = len(SENTENCE)
    document = Document(
        id="doc", paper_id="10.1/p", title="On flow", text=text,
        blocks=(
            Block(kind=BlockKind.PARAGRAPH, start=0, end=cut, page=3),
            Block(kind=BlockKind.PARAGRAPH, start=cut + 2, end=len(text), page=7),
        ),
    )  # fmt: skip
    dataset = Dataset(
        id="flow-1", title=f"Flow {EVIL}", doi="10.5072/Flow.1", url="javascript:alert(4)", description="Daily."
    )
    first = document.span(0, cut, SectionClass.EXPERIMENT)
    second = document.span(cut + 2, len(text), SectionClass.EXPERIMENT)
    link = Link(
        dataset_id="flow-1",
        paper_id="10.1/p",
        found_by="doi",
        used=True,
        explanation="It is named.",
        evidence=(second,),
    )
    kept = [
        Aspect(paper_id="10.1/p", category=AspectCategory.FINDINGS, span=s, dataset_id="flow-1", reason="flow")
        for s in (first, second)
    ]
    piece = kept[0].model_copy(update={"span": document.span(cut + 2, cut + 21, SectionClass.EXPERIMENT), "reason": ""})
    chosen = [a.model_copy(update={"dataset_id": None, "reason": ""}) for a in (*kept, piece)]
    other = Paper(id="10.1/q", title="Another")
    gone = [
        Rejection(
            stage="match",
            code="not_named",
            reason="no trace",
            record_kind="Link",
            record_id="flow-1|10.1/q",
            dataset_id="flow-1",
        ),
        Rejection(
            stage="verify",
            code="incomplete",
            reason="a piece",
            record_kind="Aspect",
            record_id=piece.id,
            dataset_id="flow-1",
        ),
        Rejection(
            stage="generate",
            code="surplus",
            reason="2 calls are full",
            record_kind="Aspect",
            record_id=kept[1].id,
            dataset_id="flow-1",
        ),
    ]
    steps = {
        "collect": StageResult((dataset, Paper(id="10.1/p", file=str(file)), other)),
        "parse": StageResult((document,)),
        "match": StageResult((link,), (gone[0],)),
        "extract": StageResult(tuple(chosen)),
        "verify": StageResult(tuple(kept), (gone[1],)),
        "generate": StageResult((), (gone[2],)),
    }
    with Store(tmp_path / "run.db") as store:
        store.see_datasets(["flow-1"], 0, 1)
        for stage, result in steps.items():
            store.plan("flow-1", stage, ["k"])
            store.use("flow-1", stage, "k", store.put(stage, "k", "f", result, 0.0).id)
    return tmp_path


def test_profile_puts_sentences_under_their_aspect_with_page_links(run: Path) -> None:
    built = build_profile(run, "flow-1")
    [(name, sentences)] = built.aspects
    assert name == "Findings" and [s.page for s in sentences] == [3, 7]
    assert sentences[0].link.endswith("/a%20%28first%29%20paper.pdf#page=3")
    assert built.papers[0].title == "On flow" and built.papers[0].evidence[0].text == PLAIN
    assert built.candidates_rejected == (("Another", "no trace"),)


def test_a_row_that_another_dataset_answers_is_on_that_datasets_page_which_says_with_what_it_was_asked(
    run: Path,
) -> None:
    grade = Grade(passage_id="psg", document_id="snow-2", start=0, end=5, grade=2)
    row = QAPair(
        id="qa-1", dataset_id="snow-2", question="Where is snow?", answer="Here.", question_type="", asked="seeking",
        about="dataset", grades=(grade,),
    )  # fmt: skip
    refused = row.model_copy(update={"id": "qa-2", "dataset_id": "flow-1"})
    dropped = Rejection.of("filter", "pointing", "it points", refused)
    with Store(run / "run.db") as store:
        store.see_datasets(["flow-1", "snow-2"], 1, 2)
        snow = Dataset(id="snow-2", title="Snow")
        for dataset, stage, result in (
            ("snow-2", "collect", StageResult((snow,))),
            ("flow-1", "filter", StageResult((row,), (dropped,))),
            ("flow-1", "tag", StageResult((row,))),
        ):
            store.plan(dataset, stage, ["k2"])
            store.use(dataset, stage, "k2", store.put(stage, "k2", "f", result, 0.0).id)
    assert not build_profile(run, "flow-1").rows
    (shown,) = build_profile(run, "snow-2").rows
    assert shown.id == "qa-1" and shown.asked_with.startswith("Flow ")
    assert "asked with Flow" in as_markdown(build_profile(run, "snow-2"))
    assert "asked with “Flow" in as_html(build_profile(run, "snow-2"))
    assert {r.id: r.dataset for r in gather(run).sample} == {"qa-1": "Snow", "qa-2": "Snow"}


def test_profile_accounts_for_every_chosen_sentence(run: Path) -> None:
    built = build_profile(run, "flow-1")
    left = [(s.text, s.reason) for s in built.left_out]
    assert left == [("Snow melted earlier", "incomplete: a piece"), (PLAIN, "surplus: 2 calls are full")]
    assert built.chosen == 3
    assert "2 of 3 chosen sentences" in as_markdown(built) and "2 of 3 chosen sentences" in as_html(built)


def test_badges_stand_in_the_margin_line_by_line() -> None:
    frames = (3, 10, 10.5, 5, 1), (13, 20, 10.9, 5, 1), (3, 30, 11, 5, 1), (2, 10, 13, 5, 1)
    assert Sheet(paper=1, page=1, src="", width=9, height=9, frames=frames).badges == {10: [3, 13], 12: [2]}


def test_profile_when_text_is_hostile_then_it_stays_text_in_both_formats(run: Path) -> None:
    built = build_profile(run, "flow-1")
    page, markdown = as_html(built), as_markdown(built)
    for html in (page, MarkdownIt().render(markdown)):
        assert "<script" not in html and "<img" not in html and "54922921" not in html
        assert "<strong>" not in html and "<code>" not in html
        assert not re.search(r'href="(?!file:|https://doi\.org/)', html)
        assert "alert(1)" in html  # shown as what it is
    assert f"{PLAIN} " in markdown and "#page=7" in markdown


@pytest.mark.parametrize("wanted", ["flow-1", "flow", "10.5072/flow.1", "https://doi.org/10.5072/Flow.1"])
def test_profile_when_id_prefix_or_doi_then_found(run: Path, wanted: str) -> None:
    assert build_profile(run, wanted).id == "flow-1"


def test_profile_when_unknown_dataset_then_says_which_there_are(run: Path) -> None:
    with pytest.raises(InputError) as caught:
        build_profile(run, "flow-2")
    assert "flow-1" in caught.value.hint


def test_profile_command_when_out_is_given_then_writes_the_file(run: Path) -> None:
    target = run / "profile.html"
    done = CliRunner().invoke(cli, ["profile", str(run), "flow-1", "--format", "html", "--out", str(target)])
    assert done.exit_code == 0, done.output
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    "text", ["21. Yang K, Jiang Y.", "- a dash", "+ a plus", "3) a number", "1.5 mm of rain", "# no heading", "=== x"]
)
def test_markdown_text_when_it_looks_like_markup_then_it_shows_as_itself(text: str) -> None:
    html = MarkdownIt().render("- " + markdown_text(text))
    assert html.replace("\n", "") == f"<ul><li>{text}</li></ul>"
