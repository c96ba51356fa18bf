"""Writes the files of a folder of labels, which only their owner can read."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

from scirgen import InputError, Record
from scirgen.core.safety.files import private_folder, write_new


def write_lines(path: Path, records: Sequence[Record]) -> None:
    """Write records as JSON Lines, all or nothing."""
    write_text(path, "".join(r.model_dump_json() + "\n" for r in records))


def write_text(path: Path, text: str) -> None:
    """Write a file that only its owner can read, in a folder that only its owner can read if it is new.

    Raises:
        InputError: it cannot be written.
    """
    try:
        private_folder(path.parent)
        if path.parent.is_symlink():
            raise OSError(errno.ELOOP, "its folder is a link")
        write_new(path, text, mode=0o600)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror}", hint="Check the folder's permissions."
        ) from error
