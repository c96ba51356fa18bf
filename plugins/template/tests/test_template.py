"""The plugin keeps scirgen's contract, whatever its adapter reads. These tests stay when `source.py` is replaced."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from scirgen_template import PLUGIN
from scirgen_template.domain import DOMAIN

from scirgen import SourceSetup
from scirgen.testing import check_source


def provided(kind: str) -> list[Any]:
    """The plugin's offers of a kind, imported."""
    found = []
    for item in PLUGIN.provides:
        if item.kind == kind:
            module, _, attribute = item.target.partition(":")
            found.append(getattr(importlib.import_module(module), attribute))
    return found


def test_all_that_the_plugin_provides_can_be_imported() -> None:
    assert all(provided(item.kind) for item in PLUGIN.provides)


@pytest.mark.parametrize("source", provided("source"))
def test_the_sample_keeps_the_contract(source: Any) -> None:
    if DOMAIN.sample is None or not hasattr(source, "claims"):
        pytest.skip("no sample, or a source that reads no folder: test it with check_source against a server here")
    assert source.claims(DOMAIN.sample)
    report = check_source(source(SourceSetup(input=DOMAIN.sample)))
    assert report.datasets > 0
    assert report.rejections == 0
