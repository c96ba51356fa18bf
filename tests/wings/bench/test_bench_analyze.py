from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen_bench.analysis import profile
from tests.support.content_factory import small_run
from tests.support.release_writing import write


def test_a_release_is_profiled_with_its_papers_and_aspects(tmp_path):
    release = write(small_run(), tmp_path / "release")
    found = profile(tmp_path)
    assert found["kind"] == "scirgen"
    assert found["questions"] == sum(r["count"] for r in found["table_3a"]) == sum(r["count"] for r in found["bloom"])
    assert found["questions"] == 74
    assert found["table_3b"]["datasets_with_papers"] == 3
    assert found["table_3b"]["by_number"] == {"1": 3}
    counted = {a["aspect"]: (a["count"], a["words"]) for a in found["table_3c"]}
    assert counted == {"methods": (2, 7.0), "findings": (1, 3.0)}
    assert sum(sum(row.values()) for row in found["type_by_bloom"].values()) == release.info.counts["rows"]


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.jsonl", '{"question": "Why?", "answer": "So.", "level": "C4(Analyzing)", "type": "t"}\n\n', "jsonl"),
        ("beir/queries.jsonl", '{"_id": "1", "text": "Why?"}\n', "beir"),
        (
            "geo/train/x.json",
            '{"id": "x", "context": {"metadata": {}}, "query": {"A/B": [{"QuestionEn": "Why?", "Level": "C4"}]}}',
            "scirgen-geo",
        ),
        (
            "r.jsonl",
            '{"id": "x", "context": {"metadata": {}}, "query": {"A/B": [{"QuestionEn": "Why?", "Level": "C4"}]}}',
            "scirgen-geo",
        ),
    ],
)
def test_each_format_is_told_by_what_is_there(tmp_path, name, text, kind):
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    found = profile(file if name.endswith(".jsonl") and "/" not in name else tmp_path / name.split("/")[0])
    assert found["kind"] == kind
    assert found["questions"] == 1
    assert [r["level"] for r in found["bloom"] if r["count"]] == (["C4"] if kind != "beir" else [])


@pytest.mark.parametrize("text", ['{"q": 1}', "[1]", "{"])
def test_a_line_that_is_no_question_is_refused_with_its_file(tmp_path, text):
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(InputError, match=r"a\.jsonl"):
        profile(tmp_path / "a.jsonl")


def test_the_command_puts_sets_side_by_side(tmp_path):
    write(small_run(), tmp_path / "r" / "release")
    (tmp_path / "q.jsonl").write_text('{"query": "What is snow?"}\n')
    out = tmp_path / "figures.json"
    result = CliRunner().invoke(cli, ["analyze", str(tmp_path / "r"), str(tmp_path / "q.jsonl"), "--json", str(out)])
    assert result.exit_code == 0, result.output
    report = json.loads(out.read_text())
    assert [s["name"] for s in report["sets"]] == ["snow", "q"]
    assert report["sets"][1]["labels"] == "none"
    assert "q has no types and levels" in result.output
    assert "| level" in result.output
