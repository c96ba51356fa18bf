"""The release of a run over the invented records with the fake server, pinned file by file: a move or a cut leaves it
alone. Of one reader, ``release.txt`` has queries, rows and qrels as text, for a reviewer to read as a diff.

Regenerate: SCIRGEN_REGENERATE=1 pytest tests/golden. The pages that state versions, hashes or counts in words
(README.md, datasheet.md, release.json, croissant.json) may change freely.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
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
TEXT = {"pdfium": Path(__file__).with_name("release.txt")}
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
    pinned = {GOLDEN[reader]: text}
    if reader in TEXT:
        pinned[TEXT[reader]] = "\n".join(readable(tmp_path / "release", sorted(files))) + "\n"
    for golden, found in pinned.items():
        if os.environ.get("SCIRGEN_REGENERATE"):
            golden.write_text(found, encoding="utf-8")
    for golden, found in reversed(pinned.items()):  # the text first: its diff says what moved
        assert found == golden.read_text(encoding="utf-8")


def readable(release: Path, names: list[str]) -> Iterator[str]:
    """The lines of tables, and each field of each row on a line of its own; not the corpus."""
    for name in (n for n in names if not n.startswith("corpus/")):
        yield f"== {name}"
        for line in (release / name).read_text(encoding="utf-8").splitlines():
            if not name.endswith(".jsonl"):
                yield line
                continue
            for field, value in json.loads(line).items():
                for part in value if isinstance(value, list) and value and isinstance(value[0], dict) else [value]:
                    if part not in (None, "", [], {}):
                        yield f"{field}: {json.dumps(part, ensure_ascii=False)}"
            yield ""
