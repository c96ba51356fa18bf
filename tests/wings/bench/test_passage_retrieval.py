"""Retrieval by passage: what a release grades, with the passages of other releases as distractors."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.corpus import passages_of, record_passage
from scirgen.core.errors import InputError
from scirgen.core.records import Block, BlockKind, Dataset, Document, Grade
from scirgen.core.registry import load_registry
from scirgen_bench.passage_retrieval import evaluate_passages
from tests.support.content_factory import name, small_run
from tests.support.release_writing import ALL_TRAIN, write


def read(text: str, id: str = "p-shared") -> Document:
    block = Block(kind=BlockKind.PARAGRAPH, start=0, end=len(text))
    return Document(id=f"doc-{id}", paper_id=id, title="Lake ice", text=text, blocks=(block,))


def sought_run():
    """Every question is about a name in one sentence of an open paper; a passage about snow was read and does not
    help."""
    run = small_run(datasets=4, pairs_each=6)
    said = [f"The ice of lake {name(n, 'L')} melts in May{' and it is thin' * 18}." for n in range(40)]
    paper = read(" ".join(said))
    run.stored["parse"] = [paper]
    run.stored["verify"] = []
    passages = list(passages_of(paper))
    pairs = []
    for n, pair in enumerate(p for p in run.all_pairs if p.dataset_id == "ds-000"):
        start = paper.text.index(said[n])
        gold = next(p for p in passages if p.start <= start < p.end)
        other = record_passage(run.all_datasets[1])
        grades = tuple(
            Grade(passage_id=p.id, document_id=p.document_id, start=p.start, end=p.end, grade=g)
            for p, g in ((gold, 2), (other, 0))
        )
        span = paper.span(start, start + len(said[n]))
        asked = {"question": f"When does lake {name(n, 'L')} lose its ice?", "asked": "seeking", "form": "question"}
        pairs.append(pair.model_copy(update={**asked, "evidence": (span,), "grades": grades}))
    run.all_pairs = pairs
    return run


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return write(sought_run(), tmp_path_factory.mktemp("passages") / "release", ratios=ALL_TRAIN)


def test_a_retriever_is_measured_by_the_passages_that_answer(release, tmp_path):
    out = tmp_path / "f.json"
    words = (
        f"benchmark retrieval {release.folder} --unit passage --split train --json {out} --runs {tmp_path} --by asked"
    )
    result = CliRunner().invoke(cli, [*words.split(), "--quiet", "--retrievers", "bm25,tfidf"])
    assert result.exit_code == 0, result.output
    report = json.loads(out.read_text())
    assert (report["queries"], report["documents"]) == (7, release.info.counts["passages"])
    for row in report["rows"]:
        assert row["R@1"] == row["NDCG@10"] == 1.0  # each name stands in one sentence
        assert 0 < row["judged@10"] < 1
    assert {t["metric"] for t in report["tests"]} == {"R@20", "NDCG@10"}
    ranked = [line.split() for line in (tmp_path / "bm25.passages.train.run").read_text().splitlines()]
    gold = {q: max(found, key=found.get) for q, found in release.passage_qrels("train").items()}
    assert {line[0]: line[2] for line in ranked if line[3] == "1"} == gold
    assert any("that answer none; below 10" in note for note in report["notes"])


def test_questions_that_a_run_lacks_are_counted(release, tmp_path):
    query, grades = next(iter(release.passage_qrels("train").items()))
    (tmp_path / "part.trec").write_text(f"{query} Q0 {next(iter(grades))} 1 2.0 mine\n")
    spec = f"run:{tmp_path / 'part.trec'}"
    measured = evaluate_passages(release, ["bm25", spec], registry=load_registry(), split="train")
    assert f"{spec} finds nothing for 6 of 7 questions, which count as 0." in measured.notes
    assert not any(note.startswith("bm25 finds") for note in measured.notes)


def test_all_splits_are_measured_together(release):
    measured = evaluate_passages(release, ["bm25"], registry=load_registry(), split="all")
    assert measured.queries == len(release.passage_qrels(None)) == 7


def test_passages_of_other_releases_are_searched_unless_they_repeat_one(release, tmp_path):
    run = small_run(datasets=4)
    run.all_datasets = [Dataset(id=f"far-{n}", title=f"Far {name(n)}", description="Rain.") for n in range(30)]
    run.all_pairs, run.stored = [], {}
    other = write(run, tmp_path / "other", ratios=ALL_TRAIN)
    measured = evaluate_passages(
        release, ["bm25"], registry=load_registry(), split="train", distractors=[other, release]
    )  # fmt: skip
    assert measured.documents == release.info.counts["passages"] + 30
    assert measured.rows[0]["setting"] == "passages + 30"


def test_quotations_are_counted_and_all_that_the_run_read_can_be_searched(tmp_path):
    run = sought_run()
    run.stored["collect"] = [p.model_copy(update={"licence": "unknown"}) for p in run.stored["collect"]]
    quoted = write(run, tmp_path / "release", ratios=ALL_TRAIN)
    read_passages = list(passages_of(run.stored["parse"][0]))
    (tmp_path / "corpus" / "passages").mkdir(parents=True)
    (tmp_path / "corpus" / "corpus.json").write_text("{}")
    lines = [p.model_dump_json(exclude_defaults=True) + "\n" for p in read_passages]
    (tmp_path / "corpus" / "passages" / "passages.jsonl").write_text("".join(lines))

    def said(*more: str) -> str:
        command = ["benchmark", "retrieval", str(quoted.folder), "--unit", "passage", "--split", "train", *more]
        return CliRunner().invoke(cli, command, catch_exceptions=False).output

    assert (few := sum(not p.whole for p in quoted.passages())) < len(read_passages)
    assert f"{few} of {(own := len(list(quoted.passages())))} passages hold only what is quoted" in (text := said())
    assert "papers.csv" in text and "--distractors RUN/corpus" in text
    whole = said("--distractors", str(tmp_path / "corpus"))
    assert "only what is quoted" not in whole and f" {own - few + len(read_passages)} passages" in whole


def test_the_card_prints_grades_only_where_there_is_enough_to_search(release, tmp_path):
    assert "fewer than 10 a question that answer none" in (release.folder / "README.md").read_text()
    run = sought_run()
    run.all_datasets += [
        Dataset(id=f"far-{n}", title=f"Far {name(n)}", description=f"Rain of {name(n)}.") for n in range(90)
    ]
    card = (write(run, tmp_path / "release", ratios=ALL_TRAIN).folder / "README.md").read_text()
    assert "By passage: 7 questions have passages of grade 2 (7 grades of 2, 0 of 1, 7 of 0)" in card


def test_a_release_without_graded_passages_says_so(tmp_path):
    run = sought_run()
    run.all_pairs = [p.model_copy(update={"grades": (), "evidence": ()}) for p in run.all_pairs]
    with pytest.raises(InputError, match="no questions with graded passages"):
        evaluate_passages(write(run, tmp_path / "release"), ["bm25"], registry=load_registry(), split="train")


@pytest.mark.parametrize("more", ["--unit passage --setting with-paper", "--distractors ."])
def test_options_that_do_not_go_together_are_refused(release, more):
    result = CliRunner().invoke(cli, f"benchmark retrieval {release.folder} {more}")
    assert result.exit_code == 2
