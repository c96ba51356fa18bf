from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen.core.registry import load_registry
from scirgen_bench.retrieval import evaluate
from tests.support.content_factory import small_run
from tests.support.release_writing import write


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return write(small_run(datasets=30), tmp_path_factory.mktemp("r") / "release")


def test_the_command_writes_rows_tests_breakdowns_and_run_files(release, tmp_path):
    out = tmp_path / "deep" / "figures.json"
    result = CliRunner().invoke(
        cli,
        f"benchmark retrieval {release.folder} --split train --json {out} --runs {tmp_path / 'runs'} "
        "--retrievers bm25,bm25:k1=1.2,b=0.75,tfidf",
    )
    assert result.exit_code == 0, result.output
    report = json.loads(out.read_text())
    assert [(r["setting"], r["retriever"]) for r in report["rows"]] == [
        (s, r)
        for s in ("without-paper", "with-paper", "without-own-paper")
        for r in ("bm25", "bm25:k1=1.2,b=0.75", "tfidf")
    ]
    for row in report["rows"]:
        assert row["split"] == "train"
        assert 0 <= row["R@1"] <= row["R@5"] <= row["R@20"] <= row["R@100"] <= 1
        low, high = row["interval"]["MRR@100"]
        assert low <= row["MRR@100"] <= high
        # The questions name the dataset's title, so a working retriever finds nearly all of them.
        assert row["R@5"] > 0.9
    assert len(report["tests"]) == 18  # nine pairs, two metrics
    by_type = [b for b in report["breakdown"] if b["by"] == "question_type" and b["retriever"] == "bm25"]
    assert sum(b["queries"] for b in by_type) == 3 * report["queries"]
    lines = (tmp_path / "runs" / "bm25.with-paper.train.run").read_text().splitlines()
    assert lines[0].split()[1::2] == ["Q0", "1", "bm25"]
    assert len({line.split()[0] for line in lines}) == report["queries"]


def test_what_is_extracted_from_papers_is_indexed_only_with_papers(release, tmp_path):
    asked = next(r for r in release.rows() if r.question == "Which sensors measured it?")
    settings = ["without-paper", "with-paper"]
    evaluate(release, ["bm25"], registry=load_registry(), settings=settings, split=asked.split, runs=tmp_path)
    score = {}
    for setting in settings:
        lines = [line.split() for line in (tmp_path / f"bm25.{setting}.{asked.split}.run").read_text().splitlines()]
        score[setting] = {w[2]: float(w[4]) for w in lines if w[0] == asked.id}
    # "sensors" is in the extracts of ds-000 and ds-001 alone.
    assert score["without-paper"]["ds-000"] == score["without-paper"]["ds-003"]
    assert score["with-paper"]["ds-000"] == score["with-paper"]["ds-001"] > 2 * score["with-paper"]["ds-003"]


def test_without_own_paper_hides_the_papers_of_a_questions_evidence(release, tmp_path):
    asked = next(r for r in release.rows() if r.question == "Which sensors measured it?")
    settings = ["without-paper", "with-paper", "without-own-paper"]
    evaluate(release, ["bm25"], registry=load_registry(), settings=settings, split=asked.split, runs=tmp_path)
    found, score = {}, {}
    for setting in settings:
        lines = [line.split() for line in (tmp_path / f"bm25.{setting}.{asked.split}.run").read_text().splitlines()]
        found[setting] = {w[0]: [v[2] for v in lines if v[0] == w[0]] for w in lines}
        score[setting] = {w[2]: float(w[4]) for w in lines if w[0] == asked.id}
    # Both datasets that use the paper are found by it, and no longer where it is hidden; ds-003 has no paper.
    assert set(found["with-paper"][asked.id][:2]) == {"ds-000", "ds-001"}
    hidden = score["without-own-paper"]
    assert hidden["ds-000"] == hidden["ds-001"] == hidden["ds-003"]
    assert all(len(ids) == len(set(ids)) for ids in found["without-own-paper"].values())
    from_records = [r.id for r in release.rows(asked.split) if all(e.source == "dataset" for e in r.evidence)]
    assert from_records
    assert all(found["without-own-paper"][i] == found["with-paper"][i] for i in from_records)


@pytest.mark.parametrize(("split", "on"), [("dev", "train"), ("train", "dev"), ("test", "dev")])
def test_tuning_never_sees_the_split_that_is_measured(release, split, on):
    report = evaluate(release, ["bm25:tuned"], registry=load_registry(), settings=["without-paper"], split=split)
    assert report.rows[0]["parameters"]["tuned_on"] == on


def test_all_splits_are_measured_together(release):
    found = evaluate(release, ["bm25"], registry=load_registry(), settings=["without-paper"], split="all")
    parts = [
        evaluate(release, ["bm25"], registry=load_registry(), settings=["without-paper"], split=s)
        for s, size in release.info.splits.items()
        if size.rows
    ]
    assert found.split == "all" and len(parts) > 1
    assert found.queries == sum(p.queries for p in parts) == sum(1 for _ in release.rows())
    each = [(p.queries, p.rows[0]["R@1"]) for p in parts]
    assert found.rows[0]["R@1"] == pytest.approx(sum(n * value for n, value in each) / found.queries)
    with pytest.raises(InputError, match="tuned on the split dev, which --split all measures"):
        evaluate(release, ["bm25:tuned"], registry=load_registry(), settings=["without-paper"], split="all")


