"""The importers read entries of the authors' files as published, by their names (``shared/data/published``)."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen_bench.published.csfcube import csfcube
from scirgen_bench.published.datafinder import datafinder
from scirgen_bench.published.dorismae import dorismae
from scirgen_bench.runfile import RunFile
from tests.support.published_files import write_lines

DATA = Path(os.environ.get("SCIRGEN_REALDATA", Path(__file__).parents[3] / ".." / "shared" / "data")) / "published"

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"REAL DATA MISSING: {DATA} (set SCIRGEN_REALDATA)"),
]


def published(project: str, folder: Path) -> Path:
    """A folder with the entries of a project, under the names that its authors gave the files."""
    folder.mkdir(exist_ok=True)
    for file in DATA.glob(f"{project}__*"):
        shutil.copyfile(file, folder / file.name.removeprefix(f"{project}__"))
    return folder


def queries_of(content):
    (task,) = content.parts[0].tasks
    return task, {(q.text, q.form): q for q in task.queries}


def test_datafinders_topics_that_only_the_json_file_has_get_their_year_and_keyphrases(tmp_path):
    folder = published("datafinder", tmp_path)
    (topic,) = [r for r in json.loads((folder / "scirex_queries_and_datasets.json").read_text()) if r["year"] == 2017][
        :1
    ]
    rows = [json.loads(line) for line in (folder / "test_data.jsonl").read_text().splitlines()]
    rest = [row for row in rows if row.get("query", row.get("tldr")) != topic.get("query", topic.get("tldr"))]
    for name in ("test_data.jsonl", "scirex_queries_and_datasets.jsonl"):
        write_lines(folder / name, rest)
    assert len(rest) == len(rows) - 1
    content = datafinder(folder)
    _, found = queries_of(content)
    text = topic.get("query") or topic["tldr"]
    assert found[text, "sentence"].year == 2017
    assert found[topic["keyphrase_query"], "keyphrases"].gold == ("Cityscapes",)
    (folder / "scirex_queries_and_datasets.json").unlink()
    without = datafinder(folder)
    assert queries_of(without)[1][text, "sentence"].year is None
    assert any("have no year" in n for n in without.info.notes)


def test_datafinders_collection_without_years_says_what_the_time_filter_cannot_do(tmp_path):
    content = datafinder(published("datafinder", tmp_path / "files"))
    assert any("The collection states no years" in n for n in content.info.notes)
    run = CliRunner()
    made = run.invoke(cli, ["import", "datafinder", str(tmp_path / "files"), str(tmp_path / "out")])
    assert made.exit_code == 0, made.output
    given = ["benchmark", "retrieval", str(tmp_path / "out"), "--task", "recommend", "--retrievers", "bm25", "--quiet"]
    with_filter = run.invoke(cli, [*given, "--not-after-query"])
    assert "no document of the corpus has a year" in with_filter.output
    assert "has a year" not in run.invoke(cli, given).output


def test_dorismaes_grades_of_people_are_read_in_the_form_of_the_appendix(tmp_path):
    entries = json.loads((DATA / "dorismae__form_of_test_set.json").read_text())
    (key,) = entries
    first, second = entries[key]
    query = {
        "query_text": "I need snow.", "candidate_pool": [0], "aspects": {first["aspect_id"]: []},
        "aspect_id2sent": {first["aspect_id"]: ["I need snow."]}, "sent2aspect_id": {},
    }  # fmt: skip
    data = {
        "Query": [query], "Corpus": [{"original_abstract": "Snow."}], "Annotation": [],
        "aspect_id2aspect": {first["aspect_id"]: "snow"},
    }  # fmt: skip
    for name in (key, "Test_set", "test_set"):
        data = {k: v for k, v in data.items() if k not in (key, "Test_set")}
        data[name] = [
            {**first, "abstract_id": 0},
            second,
            second,
            {"aspect_id": "a", "abstract_id": 1, "human_annotation": {}},
        ]
        (tmp_path / "DORIS-MAE_dataset_v1.json").write_text(json.dumps(data))
        content = dorismae(tmp_path)
        task, _ = queries_of(content)
        assert {(g.judge, g.grade) for g in task.grades} == {
            ("human:annotator_1", 2), ("human:annotator_2", 2), ("human:annotator_3", 1),
        }  # fmt: skip
        assert content.info.notes == (
            "1 pairs graded by people belong to no query's pool and are left out.",
            "1 entries of the test set have no grades of people that can be read.",
        )


def test_csfcubes_published_ranking_is_read_as_a_run(tmp_path):
    folder = published("csfcube", tmp_path)
    (ranked,) = folder.glob("*-ranked.json")
    [(paper, hits)] = json.loads(ranked.read_text()).items()
    documents = sorted(document for document, _ in hits)
    query = f"{paper}_background"
    run = RunFile(ranked)
    run.identify([query], frozenset({query, f"{paper}_method"}), documents)
    found = run.search(["any"], 10).hits(0, documents)
    assert [d for d, _ in found] == [document for document, _ in hits]  # the nearest first
    with pytest.raises(InputError, match=f"unknown query '{paper}_'"):
        RunFile(ranked).identify(["1_x"], frozenset({"1_x"}), documents)
    broken = tmp_path / "x-background-ranked.json"
    broken.write_text('{"1": [5]}')
    with pytest.raises(InputError, match=r"expected \{paper"):
        RunFile(broken).identify(["1_background"], frozenset({"1_background"}), documents)


def test_csfcubes_grades_pools_and_folds_are_read_as_published(tmp_path):
    folder = published("csfcube", tmp_path)
    judged = json.loads((folder / "test-pid2anns-csfcube-background.json").read_text())
    [(paper, columns)] = judged.items()
    names = [paper, *columns["cands"]]
    labels = {"abstract": ["Words are parts."], "pred_labels": ["background_label"]}
    write_lines(folder / "abstracts-csfcube-preds.jsonl", [{"paper_id": n, "title": n, **labels} for n in names])
    for facet in ("method", "result"):
        (folder / f"test-pid2anns-csfcube-{facet}.json").write_text("{}")
    task, _ = queries_of(csfcube(folder))
    assert task.qrels[f"{paper}_background"] == dict(zip(columns["cands"], columns["relevance_adju"], strict=True))
    assert task.splits == {f"{paper}_background": "test"}
