"""Converts records to bytes and back, for the store: one line per record, starting with the name of its class,
compressed if that saves space."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel

from scirgen.core.errors import StoreError
from scirgen.core.files.inflate import TooLargeError, deflate, inflate
from scirgen.core.records import (
    Aspect,
    Dataset,
    Document,
    Failure,
    Link,
    Paper,
    QAPair,
    Query,
    Record,
    Rejection,
    ReleaseFile,
    SectionLabel,
)
from scirgen.core.secrets import masked_bytes

R = TypeVar("R", bound=Record)

_KINDS: dict[str, type[Record]] = {
    kind.__name__: kind
    for kind in (Dataset, Paper, Link, Document, SectionLabel, Aspect, Query, QAPair, ReleaseFile, Rejection, Failure)
}
_COMPRESS_FROM = 512


def pack(records: Iterable[Record]) -> bytes:
    """Serialise records; the same records give the same bytes. API keys of this process are masked."""
    text = "\n".join(f"{type(r).__name__}\t{r.model_dump_json(exclude_defaults=True)}" for r in records)
    raw = masked_bytes(text.encode("utf-8", "surrogatepass")) if text else b""
    return b"z" + deflate(raw) if len(raw) >= _COMPRESS_FROM else b"r" + raw


def unpack(blob: bytes, kind: type[R] | None = None) -> list[R]:
    """Deserialise records, or only those of ``kind``.

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
            if kind is None or name == kind.__name__:
                found.append(_KINDS[name].model_validate_json(body))  # type: ignore[arg-type]
        return found
    except (zlib.error, TooLargeError, KeyError, ValueError) as error:
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


def rejected_pair(rejection: Rejection) -> QAPair | None:
    """The pair that a rejection holds; None if it rejects something else."""
    try:
        return QAPair.model_validate_json(rejection.record)
    except ValueError:
        return None
