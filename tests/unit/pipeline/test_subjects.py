"""Subjects are chosen by id, by file or by number; what nobody can mean is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from scirgen.core.config import load_config
from scirgen.core.errors import InputError
from scirgen.core.records import Dataset
from scirgen.pipeline.subjects import chosen, requested

DATASETS = [Dataset(id=f"d{n}", title="Ice", doi=f"10.1/{n}") for n in range(200)]
IDS = [d.id for d in DATASETS]


def wanted(about: object) -> tuple[str, ...] | int:
    return requested(load_config(flags={"generate.about": about}).config.generate)


def test_ids_are_listed_in_the_settings_or_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "ids").write_text("\ufeffd3\r\n\nd5\nd3\n", "utf-8")
    assert wanted(str(tmp_path / "ids")) == ("d3", "d5")
    assert (wanted(["d3"]), wanted("d3"), wanted(7)) == (("d3",), ("d3",), 7)


@pytest.mark.parametrize(("content", "said"), [(None, "does not exist"), (" \n", "names no dataset")])
def test_a_file_that_names_nothing_is_refused(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "ids.txt").write_text(content, "utf-8")
    with pytest.raises(InputError, match=said):
        wanted(str(tmp_path / "ids.txt"))


def test_a_subject_is_known_by_id_or_doi_and_missing_ones_are_named() -> None:
    assert chosen(("D7", "10.1/4", "none"), IDS, DATASETS, 0) == (["d4", "d7"], ("none",))
    with pytest.raises(InputError, match="no record has the id 'none'"):
        chosen(("none",), IDS, DATASETS, 0)


def test_a_drawn_number_hardly_changes_when_records_come() -> None:
    first, _ = chosen(50, IDS[:190], [], 3)
    second, _ = chosen(50, IDS, [], 3)
    assert len(first) == len(second) == 50 and len({*first} - {*second}) <= 10
    assert chosen(50, IDS, [], 4)[0] != second and chosen(500, IDS, [], 3)[0] == IDS
