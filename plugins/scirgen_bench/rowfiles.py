"""Rows of JSON Lines and files of text, as all modules of this wing read and write them, and ids as other tools write
them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel

from scirgen.core.files.jsonl import first_problem, numbered_records, open_text, read_records, write_rows

__all__ = [
    "first_problem", "numbered_records", "open_text", "read_records", "trec_id", "type_key", "write_file",
    "write_rows",
]  # fmt: skip

_BREAKS_TREC = re.compile(r"[\s<>&]")
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")


def write_file(path: Path, rows: Iterable[BaseModel | Mapping[str, object]]) -> None:
    """Write a file of JSON Lines, with the same line ends on every system."""
    with path.open("w", encoding="utf-8", newline="\n") as out:
        write_rows(out, rows)


def trec_id(identity: str) -> str:
    """Return an id for TREC files, whose cells end at spaces: spaces, ``<``, ``>`` and ``&`` are percent-encoded.

    Different ids stay different; most stay unchanged.
    """
    if not (_BREAKS_TREC.search(identity) or _ENCODED.search(identity)):
        return identity
    return re.sub(r"[\s<>&%]", lambda m: "".join(f"%{b:02X}" for b in m.group().encode()), identity)


def type_key(name: str) -> str:
    """Return a type's name as an id: "Instrumental/Procedural" -> "instrumental_procedural"."""
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")
