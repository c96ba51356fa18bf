"""Finds the records in a catalogue's export, and reads irregular JSON. `known_records` and `mapping` interpret a
record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scirgen.core.errors import InputError

_NAMED = ("dataset", "datasets", "records", "items", "results", "entries", "data", "hits", "collections", "features")
_GRAPHS = ("@graph", "dataset", "dcat:dataset", "schema:dataset", "http://www.w3.org/ns/dcat#dataset")
_TITLES = frozenset({"title", "titles", "name", "titleen", "datasettitle", "properties", "attributes", "metadata"})
_SINGLE = ("data", "result", "dataset", "record")
"""Keys under which services put a single record."""
_DEEPEST = 4


def records_in(document: object, path: str = "") -> object:
    """Return the list of records of a parsed JSON file, or the document itself if it is one record.

    The rule, in this order: the list at ``path``, if it is given; a list of a linked-data graph (``@graph``,
    ``dataset``); the document itself, if it has a title or an id and no list named ``datasets``, ``records``,
    ``items``, ``results`` or the like; a single record at ``data`` or ``result``; the longest list, at most four levels
    deep, whose objects have a title or name; the document.

    Args:
        document: the value of a JSON file.
        path: dotted keys, such as ``data.items`` (``collect.records``).

    Raises:
        InputError: nothing is at ``path``; the message names the lists of the document.
    """
    if path:
        found = at_path(document, path)
        if found is None:
            there = ", ".join(f"{name} ({len(value)})" for name, value in _lists(document)) or "none"
            raise InputError(
                f"collect.records: nothing found at {path!r}", hint=f"Lists of objects: {there}.", code="no_records"
            )
        return found
    if not isinstance(document, Mapping):
        return document
    if (nodes := _nodes(document)) is not None:
        return nodes
    inner = _inner(document)
    if (record := unwrapped(document)) is not document:
        return records_in(record)
    lists = [(name, value) for name, value in _lists(document) if any(_titled(v) for v in value)]
    if _titled(document) or _identified(document):
        lists = [(n, v) for n, v in lists if n.split(".")[-1].lower() in _NAMED and n.count(".") < 2]
    if lists:
        return max(lists, key=lambda found: len(found[1]))[1]
    return document if inner is None or _titled(document) or _identified(document) else inner


def unwrapped(document: Mapping[str, object]) -> Mapping[str, object]:
    """Return the record in an answer about a single one, as ``{"data": {...}}``; any other object as it is."""
    inner = _inner(document)
    return inner if inner is not None and _titled(inner) and not _titled(document) else document


def _inner(document: Mapping[str, object]) -> Mapping[str, object] | None:
    return next((v for k in _SINGLE if isinstance(v := document.get(k), Mapping)), None)


def at_path(value: object, path: str) -> object:
    """Return the value at dotted keys. A number is an index into a list; any other key is looked up in each of a list's
    objects.

    ``{"titles": [{"title": "Ice"}]}`` has "Ice" at ``titles.0.title`` and ["Ice"] at ``titles.title``; None if there is
    nothing.
    """
    for key in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal():
            value = value[int(key)] if int(key) < len(value) else None
        elif isinstance(value, list):
            inner = [v.get(key) for v in value if isinstance(v, Mapping) and v.get(key) is not None]
            value = [x for v in inner for x in (v if isinstance(v, list) else [v])] or None
        else:
            return None
    return value


def _titled(value: object) -> bool:
    """Return whether an object looks like a record: it has a title, or a key under which services put a record."""
    if not isinstance(value, Mapping):
        return False
    return any(k.rpartition(":")[2].replace("_", "").lower() in _TITLES and v for k, v in value.items())


def _identified(document: Mapping[str, object]) -> bool:
    """Return whether an object has an id of its own; records have one, envelopes do not."""
    return any(isinstance(document.get(key), (str, int)) for key in ("id", "_id", "identifier", "doi"))


def _lists(value: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, list[object]]]:
    """Yield lists of objects with their dotted names, outer ones first; lists inside a list's objects do not count."""
    if not isinstance(value, Mapping) or depth == _DEEPEST:
        return
    for key, inner in value.items():
        at = f"{name}.{key}" if name else str(key)
        if isinstance(inner, list) and inner and all(isinstance(v, Mapping) for v in inner):
            yield at, inner
        elif isinstance(inner, Mapping):
            yield from _lists(inner, at, depth + 1)


def _nodes(document: Mapping[str, object]) -> list[object] | None:
    """Return the datasets of a catalogue in JSON-LD (DCAT, schema.org, data.json); None for any other object."""
    for key in _GRAPHS:
        found = document.get(key)
        if isinstance(found, list) and all(isinstance(n, dict) for n in found):
            nested = [_nodes(n) for n in found]
            return [e for n, inner in zip(found, nested, strict=True) for e in (inner if inner is not None else [n])]
    return None


def as_dict(value: object) -> Mapping[str, object]:
    """Return the value if it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Return the value if it is a list, otherwise an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return the value as text, white space trimmed; empty for null, objects and lists."""
    if value is None or isinstance(value, (dict, list, bool)):
        return ""
    return str(value).strip()
