"""JSON Lines with `jsonlines`: one reader that names the line of a mistake, and one writer."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypeVar

import jsonlines
from pydantic import BaseModel, ValidationError

from scirgen.core.errors import InputError
from scirgen.core.files.inflate import open_maybe_gzipped
from scirgen.core.files.named import MOST_NAMED_BYTES, ordinary

R = TypeVar("R", bound=BaseModel)

_SHORT = 2**20
_BYTES_PER_OBJECT = 232  # a dict with one entry, in CPython 3.11
_BYTES_PER_VALUE = 64
_MAX_BYTES = 256 * 2**20
_MAX_PER_CHARACTER = 8


@dataclass(frozen=True)
class Line:
    """A line that is not blank.

    Attributes:
        number: counted from 1, blank lines included.
        value: the parsed value; None if there is a problem.
        problem: why the line is not JSON; "" for a good line.
        text: the line with the problem, as in the file.
    """

    number: int
    value: object
    problem: str = ""
    text: str = ""


def parse_lines(lines: Iterable[str]) -> Iterator[Line]:
    """Yield the lines of a JSON Lines text. A line that is not JSON has a problem, and reading continues with the next
    line."""
    number = 0

    def counted() -> Iterator[str]:
        nonlocal number
        try:
            for number, line in enumerate(lines, 1):  # noqa: B007
                yield line
        except EOFError as error:  # a truncated gzip file; the reader's own EOFError marks the end
            raise gzip.BadGzipFile(str(error)) from error

    reader = jsonlines.Reader(counted(), loads=json_value)
    while True:
        try:
            value = reader.read(allow_none=True, skip_empty=True)
        except EOFError:
            return
        except jsonlines.InvalidLineError as error:
            yield Line(number, None, _problem(error), str(error.line))
        else:
            yield Line(number, value)


def _lines(path: Path, *, hint: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield (line number, object) of a JSON Lines file, gzipped or not.

    Raises:
        InputError: the file cannot be read, or a line is not a JSON object; the message names file and line.
    """
    with open_text(path, hint=hint) as file:
        for line in parse_lines(file):
            if line.problem:
                raise InputError(f"{path}:{line.number}: not valid JSON: {line.problem}", hint=hint)
            if not isinstance(line.value, dict):
                found = type(line.value).__name__
                raise InputError(f"{path}:{line.number}: expected an object, found {found}", hint=hint)
            yield line.number, line.value


