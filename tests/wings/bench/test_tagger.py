from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen_bench.question_tagger import Labelled, QuestionTagger
from scirgen_bench.tag_locally import LocalTagStage
from scirgen_bench.tagger import Example, evaluate, fit, hold_out, read_labels
from tests.support.questioning import FakeScope, make_context, pair
from tests.support.realdata import REALDATA

TAXONOMIES = Taxonomies(Resources())
TOPICS = ("snow depth", "soil moisture", "lake area", "ice cover", "river runoff", "air temperature", "pollen", "dust")
FORMS = {
    "C1": ("Quantification", "How many stations measured {} in {}?"),
    "C2": ("Definition", "What is meant by {} in the study of {}?"),
    "C3": ("Instrumental/Procedural", "How is {} measured near {}?"),
    "C4": ("Causal Antecedent", "What factors cause changes of {} and {}?"),
    "C5": ("Judgmental", "How reliable are maps of {} and {}?"),
    "C6": ("Request/Directive", "Please design a network for {} and {}."),
}


def rows(seed: int, count: int = 120) -> list[dict[str, str]]:
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        level = rng.choice(list(FORMS))
        kind, form = FORMS[level]
        made.append({"question": form.format(*rng.sample(TOPICS, 2)), "question_type": kind, "level": f"{level}(Name)"})
    return made


def write(path: Path, made: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in made))
    return path


def examples(tmp_path, seed, target="level"):
    return read_labels(write(tmp_path / f"{seed}.jsonl", rows(seed)), target, TAXONOMIES)[0]


@pytest.mark.parametrize("text", ["C4", "C4(Analyzing)", "c4 Analyzing", "Analyzing", "analyzing"])
def test_a_level_is_read_however_it_is_written(tmp_path, text):
    path = write(tmp_path / "x.jsonl", [{"question": "Why?", "question_type": "Causal Antecedent", "level": text}])
    ((example,), skipped) = read_labels(path, "level", TAXONOMIES)
    assert (example.label, example.item.question_type, skipped) == ("C4", "causal_antecedent", 0)


def test_lines_without_a_label_are_counted_and_left_out(tmp_path):
    made = [*rows(1, 3), {"question": "Why?", "question_type": "x", "level": None}]
    found, skipped = read_labels(write(tmp_path / "x.jsonl", made), "level", TAXONOMIES)
    assert (len(found), skipped) == (3, 1)


def test_a_malformed_line_is_named(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"question": "Why?", "level": "C1"}\n{"level": "C1"}\n')
    with pytest.raises(InputError, match=r"x\.jsonl:2"):
        read_labels(tmp_path / "x.jsonl", "level", TAXONOMIES)


def test_what_can_be_learnt_is_learnt_and_beats_the_majority(tmp_path):
    train, test = examples(tmp_path, 1), examples(tmp_path, 2)
    report, differing = evaluate(fit(train, "level"), train, test)
    assert report["accuracy"] > 0.95
    assert report["baselines"]["majority"]["kappa"] == 0
    assert report["accuracy"] > report["baselines"]["majority"]["accuracy"]
    assert len(differing) == report["disagreements"]
    assert np.array(report["confusion"]).sum() == len(test)


def test_a_saved_tagger_gives_the_same_scores_and_holds_no_pickle(tmp_path):
    made = fit(examples(tmp_path, 1), "level")
    made.save(tmp_path / "tagger")
    loaded = QuestionTagger.load(tmp_path / "tagger")
    items = [e.item for e in examples(tmp_path, 2)]
    assert np.array_equal(made.scores(items), loaded.scores(items))
    assert made.revision == loaded.revision
    with np.load(tmp_path / "tagger" / "weights.npz", allow_pickle=False) as arrays:
        assert {a.dtype.kind for a in arrays.values()} == {"f"}


