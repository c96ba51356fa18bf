"""Benchmarks: `python -m benchmarks.NAME`; their tables are in docs/benchmarks/."""

import os
from pathlib import Path

REALDATA = Path(os.environ.get("SCIRGEN_REALDATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
"""The folder of real papers, records and labelled pairs, which are not ours to publish."""