def test_a_split_without_questions_is_refused(tmp_path):
    run = small_run()
    run.all_pairs = []
    empty = write(run, tmp_path / "release")
    with pytest.raises(InputError, match="no questions"):
        evaluate(empty, ["bm25"], registry=load_registry(), settings=["with-paper"])


def test_run_files_and_qrels_give_another_tool_the_same_figures(release, tmp_path):
    """ir_measures over the files, as its command line reads them; trec_eval's order of ties may move a figure a
    little."""
    import ir_measures

    report = evaluate(
        release, ["bm25"], registry=load_registry(), settings=["with-paper"], split="train", runs=tmp_path / "runs"
    )
    lines = [f"{q} 0 {d} {s}" for q, found in release.qrels("train").items() for d, s in found.items()]
    (tmp_path / "qrels.txt").write_text("\n".join(lines) + "\n")
    measures = {name: ir_measures.parse_measure(name) for name in ("R@1", "R@5", "RR@100", "nDCG@10")}
    found = ir_measures.calc_aggregate(
        measures.values(),
        ir_measures.read_trec_qrels(str(tmp_path / "qrels.txt")),
        ir_measures.read_trec_run(str(tmp_path / "runs" / "bm25.with-paper.train.run")),
    )
    for theirs, ours in (("R@1", "R@1"), ("R@5", "R@5"), ("RR@100", "MRR@100"), ("nDCG@10", "NDCG@10")):
        assert found[measures[theirs]] == pytest.approx(report.rows[0][ours], abs=0.01)


@pytest.mark.parametrize("given", ["", ","])
def test_a_task_without_a_setting_is_refused(release, given):
    result = CliRunner().invoke(
        cli, ["benchmark", "retrieval", str(release.folder), "--task", "facets", "--setting", given]
    )
    assert result.exit_code == 2 and "at least one" in result.output


def test_a_breakdown_is_shown_on_request(release):
    words = f"benchmark retrieval {release.folder} --split train --setting with-paper --by bloom --quiet"
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    table = [line.split("|") for line in result.output.split("\n\n")[2].splitlines()]
    assert [cell.strip() for cell in table[0][1:5]] == ["setting", "retriever", "bloom", "questions"]
    rows = [r for r in release.rows("train") if r.bloom == "C2"]
    assert ["with-paper", "bm25", "C2", str(len(rows))] in [[cell.strip() for cell in line[1:5]] for line in table]


def test_an_empty_split_says_which_ones_have_questions(tmp_path):
    src = tmp_path / "records.jsonl"
    record = {"id": "a", "query": {"Definition": [{"QuestionEn": "What?", "AnswerEn": "It."}]}, "split": "dev"}
    src.write_text(json.dumps(record) + "\n")
    assert CliRunner().invoke(cli, ["import", "scirgen-geo", str(src), str(tmp_path / "geo")]).exit_code == 0
    result = CliRunner().invoke(cli, ["benchmark", "retrieval", str(tmp_path / "geo"), "--split", "test"])
    assert isinstance(result.exception, InputError)
    assert "the split test" in str(result.exception)
    assert result.exception.hint == "Choose another with --split: dev (1 questions), or all."


def test_small_release_is_told_that_its_figures_mean_little(release):
    notes = evaluate(release, ["bm25"], registry=load_registry(), settings=["with-paper"], split="dev").notes
    assert any("too few for intervals" in n for n in notes) and any("corpus has 30 documents" in n for n in notes)
    notes = evaluate(release, ["bm25"], registry=load_registry(), settings=["with-paper"], split="train").notes
    assert not any("too few for intervals" in n for n in notes)


def test_tuning_without_questions_to_tune_on_says_what_to_do(tmp_path):
    src = tmp_path / "records.jsonl"
    record = {"id": "a", "query": {"Definition": [{"QuestionEn": "What?", "AnswerEn": "It."}]}, "split": "test"}
    src.write_text(json.dumps(record) + "\n")
    assert CliRunner().invoke(cli, ["import", "scirgen-geo", str(src), str(tmp_path / "geo")]).exit_code == 0
    result = CliRunner().invoke(cli, ["benchmark", "retrieval", str(tmp_path / "geo"), "--retrievers", "bm25:tuned"])
    assert isinstance(result.exception, InputError) and "tuned on the split dev" in str(result.exception)


def test_judgements_of_another_release_are_refused(release):
    with pytest.raises(InputError, match="no questions with such judgements"):
        evaluate(
            release, ["bm25"], registry=load_registry(), settings=["with-paper"], split="train", qrels={"x": {"y": 1}}
        )


def test_unjudged_documents_are_pointed_out(release):
    report = evaluate(release, ["bm25"], registry=load_registry(), settings=["without-paper"], split="train")
    assert any("judged" in note for note in report.notes)
