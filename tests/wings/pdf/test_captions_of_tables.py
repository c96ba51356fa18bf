"""A printed table has one caption, also where it stands between two."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from scirgen.core.records import BlockKind, Paper
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import ParserOptions
from scirgen_pdf.page.lines import Line, Run, Style
from scirgen_pdf.paragraphs import Group
from scirgen_pdf.parser import PdfParser
from scirgen_pdf.reading.page import Glyph, Span, TextLine, Word
from scirgen_pdf.tables import page_words, with_titles

pymupdf = pytest.importorskip("pymupdf")

HEADER = ("Station", "Depth (m)", "Days")
SNOW = [(f"Station {n} of the valley", f"2.{n}", str(80 + n)) for n in range(10, 14)]
ICE = [(f"Lake {n} of the plain", f"0.{n}", str(30 + n)) for n in range(10, 14)]


def tables(path: Path, parts: list[str | list[tuple[str, ...]]]) -> dict[str, str]:
    """The tables with cells, by the first words of their captions, of a page with captions and tables from above."""
    with pymupdf.open() as made:
        page, y = made.new_page(width=595, height=842), 90
        for part in parts:
            if isinstance(part, str):
                page.insert_text((60, y), part, fontname="tiro", fontsize=9)
                y += 12
                continue
            rules = [y - 6, y + 8, y + 14 * len(part) + 8]
            for row in (HEADER, *part):
                for column, text in enumerate(row):
                    page.insert_text((64 + 130 * column, y + 4), text, fontname="tiro", fontsize=9)
                y += 14
            for at in rules:
                page.draw_line((60, at), (420, at))
            y += 8
        made.save(path)
    document = assemble(Paper(id="p"), PdfParser().parse(path, ParserOptions()))
    texts = [(b.kind, document.text[b.start : b.end]) for b in document.blocks]
    return {
        one[:8]: other
        for (kind, one), (below, other) in pairwise(texts)
        if kind is BlockKind.CAPTION and below is BlockKind.TABLE and other.startswith("|")
    }


def test_captions_below_their_tables_have_each_its_own(tmp_path: Path) -> None:
    found = tables(tmp_path / "p.pdf", [SNOW, "Table 1. Days with snow.", ICE, "Table 2. Days with ice."])
    assert "Station 10" in found["Table 1."] and "Lake 10" in found["Table 2."]


def test_a_label_alone_in_the_type_of_the_body_begins_a_caption(tmp_path: Path) -> None:
    with pymupdf.open() as made:
        page = made.new_page(width=595, height=842)
        for n in range(6):
            page.insert_text((60, 90 + 12 * n), "Snow lay on all of the slopes of the valleys until May, not on lakes.")
        page.insert_text((220, 190), "Table 1")
        page.insert_text((190, 204), "Days with snow in May", fontname="tiit")
        for row, cells in enumerate((HEADER, *SNOW)):
            for column, text in enumerate(cells):
                page.insert_text((64 + 130 * column, 228 + 14 * row), text, fontsize=9)
        for at in (218, 232, 292):
            page.draw_line((60, at), (420, at))
        made.save(tmp_path / "p.pdf")
    document = assemble(Paper(id="p"), PdfParser().parse(tmp_path / "p.pdf", ParserOptions()))
    assert [document.text[b.start : b.end].split()[:2] for b in document.blocks if b.kind is BlockKind.CAPTION]
    assert any(b.table for b in document.blocks)


def test_a_table_between_two_captions_of_which_none_has_another_is_given_to_neither(tmp_path: Path) -> None:
    assert not tables(tmp_path / "p.pdf", ["Table 1. Days with snow.", ICE, "Table 2. Days with ice."])


def test_it_stays_with_the_caption_on_whose_side_the_tables_so_far_stood(tmp_path: Path) -> None:
    parts = ["Table 1. Days with snow.", SNOW, "Table 2. Days with ice.", ICE, "Table 3. Days with rain."]
    found = tables(tmp_path / "p.pdf", parts)
    assert "Station 10" in found["Table 1."]
    assert "Table 3." not in found


def test_a_sentence_that_begins_with_a_label_takes_no_table(tmp_path: Path) -> None:
    found = tables(tmp_path / "p.pdf", ["Table 1. Days with snow.", SNOW, "Table 1 shows days with snow."])
    assert "Station 10" in found["Table 1."]


def test_title_below_a_label_of_its_own_belongs_to_the_caption() -> None:
    style = Style("tiro", 9, False, False)

    def caption(text: str, y: float) -> Group:
        line = Line(1, (60, y, 200, y + 10), [Run(text, style)], 0).settle()
        return Group([line], 0, 60, 200, kind=BlockKind.CAPTION).settle()

    texts = ("TABLE I", "Days with snow.", "Table 2. Days with ice.", "Notes.")
    groups = list(with_titles([caption(text, 60 + 11 * n) for n, text in enumerate(texts)]))
    assert [g.text for g in groups] == ["TABLE I Days with snow.", "Table 2. Days with ice.", "Notes."]


def test_raised_digits_behind_a_ten_are_a_power() -> None:
    def word(text: str, raised: str) -> str:
        glyphs = [Glyph(t, (5.0 * n, 0.0, 5.0 * n + 5, 10.0)) for n, t in enumerate(text)]
        glyphs += [Glyph(t, (5.0 * n, -1.0, 5.0 * n + 4, 6.0)) for n, t in enumerate(raised, len(text))]
        box = (0.0, 0.0, 50.0, 10.0)
        return page_words([TextLine([Span(text, "F", 10, box, (0, 8), glyphs=glyphs)], box)], {})[0].text

    assert [word("10", "–5"), word("10", "6)"), word("104", ""), word("210", "3")] == ["10^–5", "10^6)", "104", "2103"]


def test_sideways_line_is_a_word_at_its_middle() -> None:
    glyphs = tuple(Glyph(text, (50, y - 10, 60, y)) for y, text in zip((200, 190, 180, 170), "On B", strict=True))
    box = (50.0, 160.0, 60.0, 200.0)
    line = TextLine([Span("On B", "F", 10, box, (60, 200), glyphs=glyphs)], box, (0, -1))
    assert page_words([line], {}) == [Word("On B", (50, 175, 60, 185))]
