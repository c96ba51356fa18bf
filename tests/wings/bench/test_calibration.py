from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scirgen.core.config import load_config
from scirgen.core.errors import InputError
from scirgen.stages.filter.faithfulness.calibrated import Coefficients
from scirgen.testing.server import FakeServer
from scirgen_bench.calibrate.calibrate import read_labels
from scirgen_bench.calibrate.coefficients import edges
from scirgen_bench.calibrate.quality import (
    Judged,
    quality,
    roc_auc,
    threshold_for,
    thresholds_by_type,
)
from scirgen_bench.cli.calibrate import calibrate
from scirgen_bench.intervals import wilson

ROWS = st.lists(st.builds(Judged, st.floats(-5, 5), st.booleans()), min_size=1, max_size=40)


def rows(*pairs: tuple[float, bool]) -> list[Judged]:
    return [Judged(s, f) for s, f in pairs]


def test_quality_counts_what_is_kept() -> None:
    found = quality(rows((0.9, True), (0.8, False), (0.1, True), (-0.5, False)), 0.0)
    assert (found.kept, found.precision, found.recall) == (3, 2 / 3, 1.0)
    assert found.f1 == pytest.approx(0.8)


def test_quality_of_nothing_kept_is_undefined_not_zero() -> None:
    found = quality(rows((0.1, True), (0.2, False)), 1.0, resamples=50)
    assert found.precision is None and found.recall == 0.0 and found.f1 is None and found.precision_interval is None


WEIGHTED = st.lists(
    st.builds(Judged, st.integers(-3, 3).map(float), st.booleans(), weight=st.floats(0.5, 4)), min_size=1, max_size=40
)


@settings(deadline=None, max_examples=30)
@given(WEIGHTED)
def test_roc_auc_precision_and_recall_equal_those_of_scikit_learn(found: list[Judged]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    faithful, scores, weights = zip(*((r.faithful, r.score, r.weight) for r in found), strict=True)
    if len(set(faithful)) < 2:
        assert roc_auc(found) is None
        return
    assert roc_auc(found) == pytest.approx(metrics.roc_auc_score(faithful, scores, sample_weight=weights))
    at = quality(found, 0.0)
    if at.precision is not None:
        expected = metrics.precision_recall_fscore_support(
            faithful, [s > 0 for s in scores], average="binary", sample_weight=weights, zero_division=0
        )
        assert (at.precision, at.recall, at.f1) == pytest.approx(expected[:3])


@settings(deadline=None)
@example([Judged(0.0, False)] * 5 + [Judged(0.0, True)] * 6 + [Judged(-5e-324, False)], 0.53125)
@given(ROWS, st.floats(0.05, 1.0))
def test_a_fitted_threshold_reaches_its_precision_and_no_other_keeps_more(found: list[Judged], wanted: float) -> None:
    threshold = threshold_for(found, wanted)
    candidates = [r.score - 1e-3 for r in found] + [r.score for r in found]
    reaching = [q.kept for c in candidates if (q := quality(found, c)).precision is not None and q.precision >= wanted]
    if threshold is None:
        assert not any(k for k in reaching)
        return
    at = quality(found, threshold)
    assert at.precision is not None and at.precision >= wanted
    assert at.kept >= max(k for k in reaching)


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.9, 0.95]), st.booleans()), max_size=40), st.floats(0.5, 1))
@example([(0.1, False), (0.1, False), (0.2, True), *[(0.5, False)] * 2, *[(0.5, True)] * 3], 0.625)
def test_both_edges_of_the_band_reach_their_precision(judged: list[tuple[float, bool]], precision: float) -> None:
    reject, sure = edges(judged, precision)
    rejected, kept = [t for p, t in judged if p <= reject], [t for p, t in judged if p > sure]
    assert reject <= sure and sum(kept) >= precision * len(kept)
    assert len(rejected) - sum(rejected) >= precision * len(rejected)


def test_the_band_is_all_where_neither_side_reaches_its_precision() -> None:
    assert edges([(0.2, True), (0.2, False), (0.8, True), (0.8, False)], 0.9) == (0.0, 1.0)
    assert edges([(0.2, False), (0.6, True), (0.6, False), (0.8, True)], 0.9) == (0.4, 0.7)


