"""A small catalogue on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from scirgen import SourceSetup
from scirgen.stages.collect.files.folder import FolderSource


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """Three records in two files and two papers."""
    root = tmp_path / "catalogue"
    (root / "papers").mkdir(parents=True)
    rows = [
        {"id": "lake-ice", "title": "Lake ice phenology", "doi": "10.5555/ice.1", "licence": "CC BY 4.0"},
        {"id": "soil-temp", "title": "Soil temperature at twelve sites", "papers": ["soil.md"]},
    ]
    (root / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (root / "b.csv").write_text("id,title,Description,keywords\nriver-q,River discharge,Daily values,rivers; runoff\n")
    (root / "papers" / "soil.md").write_text("# Soil\n\nWe measured soil temperature.\n")
    (root / "papers" / "10.5555_ice.1-study.md").write_text("# Ice\n\nWe used the ice record.\n")
    return root


@pytest.fixture
def local() -> Callable[..., FolderSource]:
    def open_local(root: Path, papers: Path | None = None, **options: object) -> FolderSource:
        return FolderSource(SourceSetup(input=root, papers=papers, domain="test", options=options))

    return open_local
