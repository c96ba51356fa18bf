"""The scaffolded plugin, installed with pip in a fresh virtual environment; docs/domains.md is the script."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from scirgen.core.errors import InputError
from scirgen.core.registry import load_registry
from scirgen_adapt.scaffold import scaffold, template_folder

ROOT = Path(__file__).parents[2]


@dataclass
class Fresh:
    """A virtual environment that sees this one's packages, but has none of its own."""

    python: Path
    work: Path

    def run(self, command: str, *, check: bool = True, **extra_env: str) -> subprocess.CompletedProcess[str]:
        env = {
            **os.environ, "PATH": f"{self.python.parent}{os.pathsep}{os.environ['PATH']}", "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONPATH": "", **extra_env,
        }  # fmt: skip
        done = subprocess.run(
            command, shell=True, cwd=self.work, env=env, capture_output=True, text=True, timeout=240, check=False
        )
        assert not check or done.returncode == 0, f"$ {command}\n{done.stdout}\n{done.stderr}"
        return done


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    root = tmp_path_factory.mktemp("fresh")
    venv.create(root / "venv", with_pip=True, symlinks=True)
    bin_folder = root / "venv" / "bin"
    (site,) = (root / "venv" / "lib").glob("python*/site-packages")
    shared = [p for p in sys.path if p.endswith("site-packages")]
    # addsitedir, so that the editable installs of this environment count too.
    (site / "zz_shared.pth").write_text("import site; " + "; ".join(f"site.addsitedir({p!r})" for p in shared) + "\n")
    for command, module in (("scirgen", "scirgen"), ("pytest", "pytest")):
        script = bin_folder / command
        script.write_text(f'#!/bin/sh\nexec "{bin_folder}/python" -m {module} "$@"\n')
        script.chmod(0o755)
    (root / "work").mkdir()
    return Fresh(bin_folder / "python", root / "work")


@pytest.fixture(scope="module")
def walked(fresh: Fresh) -> Iterator[dict[str, str]]:
    """The bash blocks of docs/domains.md, run in order; command -> what it printed."""
    server = subprocess.Popen(
        [sys.executable, "-m", "scirgen.testing", "serve", "--latency-ms", "1"], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    address = re.search(r"http://\S+", server.stdout.readline())
    assert address is not None
    printed = {}
    try:
        for block in re.findall(r"```bash\n(.*?)```", (ROOT / "docs" / "domains.md").read_text(), re.S):
            for line in block.strip().splitlines():
                command = line.replace("MODEL@URL", f"fake@{address.group()}")
                printed[line] = fresh.run(command).stdout
        yield printed
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def test_the_walk_through_a_second_domain_goes_from_init_to_a_release(fresh: Fresh, walked: dict[str, str]) -> None:
    rows = [
        r
        for split in ("train", "dev", "test")
        for r in (fresh.work / "runs/biodiversity/release").rglob(f"{split}.jsonl")
    ]
    assert "biodiversity" in walked["scirgen domains list"]
    assert "source biodiversity" in walked["scirgen domains show biodiversity"]
    assert rows and sum(len(p.read_text().splitlines()) for p in rows) > 0


def test_the_scaffolded_plugins_own_tests_pass(walked: dict[str, str]) -> None:
    assert re.search(r"8 passed", walked["pytest scirgen-biodiversity"])


def test_an_edited_override_is_what_is_used_and_is_shown_as_such(fresh: Fresh, walked: dict[str, str]) -> None:
    assert "taxonomies/graesser" in walked["scirgen domains show biodiversity"]
    prompt = fresh.work / "scirgen-biodiversity/scirgen_biodiversity/prompts/generate/joint.yaml"
    prompt.write_text(prompt.read_text().replace("description: ", "description: Edited. ", 1))
    told = json.loads(fresh.run("scirgen domains show biodiversity --json").stdout)
    effects = {f["id"]: f["effect"] for f in told["files"]}
    assert effects["prompts/generate/joint"] == "replaces the built-in file"
    assert effects["taxonomies/graesser"] == "same as the built-in file"
    assert len(effects) == 2, "and no file of another plugin"


def test_two_plugins_that_claim_one_domain_are_an_error_that_names_both(
    fresh: Fresh, walked: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "clash.py").write_text(
        "from scirgen import Plugin, Provided\n"
        "PLUGIN = Plugin('clash', '1', (Provided('domain', 'biodiversity', 'clash:DOMAIN'),))\n"
    )
    info = tmp_path / "clash-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: clash\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[scirgen.plugins]\nclash = clash:PLUGIN\n")
    done = fresh.run("scirgen domains list", check=False, PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert "'clash'" in done.stderr and "'scirgen-biodiversity'" in done.stderr and "biodiversity" in done.stderr


@pytest.mark.parametrize("name", ["Bio", "bio_diversity", "-bio", "bio--x", "../bio", "b io", ""])
def test_a_name_that_cannot_be_a_package_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        scaffold(name, tmp_path, load_registry())
    assert list(tmp_path.iterdir()) == []


def test_a_domain_that_exists_and_a_folder_that_is_not_empty_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="scirgen-geo"):
        scaffold("geo", tmp_path, load_registry())
    (tmp_path / "scirgen-bio").mkdir()
    (tmp_path / "scirgen-bio" / "mine.py").write_text("precious")
    with pytest.raises(InputError, match="not empty") as raised:
        scaffold("bio", tmp_path, load_registry(), parts=("gate",))
    assert "with --gate and copy gate.py" in raised.value.hint
    assert [p.name for p in tmp_path.rglob("*.py")] == ["mine.py"]


def test_parts_are_written_with_their_tests_and_offered_in_the_manifest(tmp_path: Path) -> None:
    made = scaffold("ice-cores", tmp_path, load_registry(), parts=("gate", "recipe"))
    assert {p.name for p in made.rglob("*gate.py")} == {"gate.py", "test_gate.py"} and not list(
        made.rglob("*scorer.py")
    )
    manifest = (made / "scirgen_ice_cores" / "__init__.py").read_text()
    assert 'Provided("gate", "ice_cores_gate", "scirgen_ice_cores.gate:IceCoresGate", "its gate")' in manifest
    assert "ice_cores_recipe" in manifest and "scorer" not in manifest
    assert "ice_cores_gate: {enabled: true}" in (made / "scirgen_ice_cores" / "config.yaml").read_text()
    script = (
        "import sys; sys.path[:0] = [sys.argv[1]]\n"
        "from scirgen.testing import check_gate\nfrom scirgen_ice_cores.gate import IceCoresGate as G\n"
        "assert all(v.accept for v in check_gate(G))"
    )
    subprocess.run([sys.executable, "-c", script, str(made)], check=True)


def test_the_template_uses_only_the_public_api() -> None:
    for path in template_folder().rglob("*.py"):
        for module in re.findall(r"^\s*(?:from|import) (scirgen[\w.]*)", path.read_text(), re.M):
            assert module in ("scirgen", "scirgen.testing", "scirgen_tasks") or module.startswith("scirgen_template"), (
                f"{path}: {module}"
            )
