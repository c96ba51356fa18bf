"""A domain: a name and a folder, which may hold ``sample/``, ``prompts/``, ``taxonomies/`` and ``config.yaml``."""

from pathlib import Path

from scirgen import Domain

DOMAIN = Domain("stations", "Weather stations", Path(__file__).parent)
