"""Every command of the pages that people read first runs as printed, where api.openai.com is a fake that only chats."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.llm import services as module
from scirgen.testing import serving
from tests.support.models import EmbeddedScores
from tests.support.small_runs import write_records

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/tutorial.md", "docs/models.md")

ELSEWHERE = {
    "scirgen generate --domain biodiversity": "tests/integration/test_plugin_package.py: an installed package",
    "scirgen generate --domain geo --limit 1 --out runs/try": "make demo: minutes; its steps in tests/wings/embedded",
    "scirgen benchmark rag RELEASE ANSWERS.jsonl": "tests/wings/bench/test_rag_answers.py",
    "scirgen push    runs/first me/my-qa": "tests/wings/services/test_release_push.py; here as a dry run",
    "scirgen push runs/first me/my-field-qa": "the same; the page's line before it is the dry run",
    "--model openai:... --scorer hf:/models/Qwen2.5-0.5B": "tests/wings/local: models in this process",
}


def commands(page: str) -> Iterator[str]:
    """The lines of a page's blocks that are commands of scirgen, or options of one."""
    for kind, block in re.findall(r"(?ms)^```(\w*)\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8")):
        lines = (re.sub(r"\s+#.*", "", line).strip() for line in block.splitlines())
        yield from (line for line in lines if not kind and line.startswith(("scirgen ", "--model ")))


def as_typed(line: str, local: str, row: str) -> list[str]:
    """The words of a command, its placeholders filled in as a reader would; ``local`` is the URI of the own server."""
    mine = "--input my_data --limit 1 --out runs/more"
    line = f"scirgen generate {mine} {line}" if line.startswith("--") else line
    line = re.sub(r"openai:\S+?@http://localhost:\d+/v1", local, line).replace("openai:...", "openai:gpt-4o-mini")
    line = line.replace("...", mine).replace("openai:MODEL", "openai:gpt-4o-mini").replace("ROW_ID", row)
    return shlex.split(line.replace("gpt-5-mini", "gpt-4o-mini"))[1:]


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A folder as the pages draw it, a key, a hosted model and one of an own server; yields the URI of the last."""
    paper = "# Snow of the north\n\n## Abstract\n\nSnow depth at station 0 from 2001 to 2004 was measured. " * 3
    for folder in ("records", "my_data", "my_data/papers", "pdfs"):
        (tmp_path / folder).mkdir()
    for folder in ("my_data/papers", "pdfs"):
        (tmp_path / folder / "a.md").write_text(paper)
    for folder in ("records", "my_data"):
        write_records(tmp_path / folder / "r.jsonl", 2)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "made-up")
    monkeypatch.setattr("scirgen_embedded.model.BundledScoring", EmbeddedScores)
    with serving("gpt-4o-mini", completions=404) as hosted, serving() as own:
        here = module.services()["openai"].model_copy(update={"url": hosted.partition("@")[2]})
        changed = module.service_file().model_copy(update={"services": {**module.services(), "openai": here}})
        monkeypatch.setattr(module, "service_file", lambda: changed)
        monkeypatch.setattr("scirgen.llm.server.keys.HOSTED", here.url)
        yield own


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_first_page_runs_with_a_model_that_only_chats(page: str, local: str) -> None:
    row = "ROW_ID"
    for line in dict.fromkeys(commands(page)):
        if line not in ELSEWHERE:
            done = CliRunner().invoke(cli, as_typed(line, local, row))
            assert done.exit_code == 0, (line, done.output, done.exception)
        if row == "ROW_ID" and (found := sorted(Path("runs/first/release").glob("*.jsonl"))):
            row = json.loads(next(text for file in found for text in file.read_text().splitlines()))["id"]


def test_commands_that_are_tested_elsewhere_are_on_the_pages() -> None:
    assert set(ELSEWHERE) <= {line for page in PAGES for line in commands(page)}
