"""Merging keeps what a plugin adds to a run and its release."""

from __future__ import annotations

from pathlib import Path

import scirgen_scale
from scirgen.api import Run, resolve_config, run_pipeline
from scirgen.pipeline.observer import Observer
from scirgen.testing.server import FakeServer
from tests.support.small_runs import release_bytes

MATERIAL = Path(__file__).parents[2] / "material" / "invented"


async def test_merged_run_releases_the_tasks_of_its_parts(tmp_path: Path) -> None:
    async with FakeServer() as server:
        flags: dict[str, object] = {
            "input": str(MATERIAL),
            "models.generator": f"openai:fake@{server.url}",
            "generate.types": ["definition"],
            "query.recipes": ["recommend", "facets"],
        }
        loaded, domain = resolve_config(domain="geo", flags=flags)
        await run_pipeline(tmp_path / "run", loaded.config, domain, observer=Observer())
    scirgen_scale.merge(tmp_path / "merged", [tmp_path / "run"])
    merged, whole = release_bytes(tmp_path / "merged"), release_bytes(tmp_path / "run")
    assert any(name.startswith("tasks/") for name in whole) and merged == whole
    assert Run(tmp_path / "merged").queries() == Run(tmp_path / "run").queries()
