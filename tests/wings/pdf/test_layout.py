"""What goes into a page layout must come out in order: one and two columns, several house styles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scirgen.core.records import BlockKind, Document, Paper
from scirgen.core.text.sentences import document_sentences
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import ParserOptions
from tests.support.made_papers import made_pdf

pymupdf = pytest.importorskip("pymupdf")

STYLES = {
    "bold headings": "",
    "large serif headings": "h2{font-weight:normal;font-size:14pt}",
    "sans headings of body size": "h2{font-family:sans-serif;font-size:10pt;font-weight:bold}",
    "ragged right": "body{text-align:left}",
    "indented paragraphs": "p{text-indent:14pt;margin:0}",
    "small type": "body{font-size:8pt}",
    "coloured headings": "h2{color:#a02020;font-weight:normal;font-size:11pt}",
}
HEADINGS = {
    "plain": ("Introduction", "Materials and methods", "Results", "Discussion", "Conclusions"),
    "capitals": ("INTRODUCTION", "MATERIALS AND METHODS", "RESULTS", "DISCUSSION", "CONCLUSIONS"),
    "numbered": ("1. Introduction", "2. Study area", "3. Snow depth retrieval", "4. Results", "5. Conclusions"),
}


def parse(path: Path) -> Document:
    from scirgen_pdf.parser import PdfParser

    return assemble(Paper(id=path.stem), PdfParser().parse(path, ParserOptions()))


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("names", HEADINGS)
def test_laid_out_papers_sentences_and_headings_come_back_in_order(
    tmp_path: Path, columns: int, style: str, names: str
) -> None:
    document = parse(made_pdf(tmp_path / "paper.pdf", columns, HEADINGS[names], style=STYLES[style]))
    body = [document.text[b.start : b.end] for b in document.blocks if b.kind is BlockKind.PARAGRAPH]
    numbers = [int(n) for n in re.findall(r"\bS(\d+) ", " ".join(body))]
    assert numbers == list(range(128))
    headings = [document.text[b.start : b.end] for b in document.blocks if b.kind is BlockKind.HEADING]
    assert headings == ["Abstract", *HEADINGS[names], "References"]
    assert "Made-up Papers" not in document.text
    assert document.title.startswith("Snow cover and river flow")
    assert document.abstract.startswith("S0 ")
    assert sum(b.kind is BlockKind.REFERENCE for b in document.blocks) >= 10


def test_page_holds_a_sentences_words_within_its_box(tmp_path: Path) -> None:
    path = made_pdf(tmp_path / "paper.pdf", columns=2)
    document = parse(path)
    with pymupdf.open(path) as pdf:
        for start, end in document_sentences(document):
            span = document.span(start, end)
            assert span.page is not None and span.bbox is not None
            x0, y0, x1, y1 = span.bbox
            clip = pymupdf.Rect(x0 - 2, y0 - 2, x1 + 2, y1 + 2)
            found = pdf[span.page - 1].get_text(clip=clip)
            assert span.text.split()[0] in found


def test_paragraph_across_columns_is_one_block_with_lines_in_both(tmp_path: Path) -> None:
    document = parse(made_pdf(tmp_path / "paper.pdf", columns=2))
    crossing = [
        b for b in document.blocks if b.kind is BlockKind.PARAGRAPH and len({ln.bbox[0] > 250 for ln in b.lines}) == 2
    ]
    assert crossing
    for block in crossing:
        assert document.text[block.start : block.end].rstrip().endswith(".")


def test_blocks_are_ordered_and_do_not_overlap(tmp_path: Path) -> None:
    document = parse(made_pdf(tmp_path / "paper.pdf"))
    for before, after in zip(document.blocks, document.blocks[1:], strict=False):
        assert before.end <= after.start
    for block in document.blocks:
        assert document.text[block.start : block.end].strip() == document.text[block.start : block.end]
        starts = [line.start for line in block.lines]
        assert starts == sorted(starts)
        assert all(block.start <= s < block.end for s in starts)


def test_document_id_when_parsed_twice_then_it_is_the_same(tmp_path: Path) -> None:
    path = made_pdf(tmp_path / "paper.pdf")
    assert parse(path).id == parse(path).id


def test_hyphenated_words_when_broken_at_a_line_end_then_they_are_mended(tmp_path: Path) -> None:
    path = tmp_path / "hyphen.pdf"
    document = pymupdf.open()
    page = document.new_page()
    lines = [
        "The dissolved organic matter of the river was sampled at every sta-",
        "tion of the long-",
        "term network; one station had a long-term record of tempera-",
        "ture and of flow.",
    ]
    for i, line in enumerate(lines * 3):
        page.insert_text((72, 100 + 13 * i), line, fontsize=10)
    document.save(path)
    text = parse(path).text
    assert "every station of the long-term network" in text
    assert "of temperature and of flow" in text


def test_line_numbers_when_a_manuscript_has_them_then_they_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "numbered.pdf"
    document = pymupdf.open()
    for number in range(2):
        page = document.new_page()
        for i in range(30):
            page.insert_text((40, 100 + 20 * i), str(number * 30 + i + 1), fontsize=7, fontname="helv")
            page.insert_text(
                (72, 100 + 20 * i),
                (
                    f"Line {'abcdefghijklmnopqrstuvwxyzäöüß'[i]} says that the snow lies deep and "
                    "the river runs low in may."
                ),
                fontname="tiro",
            )
    document.save(path)
    text = parse(path).text
    assert not re.search(r"\d", text)
    assert text.count("the snow lies deep") == 60
