"""The real papers and records, outside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REALDATA = Path(os.environ.get("SCIRGEN_REALDATA", ROOT.parent / "shared" / "data"))


@pytest.fixture
def realdata() -> Path:
    """The folder, or a skipped test."""
    if not REALDATA.is_dir():
        pytest.skip(f"REAL DATA NOT FOUND at {REALDATA}: set SCIRGEN_REALDATA to run this test")
    return REALDATA
