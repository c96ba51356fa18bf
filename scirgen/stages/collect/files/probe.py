"""The process in which files from outside are opened: ``python probe.py text|parquet FILE...``, one JSON value per
line.

``text`` prints the text of each paper, to look for DOIs and titles; ``parquet`` prints the rows of a table. `child`
runs it as a file, without the package, since it then starts in a tenth of the time. It may be killed at any moment.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from pathlib import Path

_LONGEST = 2_000_000
_MEMORY = 1024 * 2**20
_MAY_COPY = 16  # PDF 32000-1, table 22, bit 5: extracting text is allowed
_MARKUP = {".xml", ".html", ".htm", ".nxml"}
LONGEST_CELL = 16 * 2**20
MOST_UNPACKED = 2 * 2**30
_ROWS = 16  # rows in memory at once: 16 cells of 16 MB


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
        import pypdfium2
    except ImportError:
        return ""
    try:
        document = pypdfium2.PdfDocument(file)  # one that needs a password raises
        if not pypdfium2.raw.FPDF_GetDocPermissions(document) & _MAY_COPY:
            return ""
        pages: list[str] = []
        for page in document:
            pages.append(page.get_textpage().get_text_bounded())
            page.close()
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


def _texts(files: list[Path]) -> None:
    if any(file.suffix.lower() == ".pdf" for file in files):
        with contextlib.suppress(ImportError):
            import pypdfium2  # noqa: F401 - before its memory is limited
    _limit_memory()
    for file in files:
        print(json.dumps(_text(file)), flush=True)


def _rows(file: Path) -> None:
    """Print ``{"row": ...}`` for each row, and ``{"problem": ...}`` where one cannot be read."""
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # other pools reserve address space beyond the limit
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(1)
    _limit_memory()
    unpacked = 0
    try:
        with pq.ParquetFile(file, thrift_string_size_limit=2**26, thrift_container_size_limit=2**20) as opened:
            for batch in opened.iter_batches(batch_size=_ROWS, use_threads=False):
                for row in batch.to_pylist():
                    cells = {k: json.dumps(v, default=str) for k, v in row.items() if v is not None}
                    wide = next((k for k, v in cells.items() if len(v) > LONGEST_CELL), None)
                    unpacked += sum(map(len, cells.values())) + 1
                    if unpacked > MOST_UNPACKED:
                        return _problem("it unpacks to more than 2 GB; the rest is not read")
                    if wide is not None:
                        _problem(f"the cell {wide[:80]!r} is larger than 16 MB")
                    else:
                        print('{"row": {' + ", ".join(f"{json.dumps(k)}: {v}" for k, v in cells.items()) + "}}")
    except MemoryError:  # Arrow's own is a subclass
        _problem("it needs more than 1 GB of memory; the rest is not read")
    except (pa.ArrowException, OSError, RecursionError) as error:
        _problem(f"not a readable Parquet file: {error}")


def _problem(problem: str) -> None:
    print(json.dumps({"problem": problem}))


def main() -> None:
    """Do the job that the command line names."""
    job, *files = sys.argv[1:]
    if job == "parquet":
        _rows(Path(files[0]))
    else:
        _texts([Path(name) for name in files])


if __name__ == "__main__":
    main()
