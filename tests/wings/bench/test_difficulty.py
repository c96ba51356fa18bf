"""Ranks of gold passages as fields of rows, a view of hard questions, and a table on card and report."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from scirgen.core.config import Config
from scirgen.core.records import Score
from scirgen.core.registry import Plugin, Provided, Registry, load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.release_files.release import Release
from scirgen.report import write_report
from scirgen.stages.base import StageContext
from scirgen.stages.release.stage import ReleaseStage
from scirgen_bench.difficulty import DifficultyConfig, DifficultyContent, DifficultyRow, Measured
from scirgen_bench.passage_retrieval import evaluate_passages
from tests.wings.bench.test_passage_retrieval import sought_run

ON = {"sections": {"difficulty": DifficultyConfig()}}


class Letters:
    """An embedder of counted letters."""

    @classmethod
    def open(cls, name: str) -> Letters:
        return cls()

    @classmethod
    def identify(cls, name: str, setting: str) -> str:
        return name

    @classmethod
    def describe(cls, name: str) -> str:
        return name

    def embed(self, texts, role="document"):
        counted = np.asarray([[text.lower().count(c) + 0.01 for c in "abcdefghijklm"] for text in texts])
        return (counted / np.linalg.norm(counted, axis=1, keepdims=True)).astype(np.float32)


def released(run, folder: Path, registry: Registry | None = None, **settings: object) -> Release:
    config = Config.model_validate(settings)
    resources = Resources()
    ctx = StageContext(config, resources, None, Taxonomies(resources), registry or load_registry(), folder, run=run)
    made, _ = ReleaseStage()._write(ctx)
    return made


def hidden(run):
    """One question is in words that no passage has."""
    first, *others = run.all_pairs
    run.all_pairs = [first.model_copy(update={"question": "Zzyzx quux?"}), *others]
    return run


def test_rows_have_the_rank_of_their_gold_passage_and_the_hard_ones_are_marked(tmp_path):
    release = released(hidden(sought_run()), tmp_path, **ON, release={"ratios": [1, 0, 0]})
    rows = {r.question: r.added() for r in release.rows()}
    lost = rows.pop("Zzyzx quux?")
    assert (lost["bm25_rank"], lost["overlap"], lost["hard"], lost["dense_rank"]) == (0, 0.0, True, None)
    assert {(row["bm25_rank"], row["hard"]) for row in rows.values()} == {(1, False)}
    assert {row["overlap"] for row in rows.values()} == {0.4286}  # "lake", its name and "ice", of seven terms
    card = (release.folder / "README.md").read_text()
    for line in ("number | 7", "BM25: gold first | 86%", "BM25: gold in 5 | 86%", "BM25: gold in 100 | 86%"):
        assert f"| {line} |\n" in card
    [(caption, (_, *table))] = release.info.tables.items()
    assert table[-1][1] == "14%" and "neighbour" not in caption and "topics" not in caption
    assert "1 of 5 documents have a passage of grade 2" in caption
    page = write_report(release.folder, tmp_path / "page").read_text()
    assert caption in page and "BM25: gold in 100" in page
    report = evaluate_passages(release, ["bm25"], registry=load_registry(), split="train")
    assert {b.value: b.queries for b in report.breakdown if b.by == "difficulty"} == {"hard": 1, "not hard": 6}


def test_a_question_that_is_answered_without_documents_is_not_hard(tmp_path):
    run = hidden(sought_run())
    first, second, *others = run.all_pairs
    judged = Score(name="llm_judge", value=1.0, parts=(("question", 1.0), ("guessed", 1.0)))
    known = first.model_copy(update={"from_memory": "In May.", "scores": (judged,), "asked": "user"})
    run.all_pairs = [known, second.model_copy(update={"from_memory": ""}), *others]
    release = released(run, tmp_path, steps=["difficulty"], release={"ratios": [1, 0, 0]})
    rows = {r.question: r for r in release.rows()}
    easy = rows.pop("Zzyzx quux?")
    assert (easy.guessable, easy.added()["hard"]) == (True, False)
    assert sorted(str(r.guessable) for r in rows.values()) == ["False", *["None"] * 5]
    assert "50% of the 2 asked and answered questions" in (release.folder / "README.md").read_text()


def test_an_encoder_gives_a_second_rank_and_the_share_of_near_questions(tmp_path):
    registry = load_registry()
    section = DifficultyConfig(encoder="letters:x")
    registry.add(Plugin("letters", "1", (Provided("embedder", "letters", f"{__name__}:Letters"),)))
    release = released(hidden(sought_run()), tmp_path, registry, sections={"difficulty": section})
    ranks = [r.added()["dense_rank"] for r in release.rows()]
    assert all(rank is not None and 0 <= rank <= 100 for rank in ranks) and any(ranks)
    card = (release.folder / "README.md").read_text()
    assert "letters:x: gold first" in card
    assert "of the questions have a neighbour with a cosine above 0.8" in card
    assert re.search(r"[1-7] of \d+ topics \(groups of passages\) do", card)


def test_the_table_has_a_column_for_each_origin_and_says_what_was_answered_without_documents():
    easy, lost = (DifficultyRow(bm25_rank=n, overlap=0.5, hard=not n) for n in (1, 0))
    origins = {"a": "seeking", "b": "seeking", "c": "known_item"}
    found = Measured({"a": easy, "b": lost, "c": lost}, 9, origins, {"a": True, "b": False})
    [[head, *lines]] = DifficultyContent(found).write(Path(), None, {}).info["tables"].values()
    assert head == ("questions", "all", "known item", "seeking")
    assert ("number", "3", "1", "2") in lines and ("BM25: gold first", "33%", "0%", "50%") in lines
    assert ("answered without documents", "50% of 2", "-", "50% of 2") in lines


def test_without_the_section_rows_have_no_such_fields(tmp_path):
    release = released(sought_run(), tmp_path)
    assert all(not r.added() for r in release.rows())


@pytest.mark.parametrize("empty", ["pairs", "evidence"])
def test_a_run_without_questions_or_evidence_still_gives_a_release(tmp_path, empty):
    run = sought_run()
    run.all_pairs = [] if empty == "pairs" else [
        p.model_copy(update={"grades": (), "evidence": (), "asked": "known_item"}) for p in run.all_pairs
    ]  # fmt: skip
    release = released(run, tmp_path, **ON)
    assert all(r.added()["hard"] is None for r in release.rows())
    assert "Difficulty" not in (release.folder / "README.md").read_text()
