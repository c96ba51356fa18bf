"""A scanned page is read with Tesseract where it is installed and asked for, and refused with a hint where not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pymupdf
import pytest

from scirgen.core.errors import PaperError
from scirgen.stages.parse.base import ParserOptions
from scirgen_pdf.parser import PdfParser

SENTENCE = "The record covers forty stations and ends in the year 2020."


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One page that is nothing but a picture of text: a title in two lines of uneven size, and a paragraph."""
    typed = pymupdf.open()
    page = typed.new_page()
    page.insert_text((72, 100), "Depth of snow on the northern", fontsize=22)
    page.insert_text((72, 128), "slopes of an invented range", fontsize=21)
    for n in range(12):
        page.insert_text(
            (72, 190 + 16 * n), SENTENCE if n == 5 else "Snow was measured each morning at the hut.", fontsize=11
        )
    picture = page.get_pixmap(dpi=200)
    scanned = pymupdf.open()
    scanned.new_page().insert_image(page.rect, pixmap=picture)
    path = tmp_path_factory.mktemp("scan") / "scan.pdf"
    scanned.save(path)
    return path


def test_without_ocr_a_scan_is_refused_and_the_hint_names_the_setting(scan: Path) -> None:
    with pytest.raises(PaperError) as caught:
        PdfParser().parse(scan, ParserOptions())
    assert caught.value.error_code == "no_text" and "parse.ocr" in caught.value.hint


def test_without_tesseract_the_hint_says_so(scan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(PaperError) as caught:
        PdfParser().parse(scan, ParserOptions(ocr=True))
    assert "Tesseract is not installed" in caught.value.hint


@pytest.mark.skipif(
    shutil.which("tesseract") is None, reason="TESSERACT IS NOT INSTALLED (apt-get install tesseract-ocr)"
)
def test_a_scan_is_read_and_its_title_is_whole(scan: Path) -> None:
    parsed = PdfParser().parse(scan, ParserOptions(ocr=True))
    assert parsed.title == "Depth of snow on the northern slopes of an invented range"
    text = " ".join(block.text for block in parsed.blocks)
    assert SENTENCE in text
    assert all(line.page == 1 and line.bbox is not None for block in parsed.blocks for line in block.lines)
