"""The importers read the authors' files by their names; small files of the same form."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen_bench.published.csfcube import csfcube
from scirgen_bench.published.datafinder import datafinder
from scirgen_bench.published.dorismae import dorismae
from scirgen_bench.tasks.release_tasks import linked
from tests.support.published_files import write_lines


@pytest.fixture
def finder(tmp_path):
    """A clone of DataFinder's repository: three documents, one name twice; three test queries, one of them without
    gold."""
    data = tmp_path / "data"
    data.mkdir()
    documents = [
        {"id": "SNLI", "contents": "Sentence pairs.", "title": "A large corpus", "variants": ["SNLI"], "year": 2015},
        {"id": "CNN/Daily Mail", "contents": "News.", "variants": ["CNN/Daily Mail", "CNN"], "citances": "We use CNN."},
        {"id": "SNLI", "contents": "Pairs again.", "title": "", "variants": [], "year": 2016},
    ]
    write_lines(data / "dataset_search_collection.jsonl", documents)
    more = {"task": "inference", "modality": "Text", "domain": "", "year": 2018}
    write_lines(
        data / "test_data.jsonl",
        [
            {"documents": ["SNLI"], "keyphrase_query": "inference", "query": "We compare two sentences.", **more},
            {"documents": ["CNN/Daily Mail", "SNLI"], "keyphrase_query": "", "tldr": "We read news.", **more},
            {"documents": [], "keyphrase_query": "nothing", "query": "We use no data.", **more},
        ],
    )
    train = [
        {"tldr": "A model of pairs.", "positives": ["SNLI"], "negatives": ["CNN/Daily Mail"], "year": 2017},
        {"tldr": "A model of pairs.", "positives": ["CNN/Daily Mail"], "negatives": [], "year": 2017},
    ]
    write_lines(data / "train_data.jsonl", train)
    return tmp_path


def queries_of(content):
    (task,) = content.parts[0].tasks
    return task, {(q.text, q.form): q for q in task.queries}


def test_datafinders_collection_and_queries_are_read(finder):
    content = datafinder(finder)
    assert [(d.id, d.title, d.year) for d in content.datasets.values()] == [
        ("CNN/Daily_Mail", "CNN/Daily Mail", None), ("SNLI", "SNLI", 2016), ("SNLI#2", "SNLI", 2016),
    ]  # fmt: skip
    assert content.same_as == {"SNLI#2": "SNLI"}
    assert ("Citances", "We use CNN.") in content.datasets["CNN/Daily_Mail"].fields
    task, queries = queries_of(content)
    news = queries["We read news.", "sentence"]
    assert (news.gold, news.year, dict(news.fields)) == (
        ("CNN/Daily_Mail", "SNLI"), 2018, {"task": "inference", "modality": "Text"},
    )  # fmt: skip
    assert task.qrels[queries["inference", "keyphrases"].id] == {"SNLI": 1}
    assert ("We read news.", "keyphrases") not in queries
    assert "1 queries without gold are left out." in content.info.notes


def test_the_card_says_how_often_and_how_old_linked_datasets_are_used(finder, tmp_path):
    content = datafinder(finder)
    task, _ = queries_of(content)
    found = linked(task.queries, {d.id: d.year for d in content.datasets.values() if d.year})
    assert (found.datasets, found.links, found.once, found.ten_most) == (2, 5, 0, 5)
    assert (found.dated, found.age_quartiles) == (3, (1.5, 2.0, 2.0))  # SNLI of 2016 in papers of 2017, 2018, 2018
    assert CliRunner().invoke(cli, ["import", "datafinder", str(finder), str(tmp_path / "out")]).exit_code == 0
    assert "`recommend` has 5 links from papers to 2 datasets" in (tmp_path / "out" / "README.md").read_text()


def test_datafinders_training_queries_are_the_split_train(finder):
    task, queries = queries_of(datafinder(finder))
    pairs = queries["A model of pairs.", "sentence"]
    assert (task.splits[pairs.id], pairs.gold) == ("train", ("SNLI", "CNN/Daily_Mail"))
    assert {task.splits[q.id] for q in queries.values()} == {"test", "train"}


def test_datafinders_qrels_decide_and_name_queries_by_their_words(finder):
    lines = [
        ["QueryID", "0", "DocID", "Relevance"],
        ["We_compare_two_sentences.", "Q0", "CNN/Daily Mail", "1"],
        ["We_ask_more.", "Q0", "SNLI", "1"],
    ]
    with (finder / "data" / "test_dataset_collection.qrels").open("w", newline="") as out:
        csv.writer(out, delimiter="\t").writerows(lines)
    every = [{"query": "We  ask more.", "year": 2011}]
    (finder / "data" / "scirex_queries_and_datasets.json").write_text(json.dumps(every))
    _, queries = queries_of(datafinder(finder))
    assert queries["We compare two sentences.", "sentence"].gold == ("CNN/Daily_Mail",)
    more = queries["We  ask more.", "sentence"]
    assert (more.gold, more.year) == (("SNLI",), 2011)


@pytest.fixture
def cube(tmp_path):
    """CSFCube's folder: one query abstract, asked for background and method, two candidates."""

    def abstract(name, *labelled):
        return {
            "paper_id": name, "title": f"Title {name}", "metadata": {"year": "2002"},
            "abstract": [text for text, _ in labelled], "pred_labels": [f"{label}_label" for _, label in labelled],
        }  # fmt: skip

    write_lines(
        tmp_path / "abstracts-csfcube-preds.jsonl",
        [
            abstract("10", ("Snow is deep.", "background"), ("We ask why.", "objective"), ("We dig.", "method")),
            abstract("20", ("Rain falls.", "background")),
            abstract("30", ("Ice melts.", "result")),
        ],
    )
    judged = {
        "cands": ["20", "30"],
        "relevance_adju": [3, 0],
        "relevance_ann1": [2, -1],
        "relevance_ann2": [3, 0],
        "relevance_max": [3, 0],
        "relevance_min": [2, 0],
    }
    for facet, found in (("background", {"10": judged}), ("method", {"10": judged}), ("result", {})):
        (tmp_path / f"test-pid2anns-csfcube-{facet}.json").write_text(json.dumps(found))
    pool = {"10": {"cands": ["20", "30"], "cand_source": [["specter", "cited"], ["abs_tfidf"]]}}
    (tmp_path / "test-pid2pool-csfcube.json").write_text(json.dumps(pool))
    folds = {"background": {"fold1_dev": ["10_background"]}, "method": {"fold1_test": ["10_method"]}}
    (tmp_path / "evaluation_splits.json").write_text(json.dumps(folds))
    return tmp_path


