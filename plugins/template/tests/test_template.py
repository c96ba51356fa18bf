"""The adapter keeps scirgen's contract, and the plugin's parts are there."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from scirgen_template import PLUGIN
from scirgen_template.domain import DOMAIN
from scirgen_template.source import PAGE, TemplateSource

from scirgen import Dataset, InputError, Rejection, SourceSetup
from scirgen.testing import check_source


def test_the_sample_keeps_the_contract():
    report = check_source(TemplateSource(SourceSetup(input=DOMAIN.sample)))
    assert report.datasets > 0
    assert report.rejections == 0
    assert report.files > 0


def test_a_long_catalogue_is_resumed_at_its_cursors(tmp_path: Path):
    records = [{"id": f"d{n}", "title": f"Dataset {n}"} for n in range(2 * PAGE + 5)]
    (tmp_path / "catalogue.json").write_text(json.dumps(records))
    assert check_source(TemplateSource(SourceSetup(input=tmp_path))).cursors == 2


@pytest.mark.parametrize("broken", [{"id": "a"}, {"title": "A"}, {"id": "a", "title": ""}, {"id": 5, "title": ["A"]}])
def test_a_broken_record_is_set_aside_and_the_others_go_on(tmp_path: Path, broken: dict):
    (tmp_path / "catalogue.json").write_text(json.dumps([broken, {"id": "b", "title": "B"}]))
    first, second = TemplateSource(SourceSetup(input=tmp_path)).datasets()
    assert isinstance(first, Rejection) and first.record_id == "record 0"
    assert isinstance(second, Dataset)


def test_a_folder_that_is_no_catalogue_is_refused(tmp_path: Path):
    with pytest.raises(InputError):
        TemplateSource(SourceSetup(input=tmp_path))


def test_all_that_the_plugin_provides_can_be_imported():
    for item in PLUGIN.provides:
        module, _, attribute = item.target.partition(":")
        assert hasattr(importlib.import_module(module), attribute)
