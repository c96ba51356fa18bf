"""Reads the plain files of the importers, and names the place in every error."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scirgen.core.errors import InputError
from scirgen.core.files.inflate import TooLargeError, open_maybe_gzipped
from scirgen.core.files.jsonl import Line, parse_lines


def rows(src: Path, name: str, *needed: str) -> Iterator[dict[str, Any]]:
    """The rows of ``NAME.jsonl[.gz]`` or ``NAME.tsv[.gz]`` in a folder.

    Args:
        src: the folder.
        name: the file's name without its endings.
        needed: keys that every row must have.

    Raises:
        InputError: the file is missing or damaged, or a row lacks a key; the message names file and line.
    """
    path = find(src, name)
    with open_maybe_gzipped(path, newline="") as lines:
        try:
            found = (
                csv.DictReader(lines, delimiter="\t")
                if ".tsv" in path.suffixes
                else (_object(line, path) for line in parse_lines(lines))
            )
            for number, row in enumerate(found, 1):
                if missing := [key for key in needed if row.get(key) is None]:
                    raise InputError(f"{path}, row {number}: without {', '.join(missing)}", hint=_HINT)
                yield row
        except (EOFError, gzip.BadGzipFile, TooLargeError, UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{path} is damaged: {error}", hint=_HINT) from error


def find(src: Path, name: str) -> Path:
    """The file with that name in the folder.

    Raises:
        InputError: it does not exist.
    """
    for ending in (".jsonl.gz", ".jsonl", ".tsv.gz", ".tsv"):
        if (path := src / f"{name}{ending}").is_file():
            return path
    raise InputError(f"{src} has no {name}.jsonl[.gz] or {name}.tsv[.gz]", hint=_HINT)


def number(value: object, place: str) -> int:
    """A whole number from a file.

    Raises:
        InputError: it is not a whole number.
    """
    try:
        return int(str(value))
    except ValueError:
        raise InputError(f"{place}: {value!r} must be a whole number", hint=_HINT) from None


_HINT = "docs/recipes.md lists the files of SRC and their columns."


def _object(line: Line, path: Path) -> dict[str, Any]:
    if not isinstance(line.value, dict):
        problem = (
            f"not JSON: {line.problem}" if line.problem else f"expected an object, found {type(line.value).__name__}"
        )
        raise InputError(f"{path}, line {line.number}: {problem}", hint=_HINT)
    return line.value
