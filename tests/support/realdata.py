"""Where the real papers and records are."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REALDATA = Path(os.environ.get("SCIRGEN_REALDATA", ROOT.parent / "shared" / "data"))
