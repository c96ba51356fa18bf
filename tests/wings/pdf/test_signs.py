"""Signs are read by the shape of their glyphs, and a power never runs into its base."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

import pytest

from scirgen.core.records import Paper
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import ParserOptions
from scirgen_pdf.reading.page import Span, TextLine

pymupdf = pytest.importorskip("pymupdf")

Corners = tuple[tuple[float, float], ...]
CURVED_RING = tuple((0.2 + 0.13 * x, 0.57 + 0.13 * y) for x, y in ((0, 1), (1, 0), (0, -1), (-1, 0)))
SMALLER_RING = tuple((0.2 + 0.11 * x, 0.57 + 0.11 * y) for x, y in ((0, 1), (1, 0), (0, -1), (-1, 0)))
WAVE = ((0.1, 0.27), (0.25, 0.31), (0.55, 0.25), (0.75, 0.29), (0.75, 0.25), (0.6, 0.19), (0.3, 0.25), (0.1, 0.21))
BRACKET = ((0.22, -0.15), (0.3, -0.15), (0.14, 0.31), (0.3, 0.77), (0.22, 0.77), (0.05, 0.31))


def bar(y: float) -> Corners:
    return ((0.1, y), (0.7, y), (0.7, y + 0.05), (0.1, y + 0.05))


PLUS: Corners = (
    (0.1, 0.22), (0.37, 0.22), (0.37, -0.05), (0.43, -0.05), (0.43, 0.22), (0.7, 0.22), (0.7, 0.28), (0.43, 0.28),
    (0.43, 0.55), (0.37, 0.55), (0.37, 0.28), (0.1, 0.28),
)  # fmt: skip
LETTER_H: Corners = (
    (0.0, 0.0), (0.1, 0.0), (0.1, 0.3), (0.6, 0.3), (0.6, 0.0), (0.7, 0.0), (0.7, 0.7), (0.6, 0.7), (0.6, 0.4),
    (0.1, 0.4), (0.1, 0.7), (0.0, 0.7),
)  # fmt: skip
GREATER: Corners = ((0.08, 0.61), (0.08, 0.56), (0.69, 0.32), (0.08, 0.08), (0.08, 0.04), (0.75, 0.3), (0.75, 0.34))


@pytest.mark.parametrize(
    ("outlines", "sign"),
    [
        ([(bar(0.25), True)], "−"),
        ([(bar(-0.15), True)], ""),  # an underscore
        ([(bar(0.15), True), (bar(0.35), True)], "="),
        ([(PLUS, True)], "+"),
        ([(LETTER_H, True)], ""),
        ([(PLUS, True), (bar(-0.15), True)], "±"),
        ([(GREATER, True)], ">"),
        ([(CURVED_RING, False), (SMALLER_RING, False)], "°"),
        ([(tuple((x, y - 0.4) for x, y in CURVED_RING), False), (tuple((x, y - 0.4) for x, y in SMALLER_RING), False)],
         ""),
        ([(WAVE, False), (tuple((x, y + 0.15) for x, y in WAVE), False)], "≈"),
        ([(WAVE, False)], "∼"),
        ([(BRACKET, False)], "("),
        ([(tuple((x, 0.25 + 0.2 * (y - 0.25)) for x, y in WAVE), False)], "−"),  # with round ends
        ([], ""),
    ],
)  # fmt: skip
def test_a_glyphs_outlines_show_its_sign(outlines: list[tuple[Corners, bool]], sign: str) -> None:
    from scirgen_pdf.reading.signs import sign_of

    assert sign_of(outlines) == sign


# Two fonts in the format of Type1C, drawn for this test with fontTools: one has a bar that it calls "C0", one has a
# "two" and a "three".
BAR = base64.b64decode(
    "AQAEAQABAQEFQWR2WAABAQET+BwC7/eO+VD3wAW9D4vWEsARAAIBAQMHQzBBZHZYAAAAAYcAAgEBBBH47A747O/3jhX47L387AYO"
)
DIGITS = base64.b64decode(
    "AQAEAQABAQEFQWR2WAABAQES+BsCi4v3wPlQBbkPi+MSvREAAQEBBUFkdlgAAAEAEwEAAwEBBBIg+OwO+OyLF"
    "vfA+VAG+8BZBQ747IsW98D5UAb7wFkFDg=="
)


def parsed_with(path: Path, text: str, *fonts: tuple[str, bytes, str], more: str = "") -> str:
    """The parsed text of a page with a paragraph, below which each of the fonts prints ``text``; ``more`` stands there
    too."""
    from scirgen_pdf.parser import PdfParser

    with pymupdf.open() as document:
        page = document.new_page()
        used = "/H <</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
        shown = "BT /H 10 Tf 14 TL 72 700 Td " + "(Snow covered the valley during the long winter.) Tj T* " * 6 + "ET"
        for number, (name, data, names) in enumerate(fonts):
            file, said, font = (document.get_new_xref() for _ in range(3))
            document.update_object(file, "<</Subtype/Type1C>>")
            document.update_stream(file, data)
            document.update_object(said, f"<</Type/FontDescriptor/FontName/{name}/Flags 4/FontFile3 {file} 0 R>>")
            widths = f"/FirstChar 32/LastChar 126/Widths[{'600 ' * 95}]/FontDescriptor {said} 0 R"
            encoding = f"/Encoding<</Type/Encoding/Differences[{names}]>>"
            document.update_object(font, f"<</Type/Font/Subtype/Type1/BaseFont/{name}{widths}{encoding}>>")
            used += f"/X{number} {font} 0 R"
            shown += f" BT /X{number} 10 Tf 72 {500 - 100 * number} Td ({text}) Tj ET"
        contents = document.get_new_xref()
        document.update_object(contents, "<<>>")
        document.update_stream(contents, f"{shown} {more}".encode())
        document.xref_set_key(page.xref, "Contents", f"{contents} 0 R")
        document.xref_set_key(page.xref, "Resources", f"<</Font<<{used}>>>>")
        document.save(path)
    return assemble(Paper(id="p"), PdfParser().parse(path, ParserOptions(tables="cells"))).text


def table(*rows: Sequence[str]) -> str:
    """A ruled table with a caption, as PDF operators; each cell says its text in operators, too."""
    caption = "BT /H 8 Tf 72 580 Td (Table 1. Heat of the snow at two of the stations.) Tj ET"
    cells = (
        f"BT 1 0 0 1 {76 + 100 * x} {560 - 16 * y} Tm /H 8 Tf {cell} ET"
        for y, row in enumerate(rows)
        for x, cell in enumerate(row)
    )
    across = (f"72 {572 - 16 * y} m 272 {572 - 16 * y} l S" for y in range(4))
    down = (f"{72 + 100 * x} 572 m {72 + 100 * x} 524 l S" for x in range(3))
    return " ".join((caption, *cells, *across, *down))


def test_a_bar_that_the_font_gives_as_a_digit_is_a_minus(tmp_path: Path) -> None:
    assert parsed_with(tmp_path / "p.pdf", "2", ("AAAAAA+AdvX", BAR, "50/C0")).endswith("−")


def test_a_digit_of_another_subset_of_that_font_stays_a_digit(tmp_path: Path) -> None:
    minus = ("AAAAAA+AdvX", BAR, "50/C0")
    text = parsed_with(tmp_path / "p.pdf", "2", minus, ("BBBBBB+AdvX", DIGITS, "50/two/three"))
    assert text.split()[-2:] == ["2", "2"]
    assert parsed_with(tmp_path / "p.pdf", "2", minus, ("BBBBBB+AdvX", BAR, "50/C0")).split()[-2:] == ["−", "−"]


def test_cells_have_the_signs_and_a_table_with_unnamed_ones_is_refused(tmp_path: Path) -> None:
    head = ("(Station) Tj", "(Heat) Tj")
    upper = ("(Upper) Tj", "/X0 8 Tf (2) Tj /H 8 Tf (5) Tj")
    named, unnamed = (table(head, upper, ("(Lower) Tj", lower)) for lower in ("(7) Tj", "(\\0017) Tj"))
    text = parsed_with(tmp_path / "p.pdf", "2", ("AAAAAA+AdvX", BAR, "50/C0"), more=named)
    assert "| Upper | −5 |\n| Lower | 7 |" in text
    refused = parsed_with(tmp_path / "q.pdf", "2", ("AAAAAA+AdvX", BAR, "50/C0"), more=unnamed)
    assert "| Upper" not in refused


def span(text: str, size: float = 10.0, up: float = 0.0, x: float = 0.0) -> Span:
    return Span(text, "Serif", size, (x, 92.0 - up, x + 5.0 * len(text), 102.0 - up), (x, 100.0 - up))


def line_text(*spans: Span) -> str:
    from scirgen_pdf.page.lines import page_lines

    x = 0.0
    for part in spans:
        width = part.box[2] - part.box[0]
        part.box = (x, part.box[1], x + width, part.box[3])
        x += width
    return page_lines([TextLine(list(spans), (0.0, 92.0, x, 102.0))], 1)[0].text


@pytest.mark.parametrize(
    ("spans", "text"),
    [
        ((span("kept at 10"), span("−", 6, 4), span("10", 6, 4), span(" mbar")), "kept at 10^−10 mbar"),
        ((span("about 2 × 10"), span("8", 6, 4), span(" cells")), "about 2 × 10^8 cells"),
        ((span("in the year 2016"), span("13", 6, 4), span(" it rose")), "in the year 2016 it rose"),
        ((span("a box of 2048"), span("3", 6, 4), span(" particles")), "a box of 2048^3 particles"),
        ((span("an area of 5 km"), span("2", 6, 4), span(" each")), "an area of 5 km2 each"),
        ((span("records of EMDAT"), span("2", 6, 4), span(" were read")), "records of EMDAT were read"),
        ((span("low CO"), span("2", 6, 4), span(" and RMSE"), span("2", 6, 4)), "low CO2 and RMSE2"),
        ((span("kept at 10"), span("\x02", 6, 4), span("10", 6, 4), span(" mbar")), "kept at 10^\ufffd10 mbar"),
        ((span("a list\x02 of items and a bullet \x7f here"),), "a list of items and a bullet here"),
    ],
)
def test_powers_are_marked_and_unnamed_signs_before_digits_kept(spans: tuple[Span, ...], text: str) -> None:
    assert line_text(*spans) == text


def test_a_sentence_with_an_unnamed_sign_is_not_offered_as_evidence() -> None:
    from scirgen.stages.extract.reading import is_prose

    said = "The base pressure of the chamber was kept at 10{}10 mbar during the growth of the layers."
    assert is_prose(said.format("^−"))
    assert not is_prose(said.format("^\ufffd"))
