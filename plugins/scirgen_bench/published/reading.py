"""Finds and reads the files of published datasets by the names that their authors gave them; errors name the place."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scirgen import Dataset, InputError
from scirgen.plugin import ReleaseContent, read_json, read_objects
from scirgen.release_files.release import ReleaseInfo
from scirgen_bench.rowfiles import open_text
from scirgen_bench.tasks.release_tasks import TaskContent, TaskSet
from scirgen_bench.tasks.task_files import CITATIONS, AbstractRow

HINT = "docs/recipes.md lists the files of each dataset and where its authors publish them."

_LARGEST = 4 * 2**30


def imported(
    name: str,
    domain: str,
    notes: Iterable[str],
    task: TaskContent,
    abstracts: Iterable[AbstractRow] = (),
    datasets: Mapping[str, Dataset] | None = None,
    same_as: Mapping[str, str] | None = None,
) -> ReleaseContent:
    """Return a published retrieval dataset as a release with one task.

    Args:
        name: of the dataset; the task's citation is its citation.
        domain: its field.
        notes: lines for the card.
        task: its queries and grades.
        abstracts: the papers that are searched, in any order.
        datasets: the datasets that are searched, by id.
        same_as: id -> id of the dataset that it repeats.
    """
    info = ReleaseInfo(
        name=name, origin=name, citation=CITATIONS[task.name], scirgen=version("scirgen"), domain=domain,
        notes=tuple(notes),
    )  # fmt: skip
    return ReleaseContent(
        info=info,
        datasets=dict(datasets or {}),
        splits=dict.fromkeys(datasets or {}, "test"),
        keep_all=True,
        parts=(TaskSet((task,), tuple(sorted(abstracts, key=lambda a: a.id))),),
        same_as=dict(same_as or {}),
    )


def find(src: Path, *names: str) -> Path | None:
    """Find the first of the named files in a folder or its folder ``data``, gzipped or not."""
    for folder in (src, src / "data"):
        for name in names:
            for path in (folder / name, folder / f"{name}.gz"):
                if path.is_file():
                    return path
    return None


def needed(src: Path, *names: str) -> Path:
    """Find a file that must exist.

    Raises:
        InputError: it does not.
    """
    path = find(src, *names)
    if path is None:
        raise InputError(f"{src} has no {' or '.join(names)}", hint=HINT)
    return path


def rows(path: Path, *keys: str) -> Iterator[Mapping[str, Any]]:
    """Read the objects of a JSON Lines file.

    Raises:
        InputError: the file is damaged, or an object lacks a key; the message names file and line.
    """
    for number, row in read_objects(path, hint=HINT):
        if missing := [key for key in keys if row.get(key) is None]:
            raise InputError(f"{path}:{number}: missing {', '.join(missing)}", hint=HINT)
        yield row


def table(path: Path, delimiter: str) -> Iterator[list[str]]:
    """Read the rows of a table after its head line.

    Raises:
        InputError: the file is damaged.
    """
    with open_text(path, hint=HINT) as lines:
        try:
            cells = csv.reader(lines, delimiter=delimiter)
            next(cells, None)
            yield from cells
        except csv.Error as error:
            raise InputError(f"{path} is damaged: {error}", hint=HINT) from error


def whole(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds one object.

    Raises:
        InputError: it does not.
    """
    value = read_json(path, hint=HINT, most=_LARGEST)
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected an object, found {type(value).__name__}", hint=HINT)
    return value


def listed(path: Path) -> list[dict[str, Any]]:
    """Read a JSON file that holds a list of objects.

    Raises:
        InputError: it does not.
    """
    value = read_json(path, hint=HINT, most=_LARGEST)
    if not (isinstance(value, list) and all(isinstance(row, dict) for row in value)):
        raise InputError(f"{path}: expected a list of objects", hint=HINT)
    return value


@contextmanager
def damaged(place: str) -> Iterator[None]:
    """Turn Python's exceptions on a file of another shape into an error that names the place.

    Raises:
        InputError: the block read a key, a type or a length that is not there.
    """
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{place}: {error}", hint=HINT) from error


def number(value: object, place: str) -> int:
    """Convert a value of a file to a whole number.

    Raises:
        InputError: it is not a whole number.
    """
    try:
        return int(str(value))
    except ValueError:
        raise InputError(f"{place}: {value!r} must be a whole number", hint=HINT) from None
