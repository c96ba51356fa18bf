"""The embedded model says what it can do before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

import scirgen
from scirgen.core.errors import ConfigError


def test_another_language_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="writes English, not 'de'") as caught:
        scirgen.generate(tmp_path / "run", model="bundled:smollm2-135m", language="de")
    assert "scirgen.testing serve" in caught.value.hint and not (tmp_path / "run").exists()
