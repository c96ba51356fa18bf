"""Extracts the raw text of paper files, only to search for DOIs and titles; stage `parse` does the real parsing.

Files are opened in a process of their own (`probe`), which is killed when it takes too long or the run ends: a hostile
file can neither hang nor crash the run. A file that cannot be read has no text here; stage `parse` reports why.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from scirgen.core.runtime import is_stopping, stopped
from scirgen.stages.collect.files import probe

_SECONDS_A_FILE = 20
_BATCH = {True: 8, False: 100}  # PDFs, others
_SLICE_S = 0.5
_HEAD = 4000


def paper_texts(files: Sequence[Path]) -> dict[Path, tuple[str, str]]:
    """(beginning, whole text) of each file that has one.

    Raises:
        RunStoppingError: the run ends.
    """
    found: dict[Path, str] = {}
    for are_pdf, most in _BATCH.items():
        mine = [f for f in files if (f.suffix.lower() == ".pdf") == are_pdf]
        for at in range(0, len(mine), most):
            batch = mine[at : at + most]
            texts = _work(batch)
            if texts is None:
                # A file is too slow or crashes the process: read each one separately, so that only that file is lost.
                texts = [t for f in batch for t in (_work([f]) or [""])]
            found.update({f: t for f, t in zip(batch, texts, strict=True) if t})
    return {f: (t[:_HEAD], t) for f, t in found.items()}


def _work(files: Sequence[Path]) -> list[str] | None:
    command = [sys.executable, "-I", str(Path(probe.__file__)), *(str(f.resolve()) for f in files)]
    deadline = time.monotonic() + _SECONDS_A_FILE * len(files)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            while (lines := _printed(process)) is None:
                if is_stopping():
                    raise stopped()
                if time.monotonic() > deadline:
                    return None
        finally:
            process.kill()
    return [str(json.loads(line)) for line in lines] if process.returncode == 0 and len(lines) == len(files) else None


def _printed(process: subprocess.Popen[bytes]) -> list[bytes] | None:
    """The lines of a process that has ended; None if it still runs after half a second."""
    try:
        return process.communicate(timeout=_SLICE_S)[0].splitlines()
    except subprocess.TimeoutExpired:
        return None
