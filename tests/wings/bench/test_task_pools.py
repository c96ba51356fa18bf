"""Pools, judges and settled grades, on three abstracts that the CSFCube importer reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen.cli.main import cli
from scirgen.core.errors import ConfigError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Span
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.release_files.release import Release
from scirgen.testing.serving import serving
from scirgen_bench.labels.labelset import Label, LabelSet
from scirgen_bench.lexical import BM25
from scirgen_bench.tasks import pools
from scirgen_bench.tasks.judging import AmbiguousReply, Judging, differ, to_grade, word_in
from scirgen_bench.tasks.pools import CITED, PoolSettings, make_pool, pooled_queries
from scirgen_bench.tasks.records import Grade, Query
from scirgen_bench.tasks.reviews import Need, reviewed_needs, validated_judges
from scirgen_bench.tasks.task_files import (
    ADJUDICATED,
    Task,
    TaskQuery,
    added_up,
    read_pool,
    read_pools,
    requirements,
    settled,
)
from scirgen_bench.tasks.taxonomies import facets_of
from scirgen_label.judge_agreement import judge_agreement
from tests.support.scripted_chat import ScriptedChat

ABSTRACTS = [
    (
        "1",
        "Snow and rivers",
        [("background", "Rivers shrink in summer."), ("method", "A water balance of snow and flow.")],
    ),
    ("2", "Lake ice", [("background", "Lakes freeze later."), ("method", "A heat balance of lake ice.")]),
    ("3", "Sheep", [("background", "Sheep are shorn in spring."), ("method", "Counting sheep by hand.")]),
    ("4", "Snow water", [("background", "Snow stores water."), ("method", "A water balance of a snow pack.")]),
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    src = tmp_path / "src"
    src.mkdir()
    abstracts = [
        {"paper_id": i, "title": t, "year": 2000, "abstract": [x for _, x in s], "pred_labels": [f for f, _ in s]}
        for i, t, s in ABSTRACTS
    ]
    (src / "abstracts-csfcube-preds.jsonl").write_text("".join(json.dumps(a) + "\n" for a in abstracts))
    judged = {
        "cands": ["2", "3", "4"],
        "relevance_annA": [1, 0, 3],
        "relevance_annB": [2, -1, 3],
        "relevance_adju": [2, 0, 3],
    }
    for facet in ("background", "method", "result"):
        found = {"1": judged} if facet == "method" else {}
        (src / f"test-pid2anns-csfcube-{facet}.json").write_text(json.dumps(found))
    pool = {"1": {"cands": ["2", "3", "4"], "cand_source": [["tfidf", "cited"], ["tfidf"], ["tfidf"]]}}
    (src / "test-pid2pool-csfcube.json").write_text(json.dumps(pool))
    return src


def run(*arguments: object) -> tuple[int, str]:
    from click.testing import CliRunner

    result = CliRunner().invoke(cli, [str(a) for a in arguments])
    return result.exit_code, result.output + str(result.exception or "")


@pytest.fixture
def task(source: Path, tmp_path: Path) -> Task:
    code, output = run("import", "csfcube", source, tmp_path / "release")
    assert code == 0, output
    return Task(Release(tmp_path / "release"), "facets")


def test_import_keeps_both_raters_and_drops_missing_ratings(task: Task) -> None:
    assert sorted((g.document_id, g.judge, g.grade) for g in task.grades()) == [
        ("2", "adjudicated", 2), ("2", "human:annA", 1), ("2", "human:annB", 2),
        ("3", "adjudicated", 0), ("3", "human:annA", 0),
        ("4", "adjudicated", 3), ("4", "human:annA", 3), ("4", "human:annB", 3),
    ]  # fmt: skip
    assert task.qrels("dev") == {"1_method": {"2": 2, "3": 0, "4": 3}}


@pytest.mark.parametrize(
    ("file", "text", "what"),
    [
        ("abstracts-csfcube-preds.jsonl", '{"paper_id": "1"}\n', ":1: missing abstract"),
        ("abstracts-csfcube-preds.jsonl", "nonsense\n", ":1: not valid JSON"),
        ("test-pid2anns-csfcube-method.json", '{"9": {"cands": []}}', "query 9 is not among the abstracts"),
        ("test-pid2anns-csfcube-method.json", '{"1": {"relevance_adju": []}}', "query 1_method: 'cands'"),
        ("test-pid2anns-csfcube-method.json", '{"1": {"cands": ["77"]}}', "candidate 77"),
        ("test-pid2anns-csfcube-method.json", '{"1": {"cands": ["2"], "relevance_adju": ["high"]}}', "'high'"),
        ("test-pid2anns-csfcube-method.json", '{"1": {"cands": ["2"], "relevance_adju": [1, 2]}}', "1_method: zip"),
        ("test-pid2anns-csfcube-method.json", '{"1": 3}', "query 1_method: "),
        ("test-pid2pool-csfcube.json", '{"1": {"cands": ["2"]}}', "'cand_source'"),
    ],
)
def test_a_damaged_source_is_one_error_with_its_place(
    source: Path, tmp_path: Path, file: str, text: str, what: str
) -> None:
    (source / file).write_text(text)
    code, output = run("import", "csfcube", source, tmp_path / "release")
    assert code != 0
    assert what in output
    assert not (tmp_path / "release").exists()


def test_each_way_of_searching_adds_new_documents_and_the_source_stays_out(task: Task) -> None:
    settings = PoolSettings(split="dev", pool_with=("bm25",), depth=1)
    queries = pooled_queries(task, settings)
    pool = make_pool(task, queries, settings, load_registry())["1_method"]
    assert set(pool) == {"4", "2"}  # by title and by abstract, one each; the second goes further down its list
    assert "1" not in pool


def test_cited_papers_are_in_the_pool(task: Task) -> None:
    path = task.release.folder / "corpus" / "abstracts.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["cites"] = ["3"]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    settings = PoolSettings(split="dev", pool_with=("bm25",), depth=1)
    pool = make_pool(task, pooled_queries(task, settings), settings, load_registry())
    assert pool["1_method"]["3"][0] == CITED


def test_embeddings_make_a_second_pool_of_a_need_by_paragraph(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "make_retriever", lambda registry, spec: BM25())
    need = TaskQuery(id="n", recipe="aspects", form="complex", text="Snow balance. River flow.", split="dev")
    settings = PoolSettings(split="dev", pool_with=("st:m", "bm25"), depth=1)
    pool = make_pool(task, [need], settings, load_registry())["n"]
    ways = [way for found in pool.values() for way in found]
    assert {w for w in ways if w.startswith("st:")} == {"st:m:paragraph"}  # and not by sentence
    # bm25 adds before it, whatever the order drawn, so the embeddings' one document is new.
    assert [found for found in pool.values() if found == ["st:m:paragraph"]]
    assert all(found[-1] == "st:m:paragraph" for found in pool.values() if "st:m:paragraph" in found)


async def test_two_judges_differ_and_a_third_settles_it(task: Task) -> None:
    settings = PoolSettings(split="dev", pool_with=("bm25",), depth=2)
    queries = pooled_queries(task, settings)
    asked = to_grade(list(task.queries()), queries, make_pool(task, queries, settings, load_registry()))
    resources = Resources()
    judging = Judging(task, PromptLibrary(resources), facets_of(Taxonomies(resources)))
    shown: list[str] = []

    def grading(grade: int):
        def rule(prompt, number):
            shown.append(prompt.messages[-1][1])
            return {"reason": "both balance water", "grade": grade}

        return ScriptedChat(rule)

    one = await judging.judge(asked, "model:one", grading(1))
    two = await judging.judge(asked, "model:two", grading(3))
    third = await judging.settle(asked, [*one.grades, *two.grades], "model:three", grading(2))
    assert {g.judge for g in third.grades} == {ADJUDICATED}
    assert "both balance water" in shown[-1]
    assert "[method] A water balance of snow and flow." in shown[0]
    grades = [*one.grades, *two.grades, *third.grades]
    assert set(settled(grades)["1_method"].values()) == {2}
    assert not differ([g for g in grades if g.document_id == "4"])
    (row,) = judge_agreement(grades, task.queries())
    assert (row.before["exact"], row.overruled) == (0.0, 1.0)


@pytest.mark.parametrize("text", ["AGREE. No, DISAGREE.", "I agree.", "", "CONCUR or AGREE"])
def test_a_reply_without_one_word_in_capitals_has_no_grade(text: str) -> None:
    with pytest.raises(AmbiguousReply):
        word_in(text, ["DISAGREE", "DISPUTE", "AGREE", "CONCUR"])


def test_agree_is_not_found_in_disagree() -> None:
    words = ["DISAGREE", "DISPUTE", "AGREE", "CONCUR"]
    assert word_in("The key component is missing.\nDISAGREE", words) == "DISAGREE"
    assert word_in("Partly. **AGREE**", words) == "AGREE"


def query(id: str, form: str, text: str, **more: object) -> Query:
    return Query(id=id, recipe="aspects", form=form, text=text, **more)


def test_grades_add_up_over_different_requirements_only() -> None:
    queries = [
        query("n", "complex", "need", parts=("n/1", "n/2")),
        query("n/1", "aspect", "snow", parent="n"),
        query("n/1a", "sub_aspect", "depth", parent="n/1"),
        query("n/2", "aspect", "ice", parent="n"),
        query("n/2a", "sub_aspect", "depth", parent="n/2"),
        query("n/1+2", "sub_query", "both", parent="n", parts=("n/1", "n/2")),
    ]
    needed = requirements(queries)
    assert needed["n"] == ("n/1", "n/1a", "n/2")
    grades = [
        Grade(query_id=q, document_id=d, judge="model:m", grade=g)
        for q, d, g in (("n/1", "a", 2), ("n/1a", "a", 1), ("n/2", "a", 0), ("n/1", "b", 2), ("n/2", "b", 2))
    ]
    sums = added_up(needed, settled(grades))
    assert sums["n"] == {"a": 3}  # b lacks a grade: no sum, instead of a default


def test_grades_of_another_release_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "pool"
    folder.mkdir()
    info = {"release": "other", "task": "facets", "split": "dev", "judges": ["model:m"]}
    (folder / "pool.json").write_text(json.dumps(info))
    (folder / "grades.jsonl").write_text('{"query_id": "x", "document_id": "d", "judge": "model:m", "grade": 1}\n')
    with pytest.raises(ConfigError, match="none of its 1 graded queries"):
        read_pools([folder], {"q"})
    assert len(read_pools([folder], {"x"})[0]) == 1
    with pytest.raises(ConfigError, match=r"no pool\.json"):
        read_pools([tmp_path], {"q"})


def test_a_judge_that_is_named_twice_is_refused(task: Task) -> None:
    given = ("--task", "facets", "--split", "dev", "--judges", "openai:m@http://x,openai:m@http://x")
    code, output = run("benchmark", "pool", task.release.folder, *given)
    assert code == 2 and "--judges names a model twice" in output


def graded_with(task: Task, tmp_path: Path, labels: Path, *more: str) -> str:
    """Grade the sampled pairs with the fake server; what the command printed."""
    with serving() as judge:
        code, output = run(
            "benchmark", "pool", task.release.folder, "--task", "facets", "--split", "dev", "--judges", judge,
            "--depth", "2", "--sample", labels, "--out", tmp_path / "pool", *more,
        )  # fmt: skip
    assert code == 0, output
    return output


def test_a_judge_that_passed_the_labels_test_is_validated(task: Task, tmp_path: Path) -> None:
    for number in range(2, 8):  # the test wants items of several queries
        add_query(task, f"{number}_background", "1")
    folder = tmp_path / "L"
    code, output = run(
        "label", "draw", task.release.folder, "--task", "relevance", "--of", "facets", "--split", "dev", "--depth", "2",
        "--n", "14", "--strata", "verdict", "--margin", "0.5", "--out", folder,
    )  # fmt: skip
    assert code == 0, output
    assert "unvalidated" in graded_with(task, tmp_path, folder)
    pool = tmp_path / "pool"
    info, grades = read_pool(pool)
    labels = LabelSet(folder)
    assert {f"{g.query_id}|{g.document_id}" for g in grades} == {i.record for i in labels.items}
    assert info.unvalidated == ("model:openai:fake",)
    assert info.prompts["model:openai:fake"][0].startswith("grade/facet@")

    shown = labels.items[0].shown
    assert shown.question.startswith("Snow and rivers: ") and shown.type_definition.startswith("Background")
    given = {f"{g.query_id}|{g.document_id}": str(g.grade) for g in grades}
    for annotator in ("A", "B"):  # both see it as the judge does
        rows = [
            Label(
                sample=labels.sample.id, item=i.id, task="relevance", annotator=annotator, label=given[i.record],
                guideline=labels.sample.guideline,
            )
            for i in labels.items
        ]  # fmt: skip
        (tmp_path / f"{annotator}.jsonl").write_text("".join(r.model_dump_json() + "\n" for r in rows))
    code, output = run("label", "merge", folder, tmp_path / "A.jsonl", tmp_path / "B.jsonl")
    assert code == 0, output
    code, output = run("label", "agree", folder, "--judge", f"grades:{pool}", "--test")
    assert code == 0 and "PASSED" in output and "settled on: exact" in output, output

    assert "unvalidated" not in graded_with(task, tmp_path, folder, "--labels", str(folder))
    assert read_pool(pool)[0].unvalidated == ()
    changed = info.model_copy(update={"prompts": {"model:openai:fake": ("grade/facet@2#0",)}})
    assert changed.identity("model:openai:fake") not in validated_judges([folder])


def add_query(task: Task, name: str, paper: str) -> None:
    """One more facet query on a paper that the corpus holds, in dev."""
    path = task.folder / "queries.jsonl"
    row = json.loads(path.read_text().splitlines()[0])
    row |= {"id": name, "facet": "background", "text": f"Rivers shrink in summer {name}.", "paper_id": paper}
    path.write_text(path.read_text() + json.dumps(row) + "\n")


def need_with_parts() -> list[TaskQuery]:
    text = "I study snow. I count ice."
    spans = [
        Span(document_id="n", start=0, end=13, text=text[:13]),
        Span(document_id="n", start=14, end=26, text=text[14:]),
    ]
    rows = [
        query("n", "complex", text, parts=("n/1", "n/2")),
        query("n/1", "aspect", "snow", parent="n", spans=(spans[0],)),
        query("n/1a", "sub_aspect", "depth", parent="n/1", spans=(spans[0],)),
        query("n/2", "aspect", "ice", parent="n", spans=(spans[1],)),
        query("n/1+2", "sub_query", text, parent="n", parts=("n/1", "n/2"), spans=tuple(spans)),
        query("m", "complex", "another need", parts=("m/1",)),
        query("m/1", "aspect", "rain", parent="m"),
        query("f", "facet", "a facet"),
    ]
    return [TaskQuery(**q.model_dump(), split="test") for q in rows]


def test_an_edited_need_is_graded_as_people_left_it() -> None:
    reviewed = {"n": Need("Today I study snow. I count hail.", ("snow", "hail")), "m": None}
    kept = {q.id: q for q in reviewed_needs(need_with_parts(), reviewed, drafts=False)}
    new = next(k for k in kept if k.startswith("n/") and k not in ("n/1", "n/1a"))
    assert set(kept) == {"n", "n/1", "n/1a", new, "f"}
    assert kept["n"].text == "Today I study snow. I count hail." and kept["n"].parts == ("n/1", new)
    assert kept[new].text == "hail" and kept[new].form == "aspect" and kept[new].spans == ()
    (span,) = kept["n/1"].spans or (None,)
    assert span is None or kept["n"].text[span.start : span.end] == span.text
    assert requirements(kept.values())["n"] == ("n/1", "n/1a", new)


def test_drafts_wait_and_needs_that_people_dropped_go() -> None:
    queries = need_with_parts()
    unchanged = reviewed_needs(queries, {"n": Need("I study snow. I count ice.", ("snow", "ice"))}, drafts=True)
    assert unchanged == queries
    assert [q.id for q in reviewed_needs(queries, {"m": None}, drafts=True)] == [
        q.id for q in queries if q.id[0] != "m"
    ]
    assert [q.id for q in reviewed_needs(queries, {}, drafts=False)] == ["f"]