def test_training_twice_gives_the_same_files(tmp_path):
    for name in "ab":
        fit(examples(tmp_path, 1), "level").save(tmp_path / name)
    for file in ("terms.txt.gz", "weights.npz", "tagger.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@pytest.mark.parametrize("file", ["terms.txt.gz", "weights.npz", "tagger.json"])
def test_a_damaged_tagger_is_refused(tmp_path, file):
    fit(examples(tmp_path, 1), "level").save(tmp_path / "tagger")
    data = (tmp_path / "tagger" / file).read_bytes()
    (tmp_path / "tagger" / file).write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError):
        QuestionTagger.load(tmp_path / "tagger")


def test_two_labels_are_enough_and_one_is_not():
    made = fit(
        [Example(Labelled(f"Is it {w}?"), "a" if i % 2 else "b") for i, w in enumerate(["hot", "cold"] * 5)], "level"
    )
    assert made.predict([Labelled("Is it hot?"), Labelled("Is it cold?")]) == ["b", "a"]
    with pytest.raises(InputError):
        fit([Example(Labelled("Is it hot?"), "a")] * 3, "level")


def test_hold_out_keeps_a_repeated_question_on_one_side(tmp_path):
    found = examples(tmp_path, 1) * 2
    kept, held = hold_out(found)
    assert len(kept) + len(held) == len(found)
    assert not {e.item.question for e in kept} & {e.item.question for e in held}


@pytest.mark.parametrize("target", ["level", "question_type"])
def test_the_command_writes_figures_a_tagger_and_disagreements(tmp_path, target):
    train, test = write(tmp_path / "train.jsonl", rows(1)), write(tmp_path / "test.jsonl", rows(2))
    args = [
        "tagger",
        "train",
        "--labels",
        str(train),
        "--test",
        str(test),
        "--out",
        str(tmp_path / "t"),
        "--target",
        target,
    ]
    result = CliRunner().invoke(cli, [*args, "--json", str(tmp_path / "figures.json")], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert {"accuracy", "macro_f1", "kappa", "questions_per_s"} <= figures.keys()
    assert figures["test"] == 120
    lines = (tmp_path / "t" / "disagreements.tsv").read_text().splitlines()
    assert len(lines) == 1 + figures["disagreements"]
    assert QuestionTagger.load(tmp_path / "t").target == target


async def test_the_tag_stage_uses_a_local_tagger_without_a_model(tmp_path):
    fit(examples(tmp_path, 1), "level").save(tmp_path / "t")
    ctx, chat = make_context(stage="tag", tag_locally={"tagger": str(tmp_path / "t")})
    pairs = (pair("How many stations measured dust in pollen?", "quantification"),)
    (item,) = LocalTagStage().items(FakeScope({"filter": pairs}), ctx)
    (tagged,) = (await LocalTagStage().process(item, ctx.at("tag", item.key, "fp"))).outputs
    assert tagged.bloom == "C1"
    assert tagged.provenance.model.startswith("tagger:")
    assert chat.prompts == []
    assert LocalTagStage().uses(ctx.config).roles == ()


def test_another_tagger_is_another_fingerprint(tmp_path):
    found = set()
    for seed in (1, 2):
        fit(examples(tmp_path, seed), "level").save(tmp_path / str(seed))
        found.add(LocalTagStage().uses(make_context(tag_locally={"tagger": str(tmp_path / str(seed))})[0].config).extra)
    assert len(found) == 2


@pytest.mark.realdata
@pytest.mark.nightly
def test_the_published_labels_are_met_as_well_as_the_benchmark_says(tmp_path):
    root = REALDATA
    records = root / "geo" / "records.jsonl.gz"
    if not records.is_file():
        pytest.skip(f"REAL DATA MISSING: {records}")
    from benchmarks.bloom import split_labels

    train, test = split_labels(records, tmp_path)
    kept = read_labels(train, "level", TAXONOMIES)[0]
    report, _ = evaluate(fit(kept, "level"), kept, read_labels(test, "level", TAXONOMIES)[0])
    assert report["accuracy"] > 0.84
    assert report["kappa"] > 0.79
