"""Reads files of records lazily, one mapping at a time, each with its place. `mapping` interprets them.

JSON (an object, a list of objects, or an export of a catalogue), OAI-PMH answers in XML, JSON Lines, CSV and TSV, each
also gzipped; Parquet with pyarrow.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast
from xml.etree.ElementTree import Element

from scirgen.core.errors import InputError, require
from scirgen.core.files.inflate import TooLargeError, open_maybe_gzipped
from scirgen.core.files.jsonl import json_value, parse_lines
from scirgen.core.files.named import ordinary
from scirgen.core.grouped import grouped
from scirgen.core.records import Rejection
from scirgen.core.text.doi import find_doi
from scirgen.core.text.shown import shown
from scirgen.core.text.tame import tame_value, tame_values
from scirgen.stages.collect.files.child import ChildError, printed_lines
from scirgen.stages.collect.files.envelopes import records_in, unwrapped
from scirgen.stages.collect.source import MOST_BAD

Kind = Literal["json", "jsonl", "csv", "tsv", "parquet", "oai"]

_KINDS: dict[str, Kind] = {
    ".json": "json", ".jsonld": "json", ".geojson": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
}  # fmt: skip
_LONGEST_CSV_FIELD = 16 * 1024 * 1024
_HEAD = 2048
_LONGEST_LINE = 64 * 1024 * 1024
_PARQUET_S = 60.0
OAI = "{http://www.openarchives.org/OAI/2.0/}"


@dataclass(frozen=True)
class RawRecord:
    """A mapping of a file, with its place (``file.jsonl:12``) for messages."""

    value: Mapping[str, object]
    where: str


def readable_name(path: Path) -> Path:
    """Return the path itself.

    Raises:
        InputError: its name is not UTF-8, so no record could hold it.
    """
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        shown = os.fsencode(path.name).decode("utf-8", errors="backslashreplace")
        raise InputError(
            f"the name of the file '{shown}' in {path.parent.name!r} is not UTF-8",
            hint="Rename it.",
            code="bad_file_name",
        ) from None
    return path


def files_below(root: Path) -> list[Path]:
    """Return everything below a folder, sorted, without the folders of runs and releases that scirgen wrote there."""
    found = sorted(root.rglob("*"))
    made = {p.parent for p in found if p.parent != root and _marks_output(p)}
    return [p for p in found if made.isdisjoint(p.parents)] if made else found


def _marks_output(path: Path) -> bool:
    if path.name == "release.json":
        with suppress(OSError), ordinary(path, None).open("rb") as file:
            return b'"scirgen"' in file.read(_HEAD)
    return path.name == "run.db"


def unopened(*roots: Path | None) -> list[str]:
    """Return a line about pipes, devices and broken links below folders; they are skipped, since reading one may never
    end."""
    found = {p.name: None for root in roots if root for p in files_below(root) if not (p.is_file() or p.is_dir())}
    return [f"not read: {shown(found, 4)}: not a regular file"] if found else []


def kind_of(path: Path) -> Kind | None:
    """Return the format of a file of records, by its name (an XML file: by its beginning); None for anything else."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] == ".xml":
        return "oai" if _is_oai(path) else None
    if suffixes and suffixes[-1] == ".gz":
        found = _KINDS.get(suffixes[-2]) if len(suffixes) > 1 else None
        return found if found != "parquet" else None
    return _KINDS.get(suffixes[-1]) if suffixes else None


def _is_oai(path: Path) -> bool:
    """Return whether an XML file is an answer of an OAI-PMH repository; papers come as XML too."""
    try:
        with ordinary(path, None).open("rb") as file:
            return b"OAI-PMH" in file.read(_HEAD)
    except OSError:
        return False


