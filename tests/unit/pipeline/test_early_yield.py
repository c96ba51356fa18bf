"""Users of the embedded model learn early that it gives few rows."""

from __future__ import annotations

import pytest

from scirgen.pipeline.observer import EarlyYield
from scirgen.pipeline.store import StoredResult


def told(rows: list[int]) -> list[str]:
    """What is said while datasets end with these numbers of rows."""
    said: list[str] = []
    watching = EarlyYield(said.append)
    for stage, number in [("generate", 9), *(("filter", n) for n in rows)]:
        watching.finished(StoredResult(1, stage, "k", "f", "done", b"", b"", b"", number, 0), reused=False, seconds=1.0)
    return said


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([0, 0], ""),
        ([0, 0, 0, 0], "3 datasets gave 0 rows"),
        ([1, 0, 0], ""),
        ([1, 0, 0, 0, 0], "4 datasets gave 1 row"),
    ],
)
def test_few_rows_are_said_once(rows: list[int], says: str) -> None:
    said = told(rows)
    assert len(said) == bool(says)
    assert all(says in line and "--model" in line and "in about 0 s each" in line for line in said)
