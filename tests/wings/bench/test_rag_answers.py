"""Anybody's chunks and answers, scored by the answer spans of a release."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen.release_files.release import Release
from scirgen.testing.replies import chat_completion
from scirgen.testing.server import FakeServer
from scirgen_bench.rag.align import Texts, covered, length, shares, spans_of, squeezed
from tests.support.release_writing import ALL_TRAIN, write
from tests.wings.bench.test_passage_retrieval import sought_run

SPAN = "The snow depth in the first valley fell by 4.5 cm between 1980 and 2020, as café owners ﬁnd."
SPOILT = "THE snow depth in the ﬁrst val-\nley fell by 4.5 cm between 1980 and\n2020 , as cafe´ owners find"


def test_a_span_is_found_whatever_a_parser_did_to_hyphens_ligatures_and_accents():
    assert covered(squeezed(SPAN), squeezed(f"of 12 stations. {SPOILT}. Then")) == [(0, len(squeezed(SPAN)))]


def test_a_chunk_that_ends_inside_a_span_holds_a_part_of_it():
    left, right = SPAN[:50], SPAN[50:]
    assert shares([squeezed(SPAN)], [squeezed(f"Before. {left}")])[0] == pytest.approx(0.55, abs=0.05)
    assert shares([squeezed(SPAN)], [squeezed(f"Before. {left}"), squeezed(f"{right} After.")])[0] == 1.0


def test_a_reference_mark_inside_a_span_costs_nothing_but_itself():
    marked = SPAN.replace("2020", "2020 [17]")
    assert shares([squeezed(SPAN)], [squeezed(f"x {marked} y")])[0] > 0.9


def test_the_same_words_on_another_matter_hold_no_part():
    assert (
        covered(squeezed(SPAN), squeezed("The valley has snow. Its depth was not measured between 1980 and 1990."))
        == []
    )


def test_a_span_inside_another_counts_once():
    assert spans_of([SPAN, SPAN[4:20], SPAN.upper(), "-- !"]) == [squeezed(SPAN)]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(lambda t: (min(t), max(t))), max_size=8))
def test_the_length_of_intervals_counts_each_place_once(intervals):
    assert length(intervals) == len({n for a, b in intervals for n in range(a, b)})


def test_how_much_of_a_chunk_is_in_a_release_is_told():
    plain = " ".join(f"Station {n} measured snow depth every day." for n in range(30))
    texts = Texts([plain])
    for chunk, share in ((plain[200:600], 1.0), ("Nothing of this stands in any of its texts at all. " * 5, 0.0)):
        squeezed_chunk = squeezed(chunk)
        assert texts.aligned(squeezed_chunk) / len(squeezed_chunk) == pytest.approx(share, abs=0.05)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return write(sought_run(), tmp_path_factory.mktemp("rag") / "release", ratios=ALL_TRAIN)


# -- a system in plain Python: its own parser, its own chunks, its own search ------------------------------------------


def chunks_of(release: Release, words: int) -> list[dict[str, str]]:
    """All texts as another parser may give them (lines of 60 characters, words broken at their ends), in windows."""
    documents: dict[str, list[str]] = {}
    for passage in release.passages():
        documents.setdefault(passage.document_id, []).append(passage.text)
    found = []
    for name, parts in documents.items():
        text = re.sub(r"(.{59}\w)(\w)", r"\1-\n\2", " ".join(parts))
        pieces = text.split(" ")
        found += [{"text": " ".join(pieces[at : at + words]), "document": name} for at in range(0, len(pieces), words)]
    return found


def search(question: str, chunks: list[dict[str, str]], count: int) -> list[dict[str, str]]:
    """The chunks with most of the question's words."""
    wanted = set(re.findall(r"\w+", question.lower()))
    joined = [set(re.findall(r"\w+", chunk["text"].lower().replace("-\n", ""))) for chunk in chunks]
    order = sorted(range(len(chunks)), key=lambda n: -len(wanted & joined[n]))
    return [chunks[n] for n in order[:count]]


def answers(release: Release, out: Path, words: int, count: int = 2) -> Path:
    chunks = chunks_of(release, words)
    with out.open("w", encoding="utf-8") as file:
        for line in (release.folder / "train.jsonl").read_text().splitlines():
            row = json.loads(line)
            found = search(row["question"], chunks, count)
            file.write(json.dumps({"id": row["id"], "chunks": found, "answer": found[0]["text"]}) + "\n")
    return out


# ----------------------------------------------------------------------------------------------------------------------


def scored(release: Release, *words: object) -> tuple[Result, dict[str, Any]]:
    out = Path(str(words[0])).with_suffix(".figures")
    result = CliRunner().invoke(cli, ["benchmark", "rag", str(release.folder), *map(str, words), "--json", str(out)])
    return result, json.loads(out.read_text()) if out.exists() else {}