def read_records(path: Path, name: str, skip: int = 0, records: str = "") -> Iterator[RawRecord | Rejection]:
    """Yield the records of a file, in order. A record that cannot be read becomes a rejection (`malformed_record`) that
    names file and line.

    Args:
        path: the file.
        name: the file's name in messages and ids (its path below the input folder).
        skip: number of entries, records and rejections, to leave out at the beginning.
        records: dotted keys of the list of records in a JSON file; empty: `envelopes.records_in` finds it.
    """
    kind = kind_of(path)
    readers: dict[str, Callable[[Path, str], Iterator[RawRecord | Rejection]]] = {
        "json": lambda p, n: _json(p, n, records), "jsonl": _jsonl, "csv": _csv, "tsv": _csv,
        "parquet": _parquet, "oai": oai_records,
    }  # fmt: skip
    bad = 0
    try:
        for number, entry in enumerate(readers[kind or "json"](path, name)):
            bad = bad + 1 if isinstance(entry, Rejection) else 0
            if bad == MOST_BAD:
                yield malformed(name, name, f"{bad:,} records in a row cannot be read; the rest is not read either")
                return
            if number >= skip:
                yield entry
    except UnicodeDecodeError as error:
        found = f"byte 0x{error.object[error.start]:02x} at {error.start}"
        yield malformed(name, name, f"not UTF-8 text ({found}); save it as UTF-8")
    except TooLargeError as error:
        yield malformed(name, name, f"the gzip file is not a file of records: {error}")
    except (EOFError, gzip.BadGzipFile) as error:
        yield malformed(name, name, f"the gzip file is damaged: {error}")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}", hint="Check the file's permissions.") from error


def malformed(where: str, name: str, problem: str, raw: str = "") -> Rejection:
    """Return the rejection of something that could not be read as a record."""
    return Rejection.of("collect", "malformed_record", f"{where}: {problem}", ("Dataset", where), record=raw[:2000])


def _jsonl(path: Path, name: str) -> Iterator[RawRecord | Rejection]:
    with open_maybe_gzipped(path, encoding="utf-8-sig", newline="") as file:
        for line in parse_lines(iter(lambda: file.readline(_LONGEST_LINE), "")):
            where = f"{name}:{line.number}"
            if line.problem:
                yield malformed(where, name, f"not valid JSON: {line.problem}", line.text)
            else:
                value = unwrapped(line.value) if isinstance(line.value, Mapping) else line.value
                yield _mapping(value, where, name)


def _json(path: Path, name: str, records: str = "") -> Iterator[RawRecord | Rejection]:
    with open_maybe_gzipped(path, encoding="utf-8-sig", newline="") as file:
        text = file.read()
    try:
        value = json_value(text)
    except json.JSONDecodeError as error:
        yield malformed(f"{name}:{error.lineno}", name, f"not valid JSON: {error.msg} (column {error.colno})", text)
        return
    except ValueError as error:
        yield malformed(name, name, f"not valid JSON: {error}", text)
        return
    found = records_in(value, records)
    if isinstance(found, list):
        for number, item in enumerate(found, 1):
            if not isinstance(item, dict) or _may_be_dataset(item):
                yield _mapping(item, f"{name}[{number}]", name)
    else:
        yield _mapping(found, name, name)


def _may_be_dataset(node: Mapping[str, object]) -> bool:
    """Return whether a node is a dataset, or has no type. Graphs also hold people, files and organisations."""
    kinds = node.get("@type")
    types = [k for k in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(k, str)]
    return not types or any(k.rstrip("/").endswith("Dataset") for k in types)


def _mapping(value: object, where: str, name: str) -> RawRecord | Rejection:
    if isinstance(value, dict):
        return RawRecord(cast("Mapping[str, object]", tame_values(value)), where)
    return malformed(where, name, f"expected a JSON object, found {type(value).__name__}", json.dumps(value)[:2000])


