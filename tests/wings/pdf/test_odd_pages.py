"""Pages that are turned, set sideways, two on a sheet, or pictures: a right document or one clear code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scirgen.core.errors import PaperError
from scirgen.core.records import BlockKind, Document, Paper
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import ParserOptions
from scirgen_pdf.parser import PdfParser
from scirgen_pdf.reading.readers import opened
from tests.support.made_papers import made_pdf

pymupdf = pytest.importorskip("pymupdf")


def parse(path: Path) -> Document:
    return assemble(Paper(id="p"), PdfParser().parse(path, ParserOptions()))


def of_kind(document: Document, *kinds: BlockKind) -> list[str]:
    return [document.text[b.start : b.end] for b in document.blocks if b.kind in kinds]


def turned(source: Any, made: Any) -> None:
    made.insert_pdf(source)
    for page in made:
        page.set_rotation(90)


def sideways(source: Any, made: Any) -> None:
    for page in source:
        sheet = made.new_page(width=page.rect.height, height=page.rect.width)
        sheet.show_pdf_page(sheet.rect, source, page.number, rotate=90)


def two_up(source: Any, made: Any) -> None:
    for number in range(0, source.page_count, 2):
        width, height = source[number].rect.width, source[number].rect.height
        sheet = made.new_page(width=2 * width, height=height)
        for side in range(min(2, source.page_count - number)):
            place = pymupdf.Rect(side * width, 0, (side + 1) * width, height)
            sheet.show_pdf_page(place, source, number + side)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_letters_of_a_turned_page_are_as_wide_as_printed(tmp_path: Path, rotation: int) -> None:
    with pymupdf.open() as made:
        page = made.new_page()
        page.insert_text((300, 400), "illicit", fontname="helv", fontsize=20, rotate=rotation)
        page.set_rotation(rotation)
        made.save(tmp_path / "p.pdf")
    with opened(tmp_path / "p.pdf", "auto") as file:
        (line,) = file.page(0, glyphs=True).lines
    along = 0 if abs(line.direction[0]) > 0.5 else 1
    widths = [glyph.box[along + 2] - glyph.box[along] for span in line.spans for glyph in span.glyphs]
    assert sum(widths) == pytest.approx(pymupdf.get_text_length("illicit", "helv", 20), rel=0.02)


@pytest.mark.parametrize("change", [turned, sideways, two_up])
def test_page_when_turned_or_doubled_then_the_same_document(tmp_path: Path, change: Callable[[Any, Any], None]) -> None:
    plain = made_pdf(tmp_path / "plain.pdf", columns=2)
    with pymupdf.open(plain) as source, pymupdf.open() as made:
        change(source, made)
        made.save(tmp_path / "odd.pdf")
    expected, found = parse(plain), parse(tmp_path / "odd.pdf")
    assert of_kind(found, BlockKind.HEADING) == of_kind(expected, BlockKind.HEADING)
    assert found.abstract == expected.abstract
    assert " ".join(of_kind(found, BlockKind.PARAGRAPH)) == " ".join(of_kind(expected, BlockKind.PARAGRAPH))


def test_paper_when_half_its_pages_are_pictures_then_no_text_says_how_many(tmp_path: Path) -> None:
    with pymupdf.open(made_pdf(tmp_path / "plain.pdf", columns=1)) as source, pymupdf.open() as made:
        for page in source:
            sheet = made.new_page(width=page.rect.width, height=page.rect.height)
            sheet.insert_image(sheet.rect, pixmap=page.get_pixmap(dpi=20))
        made.insert_pdf(source)
        pages = made.page_count
        made.save(tmp_path / "mixed.pdf")
    with pytest.raises(PaperError, match=f"{pages // 2} of the PDF's {pages} pages are pictures") as error:
        parse(tmp_path / "mixed.pdf")
    assert error.value.error_code == "no_text"
