"""Tests of `source.py` as `scirgen init` wrote it. Replace them together with it; `test_template.py` stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scirgen_template.source import PAGE, TemplateSource

from scirgen import Dataset, InputError, Rejection, SourceSetup
from scirgen.testing import check_source


def test_a_long_catalogue_is_resumed_at_its_cursors(tmp_path: Path) -> None:
    records = [{"id": f"d{n}", "title": f"Dataset {n}"} for n in range(2 * PAGE + 5)]
    (tmp_path / "catalogue.json").write_text(json.dumps(records))
    assert check_source(TemplateSource(SourceSetup(input=tmp_path))).cursors == 2


@pytest.mark.parametrize("broken", [{"id": "a"}, {"title": "A"}, {"id": "a", "title": ""}, {"id": 5, "title": ["A"]}])
def test_a_broken_record_is_set_aside_and_the_others_go_on(tmp_path: Path, broken: dict[str, object]) -> None:
    (tmp_path / "catalogue.json").write_text(json.dumps([broken, {"id": "b", "title": "B"}]))
    first, second = TemplateSource(SourceSetup(input=tmp_path)).datasets()
    assert isinstance(first, Rejection) and first.record_id == "record 0"
    assert isinstance(second, Dataset)


def test_a_folder_that_is_no_catalogue_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        TemplateSource(SourceSetup(input=tmp_path))
