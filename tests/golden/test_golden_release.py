"""The release of a run over the invented records with the fake server, pinned file by file: a move or a cut leaves it
alone.

Regenerate: SCIRGEN_REGENERATE=1 pytest tests/golden. The pages that state versions, hashes or counts in words
(README.md, datasheet.md, release.json, croissant.json) may change freely.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from scirgen.api import resolve_config, run_pipeline
from scirgen.pipeline.observer import Observer
from scirgen.stages.parse.readers import READERS
from scirgen.testing.server import FakeServer
from tests.support.small_runs import KNOWN_ITEMS, release_bytes

MATERIAL = Path(__file__).parents[1] / "material" / "invented"
GOLDEN = {
    "pymupdf": Path(__file__).with_name("release.sha256"),
    "pdfium": Path(__file__).with_name("release-pdfium.sha256"),
}
"""The rows name the reader of their paper, so each reader has its own."""
FREE = {"README.md", "datasheet.md", "release.json", "croissant.json"}


@pytest.mark.parametrize("reader", list(READERS))
async def test_fake_run_releases_the_pinned_files(reader: str, tmp_path: Path) -> None:
    async with FakeServer() as server:
        flags = {
            "input": str(MATERIAL),
            "models.generator": f"openai:fake@{server.url}",
            **KNOWN_ITEMS,
            "query.recipes": ["recommend", "facets", "aspects"],
            "parse.reader": reader,
            "seed": 0,
        }
        loaded, domain = resolve_config(domain="geo", flags=flags)
        run = await run_pipeline(tmp_path, loaded.config, domain, observer=Observer())
    assert run.outcome is not None and run.outcome.status == "success"
    files = {name: sha for name, sha in release_bytes(tmp_path).items() if name not in FREE}
    whole = hashlib.sha256("".join(f"{sha}  {name}\n" for name, sha in files.items()).encode()).hexdigest()
    text = "".join(f"{sha}  {name}\n" for name, sha in files.items()) + f"{whole}  (all)\n"
    if os.environ.get("SCIRGEN_REGENERATE"):
        GOLDEN[reader].write_text(text, encoding="utf-8")
    assert text == GOLDEN[reader].read_text(encoding="utf-8")