def read_objects(path: Path, *, hint: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield (number, object) of a JSON file, one or a list, or of JSON Lines (line numbers); gzipped or not.

    Raises:
        InputError: the file cannot be read, or a line or item is not a JSON object; the message names file and line.
    """
    if not path.name.endswith((".json", ".json.gz")):
        yield from _lines(path, hint=hint)
        return
    with open_text(path, hint=hint, most=MOST_NAMED_BYTES) as file:
        try:
            value = json_value(file.read())
        except ValueError as error:
            raise InputError(f"{path}: not valid JSON: {error}", hint=hint) from error
    for number, item in enumerate(value if isinstance(value, list) else [value], 1):
        if not isinstance(item, dict):
            raise InputError(f"{path}: expected an object, found {type(item).__name__}", hint=hint)
        yield number, item


def read_json(path: Path, *, hint: str, most: int = 64 * 2**20) -> Any:
    """Parse a JSON file that scirgen did not write, gzipped or not.

    Args:
        path: the file; a link is refused.
        hint: the hint of errors.
        most: largest number of characters. The nesting is at most 100 deep; numbers are finite, whole ones of
            at most 18 digits.

    Raises:
        InputError: the file cannot be read, is not JSON, or exceeds a bound.
    """
    if path.is_symlink():
        raise InputError(f"{path} is a link, and links are not followed", hint=hint)
    with open_text(path, hint=hint) as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise InputError(f"{path} has more than {most:,} characters", hint=hint)
    try:
        value = json.loads(text, parse_float=_finite, parse_constant=_finite, parse_int=_whole)
    except (ValueError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"{path}: not valid JSON: {problem}", hint=hint) from error
    if _depth(value) > _DEEPEST:
        raise InputError(f"{path}: nested too deeply: more than {_DEEPEST} levels", hint=hint)
    return value


_DEEPEST = 100


def _whole(number: str) -> int:
    if len(number) > _DIGITS:
        raise ValueError(f"{number[:_DIGITS]}... is too large a number")
    return int(number)


_DIGITS = 19


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is not a finite number")
    return value


def _depth(value: object) -> int:
    """Count the levels of a parsed value; stops counting at one more than `_DEEPEST`."""
    depth, level = 0, [value]
    while level and depth <= _DEEPEST:
        depth += 1
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
    return depth


def read_records(path: Path, kind: type[R]) -> Iterator[R]:
    """Yield the records of a release's JSON Lines file, one at a time.

    Raises:
        InputError: the file is missing, or a line is damaged; the message names file and line.
    """
    return (record for _, record in numbered_records(path, kind, hint="Write the release again."))


def numbered_records(path: Path, kind: type[R], *, hint: str) -> Iterator[tuple[int, R]]:
    """Yield (line number, record) of a JSON Lines file, one at a time; blank lines are skipped.

    Raises:
        InputError: the file cannot be read, or a line is not such a record; the message names file and line.
    """
    with open_text(path, hint=hint) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield number, kind.model_validate_json(line)
                except ValidationError as error:
                    raise InputError(f"{path}:{number}: {first_problem(error)}", hint=hint) from error


def first_problem(error: ValueError) -> str:
    """Return the first problem that a validation found, with the field's name; other errors as they are."""
    if not isinstance(error, ValidationError):
        return str(error)
    found = error.errors()[0]
    where = ".".join(map(str, found["loc"]))
    return f"{where}: {found['msg']}" if where else str(found["msg"])


@contextmanager
def open_text(path: Path, *, hint: str, most: int | None = None) -> Iterator[TextIO]:
    """Open a UTF-8 file for reading, gzipped or not; ``most`` limits its bytes, for readers that load it whole.

    Raises:
        InputError: it cannot be read, also while it is being read.
    """
    try:
        ordinary(path, most)
        with open_maybe_gzipped(path) as file:
            yield file
    except (OSError, UnicodeDecodeError, EOFError) as error:
        why = getattr(error, "strerror", None) or error  # without the number and the name again
        raise InputError(f"{path} cannot be read: {why}", hint=hint) from error


def write_rows(file: TextIO, rows: Iterable[BaseModel | Mapping[str, object]]) -> None:
    """Write one row per line: records as pydantic serialises them, mappings with their keys in order; text stays
    UTF-8."""
    writer = jsonlines.Writer(file, dumps=_dumps)
    for row in rows:
        writer.write(row)


def json_value(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON, is nested too deeply, or would need far more memory than its length: 60 MB of ``{}``
            take 2 GB.
    """
    if len(text) > _SHORT:
        opened, commas = (
            (text.count(b"{") + text.count(b"["), text.count(b","))
            if isinstance(text, bytes)
            else (text.count("{") + text.count("["), text.count(","))
        )
        needed = opened * _BYTES_PER_OBJECT + commas * _BYTES_PER_VALUE
        if needed > max(_MAX_BYTES, _MAX_PER_CHARACTER * len(text)):
            raise ValueError(f"it has too many values for its length ({opened:,} objects and lists, {commas:,} commas)")
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _problem(error: jsonlines.InvalidLineError) -> str:
    cause = error.__cause__
    return f"{cause.msg} (column {cause.colno})" if isinstance(cause, json.JSONDecodeError) else str(cause or error)


def _dumps(row: object) -> str:
    return row.model_dump_json() if isinstance(row, BaseModel) else json.dumps(row, ensure_ascii=False)
