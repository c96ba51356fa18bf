"""What people read first: README, site and notebook say what is true."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import click
import pytest
import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from scirgen.cli.main import cli
from scirgen.core.config import Config

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "benchmarks").glob("*.md")),
    *sorted((ROOT / "docs" / "architecture").glob("*.md")),
]


def test_readme_is_short_with_one_picture_and_own_data_in_ten_lines() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    assert len(re.findall(r"!\[[^\]]*\]\([^)]+\)", text)) == 1
    block = re.search(r"## Your own data\n\n```\n(.*?)```", text, re.S)
    assert block is not None and len(block.group(1).splitlines()) <= 10


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_to_files_of_the_repository_lead_somewhere(page: Path) -> None:
    missing = [
        target
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        if "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists()
    ]
    assert missing == []


def test_code_of_the_plugins_page_is_that_of_the_examples() -> None:
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"\[(examples/plugins/[^\]]+)\]\([^)]+\)\n\n```\w+\n(.*?)```\n", page, re.S))
    included = re.findall(r"\[(examples/plugins/[^\]]+)\]\(\.\./\1\)\n\n```\{literalinclude\} \.\./\1\n", page)
    shown |= {name: (ROOT / name).read_text(encoding="utf-8") for name in included}  # the site shows the file itself
    files = [ROOT / "examples/plugins/pyproject.toml", *(ROOT / "examples/plugins/scirgen_examples").glob("*.py")]
    assert shown == {str(f.relative_to(ROOT)): f.read_text(encoding="utf-8") for f in files}


def test_files_and_classes_that_architecture_names_exist() -> None:
    pages = [p.read_text(encoding="utf-8") for p in (ROOT / "docs" / "architecture").glob("*.md")]
    named = {name for page in pages for name in re.findall(r"`([^`\n]+)`", page)}
    places = (ROOT, ROOT / "scirgen", ROOT / "plugins")
    paths = [n for n in named if re.fullmatch(r"[\w/]+/(?:\w+\.(?:py|yaml))?", n)]
    code = "\n".join(f.read_text(encoding="utf-8") for root in places[1:] for f in root.rglob("*.py"))
    defined = {a or b for a, b in re.findall(r"(?:class|def) (\w+)|^(\w+)\b.* = ", code, re.M)}
    classes = {part for n in named if re.fullmatch(r"[A-Z]\w*(?:\.\w+)?", n) for part in n.split(".")}
    assert [p for p in paths if not any((place / p).exists() for place in places)] == []
    assert classes - defined == set()


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    files = [f for name in ("scirgen", "plugins", "benchmarks") for f in sorted((ROOT / name).rglob("*.py"))]
    odd = [
        (path.name, line.strip())
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.match(r'\s*"""(?:What|Whether|Which|How|Of)\b', line)
    ]
    # These two are part of schemas that a model reads.
    assert odd == [
        ("reading.py", '"""What some chosen sentences are about."""'),
        ("batches.py", '"""What is wrong with one pair."""'),
    ]


def test_every_setting_has_a_description() -> None:
    bare = [name for name, field in described(Config) if not field.description]
    assert len(bare) <= 40, bare  # those that are left say what they are by their names


def described(model: type[BaseModel], above: str = "") -> list[tuple[str, FieldInfo]]:
    found: list[tuple[str, FieldInfo]] = []
    for name, field in model.model_fields.items():
        if inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel):
            found += described(field.annotation, f"{above}{name}.")
        else:
            found.append((above + name, field))
    return found


def test_commands_named_in_readme_and_tutorial_exist() -> None:
    for page in (ROOT / "README.md", ROOT / "docs" / "tutorial.md"):
        named = set(
            re.findall(
                r"(?m)^scirgen ([a-z]+) (?:runs|--|scirgen-|retrieval|qa|biodiversity)",
                page.read_text(encoding="utf-8"),
            )
        )
        assert named and named <= set(cli.list_commands(click.Context(cli))), page.name


@pytest.mark.timeout(300)
def test_notebook_of_the_site_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "plugins")]))
    notebook = nbformat.read(ROOT / "docs" / "first_run.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [str(o) for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
    assert any("'success'" in o or "'partial'" in o for o in shown)
    assert any("evidence:" in o for o in shown)


def test_workflow_calls_what_the_project_calls_ci() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    steps = [s.get("run") for job in workflow["jobs"].values() for s in job["steps"]]
    assert ".ci/run" in steps and "make docs" in steps


def test_no_address_holds_a_placeholder_and_the_citation_has_the_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    manifest = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert citation["version"] in manifest
    pages = [p.read_text(encoding="utf-8") for p in (ROOT / "docs").rglob("*.md")]
    assert not any("github.com/OWNER" in text for text in (manifest, str(citation), *pages))


def test_code_of_readme_api_page_and_examples_passes_a_strict_type_checker(tmp_path: Path) -> None:
    blocks = [code for page in ("README.md", "docs/api.md") for code in _python_blocks(ROOT / page)]
    written = tmp_path / "pages.py"
    setup = ["import scirgen", "from custom_source import TideGauges as MySource", "async def page() -> None:"]
    written.write_text("\n".join([*setup, textwrap.indent("\n".join(blocks), "    ")]))
    checked = [written, ROOT / "examples/custom_source.py", *sorted((ROOT / "examples/plugins").rglob("*.py"))]
    # Outside the repository, as an installed package: the project's own settings do not apply.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={ROOT / '.mypy_cache/pages'}", *map(str, checked)],
        cwd=tmp_path, env={**os.environ, "MYPYPATH": str(ROOT / "examples")}, capture_output=True, text=True,
    )  # fmt: skip
    assert len(blocks) >= 4
    assert done.returncode == 0, done.stdout


def _python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)
