"""The parse stage with the parser for PDF: hard files are set aside with a reason, and a file's content decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from scirgen.core.config import Config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Document, Paper
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.stages.base import StageContext, StageResult, WorkItem
from scirgen.stages.parse.stage import ParseStage
from tests.support.made_papers import REAL_PAPERS, made_pdf

pytest.importorskip("pymupdf")
realdata = pytest.mark.skipif(
    not REAL_PAPERS.is_dir(), reason=f"REAL PAPERS NOT FOUND in {REAL_PAPERS}: set SCIRGEN_REALDATA"
)


async def run(path: Path, **parse: object) -> StageResult:
    config, resources = Config.model_validate({"parse": parse}), Resources()
    ctx = StageContext(config, resources, PromptLibrary(resources), Taxonomies(resources), load_registry(), Path())
    item = WorkItem("paper", (Paper(id="paper", title="T", file=str(path), sha256="0" * 64),))
    return await ParseStage().process(item, ctx.at("parse", "paper", "fingerprint"))


def document(result: StageResult) -> Document:
    (found,) = result.outputs
    assert isinstance(found, Document)
    return found


@realdata
@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "code", "hint"),
    [
        ("hard-scan-image-only", "no_text", "Tesseract"),
        ("hard-encrypted-userpw", "encrypted", "SCIRGEN_PDF_PASSWORD"),
        ("hard-encrypted-noextract", "no_extract", "parse.no_extract"),
        ("hard-truncated-60pct", "damaged", "Fetch it again"),
        ("hard-html-not-pdf", "not_a_pdf", "download the paper itself"),
    ],
)
async def test_hard_file_when_parsed_then_it_is_set_aside_with_its_reason(name: str, code: str, hint: str) -> None:
    result = await run(REAL_PAPERS / f"{name}.pdf")
    (rejection,) = result.rejections
    assert (rejection.code, rejection.record_kind, rejection.record_id) == (code, "Paper", "paper")
    assert hint in rejection.reason
    assert str(REAL_PAPERS) not in rejection.record
    assert not result.outputs and not result.failures


@realdata
@pytest.mark.realdata
async def test_encrypted_pdf_is_parsed_with_the_environments_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SCIRGEN_PDF_PASSWORD", "wrong\nuser-pw\n")
    result = await run(REAL_PAPERS / "hard-encrypted-userpw.pdf", workers=3)
    assert "Eurasian Modern Pollen Database" in document(result).title
    assert "user-pw" not in document(result).model_dump_json()


@realdata
@pytest.mark.realdata
async def test_no_extract_pdf_when_allowed_by_the_setting_then_it_is_parsed() -> None:
    result = await run(REAL_PAPERS / "hard-encrypted-noextract.pdf", no_extract="parse")
    assert "WUDAPT" in document(result).text


async def test_a_pdf_whose_end_is_missing_is_set_aside_although_a_reader_repairs_it(tmp_path: Path) -> None:
    pdf = made_pdf(tmp_path / "paper.pdf", paragraphs=12)
    whole = pdf.read_bytes()
    pdf.write_bytes(whole[: whole.rindex(b"\nxref\n")])  # all pages are there, the table of objects is not
    (rejection,) = (await run(pdf)).rejections
    assert rejection.code == "damaged" and "Fetch it again" in rejection.reason


async def test_file_when_its_name_lies_then_its_content_decides(tmp_path: Path) -> None:
    pdf = made_pdf(tmp_path / "made.pdf").rename(tmp_path / "paper.txt")
    assert document(await run(pdf)).parser.startswith("pymupdf")
    text = tmp_path / "paper.pdf"
    said = "We counted the trees of two forests in every spring."
    text.write_text(f"# A title\n\n## Abstract\n\n{said}\n\n## Methods\n\nWe did it.\n", encoding="utf-8")
    assert document(await run(text)).parser == "text/1"
