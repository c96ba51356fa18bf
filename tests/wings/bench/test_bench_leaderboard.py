from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen_bench.leaderboard import boards
from scirgen_bench.qa import QAReport, SystemRow
from scirgen_bench.retrieval import RetrievalReport

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
        return SystemRow(
            system=name, k=1, questions=4, failed=1, accuracy=value, rouge_l=None, exact=value, number=value
        )

    rows = [row(system, accuracy), row("always Yes", 0.25)]
    report = QAReport(release="snow", split="dev", entailment="lexical:words", rows=rows, answers=[])
    file.write_text(report.model_dump_json(), encoding="utf-8")
    return file


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen: list[tuple[str, dict]] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def test_runs_on_the_same_questions_share_a_table_best_first(tmp_path):
    files = [retrieval(tmp_path / "a.json", bm25=0.4, tfidf=0.3), retrieval(tmp_path / "b.json", dense=0.5)]
    (board,) = boards(files)
    assert [(e.system, e.runs) for e in board.entries] == [("dense", ("b",)), ("bm25", ("a",)), ("tfidf", ("a",))]
    assert board.best(board.metrics.index("MRR@100")) == 0.5
    assert board.best(board.metrics.index("NDCG@10")) is None


def test_runs_of_one_name_are_told_apart_by_their_paths(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    files = [retrieval(tmp_path / "a/bm25.json", bm25=0.4), retrieval(tmp_path / "b/bm25.json", bm25=0.5)]
    (board,) = boards(files)
    assert {e.runs for e in board.entries} == {(str(files[0]),), (str(files[1]),)}


@pytest.mark.parametrize(
    "other", [{"setting": "with-paper"}, {"queries": 9}, {"judgements": "graded"}, {"release": "ice"}]
)
def test_what_was_measured_otherwise_gets_its_own_table(tmp_path, other):
    files = [retrieval(tmp_path / "a.json", bm25=0.4), retrieval(tmp_path / "b.json", bm25=0.5, **other)]
    assert [len(b.entries) for b in boards(files)] == [1, 1]


def test_a_baseline_that_came_out_the_same_gets_one_line(tmp_path):
    files = [answering(tmp_path / "a.json", "m", 0.75), answering(tmp_path / "b.json", "n", 0.5)]
    (board,) = boards(files)
    assert [(e.system, e.runs) for e in board.entries] == [
        ("m, k = 1", ("a",)), ("n, k = 1", ("b",)), ("always Yes, k = 1", ("a", "b")),
    ]  # fmt: skip


def test_leaderboard_writes_markdown_and_a_page_that_loads_nothing(tmp_path):
    files = [
        retrieval(tmp_path / "a.json", release=EVIL, **{EVIL: 0.4, "bm25": 0.25}),
        answering(tmp_path / "q.json", EVIL, 0.75),
    ]
    result = CliRunner().invoke(cli, ["leaderboard", *map(str, files), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    html = (tmp_path / "out" / "leaderboard.html").read_text("utf-8")
    parsed = Tags()
    parsed.feed(html)
    assert {t for t, _ in parsed.seen}.isdisjoint({"script", "img", "iframe", "object"})
    assert [a["href"] for _, a in parsed.seen if "href" in a] == ["data:,"]
    assert not [a for _, a in parsed.seen if "src" in a or any(name.startswith("on") for name in a)]
    assert "default-src 'none'" in html
    assert "<strong>0.400</strong>" in html and "0.250" in html
    text = (tmp_path / "out" / "leaderboard.md").read_text("utf-8")
    assert "<script>" not in text and "<img" not in text
    rows = [re.split(r"(?<!\\)\|", line) for line in text.splitlines() if line.startswith("| ")]
    assert {len(r) for r in rows} == {len(rows[0]), len(rows[-1])}


@pytest.mark.parametrize("text", ["{", "[]", '{"rows": 1}', '{"answers": []}'])
def test_what_is_no_result_is_refused_by_name(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=r"x\.json"):
        boards([tmp_path / "x.json"])
    with pytest.raises(InputError, match=r"y\.json"):
        boards([tmp_path / "y.json"])
