"""Papers are read once: by the first run; its resume, a dry run and an estimate use what it read."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

import scirgen
from scirgen.cli.main import cli
from scirgen.core.config import ParseConfig
from scirgen.core.errors import ModelAccessError
from scirgen.core.registry import load_registry
from scirgen.stages.collect.files import paperfolder
from scirgen.stages.parse.base import ParsedPaper
from scirgen.stages.parse.process.pool import ParserPool
from scirgen.stages.parse.stage import read_paper
from scirgen.testing import serving
from tests.support.small_runs import KNOWN_ITEMS

pytestmark = pytest.mark.timeout(300)

PAPER = """## Abstract

Ice thickness was drilled at 24 holes on the northern lakes every week from 1988 to 2019.
The ice became thinner by 12 cm.

## Results

The mean thickness fell from 61 cm to 49 cm because the winters became warmer.
Snow on the ice slowed its growth in January.
"""


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that a parser opens, or whose text is searched for the datasets that they name."""
    names: list[str] = []
    parse, texts = ParserPool.parse, paperfolder.paper_texts

    async def parsing(pool: ParserPool, parsers: object, path: Path, options: object) -> ParsedPaper:
        names.append(path.name)
        return await parse(pool, parsers, path, options)  # type: ignore[arg-type]

    def searching(files: Sequence[Path]) -> dict[Path, tuple[str, str]]:
        names.extend(f"text of {path.name}" for path in files)
        return texts(files)

    monkeypatch.setattr(ParserPool, "parse", parsing)
    monkeypatch.setattr(paperfolder, "paper_texts", searching)
    return names


def test_papers_alone_are_read_once_by_all_commands_about_a_run(tmp_path: Path, read: list[str]) -> None:
    (tmp_path / "papers").mkdir()
    for name in ("a.md", "b.md"):
        (tmp_path / "papers" / name).write_text(f"# The paper {name}\n\n{PAPER}")
    with serving() as model:
        given = ["--model", model, "--input", str(tmp_path / "papers"), "--out", str(tmp_path / "run")]
        given += ["--set", "generate.mix={known_item: 1.0}"]
        scirgen.generate(tmp_path / "run", input=tmp_path / "papers", model=model, settings=KNOWN_ITEMS)
        assert sorted(read) == ["a.md", "b.md"]
        read.clear()
        os.utime(tmp_path / "papers" / "a.md")
        scirgen.generate(tmp_path / "run", input=tmp_path / "papers", model=model, settings=KNOWN_ITEMS)
        for command in (["generate", "--dry-run"], ["estimate"]):
            result = CliRunner().invoke(cli, [*command, *given], catch_exceptions=False)
            assert result.exit_code == 0, result.output
        assert read == []
        (tmp_path / "papers" / "a.md").write_text(f"# Another paper\n\n{PAPER}")
        scirgen.generate(tmp_path / "run", input=tmp_path / "papers", model=model, settings=KNOWN_ITEMS)
        assert read == ["a.md"]


def test_no_paper_is_read_where_the_model_is_unknown(tmp_path: Path, read: list[str]) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "a.md").write_text(f"# The paper\n\n{PAPER}")
    (tmp_path / "r.json").write_text(json.dumps([{"id": "ice", "title": "Lake ice thickness of the north"}]))
    with serving() as model, pytest.raises(ModelAccessError):
        settings = {**KNOWN_ITEMS, "filter.faithfulness": []}
        scirgen.generate(tmp_path / "run", input=tmp_path, model=model.replace("fake", "typo"), settings=settings)
    assert read == []


def test_resume_with_records_does_not_search_the_papers_again(tmp_path: Path, read: list[str]) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "a.md").write_text(f"# The paper\n\n{PAPER}")
    (tmp_path / "r.json").write_text(json.dumps([{"id": "ice", "title": "Lake ice thickness of the north"}]))
    with serving() as model:
        scirgen.generate(tmp_path / "run", input=tmp_path, model=model, settings=KNOWN_ITEMS)
        assert sorted(read) == ["a.md", "text of a.md"]
        read.clear()
        scirgen.generate(tmp_path / "run", input=tmp_path, model=model, settings=KNOWN_ITEMS)
    assert read == []


async def test_a_kept_reading_is_the_reading_and_one_per_file(tmp_path: Path, read: list[str]) -> None:
    paper, run, config = tmp_path / "a.md", tmp_path / "run", ParseConfig()
    paper.write_text(f"# The paper\n\n{PAPER}")
    run.mkdir()
    (run / "run.db").touch()

    async def parsed(config: ParseConfig) -> ParsedPaper:
        return await read_paper(paper, config, load_registry(), ParserPool(1, 512), run)

    kept = run / "sources" / "read"
    first = await parsed(config)
    assert await parsed(config) == first and read == ["a.md"]
    for other in (config.model_copy(update={"no_extract": "parse"}), config):
        assert await parsed(other) == first
    assert len(read) == 3 and len(list(kept.iterdir())) == 1, "a file has one reading, the last one"
    for damage in (b"", b"no reading", next(kept.iterdir()).read_bytes()[:-20]):
        next(kept.iterdir()).write_bytes(damage)
        assert await parsed(config) == first
