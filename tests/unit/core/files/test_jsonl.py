"""JSON Lines: mistakes are named by their line, blank lines count, and what is written is read back."""

from __future__ import annotations

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scirgen.core.errors import InputError
from scirgen.core.files.jsonl import parse_lines, read_objects, write_rows


def test_a_bad_line_has_its_number_and_the_next_ones_are_read() -> None:
    found = list(parse_lines(["\n", '{"a": 1}\n', "{oops\n", "\n", "2\n"]))
    assert [(line.number, line.value) for line in found] == [(2, {"a": 1}), (3, None), (5, 2)]
    assert "column 2" in found[1].problem and found[1].text.startswith("{oops")


def test_deep_nesting_is_a_problem_of_its_line() -> None:
    (line,) = parse_lines(["[" * 100_000])
    assert "nested" in line.problem


@pytest.mark.parametrize(
    ("text", "said"), [('{"a": 1}\n[2]\n', ":2: expected an object, found list"), ("x\n", ":1: not valid")]
)
def test_an_object_file_with_a_wrong_line_is_an_error_with_its_place(tmp_path, text, said) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        list(read_objects(file, hint="Look."))
    assert caught.value.hint == "Look."


def test_a_damaged_gzip_file_is_an_error_not_a_traceback(tmp_path) -> None:
    file = tmp_path / "rows.jsonl.gz"
    file.write_bytes(gzip.compress(b'{"a": 1}\n' * 1000)[:-20])
    with pytest.raises(InputError, match="cannot be read"):
        list(read_objects(file, hint=""))


def test_a_missing_file_is_named_once_and_without_a_number(tmp_path) -> None:
    with pytest.raises(InputError) as caught:
        list(read_objects(tmp_path / "rows.jsonl", hint=""))
    assert caught.value.message == f"{tmp_path / 'rows.jsonl'} cannot be read: No such file or directory"


@given(st.lists(st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.none(), st.booleans()))))
def test_rows_written_are_read_back_one_a_line(rows) -> None:
    out = io.StringIO()
    write_rows(out, rows)
    text = out.getvalue()
    assert text.count("\n") == len(rows)
    assert [line.value for line in parse_lines(text.split("\n"))] == rows
