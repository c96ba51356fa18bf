"""Pictures of PDF pages, to show evidence in its place. A PDF is untrusted, so a child process with limits opens it.

``python -m scirgen.report.pictures FILE PAGE...`` writes one JSON object per page to standard output.
"""

from __future__ import annotations

import base64
import contextlib
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_DPI: Final = 90
_QUALITY: Final = 55
_SECONDS: Final = 60
_MEMORY: Final = 2 * 1024**3


@dataclass(frozen=True)
class Picture:
    """A page: a data URI, and the page's width and height in PDF points."""

    src: str
    width: float
    height: float


def page_pictures(file: Path, pages: Sequence[int]) -> dict[int, Picture]:
    """1-based page -> its picture. Pages that cannot be drawn are left out (not a PDF, no PyMuPDF, damaged, too
    slow)."""
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
            if src.startswith("data:image/jpeg;base64,"):
                found[int(value["page"])] = Picture(src, float(value["width"]), float(value["height"]))
    return found


def main() -> None:
    """Draw the pages named on the command line."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    try:
        import pymupdf
    except ImportError:
        return
    with pymupdf.open(sys.argv[1], filetype="pdf") as document:  # type: ignore[no-untyped-call]
        for number in map(int, sys.argv[2:]):
            if 1 <= number <= document.page_count:
                sheet = document[number - 1]
                pixels = sheet.get_pixmap(dpi=_DPI, colorspace=pymupdf.csGRAY, alpha=False)
                image = base64.b64encode(pixels.tobytes("jpeg", jpg_quality=_QUALITY)).decode()
                line = {
                    "page": number, "width": sheet.rect.width, "height": sheet.rect.height,
                    "src": f"data:image/jpeg;base64,{image}",
                }  # fmt: skip
                sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
