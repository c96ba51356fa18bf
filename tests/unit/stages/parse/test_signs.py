"""Signs are read by the shape of their glyphs, and a power never runs into its base."""

from __future__ import annotations

from typing import Any

import pytest

pymupdf = pytest.importorskip("pymupdf")

Corners = tuple[tuple[float, float], ...]
CURVED_RING = tuple((0.2 + 0.13 * x, 0.57 + 0.13 * y) for x, y in ((0, 1), (1, 0), (0, -1), (-1, 0)))
SMALLER_RING = tuple((0.2 + 0.11 * x, 0.57 + 0.11 * y) for x, y in ((0, 1), (1, 0), (0, -1), (-1, 0)))


WAVE = ((0.1, 0.27), (0.25, 0.31), (0.55, 0.25), (0.75, 0.29), (0.75, 0.25), (0.6, 0.19), (0.3, 0.25), (0.1, 0.21))


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
        ([(tuple((x, y - 0.4) for x, y in CURVED_RING), False), (tuple((x, y - 0.4) for x, y in SMALLER_RING), False)], ""),
        ([(WAVE, False), (tuple((x, y + 0.15) for x, y in WAVE), False)], "≈"),
        ([(WAVE, False)], "∼"),
        ([(tuple((x, 0.25 + 0.2 * (y - 0.25)) for x, y in WAVE), False)], "−"),  # with round ends
        ([], ""),
    ],
)  # fmt: skip
def test_a_glyphs_outlines_show_its_sign(outlines: list[tuple[Corners, bool]], sign: str) -> None:
    from scirgen.stages.parse.pdf.page.signs import sign_of

    assert sign_of(outlines) == sign


def test_ordinary_fonts_have_no_misread_signs() -> None:
    from scirgen.stages.parse.pdf.page.signs import misread_signs

    document = pymupdf.open()
    document.new_page().insert_text((72, 72), "1 + 2 = 3, H < I")
    assert misread_signs(document) == {}


def span(text: str, size: float = 10.0, up: float = 0.0, x: float = 0.0) -> dict[str, Any]:
    width = 5.0 * len(text)
    return {
        "text": text, "size": size, "flags": 0, "font": "Serif", "color": 0, "origin": (x, 100.0 - up),
        "bbox": (x, 92.0 - up, x + width, 102.0 - up),
    }  # fmt: skip


def line_text(*spans: dict[str, Any]) -> str:
    from scirgen.stages.parse.pdf.page.lines import page_lines

    x = 0.0
    for part in spans:
        width = part["bbox"][2] - part["bbox"][0]
        part["bbox"] = (x, part["bbox"][1], x + width, part["bbox"][3])
        x += width
    line = {"spans": list(spans), "dir": (1.0, 0.0), "bbox": (0.0, 92.0, x, 102.0)}
    return page_lines([{"lines": [line]}], 1)[0].text


@pytest.mark.parametrize(
    ("spans", "text"),
    [
        ((span("kept at 10"), span("−", 6, 4), span("10", 6, 4), span(" mbar")), "kept at 10^−10 mbar"),
        ((span("about 2 × 10"), span("8", 6, 4), span(" cells")), "about 2 × 10^8 cells"),
        ((span("in the year 2016"), span("13", 6, 4), span(" it rose")), "in the year 2016 it rose"),
        ((span("an area of 5 km"), span("2", 6, 4), span(" each")), "an area of 5 km2 each"),
        ((span("kept at 10"), span("\x02", 6, 4), span("10", 6, 4), span(" mbar")), "kept at 10^\ufffd10 mbar"),
        ((span("a list\x02 of items and a bullet \x7f here"),), "a list of items and a bullet here"),
    ],
)
def test_powers_are_marked_and_unnamed_signs_before_digits_kept(spans: tuple[dict[str, Any], ...], text: str) -> None:
    assert line_text(*spans) == text


def test_a_sentence_with_an_unnamed_sign_is_not_offered_as_evidence() -> None:
    from scirgen.stages.extract.sections import is_prose

    said = "The base pressure of the chamber was kept at 10{}10 mbar during the growth of the layers."
    assert is_prose(said.format("^−"))
    assert not is_prose(said.format("^\ufffd"))
