"""The card says what this run did, from its rows and counts; no fixed sentence that another run would contradict."""

from __future__ import annotations

import pytest

from scirgen.core.records import Score
from scirgen.release_files.release import TaskInfo
from scirgen.stages.release.content import from_run
from tests.support.content_factory import PROVENANCE, small_run
from tests.support.release_writing import info, write, write_content


def pages(release) -> tuple[str, str]:
    return (release.folder / "README.md").read_text("utf-8"), (release.folder / "datasheet.md").read_text("utf-8")


def written_by(run, *models):
    """The run with its pairs' writers replaced, in turn; None: a rule."""
    origins = [PROVENANCE.model_copy(update={"stage": "generate", "model": m, "prompt": m and "p@1#a"}) for m in models]
    run.all_pairs = [
        p.model_copy(update={"provenance": origins[i % len(origins)]}) for i, p in enumerate(run.all_pairs)
    ]
    return run


@pytest.mark.parametrize(
    ("models", "sentence"),
    [
        (("openai:m",), "A language model wrote the questions and answers"),
        ((None,), "Rules wrote the questions and answers"),
        (("openai:m", None), "a language model the others"),
    ],
)
def test_the_card_says_who_wrote_the_rows(models, sentence, tmp_path):
    release = write(written_by(small_run(), *models), tmp_path / "release")
    rows = list(release.rows())
    by_rules = sum(r.model is None for r in rows)
    assert 0 < by_rules < len(rows) or len(set(models)) == 1
    card, sheet = pages(release)
    assert sentence in card and sentence in sheet
    if 0 < by_rules < len(rows):
        assert f"Rules wrote {by_rules:,} of the {len(rows):,} questions" in card


@pytest.mark.parametrize(("model", "embedded"), [("bundled:smollm2-135m@abc", True), ("openai:m", False)])
def test_the_card_begins_with_what_the_embedded_model_is(model, embedded, tmp_path):
    card, _ = pages(write(written_by(small_run(), model), tmp_path / "release"))
    body = card.partition("\n# ")[2].partition("\n")[2].lstrip()
    assert body.startswith("**The embedded model (135M parameters) and its rules wrote these rows.") is embedded
    assert ("not a dataset to use" in card) is embedded


def test_the_card_names_the_scores_that_decided_and_their_threshold(tmp_path):
    run = small_run()
    scores = (Score(name="judge", value=1.0, threshold=0.5, passed=True), Score(name="shift", value=0.3))
    run.all_pairs = [p.model_copy(update={"scores": scores}) for p in run.all_pairs]
    release = write(run, tmp_path / "release")
    rows = sum(1 for _ in release.rows())
    for page in pages(release):
        assert f"Scores that decided which rows were kept: judge ({rows} rows, threshold 0.5)." in page
        assert "Measured without deciding: shift." in page


def test_the_card_of_a_run_without_scores_claims_no_filter(tmp_path):
    run = small_run()
    run.all_pairs = [p.model_copy(update={"scores": ()}) for p in run.all_pairs]
    for page in pages(write(run, tmp_path / "release")):
        assert "No score decided which rows were kept" in page
        assert "shift in an" not in page and "faithfulness filter" not in page


def test_the_card_of_a_run_without_papers_claims_none(tmp_path):
    run = small_run()
    for stage in ("match", "verify", "section", "parse"):
        run.stored.pop(stage, None)
    release = write(run, tmp_path / "release")
    card, _ = pages(release)
    assert release.info.counts["papers"] == 0
    assert "no statement of a paper was used" in card and "papers that use them" not in card


def test_the_card_cites_the_papers_that_its_tasks_follow(tmp_path):
    content = from_run(small_run(), info().model_copy(update={"tasks": {}}))
    alone, _ = pages(write_content(content, tmp_path / "alone"))
    assert "ScIRGen" in alone and "DataFinder" not in alone
    from scirgen_bench.tasks.release_tasks import TaskContent, TaskSet

    asked = TaskInfo(recipe="recommend", corpus="datasets", follows="DataFinder: A title. ACL 2023.")
    content.parts = (TaskSet((TaskContent("recommend", asked, [], {}, {}),)),)
    card, _ = pages(write_content(content, tmp_path / "tasks"))
    assert "| `recommend` | DataFinder |" in card and "> DataFinder: A title. ACL 2023." in card


def test_imported_data_cite_their_own_authors(tmp_path):
    imported = info().model_copy(update={"origin": "CSFCube", "citation": "CSFCube: A title. 2021."})
    content = from_run(small_run(), imported)
    content.pairs = lambda: iter(())
    card, _ = pages(write_content(content, tmp_path / "release"))
    assert "> CSFCube: A title. 2021." in card and "ScIRGen" not in card
    assert "The retrieval queries of CSFCube" in card and "Questions and answers are synthetic" not in card
