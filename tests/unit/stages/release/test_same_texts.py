"""One record, paper or sentence under two ids stays in one split, and the leakage table counts it by its text."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from scirgen.core.records import Dataset, Link, Paper, QAPair, Span
from scirgen.stages.release.content import from_run
from tests.support.content_factory import FakeRun, aspect, dataset, name, pair
from tests.support.release_writing import info, write, write_content

_LONG = "Snow depth was read every morning at the stake beside the hut of the station."


def _asked(of: Dataset, evidence: str | None = None) -> QAPair:
    cited = None if evidence is None else (Span(document_id=of.id, start=0, end=len(evidence), text=evidence),)
    return pair(of, 1, f"Which snow of {name(int(of.id[-3:]), 'Q')} is that?", cited)


def _twice(first: str, second: str, **more: object) -> FakeRun:
    """Eight datasets with a question each, and one record under two ids."""
    others = [dataset(i) for i in range(2, 10)]
    same = [dataset(1, id=first, **more), dataset(1, id=second, **more)]
    run = FakeRun([*same, *others])
    run.all_pairs = [_asked(d) for d in others]
    run.all_pairs += [pair(d, n, f"What lies in {name(n, 'W')} {d.id}?") for n, d in enumerate(same)]
    return run


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Caf\u00e9-snow", unicodedata.normalize("NFD", "Caf\u00e9-snow")),
        ("TPDC.0001", "tpdc.0001"),
        ("10.5555/snow", "https://example.org/records/77"),
    ],
)
def test_one_record_under_two_ids_is_in_one_split(first: str, second: str, tmp_path: Path) -> None:
    for seed in range(4):
        release = write(_twice(first, second), tmp_path / f"r{seed}", seed=seed)
        split_of = {row.dataset_id: row.split for row in release.rows()}
        assert split_of[first] == split_of[second]
        assert all(row.shared == 0 for row in release.info.leakage)


def test_a_record_in_two_published_splits_is_counted_by_its_text(tmp_path: Path) -> None:
    content = from_run(_twice("A-1", "b-2"), info())
    content.splits = {d: "test" if d == "b-2" else "train" for d in content.datasets}
    content.keep_all = True
    release = write_content(content, tmp_path / "release")
    found = {r.what: (r.shared, r.of) for r in release.info.leakage if (r.left, r.right) == ("train", "test")}
    assert found["records"] == (1, 1)
    assert found["evidence sentences"] == (1, 1)
    assert found["components"] == (1, 1)


@pytest.mark.parametrize(("evidence", "together"), [(_LONG, True), (_LONG.upper(), True), ("Format: NetCDF", False)])
def test_datasets_with_one_sentence_of_evidence_are_in_one_split(evidence: str, together: bool, tmp_path: Path) -> None:
    found = set()
    for seed in range(5):
        run = FakeRun([dataset(i) for i in range(10)])
        run.all_pairs = [_asked(d) for d in run.all_datasets[2:]]
        run.all_pairs += [
            _asked(run.all_datasets[0], evidence),
            _asked(run.all_datasets[1], evidence.replace(" ", "  ")),
        ]
        release = write(run, tmp_path / f"r{seed}", seed=seed)
        split_of = {row.dataset_id: row.split for row in release.rows()}
        found.add(split_of["ds-000"] == split_of["ds-001"])
    assert found == {True} if together else False in found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"id": "paper-aa", "doi": "10.5555/p"}, {"id": "paper-bb", "doi": "10.5555/P"}),
        ({"id": "paper-aa", "title": "The snow of the northern valleys in forty winters"},
         {"id": "paper-bb", "title": "The Snow of the Northern Valleys in Forty Winters."}),
    ],
)  # fmt: skip
def test_copies_of_a_paper_hold_their_datasets_together(
    one: dict[str, str], other: dict[str, str], tmp_path: Path
) -> None:
    for seed in range(4):
        run = FakeRun([dataset(i) for i in range(10)])
        run.stored["collect"] = [Paper(**one), Paper(**other)]
        run.stored["match"] = [
            Link(dataset_id=f"ds-00{n}", paper_id=p["id"], found_by="doi", used=True)
            for n, p in enumerate((one, other))
        ]
        run.stored["verify"] = [aspect("ds-000", "paper-aa", 0, "Snow."), aspect("ds-001", "paper-bb", 0, "Snow.")]
        run.all_pairs = [_asked(d) for d in run.all_datasets]
        release = write(run, tmp_path / f"r{seed}", seed=seed)
        split_of = {row.dataset_id: row.split for row in release.rows()}
        assert split_of["ds-000"] == split_of["ds-001"]
