"""Papers that a run has read, kept in its folder: who makes a record of a file, stage parse, and a dry run or an
estimate of that run read it once between them."""

from __future__ import annotations

import zlib
from contextlib import suppress
from pathlib import Path

from scirgen.core.files.inflate import deflate, inflate
from scirgen.core.files.named import ordinary
from scirgen.core.fingerprint import digest, file_sha256
from scirgen.core.safety.files import private_folder, replacing
from scirgen.core.secrets import masked_bytes
from scirgen.stages.parse.base import ParsedPaper


def place_of(run: Path | None, path: Path, made_of: object) -> Path | None:
    """Return where a run keeps what it read in a file; None if the folder holds no run, or the file cannot be read.

    Args:
        run: the run's folder.
        path: the paper's file; its bytes count, not its name.
        made_of: everything else that the result depends on.
    """
    if run is None or not (run / "run.db").is_file():
        return None
    try:
        return run / "sources" / "read" / f"{digest(file_sha256(ordinary(path, None)), made_of)}.z"
    except OSError:
        return None


def load(place: Path | None) -> ParsedPaper | None:
    """Return the reading at a place; None if there is none, or if it is damaged."""
    with suppress(OSError, zlib.error, ValueError):
        return ParsedPaper.model_validate_json(inflate(ordinary(place).read_bytes())) if place else None
    return None


def keep(place: Path | None, parsed: ParsedPaper) -> None:
    """Write a reading to its place, for its owner alone; do nothing if that fails, since the file can be read again."""
    if place is None:
        return
    with suppress(OSError):
        private_folder(place.parent)
        with replacing(place, mode=0o600) as file:
            file.write(deflate(masked_bytes(parsed.model_dump_json().encode("utf-8", "surrogatepass"))))
