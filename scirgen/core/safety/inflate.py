"""Decompression with a bound: a few kilobytes may stand for gigabytes."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import IO

MOST = 256 * 2**20
"""Bytes that a stored record, reply or prompt may unpack to."""


class TooLargeError(ValueError):
    """The data unpack to more than is allowed."""


def inflate(data: bytes, most: int = MOST) -> bytes:
    """As `zlib.decompress`, and never makes more than ``most`` bytes.

    Raises:
        TooLargeError: there would be more.
        zlib.error: damaged, or cut short.
    """
    unpack = zlib.decompressobj()
    found = unpack.decompress(data, most + 1)
    if len(found) > most:
        raise TooLargeError(f"it unpacks to more than {most / 1e6:.0f} MB")
    if not unpack.eof:
        raise zlib.error("incomplete or truncated stream")
    return found


class _Bounded(io.RawIOBase):
    """A binary file of which at most ``most`` bytes can be read."""

    def __init__(self, inner: gzip.GzipFile, most: int, what: str) -> None:
        self._inner, self._left, self._what = inner, most, what

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        found = self._inner.read(min(len(buffer), 1 << 20))
        self._left -= len(found)
        if self._left < 0:
            raise TooLargeError(self._what)
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        self._inner.close()
        super().close()


def open_gzip(path: Path, most: int) -> IO[bytes]:
    """A gzipped file, opened for reading; reading past ``most`` unpacked bytes raises `TooLargeError`."""
    inner = gzip.open(path, "rb")  # noqa: SIM115 - closed with the outer file
    return io.BufferedReader(_Bounded(inner, most, f"it unpacks to more than {most / 1e6:.0f} MB"))