def test_thresholds_by_type_need_enough_labels_of_both_kinds() -> None:
    many = [Judged(i / 10, i > 9, "verification") for i in range(20)] + [Judged(3.0, True, "rare")] * 3
    found = thresholds_by_type(many, 1.0)
    assert set(found) == {"verification", "*"} and 0.9 <= found["verification"] < 1.0
    assert set(thresholds_by_type(many[:19], 1.0)) == {"*"}, "nine faithful ones are too few"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000))
def test_bootstrap_intervals_hold_the_estimate_and_are_repeatable(seed: int) -> None:
    drawn = random.Random(seed)
    found = [Judged(drawn.random() + 0.5 * good, good) for good in (drawn.random() < 0.6 for _ in range(60))]
    once = quality(found, 0.6, resamples=200)
    assert once == quality(found, 0.6, resamples=200)
    assert once.precision is not None and once.precision_interval is not None
    assert once.precision_interval[0] <= once.precision <= once.precision_interval[1]


def test_wilson_interval_of_a_known_case() -> None:
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def label(i: int, faithful: bool, **more: object) -> dict[str, object]:
    return {
        "question": f"Which station is number {i}?", "answer": f"station {i}", "context": f"Station {i} is here.",
        "label": "faithful" if faithful else "unfaithful", "question_type": "Concept Completion", **more,
    }  # fmt: skip


