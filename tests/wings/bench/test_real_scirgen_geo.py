"""ScIRGen-Geo as a release, against the paper's figures and figures measured by independent means."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections import Counter

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.release_files.release import Release
from tests.support.realdata import REALDATA as DATA

RECORDS = DATA / "geo" / "records.jsonl.gz"

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not RECORDS.is_file(), reason=f"REAL DATA MISSING: {RECORDS} (set SCIRGEN_REALDATA)"),
]


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Release:
    out = tmp_path_factory.mktemp("geo") / "release"
    result = CliRunner().invoke(cli, ["import", "scirgen-geo", str(RECORDS), str(out)])
    assert result.exit_code == 0, result.output
    return Release(out)


def test_all_records_and_questions_arrive(release):
    assert release.info.counts["datasets"] == 3354
    assert release.info.counts["datasets_with_papers"] == 1305
    assert {s: c.rows for s, c in release.info.splits.items()} == {"train": 49200, "dev": 8784, "test": 0}


def test_the_leak_of_the_published_splits_is_counted(release):
    """50 of the 74 test datasets with papers share an extract with train or dev (measured on the raw records)."""
    papers = {s: set() for s in ("train", "dev", "test")}
    users = {}
    split_of = {}
    with gzip.open(RECORDS, "rt") as lines:
        for line in lines:
            raw = json.loads(line)
            split_of[raw["id"]] = raw["split"]
    for document in release.corpus():
        users[document.id] = set(document.papers)
        papers[split_of[document.id]] |= users[document.id]
    test = [d for d, s in split_of.items() if s == "test" and users[d]]
    assert len(test) == 74
    assert sum(bool(users[d] & (papers["train"] | papers["dev"])) for d in test) == 50


def test_bm25_on_dev_is_where_it_was_measured(release, tmp_path):
    """Not the paper's test figures (those questions are held back): a guard that the command stays what it was."""
    out = tmp_path / "dev.json"
    started = time.process_time()
    result = CliRunner().invoke(
        cli, ["benchmark", "retrieval", str(release.folder), "--split", "dev", "--json", str(out), "--quiet"]
    )
    assert result.exit_code == 0, result.output
    assert time.process_time() - started < 40
    rows = {r["setting"]: r for r in json.loads(out.read_text())["rows"]}
    expected = {
        "without-paper": {"R@1": 0.287, "R@5": 0.449, "R@20": 0.551, "R@100": 0.660, "MRR@100": 0.362},
        "with-paper": {"R@1": 0.321, "R@5": 0.509, "R@20": 0.617, "R@100": 0.778, "MRR@100": 0.408},
    }
    for setting, figures in expected.items():
        for metric, value in figures.items():
            assert rows[setting][metric] == pytest.approx(value, abs=0.002)


def test_tables_3b_and_3c_are_the_papers(release, analysis):
    """ScIRGen, tables 3b and 3c, over all records."""
    (found,) = analysis["sets"]
    assert found["table_3b"]["datasets_with_papers"] == 1305
    assert found["table_3b"]["by_number"]["1"] == 819
    assert found["table_3b"]["by_number"]["2"] == 268
    assert {a["aspect"]: (a["count"], round(a["words"], 2)) for a in found["table_3c"]} == {
        "background": (3547, 147.98),
        "research_objective": (2504, 57.62),
        "methods": (2549, 138.14),
        "challenges": (2588, 60.35),
        "dataset": (2406, 80.72),
        "findings": (1792, 101.72),
    }


def test_table_3a_equals_a_count_of_the_raw_records(analysis):
    counts, asked, answered = Counter(), Counter(), Counter()
    with gzip.open(RECORDS, "rt") as lines:
        for line in lines:
            for name, items in json.loads(line)["query"].items():
                key = name.lower().replace(" ", "_").replace("/", "_")
                counts[key] += len(items)
                asked[key] += sum(len(re.findall(r"\S+", q["QuestionEn"])) for q in items)
                answered[key] += sum(len(re.findall(r"\S+", q.get("AnswerEn", ""))) for q in items)
    found = {r["question_type"]: r for r in analysis["sets"][0]["table_3a"]}
    assert {k: r["count"] for k, r in found.items()} == dict(counts)
    assert sum(counts.values()) == 57_984
    for key, row in found.items():
        assert row["question_words"] == pytest.approx(asked[key] / counts[key], abs=1e-4)
        assert row["answer_words"] == pytest.approx(answered[key] / counts[key], abs=1e-4)


@pytest.fixture(scope="module")
def analysis(release, tmp_path_factory):
    out = tmp_path_factory.mktemp("analysis") / "figures.json"
    result = CliRunner().invoke(cli, ["analyze", str(release.folder), "--json", str(out)])
    assert result.exit_code == 0, result.output
    return json.loads(out.read_text())


def test_released_files_in_every_layout_give_the_same_test_split(tmp_path):
    """The released format as it is: one file a record, in full/, train/, dev/ and test/, or all in one folder."""
    files = sorted((RECORDS.parent / "released").glob("*.json"))
    repository = tmp_path / "clone" / "ScIRGen-Geo"
    for number, file in enumerate(files):
        for folder in ("full", ("train", "dev", "test")[number % 3]):
            (repository / folder).mkdir(parents=True, exist_ok=True)
            (repository / folder / file.name).symlink_to(file)
    held = [json.loads(f.read_text()) for f in files[2::3]]
    asked = sum(len(items) for record in held for items in record["query"].values())
    (tmp_path / "flat").mkdir()
    for record in map(json.loads, (f.read_text() for f in files)):
        split = "test" if record["id"] in {r["id"] for r in held} else "train"
        (tmp_path / "flat" / f"{record['id']}.json").write_text(json.dumps(record | {"split": split}))
    figures = []
    for src in (tmp_path / "clone", repository, tmp_path / "flat"):
        out, result = tmp_path / f"out-{len(figures)}", tmp_path / f"{len(figures)}.json"
        for command in (
            ["import", "scirgen-geo", str(src), str(out)],
            ["benchmark", "retrieval", str(out), "--split", "test", "--json", str(result), "--quiet"],
        ):
            done = CliRunner().invoke(cli, command)
            assert done.exit_code == 0, done.output
        report = json.loads(result.read_text())
        assert (report["queries"], report["documents"]) == (asked, len(files))
        figures.append([{k: v for k, v in row.items() if k != "seconds"} for row in report["rows"]])
    assert figures[0] == figures[1] == figures[2]
    assert {(r["retriever"], r["setting"], r["split"]) for r in figures[0]} == {
        ("bm25", "without-paper", "test"), ("bm25", "with-paper", "test"),
    }  # fmt: skip
    assert all(0 < r["R@1"] <= r["MRR@100"] <= r["R@100"] <= 1 for r in figures[0])
