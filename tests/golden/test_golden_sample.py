"""What parse and section make of the invented papers, as text to be reviewed. Regenerate: SCIRGEN_REGENERATE=1 pytest
tests/golden."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scirgen.api import find_domain
from scirgen.core.config import load_config
from scirgen.core.fingerprint import file_sha256
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Document, Paper, SectionLabel
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.stages.base import StageContext, WorkItem
from scirgen.stages.parse.readers import READERS
from scirgen.stages.parse.stage import ParseStage
from scirgen.stages.section.stage import SectionStage

PAPERS = sorted((Path(__file__).parents[1] / "material" / "invented" / "papers").iterdir())


@pytest.mark.parametrize("reader", list(READERS))
@pytest.mark.parametrize("path", PAPERS, ids=lambda p: p.name)
async def test_sample_paper_parses_and_sections_as_reviewed(path: Path, reader: str, tmp_path: Path) -> None:
    resources = Resources(find_domain("geo"))
    config = load_config(flags={"section.use_model": False, "parse.reader": reader}).config
    ctx = StageContext(config, resources, PromptLibrary(resources), Taxonomies(resources), load_registry(), tmp_path)
    paper = Paper(id=path.stem, file=str(path), sha256=file_sha256(path))
    parsed = await ParseStage().process(WorkItem(paper.id, (paper,)), ctx.at("parse", paper.id, "f"))
    (document,) = parsed.outputs
    assert isinstance(document, Document), parsed.rejections
    labelled = await SectionStage().process(WorkItem(paper.id, (document,)), ctx.at("section", paper.id, "f"))
    lines = [f"title: {document.title}", f"pages: {document.pages}", f"abstract: {document.abstract[:80]}...", ""]
    lines += [f"{b.kind:10} p{b.page} {document.text[b.start : b.end][:70]!r}" for b in document.blocks]
    lines += [
        "",
        *(f"{s.label:22} {s.decided_by} {s.heading}" for s in labelled.outputs if isinstance(s, SectionLabel)),
    ]
    golden = Path(__file__).with_name(f"{path.name}.txt")
    text = "\n".join(lines) + "\n"
    if os.environ.get("SCIRGEN_REGENERATE"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
