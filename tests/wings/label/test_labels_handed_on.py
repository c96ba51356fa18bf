"""Labels handed on: to calibration, to a following sample."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.resources import Resources
from scirgen_bench.calibrate.calibrate import read_labels
from scirgen_bench.calibrate.quality import Judged, quality, roc_auc, threshold_for
from scirgen_bench.labels.labelset import LabelSet
from scirgen_label.draw import Request, draw
from scirgen_label.merge import merge
from tests.support.label_making import Population, drawn, labels_file, truth

GUIDELINE = PromptLibrary(Resources()).get("label/faithful")


@pytest.fixture
def labels(tmp_path: Path) -> LabelSet:
    made = drawn(tmp_path / "L", 60, 40)
    merge(made, [labels_file(made, a, tmp_path / f"{a}.jsonl") for a in "AB"])
    return LabelSet(made.folder)


def test_calibration_reads_the_folder_with_weights_and_parts(labels: LabelSet) -> None:
    rows = read_labels(labels.folder)
    assert len(rows) == 100 and sum(r.part == "dev" for r in rows) == 40
    assert sum(r.faithful for r in rows) == sum(truth(i) == "yes" for i in labels.items)
    weights = {i.record: i.weight for i in labels.items}
    assert sorted(r.weight for r in rows) == sorted(weights.values()) and len(set(weights.values())) > 1


def test_calibrate_fits_on_dev_and_reports_on_test(labels: LabelSet) -> None:
    result = CliRunner().invoke(cli, ["calibrate", "--labels", str(labels.folder), "--precision", "0.95"])
    assert result.exit_code == 0, result.output
    assert "100 labels" in result.output
    assert "fitted on 40 dev labels; all figures are of the 60 test labels" in result.output
    shift = next(line for line in result.output.splitlines() if line.startswith("shift"))
    assert "1.00" in shift, "the scores of the run separate these labels, so no model is asked"


def test_weights_count_as_if_rows_were_repeated() -> None:
    rows = [Judged(0.9, True, weight=3), Judged(0.8, False), Judged(0.7, True), Judged(0.2, False, weight=4)]
    repeated = [r for r in rows for _ in range(int(r.weight))]
    plain = [Judged(r.score, r.faithful) for r in repeated]
    for threshold in (0.1, 0.5, 0.75):
        ours, theirs = quality(rows, threshold), quality(plain, threshold)
        assert (ours.precision, ours.recall, ours.f1) == (theirs.precision, theirs.recall, theirs.f1)
    assert roc_auc(rows) == roc_auc(plain)
    assert threshold_for(rows, 0.8) == threshold_for(plain, 0.8)


def test_intervals_resample_whole_datasets() -> None:
    rows = [Judged(0.5, n % 2 == 0, cluster=f"d{n % 4}") for n in range(200)]
    apart = quality([Judged(r.score, r.faithful) for r in rows], 0.0, resamples=300).precision_interval
    grouped = quality(rows, 0.0, resamples=300).precision_interval
    assert apart and grouped and grouped[1] - grouped[0] > 2 * (apart[1] - apart[0])


def test_a_following_sample_keeps_the_old_labels_as_dev(labels: LabelSet, tmp_path: Path) -> None:
    request = Request("faithful", 50, strata=("verdict",), follow=labels)
    made = draw(Population(200), "made", request, GUIDELINE, tmp_path / "L2")
    assert len(made.part("dev")) == 100 and len(made.part("test")) == 50
    assert not {i.record for i in labels.items} & {i.record for i in made.part("test")}
    assert len(made.labels["A"]) == 100 and all(made.settled(i.id).label == truth(i) for i in made.part("dev"))
    assert round(sum(i.weight for i in made.part("dev"))) == 200
    with pytest.raises(InputError, match="its items as the dev part"):
        draw(Population(200), "made", Request("faithful", 5, 5, follow=labels), GUIDELINE, tmp_path / "L3")
