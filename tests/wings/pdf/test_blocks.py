"""What is prose and what is not, on pages set line by line: captions, programs, notes, keywords, equations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

import pytest

from scirgen.core.records import BlockKind, Document, Paper, SectionClass, SectionLabel
from scirgen.core.text.sentences import document_sentences
from scirgen.stages.extract.reading import section_sentences
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import ParserOptions
from scirgen_pdf.parser import PdfParser

pymupdf = pytest.importorskip("pymupdf")

FILL = "The snow that fell in the upper valley in the winter of that year melted late and fed the river into July."
Text = tuple[float, float, str, str, float]


def set_lines(path: Path, *texts: Text, rules: bool = False, tables: str = "skip") -> Document:
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
        for step in range(4 if rules else 0):
            page.draw_line((60, 310 + 16 * step), (360, 310 + 16 * step))
            page.draw_line((60 + 100 * step, 310), (60 + 100 * step, 358))
        pdf.save(path)
    return assemble(Paper(id="p"), PdfParser().parse(path, ParserOptions(tables=tables)))


TABLE: tuple[Text, ...] = (
    (60, 300, "Table 1. Depth and days of the snow at two of the stations of the valley.", "tiro", 8),
    *(
        (64 + 100 * column, 322 + 16 * row, cell, "tiro", 8)
        for row, cells in enumerate(
            (("Station", "Depth (m)", "Days"), ("Upper", "2.35", "1,204"), ("Lower", "0.6", "87"))
        )
        for column, cell in enumerate(cells)
    ),
    (
        60,
        400,
        "The table shows that the upper station of the valley had more of the snow than the lower one.",
        "tiro",
        10,
    ),
)
REFERENCES: tuple[Text, ...] = (
    (60, 300, "References", "tibo", 11),
    (60, 320, "Abel, N., Baker, O. & ", "tiro", 9),
    (70, 331, "Cole, P. 2019. Snow of the upper valley. Journal of Snow 12: 3-14. https://doi.org/10.1016/", "tiro", 9),
    (70, 342, "j.snow.2019.04", "tiro", 9),
    (60, 353, "World Snow Council. 2004. Guide to the stakes. Geneva: WSC.", "tiro", 9),
    (60, 364, "van Dorn, A. 2001. Rivers in July. Hydrology of Valleys 3: 1-9.", "tiro", 9),
)


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
        "together in the north of the valley, with the spread of the single stakes shown as bars and with "
        "the years of little snow set in grey, and the years of much snow in black."
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


def test_table_when_cited_then_markdown_with_its_numbers_and_box(tmp_path: Path) -> None:
    document = set_lines(tmp_path / "p.pdf", *TABLE, rules=True, tables="cells")
    (table,) = [b for b in document.blocks if b.kind is BlockKind.TABLE]
    assert document.text[table.start : table.end].splitlines() == [
        "| Station | Depth (m) | Days |",
        "| --- | --- | --- |",
        "| Upper | 2.35 | 1,204 |",
        "| Lower | 0.6 | 87 |",
    ]
    assert table.page == 1 and table.bbox is not None
    # The finder's box goes by the rules or by the words.
    assert table.bbox == pytest.approx((62, 313, 321, 356), abs=40)


@pytest.mark.parametrize("tables", ["skip", "cells"])
def test_table_cells_whatever_the_setting_are_not_prose(tmp_path: Path, tables: str) -> None:
    document = set_lines(tmp_path / "p.pdf", *TABLE, rules=True, tables=tables)
    assert not any("2.35" in s or "Lower" in s for s in sentences(document))
    assert sentences(document)[-1].startswith("The table shows")
    assert any(text.startswith("| ") for text in kinds(document, BlockKind.TABLE)) is (tables == "cells")


def test_references_when_lines_break_entries_then_whole_entries_with_doi(tmp_path: Path) -> None:
    document = set_lines(tmp_path / "p.pdf", *REFERENCES)
    entries = [b for b in document.blocks if b.kind is BlockKind.REFERENCE]
    assert [document.text[b.start : b.start + 8] for b in entries] == ["Abel, N.", "World Sn", "van Dorn"]
    assert [b.doi for b in entries] == ["10.1016/j.snow.2019.04", None, None]


def test_statements_may_come_from_captions_and_cited_tables(tmp_path: Path) -> None:
    document = set_lines(tmp_path / "p.pdf", *TABLE, rules=True, tables="cells")
    label = SectionLabel(
        document_id=document.id, paper_id="p", start=0, end=len(document.text), heading="Results",
        label=SectionClass.EXPERIMENT, decided_by="rule",
    )  # fmt: skip
    texts = [s.text for s in section_sentences(document, [label])]
    assert "Table 1. Depth and days of the snow at two of the stations of the valley." in texts
    assert "Table 1, Upper: (1) Depth (m): 2.35 | (2) Days: 1,204" in texts


def test_two_columns_of_equations_are_read_one_after_the_other(tmp_path: Path) -> None:
    with pymupdf.open() as pdf:
        for number in range(3):
            page = pdf.new_page(width=595, height=842)
            for x, column in ((60, 0), (320, 1)):
                for y in range(120, 720, 25):
                    if number < 2 or y % 200 < 100:
                        texts = [(x, f"P{number}C{column} snow of the upper valley fed the river in July.")]
                    else:
                        texts = [(x + 50, "a = b + c"), (x + 210, f"({y})")]
                    for at, text in texts:
                        page.insert_text((at, y), text, fontname="tiro", fontsize=10)
        pdf.save(tmp_path / "p.pdf")
    parsed = PdfParser().parse(tmp_path / "p.pdf", ParserOptions())
    assert re.findall(r"P2C[01]", " ".join(b.text for b in parsed.blocks)) == ["P2C0"] * 12 + ["P2C1"] * 12


def test_equations_number_is_not_the_beginning_of_the_prose_below(tmp_path: Path) -> None:
    equation = ((140, 258, "V = 3 x", "tiro", 10), (445, 271, "(12)", "tiro", 10))
    prose = "For the other one of the two lakes of the valley we find that it holds more of the water."
    document = set_lines(tmp_path / "p.pdf", *equation, (75, 283, prose, "tiro", 10))
    assert prose in kinds(document, BlockKind.PARAGRAPH)


def references(path: Path, *before: Text, texts: Sequence[tuple[float, str]]) -> list[str]:
    """The reference entries of a paper whose list has lines of these indents and texts."""
    lines = [(60 + indent, 420 + 11 * row, text, "tiro", 9) for row, (indent, text) in enumerate(texts)]
    return kinds(set_lines(path, *before, (60, 400, "References", "tibo", 11), *lines), BlockKind.REFERENCE)


def test_entries_with_numbers_in_brackets_of_two_widths_stay_apart(tmp_path: Path) -> None:
    entries = [f"({n}) Abel, N.; Baker, O. Snow of the upper valley. J. Snow 2001, {n}, 3-14." for n in range(1, 13)]
    broken = [wrap(entry, 50) for entry in entries]
    texts = [part for first, rest in broken for part in ((0.0 if first[2] != ")" else 4.5, first), (17.0, rest))]
    assert references(tmp_path / "p.pdf", texts=texts) == entries


def test_entries_below_a_table_that_begin_with_initials_are_references(tmp_path: Path) -> None:
    names = ("R. H. Byrd and J. Nocedal", "F. Gerber", "J. van Dorn, K. Cole", "H. Wickham")
    entries = [f"{name}. Depth of the snow of the valley. Journal of Snow, 3:5-10, 2011." for name in names]
    texts = [part for first, rest in (wrap(entry, 55) for entry in entries) for part in ((0.0, first), (10.0, rest))]
    table = [one for one in TABLE if one[1] < 360]
    assert references(tmp_path / "p.pdf", *table, texts=texts) == entries
