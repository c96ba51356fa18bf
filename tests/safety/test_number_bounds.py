"""Numbers from outside have two bounds: neither a large nor a large negative one passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from scirgen.core.errors import InputError
from scirgen.core.files.jsonl import read_json
from scirgen.core.records import Dataset, Paper
from scirgen.llm.base import ScoreReply, Usage
from scirgen_bench.labels.labelset import Finite


@pytest.mark.parametrize("value", [1e10, -1e10, float("inf"), float("-inf"), float("nan")])
def test_numbers_of_labels_are_bounded_on_both_sides(value: float) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Finite).validate_python(value)


@pytest.mark.parametrize("value", [-1e6, -1e308, float("-inf"), float("nan"), 1.0])
def test_a_log_probability_that_none_can_be_is_a_fault(value: float) -> None:
    assert ScoreReply(("a", "b"), (-0.5, value)).fault() is not None
    assert ScoreReply(("a", "b"), (-0.5, -9999.0)).fault() is None


@pytest.mark.parametrize("count", [-1, -(2**60), 2**60])
def test_counts_of_tokens_are_bounded_on_both_sides(count: int) -> None:
    assert Usage(count, count).believable() == Usage(None, None, None, None)


@pytest.mark.parametrize("year", [-(10**30), -10_000, 10_000, 10**30])
def test_a_year_that_no_calendar_has_is_unknown(year: int) -> None:
    assert Dataset(id="d", title="t", year=year).year is None and Paper(id="p", year=year).year is None
    assert Paper(id="p", year=1987).year == 1987


@pytest.mark.parametrize("number", ["1e999", "-1e999", "-Infinity", "NaN", "9" * 20, "-" + "9" * 20])
def test_a_json_file_of_others_has_no_endless_number(tmp_path: Path, number: str) -> None:
    file = tmp_path / "result.json"
    file.write_text(f'{{"n": {number}}}')
    with pytest.raises(InputError, match="number"):
        read_json(file, hint="x")
