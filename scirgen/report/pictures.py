"""Pictures of PDF pages, to show evidence in its place. A PDF is untrusted, so a child process with limits opens it.

``python -m scirgen.report.pictures FILE PAGE...`` writes one JSON object per page to standard output.
"""

from __future__ import annotations

import base64
import contextlib
import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

_DPI: Final = 90
_PREFIX: Final = "data:image/png;base64,"
_SECONDS: Final = 60
_MEMORY: Final = 2 * 1024**3


@dataclass(frozen=True)
class Picture:
    """A page: a data URI, and the page's width and height in PDF points."""

    src: str
    width: float
    height: float


def page_pictures(file: Path, pages: Sequence[int]) -> dict[int, Picture]:
    """Return a mapping: 1-based page -> its picture. Pages that cannot be drawn are left out (not a PDF, no pdfium,
    damaged, too slow)."""
    command = [sys.executable, "-m", "scirgen.report.pictures", str(file), *map(str, pages)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found: dict[int, Picture] = {}
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            value = json.loads(line)
            src = str(value["src"])
            if src.startswith(_PREFIX):
                found[int(value["page"])] = Picture(src, float(value["width"]), float(value["height"]))
    return found


def main() -> None:
    """Draw the pages named on the command line."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    try:
        import pypdfium2
    except ImportError:
        return
    document = pypdfium2.PdfDocument(sys.argv[1])
    for number in map(int, sys.argv[2:]):
        if 1 <= number <= len(document):
            sheet = document[number - 1]
            width, height = sheet.get_size()
            drawn = sheet.render(scale=_DPI / 72, grayscale=True).to_numpy()
            image = base64.b64encode(_png(drawn.reshape(drawn.shape[:2]))).decode()
            line = {"page": number, "width": width, "height": height, "src": _PREFIX + image}
            sys.stdout.write(json.dumps(line) + "\n")


def _png(grey: NDArray[np.uint8]) -> bytes:
    """Return the rows of a grey picture as a PNG file with 16 shades (ISO/IEC 15948)."""
    height, width = grey.shape
    shades = np.pad(grey >> 4, ((0, 0), (0, width % 2)))
    rows = np.pad(shades[:, ::2] << 4 | shades[:, 1::2], ((0, 0), (1, 0)))  # a row begins with its filter: none
    head = struct.pack(">IIBBBBB", width, height, 4, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    chunks = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


if __name__ == "__main__":
    main()
