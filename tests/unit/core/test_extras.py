"""The error for a missing package of an extra."""

from __future__ import annotations

import pytest

from scirgen.core.errors import MissingExtraError, require


def test_a_missing_package_names_its_purpose_and_its_extra() -> None:
    with (
        pytest.raises(MissingExtraError, match=r"for snow models .*scirgen_no_such") as caught,
        require("local", "snow models"),
    ):
        import scirgen_no_such  # noqa: F401
    assert caught.value.hint == "Install it with: pip install 'scirgen[local]'"


def test_an_installed_package_is_imported() -> None:
    with require("local", "sums"):
        import math
    assert math.pi > 3
