"""Opens files that options and settings name: only regular ones, with a size limit if they are read whole."""

from __future__ import annotations

import errno
import stat
from pathlib import Path
from typing import Final

MOST_NAMED_BYTES: Final = 4 * 2**30
"""Largest size of a file or folder that a setting names."""


def ordinary(path: Path, most: int | None = MOST_NAMED_BYTES) -> Path:
    """Return the path of a named file after checking it, before it is opened: a device or a pipe may never end.

    Raises:
        OSError: there is none, it is neither an ordinary file nor a folder, or has more than ``most`` bytes.
    """
    status = path.stat()
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if most is not None and status.st_size > most:
        raise OSError(errno.EFBIG, f"larger than {most / 1e6:,.0f} MB", str(path))
    return path
