"""The tests of the layout, with each reader in turn."""

from __future__ import annotations

import pytest

from scirgen.stages.parse import readers


@pytest.fixture(params=list(readers.READERS), autouse=True)
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The reader that ``auto`` takes in this process."""
    name = str(request.param)
    monkeypatch.setattr(readers, "READERS", {name: readers.READERS[name]})
    return name
