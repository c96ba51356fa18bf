"""The wheel of a copy without the wings: it installs, imports nothing of them, and makes the same rows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scirgen.testing.server import FakeServer
from tests.support.small_runs import KNOWN_ITEMS, release_bytes, run_small

ROOT = Path(__file__).parents[2]
WINGS = (
    "scirgen_embedded", "scirgen_tasks", "scirgen_label", "scirgen_bench", "scirgen_probe", "scirgen_scale",
    "scirgen_services", "scirgen_pdf", "scirgen_local", "scirgen_estimate", "scirgen_adapt",
    "scirgen_texts", "scirgen_parts",
)  # fmt: skip
MATERIAL = ROOT / "tests" / "material" / "invented"

RUN = """
import asyncio, pkgutil, sys, importlib, json
from pathlib import Path
import scirgen
from scirgen.api import resolve_config, run_pipeline
from scirgen.pipeline.observer import Observer
flags = json.loads(sys.argv[2])
loaded, domain = resolve_config(domain="geo", flags=flags)
run = asyncio.run(run_pipeline(Path(sys.argv[1]), loaded.config, domain, observer=Observer()))
assert run.outcome.status == "success", run.outcome
for module in pkgutil.walk_packages(scirgen.__path__, "scirgen."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(json.dumps([scirgen.__file__, sorted(n for n in sys.modules if n.startswith("scirgen_"))]))
"""


def copy_without_wings(to: Path) -> None:
    """The tracked files without the wings and their lines in pyproject.toml."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    for name in filter(None, tracked):
        if not name.startswith(("tests/", "docs/", "benchmarks/", *(f"plugins/{wing}/" for wing in WINGS))):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name)
    project = to / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    for wing in WINGS:
        text = re.sub(rf"^{wing.replace('_', '-')} = .*\n", "", text, flags=re.M)
        text = text.replace(f'"plugins/{wing}", ', "").replace(f'"plugins/{wing}",', "")
    project.write_text(text, encoding="utf-8")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the checkout")
async def test_the_generator_works_without_the_wings(tmp_path: Path) -> None:
    copy_without_wings(tmp_path / "copy")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    subprocess.run(build, cwd=tmp_path / "copy", check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    site = tmp_path / "site"
    shutil.unpack_archive(wheel, site, "zip")
    assert not any((site / wing).exists() for wing in WINGS)
    material = tmp_path / "material"
    shutil.copytree(MATERIAL, material, ignore=shutil.ignore_patterns("*.pdf"))  # a wing reads PDFs
    async with FakeServer() as server:
        flags = {
            "input": str(material),
            "models.generator": f"openai:fake@{server.url}",
            "generate.types_without_paper": 1,
            **KNOWN_ITEMS,
        }
        env = {**os.environ, "PYTHONPATH": f"{site}:{_packages()}"}
        alone = [sys.executable, "-S", "-c", RUN, str(tmp_path / "alone"), json.dumps(flags)]
        import asyncio

        process = await asyncio.create_subprocess_exec(*alone, env=env, cwd=tmp_path, stdout=-1, stderr=-1)
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()[-3000:]
        where, wings = json.loads(out.decode().splitlines()[-1])
        assert where.startswith(str(site)) and all(n.startswith("scirgen_geo") for n in wings)
        whole = {"filter__faithfulness": None, "limits__retries": None}
        await run_small(server, material, tmp_path / "whole", **whole)
    rows = {n: h for n, h in release_bytes(tmp_path / "alone").items() if n.endswith("jsonl")}
    assert rows == {n: h for n, h in release_bytes(tmp_path / "whole").items() if n.endswith("jsonl")}


def _packages() -> str:
    """The folders of installed packages, without those that an editable install of this checkout adds."""
    own = (str(ROOT), str(ROOT / "plugins"))
    return ":".join(p for p in sys.path if p and "-packages" in p and p not in own)


async def test_a_run_imports_no_wing_that_it_does_not_use(tmp_path: Path) -> None:
    import asyncio

    async with FakeServer() as server:
        flags = {"input": str(MATERIAL), "models.generator": f"openai:fake@{server.url}"}
        command = [sys.executable, "-c", RUN.partition("for module in")[0], str(tmp_path)]
        command[2] += "print(json.dumps(sorted(n for n in sys.modules if n.startswith('scirgen_') and '.' in n)))"
        process = await asyncio.create_subprocess_exec(*command, json.dumps(flags), cwd=ROOT, stdout=-1, stderr=-1)
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-3000:]
    used = json.loads(out.decode().splitlines()[-1])
    wings = (
        "scirgen_bench.", "scirgen_embedded.", "scirgen_label.", "scirgen_tasks.", "scirgen_scale.",
        "scirgen_services.", "scirgen_pdf.", "scirgen_local.", "scirgen_estimate.", "scirgen_adapt.",
        "scirgen_texts.", "scirgen_parts.",
    )  # fmt: skip
    reads_records = "scirgen_services.forms"
    used = [n for n in used if not n.startswith(reads_records) and not n.endswith((".settings", ".codes"))]
    assert [n for n in used if n.startswith(wings)] == []
