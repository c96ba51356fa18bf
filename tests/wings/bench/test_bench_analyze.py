from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen_bench.compare.profile import evenness, profile, simpson, words
from scirgen_bench.compare.question_sets import read_question_set
from tests.support.content_factory import small_run
from tests.support.release_writing import write


def test_a_word_is_a_run_of_characters_without_white_space():
    assert words("  two\twords\n") == 2
    assert words("") == 0


def test_diversity_is_one_when_even_and_zero_when_there_is_one_class():
    assert evenness([5] * 6, 6) == 1
    assert evenness([7, 0, 0], 6) == 0
    assert evenness([1, 1], 4) == pytest.approx(0.5)
    assert simpson([1, 1]) == 0.5
    assert simpson([3]) == 0


def test_a_release_is_profiled_with_its_papers_and_aspects(tmp_path):
    release = write(small_run(), tmp_path / "release")
    found = profile(read_question_set(tmp_path))
    assert found.kind == "scirgen"
    assert found.questions == sum(r.count for r in found.table_3a) == sum(r.count for r in found.bloom) == 74
    assert found.table_3b.datasets_with_papers == 3
    assert found.table_3b.by_number == {"1": 3}
    assert {a.aspect: (a.count, a.words) for a in found.table_3c} == {"methods": (2, 7.0), "findings": (1, 3.0)}
    assert sum(sum(row.values()) for row in found.type_by_bloom.values()) == release.info.counts["rows"]


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
    found = read_question_set(file if name.endswith(".jsonl") and "/" not in name else tmp_path / name.split("/")[0])
    assert found.kind == kind
    assert [a.question for a in found.questions] == ["Why?"]
    assert [a.bloom for a in found.questions] == (["C4"] if kind != "beir" else [""])


@pytest.mark.parametrize("text", ['{"q": 1}', "[1]", "{"])
def test_a_line_that_is_no_question_is_refused_with_its_file(tmp_path, text):
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(InputError, match=r"a\.jsonl"):
        read_question_set(tmp_path / "a.jsonl")


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
