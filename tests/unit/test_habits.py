"""Versions, lock, container and tests keep what CONTRIBUTING.md says of them."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements-dev.lock").read_text()


def test_ci_tests_each_python_that_the_package_names():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    named = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert jobs["python"]["strategy"]["matrix"]["python"] == named == ["3.11", "3.12", "3.13"]


def test_the_lock_has_a_version_that_suits_each_requirement_and_names_no_host():
    lines = [line for line in LOCK.splitlines() if line and not line.startswith("#")]
    pinned = {name.lower().replace("_", "-"): v for name, v in (x.partition(" ;")[0].split("==") for x in lines)}
    extras = PROJECT["optional-dependencies"]
    wanted = [Requirement(r) for r in (*PROJECT["dependencies"], *extras["local"], *extras["pdf"], *extras["dev"])]
    for requirement in (r for r in wanted if r.name != "scirgen"):
        version = pinned[requirement.name.lower().replace("_", "-")]
        assert requirement.specifier.contains(version), f"{requirement} but {version}: compile the lock again"
    assert "://" not in LOCK and "--" not in "".join(lines)


def test_the_release_workflow_publishes_only_the_version_that_the_tag_names():
    steps = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]["build"]["steps"]
    (check,) = (s["run"] for s in steps if s.get("name", "").startswith("The tag is the version"))
    assert '"$GITHUB_REF_NAME" = "v$version"' in check
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text()
    assert f'version: "{PROJECT["version"]}"' in (ROOT / "CITATION.cff").read_text()


def test_the_container_runs_as_user_1000_and_may_write_its_volumes():
    said = (ROOT / "Dockerfile").read_text()
    stage = said.rpartition("FROM ")[2]
    assert re.search(r"^USER 1000$", stage, re.M) and "chown scirgen /data /cache" in stage
    assert stage.index("chown") < stage.index("USER 1000") < stage.index("ENTRYPOINT")
    command = re.search(r"docker run .*", said).group()
    assert command in (ROOT / "docs" / "running.md").read_text()


TESTS = sorted((ROOT / "tests").rglob("*.py"))


def test_tests_wait_for_conditions_and_do_not_sleep():
    slept = {f.name for f in TESTS if re.search(r"(?<!def )\bsleep\((?!0\))", f.read_text())}
    assert slept == {"waiting.py"}


def test_tests_import_no_private_name():
    private = [(f.name, name) for f in TESTS for name in _private_names(ast.parse(f.read_text()))]
    assert private == []


def _private_names(tree: ast.Module) -> list[str]:
    """Names with a leading underscore that are imported from the project, or read from a module imported from it."""
    own = [
        (n.module, a.name, a.asname or a.name)
        for n in ast.walk(tree)
        if isinstance(n, ast.ImportFrom) and n.module and re.match(r"scirgen|benchmarks|examples", n.module)
        for a in n.names
    ]
    modules = {name for _, _, name in own if name.islower()}
    read = [
        f"{n.value.id}.{n.attr}"
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id in modules
    ]
    return [name for name in (*(f"{m}.{n}" for m, n, _ in own), *read) if re.search(r"(?:^|\.)_[a-z]", name, re.I)]


def test_unit_tests_mirror_the_generator_and_tests_of_wings_the_plugins():
    """Tests of more than one part stand in the other folders."""
    unit, wings = ROOT / "tests" / "unit", ROOT / "tests" / "wings"
    mirrored = {f.parent: ROOT / "scirgen" / f.parent.relative_to(unit) for f in unit.rglob("test_*.py")}
    mirrored |= {f.parent: ROOT / "plugins" / f"scirgen_{f.relative_to(wings).parts[0]}" for f in wings.rglob("*.py")}
    assert [str(folder) for folder, code in mirrored.items() if not code.is_dir()] == []
    assert {f.name for f in unit.glob("test_*.py")} == {"test_habits.py", "test_public_line.py"}