def write(path: Path, values: list[object]) -> Path:
    path.write_text("\n".join(v if isinstance(v, str) else json.dumps(v) for v in values), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([label(1, True), "{oops"], ":2: not valid JSON"),
        ([label(1, True), {"question": "?"}], ":2: answer, context, label missing"),
        ([label(1, True), {**label(2, False), "label": "maybe"}], ":2: label 'maybe'"),
        ([label(1, True), label(2, True)], "are the same"),
        ([""], "contains no labels"),
    ],
)
def test_a_wrong_labels_file_is_refused_with_file_and_line(tmp_path: Path, values: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_labels(write(tmp_path / "labels.jsonl", values))
    assert caught.value.hint


def test_calibrate_writes_tables_and_thresholds_that_generate_reads(tmp_path: Path) -> None:
    drawn = random.Random(3)
    labels = []
    for i in range(40):
        good = i % 2 == 0
        labels.append(
            label(i, good, scores={"shift": drawn.gauss(1.0 if good else 0.0, 0.5), "llm_judge": float(good)})
        )
    out = {k: tmp_path / k for k in ("t.yaml", "f.json")}
    result = CliRunner().invoke(
        calibrate,
        [
            "--labels", str(write(tmp_path / "labels.jsonl", labels)), "--scorers", "shift,llm_judge", "--precision",
            "0.9", "--save", str(out["t.yaml"]), "--json", str(out["f.json"]),
        ],
        catch_exceptions=False,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "no filter" in result.output and "llm_judge" in result.output and "0.50" in result.output
    found = json.loads(out["f.json"].read_text())
    assert found["unfiltered"]["precision"] == 0.5 and found["scorers"]["llm_judge"]["auc"] == 1.0
    assert found["scorers"]["shift"]["wanted"]["precision"] >= 0.9
    config = load_config(file=out["t.yaml"]).config
    assert (
        config.filter.thresholds["shift"]["concept_completion"]
        == yaml.safe_load(out["t.yaml"].read_text())["filter"]["thresholds"]["shift"]["concept_completion"]
    )
    assert config.filter.faithfulness == ("shift", "llm_judge")
    assert "concept_completion" in result.output and "threshold" in result.output


def test_types_that_generate_does_not_know_are_named_and_not_saved(tmp_path: Path) -> None:
    labels = [label(i, i % 2 == 0, scores={"shift": 1.0 * (i % 2 == 0)}, question_type="Riddle") for i in range(24)]
    saved = tmp_path / "t.yaml"
    result = CliRunner().invoke(
        calibrate,
        ["--labels", str(write(tmp_path / "l.jsonl", labels)), "--save", str(saved), "--scorers", "shift"],
        catch_exceptions=False,
    )
    assert "not in the taxonomy, so --save leaves them out: riddle" in result.output
    assert list(yaml.safe_load(saved.read_text())["filter"]["thresholds"]["shift"]) == ["*"]


def test_a_threshold_that_keeps_a_handful_is_called_what_it_is(tmp_path: Path) -> None:
    scored = [0.1 * i for i in range(30)]
    labels = [label(i, i % 3 == 0 or i > 27, scores={"shift": s}) for i, s in enumerate(scored)]
    result = CliRunner().invoke(
        calibrate,
        ["--labels", str(write(tmp_path / "l.jsonl", labels)), "--precision", "0.99", "--scorers", "shift"],
        catch_exceptions=False,
    )
    assert "keeps 3 of these labels: too few to rely on" in result.output
    mixed = [label(i, i % 2 == 0, scores={"shift": 1.0 + i % 3}) for i in range(40)]
    mixed += [label(i, True, scores={"shift": 9.0}, question_type="Verification") for i in range(40, 52)]
    result = CliRunner().invoke(
        calibrate,
        ["--labels", str(write(tmp_path / "m.jsonl", mixed)), "--precision", "0.9", "--scorers", "shift"],
        catch_exceptions=False,
    )
    assert "not reached for concept_completion, which use the threshold for all types" in result.output


def test_calibrate_measures_what_the_file_does_not_hold(tmp_path: Path) -> None:
    labels = [label(i, True) for i in range(4)] + [
        {**label(i, False), "answer": "volcanoes erupting"} for i in range(4)
    ]
    result = CliRunner().invoke(
        calibrate,
        [
            "--labels", str(write(tmp_path / "l.jsonl", labels)), "--scorers", "nli", "--set",
            "filter.entailment=lexical:words", "--model", "openai:fake@http://127.0.0.1:9", "--json",
            str(tmp_path / "f.json"),
        ],
    )  # fmt: skip
    assert result.exit_code == 0, (result.output, result.exception)
    assert json.loads((tmp_path / "f.json").read_text())["scorers"]["nli"]["auc"] == 1.0


def told(n: int, faithful: bool, polar: bool = False) -> dict[str, object]:
    """A label about one of three datasets; false answers have words that their evidence lacks."""
    evidence = f"Station {n} recorded {n + 20} cm of snow in March because cold air stayed in valley {n}."
    answer = "because cold air stayed in the valley" if faithful else "because warm rain melted volcanic dust"
    return {
        "question": "Was snow deep in March?" if polar else f"Why did station {n} record snow?",
        "answer": "Yes" if polar else answer, "evidence": [evidence], "label": "faithful" if faithful else "unfaithful",
        "dataset": f"d{n % 3}", "question_type": "Verification" if polar else "Causal Antecedent",
        "made": "" if faithful else "invented",
    }  # fmt: skip


async def test_coefficients_are_fitted_and_saved_from_the_command_line(tmp_path: Path) -> None:
    labels = [told(n, n % 2 == 0) for n in range(36)] + [told(90, True, polar=True)]
    file, out, figures = write(tmp_path / "labels.jsonl", list(labels)), tmp_path / "c.json", tmp_path / "f.json"
    async with FakeServer() as server:
        arguments = ["--labels", str(file), "--model", f"openai:fake@{server.url}", "--coefficients", str(out)]
        more = ["--precision", "0.9", "--json", str(figures)]
        result = await asyncio.to_thread(CliRunner().invoke, calibrate, [*arguments, *more])
    assert result.exit_code == 0, (result.output, result.exception)
    made = Coefficients.model_validate_json(out.read_text())
    assert len(made.features) == len(made.coefficients) == len(made.mean) == len(made.scale)
    assert made.scorer == "openai:fake" and made.rows == 36, "the answer Yes is not judged by its words"
    found = json.loads(figures.read_text())
    assert found["auc"] > 0.9 and found["sides"]["rejected"]["right"] >= 0.9 * found["sides"]["rejected"]["rows"]
    assert found["kinds"]["invented"]["kept"] == 0
    assert "measured 37 of 37 answers" in result.output and "unsure between them" in result.output


@pytest.mark.parametrize("wrong", [["--save", "t.yaml"], ["--scorers", "nli"]])
def test_options_that_do_not_go_together_are_refused(tmp_path: Path, wrong: list[str]) -> None:
    file = write(tmp_path / "labels.jsonl", [told(1, True), told(2, False)])
    result = CliRunner().invoke(calibrate, ["--labels", str(file), "--coefficients", "c.json", *wrong])
    assert result.exit_code == 2 and "leave out" in result.output
