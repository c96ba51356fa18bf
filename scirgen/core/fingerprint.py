"""Content hashes: ids of records, and fingerprints of work items. Pure functions, no I/O.

Left out of every fingerprint, and why: local paths (the content hash stands for the file), clock times, concurrency,
engine, cache and retry settings, API keys and base URLs (they do not change what a model answers), prices (accounting
only).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from pydantic_core import PydanticSerializationError, to_json

from scirgen.core.files.named import ordinary


def digest(*parts: object) -> str:
    """Return the SHA-256 (the first 32 hex characters) of the parts, with unambiguous boundaries.

    Parts that are not strings or numbers must be JSON-serialisable; dicts are sorted by key.
    """
    return hashlib.sha256(_ENCODER.encode(parts).encode()).hexdigest()[:32]


def content_id(prefix: str, *parts: object) -> str:
    """Return a short id ``prefix-<16 hex>`` of the parts' content (64 bits: collisions expected past 10^9 ids)."""
    return f"{prefix}-{digest(*parts)[:16]}"


def item_fingerprint(stage_fingerprint: str, key: str, inputs: Iterable[str], salt: str = "") -> str:
    """Return the fingerprint of one work item.

    Args:
        stage_fingerprint: hash of the stage's version, the config it reads, its prompts and models.
        key: the item's key within the stage.
        inputs: fingerprints of its inputs, in any order.
        salt: hash of anything else that only this item depends on (one question type's definition).
    """
    return digest(stage_fingerprint, key, sorted(set(inputs)), salt)


def encoded(value: object) -> bytes:
    """Encode ``value`` as compact JSON, fast; lone surrogates, as in broken PDFs, are escaped. Not for hashing."""
    try:
        return to_json(value)
    except PydanticSerializationError:
        return json.dumps(value).encode()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, read in chunks."""
    with ordinary(path, None).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def derived_seed(*parts: object) -> int:
    """Return a 31-bit sampling seed that depends on the item, never on the order of arrival."""
    return int(digest("seed", *parts)[:8], 16) & 0x7FFFFFFF


def _encode(value: object) -> object:
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json")
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    return str(value)


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_encode)
