"""Extracts the raw text of paper files, only to search for DOIs and titles; stage `parse` does the real parsing.

Files are opened in a process of their own (`child`). A file that cannot be read has no text here; stage `parse` reports
why.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from scirgen.stages.collect.files.child import ChildError, printed_lines

_SECONDS_A_FILE = 20
_BATCH = {True: 8, False: 100}  # PDFs, others
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
    try:
        lines = list(printed_lines("text", list(files), _SECONDS_A_FILE))
    except ChildError:
        return None
    return [str(json.loads(line)) for line in lines] if len(lines) == len(files) else None
