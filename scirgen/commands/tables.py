"""Tables in and out of the parts that work alone: rows from a list, a DataFrame or a file, and results that display
well."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, overload, runtime_checkable

from scirgen.core.errors import InputError, require
from scirgen.core.records import Rejection
from scirgen.release_files.qafiles import open_qa
from scirgen.stages.collect.files.folder import record_files
from scirgen.stages.collect.files.recordfiles import kind_of, read_records

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, object]
_SHOWN = 10
_WIDTH = 60
_LINE = 120
_WHOLE = ("reason", "why", "explanation")
"""Columns that are not cut: a reason ends with its remedy."""


@runtime_checkable
class Frame(Protocol):
    """A DataFrame of pandas or polars."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of its columns."""


Rows = str | Path | Sequence[Row] | Frame
"""A path (a run, a release, CSV, TSV, JSON Lines, JSON, Parquet, a folder of them such as a Hugging Face dataset), a
list, a DataFrame."""


def rows_of(given: Rows) -> Iterator[Row]:
    """Yield the rows of a file, a folder, a list or a DataFrame; a run's or release's with evidence as context.

    Raises:
        InputError: the path does not exist or holds no table, or a row cannot be read (file and line are named).
    """
    if isinstance(given, (str, Path)):
        yield from _read(Path(given))
    elif hasattr(given, "to_dicts"):  # polars
        yield from given.to_dicts()
    elif hasattr(given, "to_dict"):  # pandas, whose empty cells are NaN
        for row in given.to_dict("records"):
            yield {str(k): v for k, v in row.items() if v == v}
    elif isinstance(given, Sequence):
        yield from (row for row in given if isinstance(row, Mapping))
    else:
        raise InputError(
            f"a {type(given).__name__} is not a table", hint="Give a path, a list of dicts or a DataFrame."
        )


def _read(path: Path) -> Iterator[Row]:
    if not path.exists():
        raise InputError(f"{path} does not exist", hint="Check the path.", code="missing_input")
    if holds_questions(path):
        for group in open_qa(path).groups():
            for row in group.rows:
                yield {
                    "id": row.id, "dataset_id": group.dataset_id, "question": row.question, "answer": row.answer,
                    "question_type": row.question_type, "language": row.language,
                    "context": "\n".join(s.text for s in row.evidence) or group.context,
                }  # fmt: skip
        return
    files = record_files(path) if path.is_dir() else [(path, path.name)]
    if not files or (path.is_file() and kind_of(path) is None):
        raise InputError(
            f"{path} contains no table", hint="Give CSV, TSV, JSON Lines, JSON or Parquet.", code="no_records"
        )
    for file, name in files:
        for entry in read_records(file, name):
            if isinstance(entry, Rejection):
                raise InputError(entry.reason, hint="Correct this row.", code=entry.code)
            yield entry.value


def holds_questions(path: Path) -> bool:
    """Return whether a folder is a run with a release, a release or a BEIR folder, not a folder of tables."""
    known = ("release.json", "release/release.json", "queries.jsonl")
    return any((path / name).is_file() for name in known)


class Table(Sequence[Row]):
    """A result: rows in order, each a mapping with the same keys."""

    def __init__(self, rows: Sequence[Row], title: str = "") -> None:
        self._rows = tuple(rows)
        self.title = title

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The keys of the rows, in the order in which they appear."""
        return tuple(dict.fromkeys(key for row in self._rows for key in row))

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a DataFrame of pandas.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        with require("pandas", "to_pandas()"):
            import pandas as pd
        return pd.DataFrame(list(self._rows), columns=list(self.columns))

    def to_json(self) -> str:
        return "\n".join(json.dumps(dict(row), ensure_ascii=False, default=str) for row in self._rows)

    def __repr__(self) -> str:
        lines = [f"{self.title or 'table'}: {len(self)} {'row' if len(self) == 1 else 'rows'}"]
        told = [{k: _short(v, k) for k, v in row.items() if v not in ("", None, [])} for row in self._rows[:_SHOWN]]
        rows = ["  ".join(f"{key}={text}" for key, text in row.items()) for row in told]
        if all(len(row) < _LINE for row in rows):
            lines += [f"  {row}" for row in rows]
        else:
            for number, row in enumerate(told, 1):
                lines += [f"{number}", *(_wrapped(key, text) for key, text in row.items())]
        return "\n".join(lines + ([f"and {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(c)}</th>" for c in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_short(row.get(c, ''), c))}</td>" for c in self.columns) + "</tr>"
            for row in self._rows[:_SHOWN]
        )
        title = html.escape(f"{self.title}: {len(self)} rows")
        return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _wrapped(key: str, text: str) -> str:
    return textwrap.fill(text, _LINE, initial_indent=f"  {key:16} ", subsequent_indent=" " * 19)


def _short(value: object, column: str) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        value = [f"{key} {inner}" for key, inner in value.items()]
    line = " ".join((", ".join(map(str, value)) if isinstance(value, list) else str(value)).split())
    return line if column in _WHOLE or len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"