def _csv(path: Path, name: str) -> Iterator[RawRecord | Rejection]:
    csv.field_size_limit(_LONGEST_CSV_FIELD)
    with open_maybe_gzipped(path, encoding="utf-8-sig", newline="") as file:
        tab = any(s.lower() == ".tsv" for s in path.suffixes)
        head = file.readline()
        dialect = csv.excel_tab if tab or head.count("\t") > head.count(",") else csv.excel
        delimiter = ";" if not tab and head.count(";") > head.count(",") else dialect.delimiter
        columns = next(csv.reader(io.StringIO(head), dialect, delimiter=delimiter), [])
        rows = csv.reader(file, dialect, delimiter=delimiter)
        while True:
            where = f"{name}:{rows.line_num + 2}"
            try:
                row = next(rows, None)
            except csv.Error as error:
                yield malformed(where, name, f"not valid CSV: {error}")
                continue
            if row is None:
                return
            if not any(cell.strip() for cell in row):
                continue
            if len(row) > len(columns):
                yield malformed(where, name, f"{len(row)} cells, but the header names {len(columns)} columns", str(row))
                continue
            cells = {c: tame_value(v) for c, v in zip(columns, row, strict=False) if v != ""}
            yield RawRecord(cells, where)


def oai_records(path: Path, name: str) -> Iterator[RawRecord | Rejection]:
    """Yield the records of an OAI-PMH answer (ListRecords, GetRecord) in Dublin Core or DataCite's schema."""
    from defusedxml import DefusedXmlException, ElementTree

    try:
        root = ElementTree.parse(path, forbid_dtd=True).getroot()
    except (DefusedXmlException, ElementTree.ParseError) as error:
        yield malformed(name, name, f"not readable as XML: {error}")
        return
    for number, record in enumerate(root.iter(f"{OAI}record"), 1):
        if (found := dublin_core(record)) is not None:
            yield RawRecord(plain_record(found), f"{name}[{number}]")


def dublin_core(record: Element) -> dict[str, list[str]] | None:
    """Return a mapping: local name -> texts of an OAI-PMH record, its header's first; None for a deleted one."""
    header = record.find(f"{OAI}header")
    if header is not None and header.get("status") == "deleted":
        return None
    texts = ((str(e.tag).rpartition("}")[2], " ".join((e.text or "").split())) for e in record.iter())
    return grouped((name, text) for name, text in texts if text)


def plain_record(found: Mapping[str, list[str]]) -> dict[str, object]:
    """Return the fields that `dublin_core` read, by the keys that `mapping` knows."""
    identifiers = found.get("identifier", [])
    doi = next((d for i in identifiers[1:] if (d := find_doi(i))), "")
    kept: dict[str, object] = {
        "id": next(iter(identifiers), ""),  # the header's id comes first
        "doi": doi,
        "url": next((i for i in identifiers if i.startswith("http")), f"https://doi.org/{doi}" if doi else ""),
        "title": next(iter(found.get("title", [])), ""),
        "description": "\n".join(found.get("description", [])),
        "authors": found.get("creatorName") or found.get("creator", []),
        "keywords": found.get("subject", []),
        "related": [*found.get("relation", []), *found.get("relatedIdentifier", [])],
        "licence": found.get("rights", []),
        "language": next(iter(found.get("language", [])), ""),
        "Publisher": "; ".join(found.get("publisher", [])),
        "Published": "; ".join(found.get("date") or found.get("publicationYear", [])),
        "Coverage": "; ".join(found.get("coverage", [])),
        "Format": "; ".join(found.get("format", [])),
    }
    return {k: v for k, v in kept.items() if v}


def _parquet(path: Path, name: str) -> Iterator[RawRecord | Rejection]:
    with require("release", "Parquet files"):
        import pyarrow.parquet  # noqa: F401 - read in a process of its own
    try:
        for number, line in enumerate(printed_lines("parquet", [path], _PARQUET_S), 1):
            read = json.loads(line)
            if "problem" in read:
                yield malformed(f"{name}[{number}]", name, str(read["problem"]))
            else:
                yield RawRecord(cast("Mapping[str, object]", tame_values(read["row"])), f"{name}[{number}]")
    except ChildError as error:
        yield malformed(name, name, f"not a readable Parquet file: {error}")
