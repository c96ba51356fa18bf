"""Versions, lock, container and tests keep what CONTRIBUTING.md says of them."""

from __future__ import annotations

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


SLEEP = {  # file -> sleeps that are what the test is about
    "waiting.py": 2,  # the one place that waits for others
    "test_label_page.py": 1,  # the browser is killed at a random moment
    "test_files.py": 1,  # so is a process that writes a folder
    "test_openai_client.py": 1,  # a server that sends a byte now and then
    "test_pool.py": 3,  # parsers that hang or are slow
    "test_endless.py": 1,  # watches another process's processor time
    "test_match_rules.py": 1,  # counts the turns of other tasks
    "test_progress.py": 1,  # nothing is printed meanwhile
}


def test_tests_wait_for_conditions_and_do_not_sleep():
    found = {
        file.name: len(re.findall(r"\b(?:time|asyncio)\.sleep\((?!0\))", file.read_text()))
        for file in (ROOT / "tests").rglob("*.py")
        if file.name != Path(__file__).name
    }
    assert {name: n for name, n in found.items() if n} == SLEEP
