"""The domain pack ``geo``."""

from __future__ import annotations

from pathlib import Path

from scirgen import Domain

DOMAIN = Domain(name="geo", title="Geoscience", root=Path(__file__).parent)