def test_csfcubes_facet_query_is_its_abstracts_labelled_sentences(cube):
    content = csfcube(cube)
    task, _ = queries_of(content)
    asked = {q.id: q for q in task.queries}
    assert {name: q.text for name, q in asked.items()} == {
        "10_background": "Snow is deep. We ask why.", "10_method": "We dig.",
    }  # fmt: skip
    assert task.splits == {"10_background": "dev", "10_method": "test"}
    assert asked["10_method"].year == 2002
    own = content.parts[0].abstracts[0].text
    assert all(own[s.start : s.end] == s.text for q in asked.values() for s in q.spans)


def test_csfcubes_raters_and_adjudication_are_kept_and_gaps_left_out(cube):
    task, _ = queries_of(csfcube(cube))
    grades = {(g.query_id, g.document_id, g.judge): g for g in task.grades}
    assert {k[1:]: g.grade for k, g in grades.items() if k[0] == "10_method"} == {
        ("20", "adjudicated"): 3, ("30", "adjudicated"): 0, ("20", "human:ann1"): 2, ("20", "human:ann2"): 3,
        ("30", "human:ann2"): 0,
    }  # fmt: skip
    assert task.qrels["10_method"] == {"20": 3, "30": 0}
    assert grades["10_method", "20", "adjudicated"].found_by == ("cited", "specter")


@pytest.fixture
def doris(tmp_path):
    """DORIS-MAE's file: one query of three aspects, one of them with a sub-aspect; people graded one pair."""
    query = {
        "query_text": "I need snow. It must be deep. And cheap.",
        "candidate_pool": [1, 2],
        "aspects": {"0": ["3"], "1": [], "2": ["3"]},
        "aspect_id2sent": {"0": ["I need snow."], "1": ["I need snow.", "It must be deep."], "2": ["And cheap."]},
        "sent2aspect_id": {"I need snow.": ["0", "1"], "It must be deep.": ["1"], "And cheap.": ["2"]},
    }
    scored = {("0", 1): 2, ("1", 1): 1, ("2", 1): 0, ("3", 1): 2, ("0", 2): 1, ("1", 2): 0, ("2", 2): 0, ("3", 2): 0}
    data = {
        "Query": [query],
        "Corpus": [{"original_abstract": text} for text in ("Unused.", "Deep snow.", "Cheap ice.")],
        "Annotation": [{"aspect_id": a, "abstract_id": d, "score": s} for (a, d), s in scored.items()],
        "aspect_id2aspect": {"0": "snow", "1": "deep snow", "2": "low price", "3": "white"},
        "Test_set": [{"aspect_id": "0", "abstract_id": 1, "score": [2, 1, 2]},
                     {"aspect_id": "9", "abstract_id": 1, "score": [0, 0, 1]}],
    }  # fmt: skip
    (tmp_path / "DORIS-MAE_dataset_v1.json").write_text(json.dumps(data))
    return tmp_path


