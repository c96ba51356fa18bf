"""Converts records to bytes and back, for the store: one line per record, starting with the name of its class,
compressed if that saves space."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel

from scirgen.core.errors import PluginError, StoreError
from scirgen.core.files.inflate import TooLargeError, deflate, inflate
from scirgen.core.records import (
    Aspect,
    Dataset,
    Document,
    Failure,
    Link,
    Paper,
    QAPair,
    Record,
    Rejection,
    ReleaseFile,
    SectionLabel,
)
from scirgen.core.registry import load_registry
from scirgen.core.secrets import masked_bytes

R = TypeVar("R", bound=Record)

_KINDS: dict[str, type[Record]] = {
    kind.__name__: kind
    for kind in (Dataset, Paper, Link, Document, SectionLabel, Aspect, QAPair, ReleaseFile, Rejection, Failure)
}
_COMPRESS_FROM = 512


def record_class(name: str) -> type[Record]:
    """The class of a record by its name: scirgen's own, or one that a plugin registered (kind ``record``).

    Raises:
        PluginError: nobody has a record of that name, or what a plugin registered is not a `Record` of that name.
    """
    if name in _KINDS:
        return _KINDS[name]
    found = load_registry().get("record", name)
    if not (isinstance(found, type) and issubclass(found, Record) and found.__name__ == name):
        raise PluginError(f"record {name!r} is not a subclass of scirgen.Record with that name")
    return found


def pack(records: Iterable[Record]) -> bytes:
    """Serialise records; the same records give the same bytes. API keys of this process are masked."""
    text = "\n".join(f"{type(r).__name__}\t{r.model_dump_json(exclude_defaults=True)}" for r in records)
    raw = masked_bytes(text.encode("utf-8", "surrogatepass")) if text else b""
    return b"z" + deflate(raw) if len(raw) >= _COMPRESS_FROM else b"r" + raw


def unpack(blob: bytes, kind: type[R] | None = None) -> list[R]:
    """Deserialise records, or only those of ``kind`` (`Record`: all).

    Raises:
        StoreError: the bytes are damaged.
    """
    if len(blob) <= 1:
        return []
    try:
        raw = inflate(blob[1:]) if blob[:1] == b"z" else blob[1:]
        found: list[R] = []
        for line in raw.decode("utf-8", "surrogatepass").split("\n"):
            name, _, body = line.partition("\t")
            if kind in (None, Record) or name == kind.__name__:
                found.append(record_class(name).model_validate_json(body))  # type: ignore[arg-type]
        return found
    except (zlib.error, TooLargeError, PluginError, ValueError) as error:
        raise StoreError(f"a stored record is damaged: {error}", hint="Run: scirgen doctor RUN --repair") from error


def record_id(record: BaseModel) -> str:
    """The id under which `scirgen inspect` finds a record."""
    if isinstance(record, Rejection):
        return record.record_id
    if isinstance(record, SectionLabel):
        return f"{record.document_id}:{record.start}"
    if isinstance(record, ReleaseFile):
        return record.path
    return str(getattr(record, "id", ""))
