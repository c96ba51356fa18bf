from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen_bench.leaderboard import leaderboard
from scirgen_bench.qa import QAReport
from scirgen_bench.retrieval import RetrievalReport
from scirgen_bench.systems import SystemFigures

EVIL = '<script>alert(1)</script>|<img src="https://x.example/p.png" onerror=alert(1)>'


def retrieval(file, setting="without-paper", queries=10, judgements="gold", release="snow", **mrr):
    rows = [{"retriever": r, "setting": setting, "R@1": v / 2, "MRR@100": v} for r, v in mrr.items()]
    report = RetrievalReport(
        release=release, split="dev", documents=5, queries=queries, judgements=judgements, rows=rows, tests=[],
        breakdown=[], notes=[],
    )  # fmt: skip
    file.write_text(report.model_dump_json(), encoding="utf-8")
    return file


def answering(file, system, accuracy):
    def row(name, value):
        metrics = {"entailed": value, "exact (short)": value, "number (short)": value}
        return SystemFigures(system=name, k=1, questions=4, failed=1, metrics=metrics)

    rows = [row(system, accuracy), row("always Yes", 0.25)]
    report = QAReport(release="snow", split="dev", entailment="lexical:words", rows=rows, answers=[])
    file.write_text(report.model_dump_json(), encoding="utf-8")
    return file


def lines(files):
    """The tables' lines: cells without blanks around them, without heads and rules."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in leaderboard(files).splitlines() if line.startswith("|")]
    return [[c.strip() for c in row] for row in rows if row[0].strip() not in ("system", "") and "---" not in row[0]]


def test_runs_on_the_same_questions_share_a_table_best_first(tmp_path):
    files = [retrieval(tmp_path / "a.json", bm25=0.4, tfidf=0.3), retrieval(tmp_path / "b.json", dense=0.5)]
    assert leaderboard(files).count("## ") == 1
    assert [row[:3] for row in lines(files)] == [
        ["dense", "b", "0.250"],
        ["bm25", "a", "0.200"],
        ["tfidf", "a", "0.150"],
    ]


def test_runs_of_one_name_are_told_apart_by_their_paths(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    files = [retrieval(tmp_path / "a/bm25.json", bm25=0.4), retrieval(tmp_path / "b/bm25.json", bm25=0.5)]
    assert {row[1] for row in lines(files)} == {str(files[0]), str(files[1])}


@pytest.mark.parametrize(
    "other", [{"setting": "with-paper"}, {"queries": 9}, {"judgements": "graded"}, {"release": "ice"}]
)
def test_what_was_measured_otherwise_gets_its_own_table(tmp_path, other):
    files = [retrieval(tmp_path / "a.json", bm25=0.4), retrieval(tmp_path / "b.json", bm25=0.5, **other)]
    assert leaderboard(files).count("## ") == len(lines(files)) == 2


def test_a_baseline_that_came_out_the_same_gets_one_line(tmp_path):
    files = [answering(tmp_path / "a.json", "m", 0.75), answering(tmp_path / "b.json", "n", 0.5)]
    assert [row[:3] for row in lines(files)] == [
        ["m, k = 1", "a", "0.750"], ["n, k = 1", "b", "0.500"], ["always Yes, k = 1", "a, b", "0.250"],
    ]  # fmt: skip


def test_the_command_prints_markdown_without_html_of_names(tmp_path):
    files = [
        retrieval(tmp_path / "a.json", release=EVIL, **{EVIL: 0.4, "bm25": 0.25}),
        answering(tmp_path / "q.json", EVIL, 0.75),
    ]
    result = CliRunner().invoke(cli, ["leaderboard", *map(str, files)])
    assert result.exit_code == 0, result.output
    assert "<script>" not in result.output and "<img" not in result.output
    assert sorted({len(row) for row in lines(files)}) == [7, 9]


@pytest.mark.parametrize("text", ["{", "[]", '{"rows": 1}', '{"answers": []}'])
def test_what_is_no_result_is_refused_by_name(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=r"x\.json"):
        leaderboard([tmp_path / "x.json"])
    with pytest.raises(InputError, match=r"y\.json"):
        leaderboard([tmp_path / "y.json"])
