"""The Python functions of this wing: ``from scirgen_label import read_labels``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scirgen.release_files.labels import LabelSet
from scirgen_label.agree import measure


def read_labels(folder: str | Path) -> LabelSet:
    """Read a folder of labels by people, as ``scirgen label draw`` makes it."""
    return LabelSet(Path(folder))


def measure_agreement(folder: str | Path) -> dict[str, Any]:
    """Measure how well the people who labelled a folder agree, as ``scirgen label agree`` does."""
    return measure(read_labels(folder))
