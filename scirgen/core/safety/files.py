"""Opens files safely where others may have planted links: inputs stay below their root, outputs are new and private."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from scirgen.core.errors import InputError
from scirgen.core.files.named import MOST_NAMED_BYTES, ordinary

_MAX_NAMED_FILES: Final = 10_000
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def is_below(path: Path, root: Path) -> bool:
    """Check whether a path lies below a root; links in both are followed first."""
    try:
        real, top = os.path.realpath(path, strict=True), os.path.realpath(root, strict=True)
    except (OSError, RuntimeError, ValueError):  # a broken link, a circle of links, or a name with a null byte
        return False
    return real == top or real.startswith(top.rstrip(os.sep) + os.sep)


def named_files(name: str, setting: str) -> tuple[Path, list[Path]]:
    """Check a file or folder that a setting names, before anything reads it.

    Args:
        name: the setting's value; ``~`` stands for the user's folder.
        setting: its dotted name, for the message.

    Returns:
        The path, and the files that it stands for, sorted: itself, or those in the folder and its subfolders.

    Raises:
        InputError: it does not exist or is empty, is not an ordinary file or a folder of such (a device or a pipe may
            never end), or is too large.
    """
    path, found, size = Path(name).expanduser(), [], 0
    try:
        for one in path.rglob("*") if path.is_dir() else [path]:
            status = ordinary(one, None).stat()
            if stat.S_ISDIR(status.st_mode):
                continue
            found.append(one)
            size += status.st_size
            if size > MOST_NAMED_BYTES or len(found) > _MAX_NAMED_FILES:
                raise InputError(
                    f"{setting}: {path} has more than {MOST_NAMED_BYTES / 2**30:g} GB or {_MAX_NAMED_FILES:,} files",
                    hint="Check the path, or give only the files that are needed.",
                )
    except OSError as error:
        raise InputError(f"{setting}: {error.filename or path}: {error.strerror}", hint="Check the path.") from error
    if not size:
        raise InputError(f"{setting}: {path} is empty", hint="Check the path.")
    return path, sorted(found)


def private_folder(folder: Path) -> None:
    """Make a folder that only its owner can read (0700), if it does not exist. Its parents get normal permissions."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)


def private_file(path: Path) -> None:
    """Make an empty file that only its owner can read (0600); an existing file gets that mode.

    Raises:
        OSError: it cannot be made, or its path is a link, a device or a pipe, which may block whoever opens it.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    if path.is_symlink():
        raise OSError(errno.ELOOP, "a link is in its place", str(path))
    ordinary(path, None)
    with contextlib.suppress(PermissionError):  # a file of another user: its owner sets the mode
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)


def mode_beside(path: Path) -> int:
    """Return the mode for a file that shows another file's content, such as the report on a run: private if the other
    file is private."""
    return path.stat().st_mode & 0o644 if path.is_file() else 0o644


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Open a new file that replaces ``path`` if the block ends without an error; otherwise the file is removed.

    The file is written under a random name with O_EXCL, so no planted link is followed, and flushed to disk first.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_new(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a text file through `replacing`."""
    with replacing(path, mode=mode) as file:
        file.write(text.encode("utf-8", "surrogatepass"))


def sync_tree(folder: Path) -> None:
    """Flush a folder to the disk: its files, then itself and the folders below, innermost first."""
    for place, _, names in os.walk(folder, topdown=False):
        for name in names:
            _sync(Path(place) / name, os.O_RDONLY | os.O_NOFOLLOW)
        _sync(Path(place), os.O_RDONLY | os.O_DIRECTORY)


def sync_folder(folder: Path) -> None:
    """Flush a folder's list of entries to the disk, as is needed after a rename."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):  # some file systems cannot flush folders
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exchange(one: Path, other: Path) -> bool:
    """Swap two existing paths in one step. Returns False if the system cannot (not Linux, or an old file system)."""
    if sys.platform != "linux":
        return False
    call: Any = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    return bool(call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)