def test_dorismaes_grade_is_the_sum_over_different_requirements(doris):
    content = dorismae(doris)
    task, _ = queries_of(content)
    assert task.qrels["q_0"] == {"c_1": 5, "c_2": 1}  # the repeated sub-aspect counts once
    assert [a.id for a in content.parts[0].abstracts] == ["c_1", "c_2"]
    assert task.splits["q_0"] == "dev"


def test_dorismaes_sub_queries_join_two_aspects_that_share_no_sentence_with_a_third(doris):
    task, _ = queries_of(dorismae(doris))
    made = {q.id: q.text for q in task.queries if q.form == "sub_query"}
    # 0 and 2 are left out: a sentence of 0 belongs to 1 as well; so are 1 and 2.
    assert made == {"q_0/0+1": "I need snow. It must be deep."}
    assert task.qrels["q_0/0+1"] == {"c_1": 5, "c_2": 1}
    aspect = next(q for q in task.queries if q.id == "q_0/1")
    assert [s.text for s in aspect.spans] == ["I need snow.", "It must be deep."]


def test_dorismaes_queries_can_be_asked_by_their_aspects(doris, tmp_path):
    from click.testing import CliRunner

    from scirgen.cli.main import cli

    def run(*arguments):
        result = CliRunner().invoke(cli, [str(a) for a in arguments], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    run("import", "dorismae", doris, tmp_path / "out")
    measured = ["benchmark", "retrieval", tmp_path / "out", "--task", "aspects", "--split", "dev", "--form", "complex"]
    found = {}
    for text in ("facet", "aspects"):
        output = run(*measured, "--retrievers", "bm25", "--query-text", text, "--runs", tmp_path / text, "--quiet")
        found[text] = (tmp_path / text / "bm25.aspects.dev.run").read_text().split()
    assert "too few for intervals" in output and "NDCG10%" not in output  # a pool of two has no tenth
    # "price" and "white" are in no abstract; "snow deep snow" finds the snow by all its words, "cheap" no longer the
    # ice.
    assert found["aspects"][2] == "c_1" and float(found["aspects"][4]) > float(found["facet"][4])


def test_dorismaes_people_and_model_grade_the_same_pairs(doris):
    content = dorismae(doris)
    task, _ = queries_of(content)
    judged = {(g.judge, g.grade) for g in task.grades if (g.query_id, g.document_id) == ("q_0/0", "c_1")}
    assert judged == {
        ("model:gpt-3.5-turbo-0301", 2), ("human:score1", 2), ("human:score2", 1), ("human:score3", 2),
    }  # fmt: skip
    assert content.info.notes == ("1 pairs graded by people belong to no query's pool and are left out.",)


@pytest.mark.parametrize(
    ("read", "missing"),
    [
        (datafinder, "dataset_search_collection.jsonl or documents.jsonl"),
        (csfcube, "abstracts-csfcube-preds.jsonl"),
        (dorismae, "DORIS-MAE_dataset_v1.json or DORIS_MAE_dataset_v1.json"),
    ],
)
def test_a_missing_file_is_named(read, missing, tmp_path):
    with pytest.raises(InputError, match=f"has no {missing}"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", "expected an object, found list"),
        ("{", "not valid JSON"),
        ('{"Query": ' + "[" * 200 + "]" * 200 + "}", "nested too deeply"),
        ('{"Query": 1e999}', "is not a finite number"),
        ('{"Query": NaN}', "is not a finite number"),
        ("{}", "missing Query, Corpus, Annotation, aspect_id2aspect"),
    ],
)
def test_a_damaged_file_is_one_error(text, problem, tmp_path):
    (tmp_path / "DORIS-MAE_dataset_v1.json").write_text(text)
    with pytest.raises(InputError, match=problem):
        dorismae(tmp_path)
