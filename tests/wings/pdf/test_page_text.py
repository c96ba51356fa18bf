"""The text of a page as printed: narrow blanks, TeX's ligatures without names, running heads and printers' black."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scirgen.core.records import BlockKind, Document, Paper
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import ParserOptions
from scirgen_pdf.reading.page import Span, TextLine

pymupdf = pytest.importorskip("pymupdf")

BOX = (0.0, 92.0, 50.0, 102.0)
FILL = "The snow of the upper valley melted late in the winter of that year and fed the river into July."


def parsed(pdf: Any, path: Path) -> Document:
    from scirgen_pdf.parser import PdfParser

    pdf.save(path)
    return assemble(Paper(id="p"), PdfParser().parse(path, ParserOptions()))


def test_words_set_with_narrow_blanks_are_not_glued_together(tmp_path: Path) -> None:
    font = pymupdf.Font("tiro")
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        writer = pymupdf.TextWriter(page.rect)
        for row in range(6):
            x = 60.0
            for word in FILL.split():
                writer.append((x, 100 + 12 * row), word, font=font, fontsize=10)
                x += font.text_length(word, 10) + 1.3  # MuPDF sees a blank from 1.5 on
        writer.write_text(page)
        assert "snowoftheuppervalley" in page.get_text()
        assert parsed(pdf, tmp_path / "p.pdf").text.count(FILL) == 6


@pytest.mark.parametrize("codes", [("\x0c", "\x0d", "\x0e"), ("\x1c", "\x1d", "\x1e")])
def test_codes_of_ligatures_beside_letters_are_read_as_their_letters(codes: tuple[str, str, str]) -> None:
    from scirgen_pdf.page.characters import name_ligatures

    fi, fl, ffi = codes
    said = f"the {fi}rst {fl}ow was e{ffi}cient and {fi}lled the speci{fi}c {fl}at basin " * 20
    text, maths = (Span(t, font, 10.0, BOX, (0.0, 0.0)) for t, font in ((said, "F29"), (f"x{fi} y {fl}z", "F30")))
    name_ligatures([text, maths])
    assert text.text.startswith("the first flow was efficient and filled the specific flat basin")
    assert maths.text == f"x{fi} y {fl}z"


def test_letters_that_readers_give_as_ornaments_are_letters() -> None:
    from fontTools.agl import toUnicode

    from scirgen_pdf.page.characters import name_letters

    said = "".join(toUnicode(f"a{ord(c)}", isZapfDingbats=True) or c for c in "melted")
    fi = toUnicode("a28", isZapfDingbats=True)
    text, _ = letters = tuple(Span(t, "", 10.0, BOX, (0.0, 0.0)) for t in (f"{said} late {fi}rst", "✉ author"))
    assert not text.text.isascii()
    name_letters(letters)
    assert text.text == "melted late first"
    plain = Span("✉ the author of this paper", "", 10.0, BOX, (0.0, 0.0))
    name_letters([plain])
    assert plain.text.startswith("✉")


def test_run_ins_of_one_type_in_two_blacks_are_all_headings(tmp_path: Path) -> None:
    from scirgen_pdf.page.lines import page_lines

    lines = [
        page_lines(
            [TextLine([Span("Mutation", "Serif", 10.0, BOX, (0.0, 100.0), italic=True, colour=colour)], BOX)], 1
        )[0]
        for colour in (0, 0x231F20, 0xA02020)
    ]
    assert lines[0].style == lines[1].style != lines[2].style


def test_running_head_that_names_the_section_is_not_a_heading(tmp_path: Path) -> None:
    names = ("Introduction", "Gauges", "Melt", "Floods")
    with pymupdf.open() as pdf:
        for number, name in enumerate(names):
            page = pdf.new_page()
            page.insert_text((60, 50), name.upper(), fontname="tiit", fontsize=10)
            page.insert_text((430, 50), "SNOW OF THE VALLEY", fontname="tiit", fontsize=10)
            page.insert_text((60, 90), name if number else "Snow of the valley", fontname="tibo", fontsize=15)
            for row in range(40):
                page.insert_text((60, 120 + 12 * row), FILL, fontname="tiro", fontsize=10)
        found = parsed(pdf, tmp_path / "p.pdf")
    assert not [name for name in names[1:] if name.upper() in found.text]
    assert all(name in found.text for name in names[1:])


def test_heads_and_numbers_of_pages_with_wide_margins_are_not_text(tmp_path: Path) -> None:
    with pymupdf.open() as pdf:
        for number in range(7):
            page = pdf.new_page()
            page.insert_text((430, 160), str(number + 1), fontname="tiro", fontsize=10)
            page.insert_text((120, 160), "Snow" if number % 2 else "Ann Author", fontname="tiit", fontsize=10)
            for row in range(20):
                page.insert_text(
                    (60, 190 + 12 * row), f"At {'abcdefg'[number]}t, {FILL[4:90]}", fontname="tiro", fontsize=10
                )
        text = parsed(pdf, tmp_path / "p.pdf").text
    assert text.count("At ") == 140
    assert not any(said in text for said in ("Snow", "Ann Author", *"234567"))


def test_labels_of_tables_at_the_top_of_pages_are_not_running_heads(tmp_path: Path) -> None:
    with pymupdf.open() as pdf:
        for number in range(4):
            page = pdf.new_page()
            page.insert_text((60, 40), "Snow and ice", fontname="tiro", fontsize=10)
            page.insert_text((60, 60), f"Table {number + 1}", fontname="tibo", fontsize=10)
            for row in range(20):
                page.insert_text((60, 100 + 12 * row), FILL[4:90], fontname="tiro", fontsize=10)
        text = parsed(pdf, tmp_path / "p.pdf").text
    assert all(f"Table {number}" in text for number in (1, 2, 3, 4)) and "Snow and ice" not in text


def test_numbers_in_the_margin_beside_the_text_do_not_hide_its_first_line(tmp_path: Path) -> None:
    with pymupdf.open() as pdf:
        for number in range(4):
            page = pdf.new_page()
            page.insert_text((570, 80), str(number + 1), fontname="tiro", fontsize=10)
            for row in range(40):
                place = f"{'abcdefghijklmnopqrstuvwxyz'[row % 26]}{'hillo'[row // 26]}{'abcd'[number]}t"
                page.insert_text((60, 80 + 12 * row), f"At {place}, {FILL[4:90]}", fontname="tiro", fontsize=10)
        text = parsed(pdf, tmp_path / "p.pdf").text
    assert text.count("At ") == 160


def test_word_broken_at_a_syllable_or_inside_a_name_has_no_hyphen(tmp_path: Path) -> None:
    lines = (
        "The package openBUGS was tried by a user who was inter-",
        "ested in the inter-",
        "annual change of open-",
        "BUGS, and annual means were taken of all the many role-",
        "based runs of it.",
    )
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        for row, line in enumerate(lines):
            page.insert_text((60, 100 + 12 * row), line, fontname="tiro", fontsize=10)
        found = parsed(pdf, tmp_path / "p.pdf")
    prose = " ".join(found.text[b.start : b.end] for b in found.blocks if b.kind is BlockKind.PARAGRAPH)
    assert "interested in the inter-annual change of openBUGS" in prose
    assert "role-based runs" in prose
