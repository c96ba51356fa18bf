"""The pack examples/scirgen-paper runs the published procedure."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from scirgen.api import resolve_config, run_pipeline
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.pipeline.observer import Observer
from scirgen.release_files.release import Release
from scirgen.testing.server import FakeServer

ROOT = Path(__file__).parents[2]
PACK = ROOT / "examples" / "scirgen-paper"
MATERIAL = ROOT / "tests" / "material" / "invented"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    return asyncio.run(_run(tmp_path_factory.mktemp("paper")))


async def _run(out):
    async with FakeServer() as server:
        model = f"openai:fake@{server.url}"
        flags = {"input": str(MATERIAL), "models.generator": model, "overrides": str(PACK)}
        loaded, domain = resolve_config(domain="geo", config_file=PACK / "config.yaml", flags=flags)
        run = await run_pipeline(out, loaded.config, domain, observer=Observer())
    return run, Release(out)


def test_the_pack_runs_to_a_release_with_its_prompts(ran):
    run, release = ran
    assert run.outcome.status == "success"
    used = {m.prompt.split("#")[0] for m in release.info.made}
    assert {"generate/joint@1", "tag/bloom@1"} <= used
    assert release.info.counts["rows"] > 0
    assert not run.asked() and {r.asked for r in release.rows()} == {"known_item"}


def test_the_packs_filter_is_the_mean_shift_above_zero(ran):
    run, release = ran
    deciding = {(s.name, s.threshold) for r in release.rows() for s in r.scores if s.passed is not None}
    assert deciding == {("shift", 0.0)}
    manifest = json.loads((run.folder / "manifest.json").read_text())
    assert manifest["settings"]["filter"]["shift_form"] == "mean"
    assert manifest["settings"]["filter"]["window"] == "full"


def test_the_pack_asks_for_three_pairs_of_each_type(ran):
    run, _ = ran
    settings = json.loads((run.folder / "manifest.json").read_text())["settings"]["generate"]
    types = Taxonomies(Resources()).graesser.types
    assert settings["pairs_per_type"] * len(types) == 54 and settings["pairs_about_data"] == 0
    assert (settings["types_per_call"], settings["types_without_paper"]) == (1, 8)
