"""What comes back from annotators: refused where it is wrong, merged, adjudicated, measured; judges tested once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen_bench.labels.labelset import LabelSet
from scirgen_label.agree import measure, verdicts
from scirgen_label.judge import Judged
from scirgen_label.merge import merge
from tests.support.label_making import drawn, labels_file, truth


def _flip(label: str) -> str:
    return "no" if label == "yes" else "yes"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: {**v, "sample": "0" * 16}, "a label of sample 0000"),
        (lambda v: {**v, "item": "i-0"}, "unknown item 'i-0'"),
        (lambda v: {**v, "guideline": "label/faithful@9#abc"}, "made with guideline label/faithful@9#abc"),
        (lambda v: {**v, "annotator": "C"}, "'C' is not an annotator"),
        (lambda v: {**v, "label": "maybe"}, "unknown label 'maybe'"),
        (lambda v: {**v, "fields": {"verdict": "kept"}}, "verdict = 'kept'"),
        (lambda v: {**v, "fields": {"fits_type": "perhaps"}}, "fits_type = 'perhaps'"),
        (lambda v: {**v, "seconds": -1}, "seconds"),
        (lambda v: {**v, "score": 1}, "score"),
    ],
)
def test_a_wrong_line_is_set_aside_with_its_number(tmp_path: Path, change: object, message: str) -> None:
    labels = drawn(tmp_path / "L", 6, 2)
    file = labels_file(labels, "A", tmp_path / "A.jsonl")
    lines = file.read_text().splitlines()
    lines[3] = json.dumps(change(json.loads(lines[3])))
    file.write_text("\n\n" + "\n".join(lines) + "\n")
    result = merge(labels, [file])
    (aside,) = result.aside
    assert f"A.jsonl:{6}: " in aside and message in aside
    assert result.taken == {"A": 7}
    (tmp_path / "bad.jsonl").write_text(lines[3] + "\n")
    with pytest.raises(InputError) as error:
        merge(LabelSet(labels.folder), [tmp_path / "bad.jsonl"])
    assert message in error.value.message


@pytest.mark.parametrize("seconds", ["1e999", "NaN", "1e12", "-1", "-1e12"])
def test_a_number_that_is_not_finite_or_too_large_is_set_aside(tmp_path: Path, seconds: str) -> None:
    labels = drawn(tmp_path / "L", 6, 2)
    file = labels_file(labels, "A", tmp_path / "A.jsonl")
    first, *rest = file.read_text().splitlines()
    row = json.loads(first) | {"seconds": 0}
    file.write_text("\n".join([json.dumps(row).replace('"seconds": 0', f'"seconds": {seconds}'), *rest]) + "\n")
    result = merge(labels, [file])
    assert len(result.aside) == 1 and result.aside[0].startswith(f"{file}:1: ")
    assert result.taken == {"A": 7}


def test_a_duplicate_is_set_aside_and_a_lost_label_refused(tmp_path: Path) -> None:
    labels = drawn(tmp_path / "L", 6, 2)
    file = labels_file(labels, "A", tmp_path / "A.jsonl")
    first = file.read_text().splitlines()[0]
    (tmp_path / "twice.jsonl").write_text(file.read_text() + first + "\n")
    (aside,) = merge(labels, [tmp_path / "twice.jsonl"]).aside
    assert "twice.jsonl:9: A labelled item i-" in aside and aside.endswith(" twice")
    (tmp_path / "short.jsonl").write_text(first + "\n")
    with pytest.raises(InputError, match="7 labels of A that were merged earlier"):
        merge(LabelSet(labels.folder), [tmp_path / "short.jsonl"])
    with pytest.raises(InputError, match="another file already has labels"):
        merge(labels, [file, file])


@pytest.mark.parametrize("name", ["../A", "/tmp/A", "a/b", ".A", ""])
def test_a_samples_annotator_is_a_plain_name(tmp_path: Path, name: str) -> None:
    labels = drawn(tmp_path / "L", 6, 2)
    sample = json.loads((labels.folder / "sample.json").read_text())
    (labels.folder / "sample.json").write_text(json.dumps(sample | {"annotators": [name, "B"]}))
    with pytest.raises(InputError, match=r"sample\.json cannot be read: annotators\.0"):
        LabelSet(labels.folder)


@pytest.mark.parametrize("name", ["labels", "A.html", ".A.html.making", "agreement.json"])
def test_a_link_in_a_folder_of_labels_is_refused(tmp_path: Path, name: str) -> None:
    labels = drawn(tmp_path / "L", 6, 2)
    file = labels_file(labels, "A", tmp_path / "A.jsonl")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    target = tmp_path / "mine" if name == "labels" else tmp_path / "mine" / "file"
    (labels.folder / name).symlink_to(target)
    with pytest.raises(InputError, match="is a link"):
        merge(LabelSet(labels.folder), [file])
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["file"]
    assert (tmp_path / "mine" / "file").read_text() == "mine"


def test_a_folder_of_labels_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    labels = drawn(tmp_path / "L", 6, 2)
    merge(labels, [labels_file(labels, "A", tmp_path / "A.jsonl")])
    modes = {p.relative_to(tmp_path).as_posix(): p.stat().st_mode & 0o777 for p in (tmp_path / "L").rglob("*")}
    assert (tmp_path / "L").stat().st_mode & 0o777 == modes.pop("L/labels") == 0o700
    assert set(modes.values()) == {0o600} and {"L/items.jsonl", "L/labels/A.jsonl"} <= set(modes)


def test_disagreements_go_to_a_third_person_without_names(tmp_path: Path) -> None:
    labels = drawn(tmp_path / "L", 20, 4)
    a = labels_file(labels, "A", tmp_path / "A.jsonl")
    b = labels_file(
        labels, "B", tmp_path / "B.jsonl", lambda n, i: _flip(truth(i)) if n < 3 else "unsure" if n == 3 else truth(i)
    )
    result = merge(labels, [a, b])
    assert [i.id for i in result.disputed] == [i.id for i in labels.items[:4]] and result.page is not None
    page = result.page.read_text()
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert data["annotator"] == "adjudicator" and len(data["items"]) == 4
    assert all(len(i["given"]) == 2 and set(i["given"][0]) == {"label", "reason", "fields"} for i in data["items"])
    third = labels_file(labels, "adjudicator", tmp_path / "third.jsonl", items=labels.items[:4])
    assert merge(LabelSet(labels.folder), [third]).disputed == ()
    settled = LabelSet(labels.folder)
    assert all(settled.settled(i.id).label == truth(i) for i in labels.items)
    assert [settled.settled(i.id).how for i in labels.items[:5]] == ["adjudicated"] * 4 + ["agreed"]
    assert settled.settled(labels.items[0].id).annotators == 3


def test_two_different_corrections_are_a_dispute(tmp_path: Path) -> None:
    labels = drawn(tmp_path / "L", 6, 0)
    one, two = labels.items[:2]
    files = [
        labels_file(labels, "A", tmp_path / "A.jsonl",
                    more={one.id: {"corrected_answer": "3 m"}, two.id: {"corrected_answer": "3 m"}}),
        labels_file(labels, "B", tmp_path / "B.jsonl", more={one.id: {"corrected_answer": "3 m deep"}}),
    ]  # fmt: skip
    assert [i.id for i in merge(labels, files).disputed] == [one.id]
    assert LabelSet(labels.folder).settled(two.id).corrected == {"corrected_answer": "3 m"}


def _merged(tmp_path: Path, test: int = 172, dev: int = 30, size: int = 400) -> LabelSet:
    labels = drawn(tmp_path / "L", test, dev, size)
    files = [
        labels_file(labels, "A", tmp_path / "A.jsonl", lambda n, i: _flip(truth(i)) if n % 11 == 0 else truth(i)),
        labels_file(labels, "B", tmp_path / "B.jsonl", lambda n, i: _flip(truth(i)) if n % 13 == 0 else truth(i)),
    ]
    merge(labels, files)
    return LabelSet(labels.folder)


def test_agreement_is_measured_on_all_and_on_each_part(tmp_path: Path) -> None:
    labels = _merged(tmp_path, 60, 20)
    found = measure(labels, resamples=40)
    assert set(found["agreement"]) == {"all", "dev", "test"} and found["agreement"]["dev"]["items"] == 20
    everything = found["agreement"]["all"]
    assert 0.6 < everything["kappa"]["value"] < 0.9 and everything["alpha_ordinal"]["value"] is None
    assert everything["kappa"]["interval"][0] < everything["kappa"]["value"] < everything["kappa"]["interval"][1]
    assert found["settled"]["open"] == 80 - found["settled"]["agreed"]
    assert set(found["faithful"]) == {"kept", "rejected_by_score"} and found["further"]["fits_type"]["exact"] == 1.0
    assert found == measure(LabelSet(labels.folder), resamples=40)


def _judged(labels: LabelSet, name: str, wrong: int) -> Judged:
    """A judge that errs on every ``wrong``-th item."""
    given = {i.id: _flip(truth(i)) if n % wrong == 0 else truth(i) for n, i in enumerate(labels.items)}
    return Judged(name, f"{name}, prompt 1", given, {})


def test_a_good_judge_passes_and_a_poor_one_does_not(tmp_path: Path) -> None:
    labels = _merged(tmp_path)
    good, poor = verdicts(labels, [_judged(labels, "good", 10), _judged(labels, "poor", 4)], "test")
    assert good["validated"] and good["result"]["bound"] < 0.075
    assert not poor["validated"] and poor["result"]["gap"] > 0.075


def test_on_dev_no_judge_is_ever_validated(tmp_path: Path) -> None:
    labels = _merged(tmp_path, 40, 150)
    (found,) = verdicts(labels, [_judged(labels, "good", 1000)], "dev")
    assert found["result"]["passed"] and not found["validated"]


def test_the_test_part_is_opened_once(tmp_path: Path) -> None:
    labels = _merged(tmp_path, 60, 20)
    judge = _judged(labels, "model", 10)
    first = verdicts(labels, [judge], "test")
    assert verdicts(labels, [judge], "test") == first
    changed = Judged("model", "model, prompt 2", judge.labels, {})
    with pytest.raises(InputError, match="already opened") as error:
        verdicts(labels, [changed], "test")
    assert "--follow" in error.value.hint
    with pytest.raises(InputError, match="was not among them"):
        verdicts(labels, [_judged(labels, "other", 10)], "test")
    assert verdicts(labels, [changed], "dev")


def test_agree_prints_the_verdict_and_keeps_it(tmp_path: Path) -> None:
    labels = _merged(tmp_path)
    command = ["label", "agree", str(labels.folder)]
    scored = CliRunner().invoke(cli, [*command, "--judge", "shift", "--test", "--set", "filter.thresholds.shift.*=0.1"])
    assert scored.exit_code == 0, scored.output
    assert "PASSED: the bound is below the margin" in scored.output and "Cohen's kappa" in scored.output
    first = (labels.folder / "agreement.json").read_bytes()
    again = CliRunner().invoke(cli, command)
    assert again.exit_code == 0 and "PASSED" in again.output
    assert (labels.folder / "agreement.json").read_bytes() == first
    moved = CliRunner().invoke(cli, [*command, "--judge", "shift", "--test", "--set", "filter.thresholds.shift.*=0.5"])
    assert "already opened" in str(moved.exception)
    usual = CliRunner().invoke(cli, [*command, "--judge", "shift"])
    assert usual.exit_code == 0 and 'thresholds {"*": 0.0}' in usual.output


def test_labels_made_elsewhere_are_a_judge_too(tmp_path: Path) -> None:
    labels = _merged(tmp_path)
    file = labels_file(labels, "A", tmp_path / "judge.jsonl")
    result = CliRunner().invoke(cli, ["label", "agree", str(labels.folder), "--judge", f"labels:{file}", "--test"])
    assert result.exit_code == 0, result.output
    assert "judge.jsonl sha256:" in result.output and "PASSED" in result.output
