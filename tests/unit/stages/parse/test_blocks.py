"""What is prose and what is not, on pages set line by line: captions, programs, notes, keywords, equations."""

from __future__ import annotations

from pathlib import Path

import pytest

from scirgen.core.records import BlockKind, Document, Paper
from scirgen.core.text.sentences import document_sentences
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import ParserOptions
from scirgen.stages.parse.pdf.parser import PyMuPDFParser

pymupdf = pytest.importorskip("pymupdf")

FILL = "The snow that fell in the upper valley in the winter of that year melted late and fed the river into July."
Text = tuple[float, float, str, str, float]


def set_lines(path: Path, *texts: Text) -> Document:
    """The document of a one-page PDF: a title, a column of prose, and texts as (x, y, text, font, size)."""
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=595, height=842)
        page.insert_text((60, 70), "Snow melt and the rivers of the upper valley", fontname="tibo", fontsize=16)
        page.insert_text((60, 100), "1. Introduction", fontname="tibo", fontsize=11)
        for number in range(10):
            page.insert_text((60, 120 + 12 * number), FILL[:98], fontname="tiro", fontsize=10)
        page.insert_text((60, 240), "It was so each year.", fontname="tiro", fontsize=10)
        for x, y, text, font, size in texts:
            page.insert_text((x, y), text, fontname=font, fontsize=size)
        pdf.save(path)
    return assemble(Paper(id="p"), PyMuPDFParser().parse(path, ParserOptions()))


def kinds(document: Document, kind: BlockKind) -> list[str]:
    return [document.text[b.start : b.end] for b in document.blocks if b.kind is kind]


def sentences(document: Document) -> list[str]:
    return [" ".join(document.text[s:e].split()) for s, e in document_sentences(document)]


def test_caption_when_set_in_two_columns_then_one_caption_and_no_prose(tmp_path: Path) -> None:
    document = set_lines(
        tmp_path / "p.pdf",
        (60, 300, "Figure 1. Depth of the snow at the ten stations of the valley", "tiro", 8),
        (60, 310, "in the winters of all years, as measured by the stakes and the", "tiro", 8),
        (60, 320, "radar on the plane, and the mean of both of them together in the", "tiro", 8),
        (310, 300, "north of the valley, with the spread of the single stakes shown", "tiro", 8),
        (310, 310, "as bars and with the years of little snow set in grey, and the", "tiro", 8),
        (310, 320, "years of much snow in black.", "tiro", 8),
        (60, 360, FILL[:98], "tiro", 10),
        (60, 372, "and the valley was green.", "tiro", 10),
    )
    assert len(kinds(document, BlockKind.CAPTION)) == 1
    assert kinds(document, BlockKind.CAPTION)[0].endswith(
        "together in the north of the valley, with the spread of the single stakes shown as bars and with the years of little snow set in grey, and the years of much snow in black."
    )
    assert not any("radar" in s or "bars" in s for s in sentences(document))


def test_program_when_set_in_typewriter_type_then_not_prose(tmp_path: Path) -> None:
    document = set_lines(
        tmp_path / "p.pdf",
        (60, 300, "library(snow)", "cour", 9),
        (60, 312, "depth <- read.csv('stakes.csv')", "cour", 9),
        (60, 350, "The program above reads the stakes of all of the stations of the valley in one go.", "tiro", 10),
    )
    assert not any("library" in s or "read.csv" in s for s in sentences(document))
    assert any("library(snow)" in text for text in kinds(document, BlockKind.OTHER))


def test_keywords_when_they_follow_the_abstract_then_not_prose(tmp_path: Path) -> None:
    document = set_lines(tmp_path / "p.pdf", (60, 300, "Keywords: snow, rivers, valleys, stakes, radar", "tiro", 10))
    assert not any("Keywords" in s for s in sentences(document))


def test_sentence_when_an_equation_interrupts_it_then_one_sentence(tmp_path: Path) -> None:
    document = set_lines(
        tmp_path / "p.pdf",
        (
            60,
            280,
            "We then take the depth of the snow at each of the stakes of the valley, and the mean is given by",
            "tiro",
            10,
        ),
        (200, 305, "m = (a + b) / 2 + c - d,   (3)", "tiro", 10),
        (
            60,
            330,
            "where a is the depth at the first stake, and b the depth at the second one in the same year.",
            "tiro",
            10,
        ),
    )
    assert len(kinds(document, BlockKind.EQUATION)) == 1
    assert any(s.startswith("We then take") and s.endswith("same year.") and "(3)" in s for s in sentences(document))
