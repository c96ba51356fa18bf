"""Rows that somebody asked go to splits by what answers them, and near them by their known-item neighbours."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from scirgen.core.corpus.questions import Regraded
from scirgen.core.records import Dataset, Grade, Link, Paper, QAPair, SectionLabel
from scirgen.release_files.release import Release
from tests.support.content_factory import FakeRun, aspect, dataset, name, pair
from tests.support.release_writing import write

_ONE = Dataset(id="one", title="Snow of one valley", description="Snow depth of one valley, daily.")


def _asked(number: int, *passages: tuple[str, str], of: Dataset = _ONE) -> QAPair:
    made = pair(of, number, f"Where does {name(number, 'Q')} melt?", ())
    grades = [Grade(passage_id=p, document_id=d, start=0, end=9, grade=2) for d, p in passages]
    grades.append(Grade(passage_id="psg-common", document_id="doc-common", start=0, end=9, grade=1))
    update = {"id": f"qa-{number:03}", "asked": "seeking", "grades": tuple(grades), "about": "paper"}
    return made.model_copy(update=update)


def _splits(release: Release) -> dict[str, str]:
    return {row.id: row.split for row in release.rows()}


def _shared(release: Release, what: str) -> int:
    return sum(row.shared for row in release.info.leakage if row.what == what)


@pytest.mark.parametrize("seed", range(4))
def test_asked_rows_are_joined_by_documents_that_answer_and_not_by_their_dataset(seed: int, tmp_path: Path) -> None:
    run = FakeRun([_ONE])
    run.all_pairs = [_asked(n, (f"doc-{n // 2}", f"psg-{n}")) for n in range(40)]
    release = write(run, tmp_path / "release", seed=seed)
    found = _splits(release)
    assert all(found[f"qa-{n:03}"] == found[f"qa-{n + 1:03}"] for n in range(0, 40, 2))
    assert set(found.values()) == {"train", "dev", "test"}
    assert _shared(release, "documents of grade 2") == 0
    assert "documents of grade 2" in release.info.split_rule


def test_a_paper_joins_what_was_asked_with_what_was_written_from_it(tmp_path: Path) -> None:
    for seed in range(6):
        run = FakeRun([dataset(i) for i in range(10)])
        run.stored["collect"] = [Paper(id="p")]
        run.stored["match"] = [Link(dataset_id="ds-003", paper_id="p", found_by="doi", used=True)]
        run.stored["verify"] = [aspect("ds-003", "p", 0, "Snow.")]
        run.stored["section"] = [
            SectionLabel(document_id="doc-p", paper_id="p", start=0, end=9, heading="M", label="method",
                         decided_by="rule")
        ]  # fmt: skip
        run.all_pairs = [pair(d, n) for d in run.all_datasets for n in range(2)]
        run.all_pairs += [_asked(1, ("doc-p", "psg-p"), of=run.all_datasets[7])]
        run.all_pairs += [_asked(2, ("ds-005", "psg-5"), of=run.all_datasets[8])]
        release = write(run, tmp_path / f"r{seed}", seed=seed)
        by_dataset = {row.dataset_id: row.split for row in release.rows() if row.asked == "known_item"}
        assert _splits(release)["qa-001"] == by_dataset["ds-003"]
        assert _splits(release)["qa-002"] == by_dataset["ds-005"]


@pytest.mark.parametrize("hub", [False, True])
def test_a_catalogue_of_one_subject_gets_test_rows(hub: bool, tmp_path: Path) -> None:
    run = FakeRun([_ONE])
    shared = [("doc", "psg-hub")] if hub else []
    run.all_pairs = [_asked(n, ("doc", f"psg-{n // 3}"), *shared) for n in range(60)]
    release = write(run, tmp_path / "release")
    found = _splits(release)
    sizes = Counter(found.values())
    by = "near-copies" if hub else "passages of grade 2"
    assert sizes["dev"] + sizes["test"] >= 0.15 * 60
    assert _shared(release, "documents of grade 2") == 3
    assert (_shared(release, "passages of grade 2") > 0) == hub
    assert any(f"are joined by {by}" in note and "100%" in note for note in release.info.notes)
    text = (release.folder / "README.md").read_text(encoding="utf-8")
    assert "| documents of grade 2 | train | test | 1 | 1 |" in text


def test_splits_do_not_depend_on_the_order_of_pairs(tmp_path: Path) -> None:
    run = FakeRun([_ONE])
    run.all_pairs = [_asked(n, ("doc", f"psg-{n // 3}")) for n in range(60)]
    first = _splits(write(run, tmp_path / "one"))
    run.all_pairs.reverse()
    assert _splits(write(run, tmp_path / "two")) == first


def test_the_card_says_how_far_a_second_grader_agrees(tmp_path: Path) -> None:
    run = FakeRun([_ONE])
    run.all_pairs = [_asked(n, (f"doc-{n}", f"psg-{n}")) for n in range(10)]
    grades = [*[(0, 0)] * 5, *[(2, 2)] * 3, (0, 2), (2, 0)]
    run.stored["answer"] = [Regraded(id=f"q{n}", dataset_id="one", grades=grades[n::2], by="openai:m") for n in (0, 1)]
    notes = write(run, tmp_path / "release").info.notes
    # Raw .8; by chance .6 * .6 + .4 * .4 = .52.
    assert any("graded 2 calls again: 80% of 10 grades are equal; Cohen's kappa 0.58." in note for note in notes)


@pytest.mark.parametrize("unused", ["qa-001", "qa-002"])
def test_a_question_of_a_paper_that_no_dataset_uses_gives_and_takes_no_gold(unused: str, tmp_path: Path) -> None:
    run = FakeRun([dataset(i) for i in range(3)])
    run.stored["collect"] = [Paper(id="p")]
    run.stored["match"] = [Link(dataset_id="ds-002", paper_id="p", found_by="doi", used=True)]
    run.stored["section"] = [
        SectionLabel(document_id="doc-p", paper_id="p", start=0, end=9, heading="M", label="method", decided_by="rule")
    ]
    rows = {
        "qa-001": ("doc-unused", "psg-1") if unused == "qa-001" else ("doc-p", "psg-p"),
        "qa-002": ("doc-unused", "psg-1") if unused == "qa-002" else ("doc-p", "psg-p"),
    }
    asked = [_asked(1, cited, of=run.all_datasets[1]).model_copy(update={"id": id}) for id, cited in rows.items()]
    run.all_pairs = asked
    release = write(run, tmp_path / "release")
    (row,) = release.rows()
    assert (row.dataset_id, row.gold, row.about) == ("ds-002", ("ds-002",), "paper")
    assert release.qrels(row.split) == {row.id: {"ds-002": 1}}


def test_a_parts_row_names_no_record_that_only_another_part_has(tmp_path: Path) -> None:
    run = FakeRun([dataset(i) for i in range(3)])
    asked = _asked(1, ("ds-001", "psg-1"), ("another", "psg-2"), of=run.all_datasets[1])
    run.all_pairs = [
        asked.model_copy(update={"about": "dataset", "dataset_id": "another", "dataset_ids": ("another", "ds-001")})
    ]
    release = write(run, tmp_path / "release")
    (row,) = release.rows()
    assert (row.dataset_id, row.gold) == ("ds-001", ("ds-001",))
    assert release.qrels(row.split) == {row.id: {"ds-001": 1}}
