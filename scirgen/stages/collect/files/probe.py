"""The process in which paper files are opened to look for DOIs and titles: ``python probe.py FILE...``, one JSON text per line.

`papertext` runs it as a file, without the package, since it then starts in a tenth of the time. It may be killed at any moment.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from pathlib import Path

_LONGEST = 2_000_000
_MEMORY = 1024 * 2**20
_MAY_COPY = 16  # PDF 32000-1, table 22, bit 5: extracting text is allowed
_MARKUP = {".xml", ".html", ".htm", ".nxml"}


def _text(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix == ".pdf":
        return _pdf_text(str(path))
    try:
        with path.open(encoding="utf-8", errors="replace") as opened:
            text = opened.read(_LONGEST)
    except OSError:
        return ""
    return re.sub(r"<[^<>]*>", " ", text) if suffix in _MARKUP else text


def _pdf_text(file: str) -> str:
    try:
        import pymupdf
    except ImportError:
        return ""

    pymupdf.TOOLS.mupdf_display_errors(False)  # type: ignore[no-untyped-call]
    pymupdf.TOOLS.mupdf_display_warnings(False)  # type: ignore[no-untyped-call]
    try:
        with pymupdf.open(file, filetype="pdf") as document:  # type: ignore[no-untyped-call]
            if document.needs_pass or not document.permissions & _MAY_COPY:
                return ""
            pages: list[str] = []
            for page in document:
                pages.append(page.get_text())
                if sum(map(len, pages)) > _LONGEST:
                    break
            return "\n".join(pages)
    except (RuntimeError, ValueError, OSError, MemoryError):
        return ""


def _limit_memory() -> None:
    try:
        import resource

        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + _MEMORY, resource.RLIM_INFINITY))
    except (ImportError, OSError, ValueError):  # on Windows and macOS, only the time limit works
        return


def main() -> None:
    """Print the text of each file; empty if it has none."""
    files = [Path(name) for name in sys.argv[1:]]
    if any(file.suffix.lower() == ".pdf" for file in files):
        with contextlib.suppress(ImportError):
            import pymupdf  # noqa: F401 - before its memory is limited
    _limit_memory()
    for file in files:
        print(json.dumps(_text(file)), flush=True)


if __name__ == "__main__":
    main()