def test_a_system_of_ones_own_is_scored_without_a_model(release, tmp_path):
    result, report = scored(
        release, answers(release, tmp_path / "small.jsonl", 100), answers(release, tmp_path / "large.jsonl", 600),
        "--by", "asked,difficulty",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    small, large = report["rows"]
    for row in (small, large):
        assert row["aligned"] > 0.95
        assert row["intervals"] == {}, "all questions are about one dataset"
    # Larger chunks hold whole spans more often, and more that nobody asked for.
    assert small["metrics"]["precision"] > 2 * large["metrics"]["precision"]
    assert small["metrics"]["IoU"] > 2 * large["metrics"]["IoU"]
    assert 0.5 < small["metrics"]["recall"] < large["metrics"]["recall"]
    assert 0.5 < small["metrics"]["all spans"] <= large["metrics"]["all spans"] <= 1.0
    assert {t["metric"] for t in report["tests"]} == {"recall", "IoU"}
    assert "| seeking | small" in result.output and "| not measured (difficulty={}) | large" in result.output


def test_exact_passages_have_recall_and_precision_that_can_be_computed_by_hand(release, tmp_path):
    row = next(r for r in release.rows("train"))
    [span] = [e.text for e in row.evidence]
    other = "Nothing of this kind was ever written anywhere else. "
    lines = [{"id": row.id, "chunks": [{"text": span}, {"text": other}], "answer": ""}]
    (tmp_path / "one.jsonl").write_text("\n".join(map(json.dumps, lines)))
    _, report = scored(release, tmp_path / "one.jsonl")
    gold, taken = len(squeezed(span)), len(squeezed(span)) + len(squeezed(other))
    assert report["rows"][0]["metrics"] == {
        "recall": 1.0, "precision": round(gold / taken, 6), "IoU": round(gold / taken, 6), "all spans": 1.0,
    }  # fmt: skip
    assert any("is not in the release" in note for note in report["notes"])
    assert "6 question(s) of the split(s) train are in none of the files and do not count." in report["notes"]


def test_a_question_that_one_system_leaves_out_counts_as_nothing_found(release, tmp_path):
    whole = answers(release, tmp_path / "whole.jsonl", 100)
    (tmp_path / "half.jsonl").write_text("\n".join(whole.read_text().splitlines()[:3]))
    result, report = scored(release, whole, tmp_path / "half.jsonl")
    both = {r["system"]: r["metrics"]["recall"] for r in report["rows"]}
    assert both["half"] < both["whole"]
    assert "half leaves out 4 of 7 questions" in result.output


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "qa-0", "chunks": []}', "not a question of"),
        ('{"id": "a", "chunks": [{"txt": "b"}]}', r"line 1: chunks\.0\.text"),
        ('{"id": "a"}\n{"id": "a"}', "line 2: the id a occurs twice"),
        ("", "has no answers"),
    ],
)
def test_a_file_that_cannot_be_scored_says_where_and_what_to_write(release, tmp_path, line, said):
    (tmp_path / "a.jsonl").write_text(line)
    result, _ = scored(release, tmp_path / "a.jsonl")
    assert isinstance(result.exception, InputError)
    assert re.search(said, str(result.exception))


def labels(body: dict[str, Any]) -> dict[str, Any]:
    """A judge that finds every first sentence supported, and no other."""
    found = chat_completion(body)
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    names = schema.get("properties", {})
    content = json.dumps({name: "full" if name == "s1" else "none" for name in names})
    found["choices"][0]["message"]["content"] = content
    return found


async def test_a_judge_says_what_share_of_an_answer_its_chunks_support(release, tmp_path):
    import asyncio

    row = next(r for r in release.rows("train"))
    chunk = {"text": row.evidence[0].text}
    line = {"id": row.id, "chunks": [chunk], "answer": "It melts in May. It is thin."}
    (tmp_path / "a.jsonl").write_text(json.dumps(line))
    async with FakeServer(reply=labels) as server:
        words = (tmp_path / "a.jsonl", "--judge", f"openai:fake@{server.url}", "--out", tmp_path / "kept",
                 "--entailment", "lexical:words")  # fmt: skip
        for _ in range(2):
            result, report = await asyncio.to_thread(scored, release, *words)
            assert result.exit_code == 0, result.output
        assert report["rows"][0]["metrics"]["support"] == 0.5
        assert report["rows"][0]["metrics"]["entailed"] in (0.0, 1.0)
        assert sum(server.answered.values()) == 1, "the second run asks nothing"
