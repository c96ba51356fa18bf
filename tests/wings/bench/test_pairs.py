"""Pairs for training: positives of grade 2, negatives that are neither graded nor likely to answer."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.registry import load_registry
from scirgen_bench.lexical import BM25
from scirgen_bench.pairs import training_pairs
from tests.support.content_factory import small_run
from tests.support.release_writing import ALL_TRAIN, write
from tests.wings.bench.test_passage_retrieval import sought_run


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs") / "release"
    return write(sought_run(), folder, load_registry(), formats=("pairs", "triples"), ratios=ALL_TRAIN)


def test_negatives_are_at_ranks_10_to_50_below_the_positive_and_ungraded(release):
    lines = list(training_pairs(release, "train"))
    assert len(lines) == 7
    passages = sorted(release.passages(), key=lambda p: p.id)
    model = BM25()
    model.index([p.searched for p in passages])
    by_question = {r.question: release.passage_qrels("train")[r.id] for r in release.rows("train")}
    for line in lines:
        grades = by_question[line["query"]]
        assert line["pos_ids"] == [p for p, grade in grades.items() if grade == 2]
        assert line["neg_ids"] and not set(line["neg_ids"]) & set(grades)
        ranking = model.search([line["query"]], 100)
        rank = {passages[d].id: n for n, d in enumerate(ranking.documents[0].tolist(), 1) if d >= 0}
        score = {
            passages[d].id: s for d, s in zip(ranking.documents[0].tolist(), ranking.scores[0].tolist(), strict=True)
        }
        best = max(score[p] for p in line["pos_ids"])
        for id, share in zip(line["neg_ids"], line["neg_scores"], strict=True):
            assert 10 <= rank[id] <= 50
            assert share == pytest.approx(score[id] / best, abs=1e-3) and share <= 0.95
        assert line["neg"] == [p.searched for p in passages if p.id in line["neg_ids"]]


def test_the_format_and_the_command_write_the_same_lines(release, tmp_path):
    out = tmp_path / "train.jsonl"
    result = CliRunner().invoke(cli, ["retriever", "pairs", str(release.folder), str(out)])
    assert result.exit_code == 0, result.output
    assert "7 of 7 questions of train have graded passages" in result.output
    assert out.read_bytes() == (release.folder / "pairs" / "train.jsonl").read_bytes()
    result = CliRunner().invoke(
        cli, ["retriever", "pairs", str(release.folder), str(tmp_path / "both.jsonl"), "--retrievers", "bm25,tfidf"]
    )
    lines = [json.loads(line) for line in (tmp_path / "both.jsonl").read_text().splitlines()]
    assert {by for line in lines for by in line["neg_by"]} == {"bm25", "tfidf"}


def test_triples_are_written_for_questions_too(tmp_path):
    release = write(small_run(), tmp_path / "release", load_registry(), formats=("triples",))
    lines = [
        json.loads(line) for line in (release.folder / "triples" / "questions.train.jsonl").read_text().splitlines()
    ]
    rows = {r.question: r for r in release.rows("train")}
    assert {line["query"] for line in lines} == set(rows)
    for line in lines:
        gold = rows[line["query"]].dataset_ids or (rows[line["query"]].dataset_id,)
        assert line["positives"] == sorted(gold) and not set(line["negatives"]) & set(gold)
        assert 0 < len(line["negatives"]) <= 7 and len(line["negative_texts"]) == len(line["negatives"])
