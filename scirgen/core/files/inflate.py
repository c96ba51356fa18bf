"""Compression with a size limit, since a few kilobytes may unpack to gigabytes. The package uses it for all compressed
data."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import IO, TextIO, cast

from scirgen.core.files.named import ordinary

_ALWAYS = 16 * 2**20
_RATIO = 50
_MOST = 256 * 2**20
_MAX_OF_FILE = 2 * 2**30


class TooLargeError(OSError):
    """The data unpack to more than the limit."""


def deflate(raw: bytes, level: int = 1) -> bytes:
    """Compress as `zlib.compress` does, but store without compression what `inflate` would refuse."""
    packed = zlib.compress(raw, level)
    return packed if len(raw) <= _allowed(len(packed), _MOST) else zlib.compress(raw, 0)


def inflate(data: bytes) -> bytes:
    """Unpack what `deflate` packed: at most 16 MB or 50 times its size, 256 MB in all, or the size of the data
    themselves.

    Raises:
        TooLargeError: there would be more.
        zlib.error: damaged, or cut short.
    """
    unpack, most = zlib.decompressobj(), _allowed(len(data), _MOST)
    found = unpack.decompress(data, most + 1)
    if len(found) > most:
        raise _too_large(most)
    if not unpack.eof:
        raise zlib.error("incomplete or truncated stream")
    return found


def open_gzip(path: Path) -> IO[bytes]:
    """Open a gzipped file for reading: at most 16 MB or 50 times its size, 2 GB in all.

    Reading further raises `TooLargeError`, which is an OSError as `gzip.BadGzipFile` is.
    """
    inner = gzip.open(path, "rb")  # noqa: SIM115 - closed with the outer file
    return io.BufferedReader(_Bounded(inner, _allowed(path.stat().st_size, _MAX_OF_FILE)))


def open_maybe_gzipped(path: Path, *, encoding: str = "utf-8", newline: str | None = None) -> TextIO:
    """Open a text file for reading, through `open_gzip` where its name ends in ``.gz``.

    Raises:
        OSError: see `ordinary`.
    """
    ordinary(path, None)
    if path.suffix.lower() == ".gz":
        return io.TextIOWrapper(open_gzip(path), encoding=encoding, newline=newline)
    return cast(TextIO, path.open(encoding=encoding, newline=newline))


class _Bounded(io.RawIOBase):
    """A binary file of which at most ``most`` bytes can be read."""

    def __init__(self, inner: gzip.GzipFile, most: int) -> None:
        self._inner, self._left, self._most = inner, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        found = self._inner.read(min(len(buffer), 1 << 20))
        self._left -= len(found)
        if self._left < 0:
            raise _too_large(self._most)
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        self._inner.close()
        super().close()


def _allowed(packed: int, most: int) -> int:
    return max(min(max(_ALWAYS, _RATIO * packed), most), packed)


def _too_large(most: int) -> TooLargeError:
    return TooLargeError(f"it unpacks to more than {most / 1e6:.0f} MB")
