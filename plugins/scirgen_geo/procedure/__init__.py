"""ScIRGen's published procedure, where it differs from scirgen's; the pack ``examples/scirgen-paper`` uses it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent
