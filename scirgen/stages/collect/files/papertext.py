"""The raw text of paper files, only to look for DOIs and titles in it; stage `parse` does the real parsing.

PDF files are opened in a worker process (this module run with ``-m``), which is killed when it takes too long: a hostile
file can neither hang nor crash the run. A file that cannot be read has no text here; `parse` says why.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_SECONDS_A_FILE = 20
_BATCH = 8
_LONGEST = 2_000_000
_MEMORY = 1024 * 2**20
_HEAD = 4000
_MAY_COPY = 16  # PDF 32000-1, table 22, bit 5: extracting text is allowed


def paper_texts(files: Sequence[Path]) -> dict[Path, tuple[str, str]]:
    """(beginning, whole text) of each file that has one."""
    plain = [f for f in files if f.suffix.lower() != ".pdf"]
    pdfs = [f for f in files if f.suffix.lower() == ".pdf"]
    found = {f: t for f in plain if (t := _plain(f))}
    for at in range(0, len(pdfs), _BATCH):
        batch = pdfs[at : at + _BATCH]
        texts = _work(batch)
        if texts is None:  # one of them is a killer: each alone, so that only that one is lost
            texts = [t for f in batch for t in (_work([f]) or [""])]
        found.update({f: t for f, t in zip(batch, texts, strict=True) if t})
    return {f: (t[:_HEAD], t) for f, t in found.items()}


def _plain(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            text = opened.read(_LONGEST)
    except OSError:
        return ""
    return re.sub(r"<[^<>]*>", " ", text) if file.suffix.lower() in {".xml", ".html", ".htm", ".nxml"} else text


def _work(files: Sequence[Path]) -> list[str] | None:
    command = [sys.executable, "-I", str(Path(__file__).resolve()), *(str(f.resolve()) for f in files)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS_A_FILE * len(files), check=False)
    except subprocess.TimeoutExpired:
        return None
    lines = done.stdout.splitlines()
    return [str(json.loads(line)) for line in lines] if done.returncode == 0 and len(lines) == len(files) else None


def _pdf_text(file: str) -> str:
    import pymupdf

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
    except (ImportError, OSError, ValueError):  # Windows, macOS: only the time limit holds there
        return


def _main() -> None:
    try:
        import pymupdf  # noqa: F401
    except ImportError:
        print("\n".join('""' for _ in sys.argv[1:]))
        return
    _limit_memory()
    for file in sys.argv[1:]:
        print(json.dumps(_pdf_text(file)), flush=True)


if __name__ == "__main__":
    _main()
