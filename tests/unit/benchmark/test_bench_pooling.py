from __future__ import annotations

import math

import pytest
from test_bench_figures import ranking

from scirgen.benchmark.metrics import ndcg_of_pool, per_query
from scirgen.benchmark.pooling import agreement, judge, pool, write_judgements
from scirgen.benchmark.retrieval import evaluate
from scirgen.benchmark.tables import retrieval_table
from scirgen.core.config import Config
from scirgen.core.errors import InputError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import open_sessions
from scirgen.qa.tasks import read_qrels
from scirgen.testing.server import FakeServer
from tests.support.content_factory import small_run
from tests.support.release_writing import write


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return write(small_run(), tmp_path_factory.mktemp("r") / "release")


def pooled_of(release, depth=3):
    rows = list(release.rows("train"))[:6]
    documents = list(release.corpus("with-paper"))
    return rows, documents, pool(rows, documents, ["bm25", "tfidf"], load_registry(), depth)


def test_the_pool_holds_each_retrievers_first_documents_and_always_the_gold_ones(release):
    rows, _, pooled = pooled_of(release)
    for row in rows:
        assert row.dataset_id in pooled[row.id]
        for retriever in ("bm25", "tfidf"):
            assert 1 <= sum(retriever in by for by in pooled[row.id].values()) <= 3


async def run(release, server, cache):
    rows, documents, pooled = pooled_of(release)
    prompts = PromptLibrary(Resources())
    config = Config.model_validate({"models": {"generator": f"openai:fake@{server.url}"}})
    sessions = await open_sessions(config, load_registry(), cache, prompts=prompts, needs_scores=False)
    try:
        return pooled, await judge(pooled, rows, documents, sessions.chat, prompts)
    finally:
        await sessions.aclose()


async def test_every_pooled_pair_is_graded_with_a_reason_and_no_reply_is_asked_for_twice(release, tmp_path):
    async with FakeServer() as server:
        pooled, first = await run(release, server, ReplyCache.open(tmp_path / "r.db"))
        asked = sum(server.answered.values())
        _, again = await run(release, server, ReplyCache.open(tmp_path / "r.db"))
        assert sum(server.answered.values()) == asked
    assert {(j.query, j.document) for j in first.judgements} == {(q, d) for q, found in pooled.items() for d in found}
    assert not first.failed
    assert all(j.grade in (0, 1, 2, 3) and j.reason and j.model == "openai:fake" for j in first.judgements)
    assert again == first


async def test_graded_judgements_are_used_by_the_retrieval_benchmark(release, tmp_path):
    async with FakeServer() as server:
        _, result = await run(release, server, ReplyCache.open())
    file = write_judgements(tmp_path, result.judgements)
    qrels = read_qrels(file)
    assert (
        sum(map(len, qrels.values()))
        == len(result.judgements)
        == len((tmp_path / "judgements.jsonl").read_text().splitlines())
    )
    report = evaluate(release, ["bm25"], registry=load_registry(), settings=["with-paper"], split="train", qrels=qrels)
    assert report.queries == 6
    assert report.rows[0]["judged@10"] > 1 / 12
    assert report.judgements == "graded"
    assert "NDCG%20" in retrieval_table(report.rows)


def test_a_grade_of_two_counts_as_relevant_and_one_does_not():
    qrels = {"q": {"a": 1, "b": 2, "c": 3}}
    table = per_query(ranking([0, 1, 3, 2]), ["q"], ["a", "b", "c", "d"], qrels, graded=True)
    assert table["R@1"][0] == 0
    assert table["MRR@100"][0] == 0.5
    assert table["R@5"][0] == 1
    assert table["judged@10"][0] == 0.75


def test_ndcg_of_the_pool_is_cut_at_a_share_and_skips_the_unjudged():
    # Ten judged, so 20 % is two: grades 1 and 3 are found first (x is unjudged), 3 and 2 would be ideal.
    pool = {"a": 3, "b": 2, "c": 1, **{f"z{i}": 0 for i in range(7)}}
    by_hand = (1 / math.log2(2) + 3 / math.log2(3)) / (3 / math.log2(2) + 2 / math.log2(3))
    assert ndcg_of_pool(["c", "x", "a", "b"], pool) == pytest.approx(by_hand)
    assert by_hand == pytest.approx(0.6788, abs=5e-4)
    assert ndcg_of_pool(["x", "a", "y", "b", "c"], pool) == pytest.approx(1)
    assert ndcg_of_pool(["z0", "z1", "a"], pool) == 0
    # Four judged: a fifth of them is less than one document, so the first counts.
    assert ndcg_of_pool(["b", "a"], {"a": 3, "b": 2, "c": 0, "d": 0}) == pytest.approx(2 / 3)
    assert ndcg_of_pool(["a"], {"a": 0}) == 0


def test_ndcg_of_the_whole_pool_is_that_of_ir_measures():
    pool = {"a": 1, "b": 2, "c": 3, "d": 0}
    table = per_query(ranking([0, 1, 3, 2]), ["q"], ["a", "b", "c", "d"], {"q": pool}, graded=True)
    assert ndcg_of_pool(["a", "b", "d", "c"], pool, 100) == pytest.approx(table["NDCG@10"][0])
    assert table["NDCG%20"][0] == pytest.approx(1 / 3)
    assert "NDCG%20" not in per_query(ranking([0]), ["q"], ["a"], {"q": {"a": 1}})


def test_the_judges_view_of_the_gold_is_summed_up(release):
    from scirgen.benchmark.pooling import Judgement

    def made(grade, gold):
        return Judgement(
            query="q", document=f"{grade}{gold}", grade=grade, reason="r", gold=gold, found_by=(), model="m", reply="k"
        )

    found = agreement([made(3, True), made(1, True), made(0, False)])
    assert found == {
        "gold_mean_grade": 2.0, "gold_relevant": 0.5, "other_mean_grade": 0.0, "other_relevant": 0.0
    }  # fmt: skip


def test_a_malformed_line_of_qrels_is_named(tmp_path):
    (tmp_path / "q.tsv").write_text("query-id\tcorpus-id\tscore\na\tb\n")
    with pytest.raises(InputError, match="line 2"):
        read_qrels(tmp_path / "q.tsv")


def test_questions_without_a_relevant_dataset_are_pointed_out(release):
    rows = list(release.rows("train"))[:3]
    qrels = {r.id: {r.dataset_id: 1} for r in rows[:2]} | {rows[2].id: {rows[2].dataset_id: 3}}
    report = evaluate(release, ["bm25"], registry=load_registry(), settings=["with-paper"], split="train", qrels=qrels)
    assert any(n.startswith("For 2 of 3 questions no dataset is graded 2 or higher") for n in report.notes)
    assert report.rows[0]["R@100"] == pytest.approx(1 / 3, abs=1e-5)
