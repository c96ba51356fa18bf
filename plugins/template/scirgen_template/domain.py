"""The domain pack: prompts, taxonomies, settings and a sample, all below this folder."""

from __future__ import annotations

from pathlib import Path

from scirgen import Domain

DOMAIN = Domain(
    name="template",
    title="Template",
    root=Path(__file__).parent,
    description="Say here in a sentence which field of science this is for.",
)
