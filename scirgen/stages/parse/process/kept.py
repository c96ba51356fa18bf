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


def place_of(run: Path | None, path: Path) -> Path | None:
    """Return where a run keeps what it read in a file; None if the folder holds no run, or the file cannot be read.

    Args:
        run: the run's folder.
        path: the paper's file; its bytes count, not its name.
    """
    if run is None or not (run / "run.db").is_file():
        return None
    try:
        return run / "sources" / "read" / f"{file_sha256(ordinary(path, None))}.z"
    except OSError:
        return None


def load(place: Path | None, made_of: object) -> ParsedPaper | None:
    """Return the reading at a place; None if there is none, if it is damaged, or if it was made otherwise."""
    with suppress(OSError, zlib.error, ValueError):
        made, _, packed = ordinary(place).read_bytes().partition(b"\n") if place else (b"", b"", b"")
        if made == digest(made_of).encode():
            return ParsedPaper.model_validate_json(inflate(packed))
    return None


def keep(place: Path | None, made_of: object, parsed: ParsedPaper) -> None:
    """Write a reading to its place, for its owner alone, instead of an earlier one of the same file.

    Nothing is written if that fails, since the file can be read again.

    Args:
        place: see `place_of`.
        made_of: everything that the result depends on, besides the file.
        parsed: the reading.
    """
    if place is None:
        return
    with suppress(OSError):
        private_folder(place.parent)
        packed = deflate(masked_bytes(parsed.model_dump_json().encode("utf-8", "surrogatepass")))
        with replacing(place, mode=0o600) as file:
            file.write(digest(made_of).encode() + b"\n" + packed)
