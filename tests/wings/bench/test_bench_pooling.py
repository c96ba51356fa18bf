from __future__ import annotations

import pytest
from test_bench_figures import ranking

from scirgen.core.errors import InputError
from scirgen.core.registry import load_registry
from scirgen.testing.server import FakeServer
from scirgen_bench.metrics import per_query
from scirgen_bench.retrieval import evaluate
from scirgen_bench.tasks.pool_run import gold_seen, run_task_pool
from scirgen_bench.tasks.pools import GOLD, PoolSettings
from scirgen_bench.tasks.records import Grade
from scirgen_bench.tasks.task_files import Questions, read_qrels
from tests.support.content_factory import small_run
from tests.support.release_writing import write


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return write(small_run(), tmp_path_factory.mktemp("r") / "release")


async def test_questions_are_pooled_and_graded_as_a_task(release, tmp_path):
    settings = PoolSettings(split="train", depth=3, limit=6)
    async with FakeServer() as server:
        judge = f"openai:fake@{server.url}"
        first = await run_task_pool(Questions(release), [judge], settings, load_registry(), tmp_path)
        asked = sum(server.answered.values())
        again = await run_task_pool(Questions(release), [judge], settings, load_registry(), tmp_path)
        assert sum(server.answered.values()) == asked == len(first.graded.grades)
    assert again.graded == first.graded and not first.graded.failed
    gold = {q.id: set(q.gold) for q in first.queries}
    found = {(g.query_id, g.document_id) for g in first.graded.grades}
    assert all((q, d) in found for q, ids in gold.items() for d in ids)
    assert {GOLD, "bm25:query"} <= {by for g in first.graded.grades for by in g.found_by}
    assert all(g.grade in (0, 1, 2, 3) and g.reason and g.judge == "model:openai:fake" for g in first.graded.grades)
    assert set(gold_seen(first.graded.grades)) == {"model:openai:fake, gold", "model:openai:fake, other"}

    qrels = read_qrels(tmp_path / "qrels.tsv")
    assert sum(map(len, qrels.values())) == len((tmp_path / "grades.jsonl").read_text().splitlines())
    report = evaluate(release, ["bm25"], registry=load_registry(), settings=["with-paper"], split="train", qrels=qrels)
    assert (report.queries, report.judgements) == (6, "graded")
    assert report.rows[0]["judged@10"] > 1 / 12


def test_a_grade_of_two_counts_as_relevant_and_one_does_not():
    qrels = {"q": {"a": 1, "b": 2, "c": 3}}
    table = per_query(ranking([0, 1, 3, 2]), ["q"], ["a", "b", "c", "d"], qrels, graded=True)
    assert table["R@1"][0] == 0
    assert table["MRR@100"][0] == 0.5
    assert table["R@5"][0] == 1
    assert table["judged@10"][0] == 0.75


def test_the_judges_view_of_the_gold_is_summed_up():
    grades = [
        Grade(query_id="q", document_id=str(n), judge="m", grade=grade, found_by=by)
        for n, (grade, by) in enumerate([(3, (GOLD,)), (1, (GOLD, "bm25:query")), (0, ("bm25:query",))])
    ]
    assert gold_seen(grades) == {"m, gold": 2.0, "m, other": 0.0}


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
