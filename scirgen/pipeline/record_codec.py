"""Converts records to bytes and back, for the store: one line per record, starting with the name of its class,
compressed if that saves space."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TypeVar

from pydantic import BaseModel

from scirgen.core.errors import PluginError, StoreError
from scirgen.core.files.inflate import TooLargeError, deflate, inflate
from scirgen.core.records import Record, Rejection, ReleaseFile, SectionLabel
from scirgen.core.registry import load_registry
from scirgen.core.secrets import masked_bytes

R = TypeVar("R", bound=Record)

_COMPRESS_FROM = 512


@cache
def record_class(name: str) -> type[Record]:
    """Return the class of a record by its name, as registered (kind ``record``).

    Raises:
        PluginError: no plugin has a record of that name, or its class is not a `Record` of that name.
    """
    registry = load_registry()
    if name not in registry.names("record"):
        raise PluginError(
            f"no installed plugin has a record {name!r}",
            hint=f'Install the plugin that makes it; its manifest needs Provided("record", "{name}", "MODULE:{name}").',
        )
    found = registry.get("record", name)
    if not (isinstance(found, type) and issubclass(found, Record) and found.__name__ == name):
        raise PluginError(f"record {name!r} is not a subclass of scirgen.Record with that name")
    return found


def pack(records: Iterable[Record]) -> bytes:
    """Serialise records; the same records give the same bytes. API keys of this process are masked.

    Raises:
        PluginError: a record is not registered, so no later run could read it.
    """
    lines = io.BytesIO()  # a release's rejections are many, so there is one copy of their text
    for number, record in enumerate(records):
        name = record_class(type(record).__name__).__name__
        line = f"{name}\t{record.model_dump_json(exclude_defaults=True)}"
        lines.write(b"\n" * (number > 0) + line.encode("utf-8", "surrogatepass"))
    raw = masked_bytes(lines.getvalue())
    return b"z" + deflate(raw) if len(raw) >= _COMPRESS_FROM else b"r" + raw


def unpack(blob: bytes, kind: type[R] | None = None) -> list[R]:
    """Return all records of `unpacked`."""
    return list(unpacked(blob, kind))


def unpacked(blob: bytes, kind: type[R] | None = None) -> Iterator[R]:
    """Deserialise records, or only those of ``kind`` (`Record`: all), one at a time.

    Raises:
        StoreError: the bytes are damaged.
        PluginError: no installed plugin has such a record.
    """
    if len(blob) <= 1:
        return
    try:
        raw = inflate(blob[1:]) if blob[:1] == b"z" else blob[1:]
        for line in io.BytesIO(raw):
            name, _, body = line.decode("utf-8", "surrogatepass").rstrip("\n").partition("\t")
            if kind in (None, Record) or name == kind.__name__:
                yield record_class(name).model_validate_json(body)  # type: ignore[misc]
    except (zlib.error, TooLargeError, ValueError) as error:
        raise StoreError(f"a stored record is damaged: {error}", hint="Run: scirgen doctor RUN --repair") from error


def record_id(record: BaseModel) -> str:
    """Return the id under which `scirgen inspect` finds a record."""
    if isinstance(record, Rejection):
        return record.record_id
    if isinstance(record, SectionLabel):
        return f"{record.document_id}:{record.start}"
    if isinstance(record, ReleaseFile):
        return record.path
    return str(getattr(record, "id", ""))
