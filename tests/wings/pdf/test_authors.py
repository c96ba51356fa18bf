"""Authors below the title of a PDF, found by their typography."""

from __future__ import annotations

import time
from pathlib import Path

import pymupdf

from scirgen.stages.parse.base import ParserOptions
from scirgen.stages.parse.frontmatter import front_matter
from scirgen_pdf.authors import printed_authors
from scirgen_pdf.parser import PdfParser
from scirgen_pdf.reading.page import Span, TextLine


def span(text: str, x: float, y: float, size: float = 9.0, font: str = "Times", rise: float = 0.0) -> Span:
    width = 0.5 * size * len(text)
    box = (x, y - size - rise, x + width, y - rise)
    return Span(text, font, size, box, (x, y - rise))


def row(*pieces: str, y: float = 100.0, x: float = 50.0, font: str = "Times") -> list[Span]:
    """The spans of a row; a piece that begins with "^" is raised and small."""
    spans = []
    for piece in pieces:
        raised = piece.startswith("^")
        made = span(piece.lstrip("^"), x, y, 5.0 if raised else 9.0, font, 3.0 if raised else 0.0)
        spans.append(made)
        x = made.box[2]
    return spans


def authors(*rows: list[Span], bottom: float | None = None) -> tuple[str, ...]:
    lines = [TextLine(spans, (0.0, 0.0, 0.0, 0.0)) for spans in rows]
    return printed_authors(lines, 60.0, 16.0, bottom, "Bold")


def test_raised_marks_separate_names() -> None:
    found = authors(row("Jane Doe", "^1,2", "*, Ana de Souza DIAS", "^1", "John Roe", "^2"))
    assert found == ("Jane Doe", "Ana de Souza DIAS", "John Roe")


def test_a_narrow_blank_separates_the_words_of_a_name() -> None:
    assert authors(row("Guangyu\u202fZhang", "^1", ", Wei\u202fSun", "^1")) == ("Guangyu Zhang", "Wei Sun")


def test_a_name_may_be_broken_over_two_rows() -> None:
    found = authors(row("Jane Doe", "^1", ", Ida Berg, and Jonas"), row("Kittner", "^2", y=112))
    assert found == ("Jane Doe", "Ida Berg", "Jonas Kittner")


def test_names_in_columns_stand_in_one_type() -> None:
    names = [*row("Jane Doe", x=50), *row("John Roe", x=250)]
    places = [*row("Ice Lab, Oslo", x=50, y=112, font="Italic"), *row("Snow House", x=250, y=112, font="Italic")]
    assert authors(names, places, row("Ida Berg", y=140)) == ("Jane Doe", "John Roe", "Ida Berg")


def test_an_address_of_the_web_or_a_date_below_names_is_no_name() -> None:
    assert authors(row("Jane Doe"), row("www.example.org", y=112), row("April 23, 2003", y=124)) == ("Jane Doe",)
    assert authors(row("Jane Doe − University of Oslo"), row("Ida Berg − Ice Centre", y=112)) == (
        "Jane Doe",
        "Ida Berg",
    )


def test_each_row_has_a_name_and_degrees() -> None:
    assert authors(row("Jane Doe, MPH"), row("Ida Berg, ScD", y=112)) == ("Jane Doe", "Ida Berg")


def test_degrees_roles_and_surnames_first() -> None:
    assert authors(row("Jane Doe", "^1", ", MPH, PhD; John Roe (Editor), MSc")) == ("Jane Doe", "John Roe")
    assert authors(row("Doe, J. A., Roe, B.")) == ("J. A. Doe", "B. Roe")


def test_names_above_affiliations_in_the_same_type_are_read() -> None:
    place = row("Department of Ice, Oslo", y=112)
    assert authors(row("by Jane Doe and John Roe", "^*"), place) == ("Jane Doe", "John Roe")
    assert authors(row("Jane Doe"), row("NILU", y=112), row("Oslo University", y=124)) == ("Jane Doe",)
    assert authors(row("Jane Doe"), row("Ice and snow", y=112), row("Oslo", y=124)) == ()


def test_a_date_or_an_address_behind_a_name_does_not_hide_it() -> None:
    assert authors(row("Jane Doe"), row("12 May 2021, v1.1", y=112)) == ("Jane Doe",)
    assert authors(row("Jane Doe, jane@example.org")) == ("Jane Doe",)
    assert authors(row("Jane Doe, revised 08-Oct-2006")) == authors(row("Jane Doe, 7 May 2008 (new)")) == ("Jane Doe",)


def test_names_as_large_as_the_title_stand_in_another_font() -> None:
    assert authors([span("Jane Doe", 50, 100, 16.0)]) == ("Jane Doe",)
    assert authors([span("Jane Doe", 50, 100, 16.0, "Bold")]) == ()


def test_an_accent_that_begins_behind_its_letter_stands_before_it() -> None:
    parts = [span("Jane R", 50, 100), span("\u00a8", 78.5, 100), span("adberg", 77, 100)]
    assert authors(parts) == ("Jane Rädberg",)


def test_what_is_not_a_list_of_names_gives_none() -> None:
    assert authors(row("Received: 8 October 2021"), row("Department of Ice, Oslo", y=112)) == ()


def test_names_in_the_abstract_are_none() -> None:
    assert authors(row("Jane Doe", y=300), bottom=200.0) == ()


def pdf(path: Path, pages: int, foot: str = "", metadata: str = "") -> Path:
    document = pymupdf.open()
    for number in range(pages):
        page = document.new_page()
        if not number:
            page.insert_text((72, 90), "Lake ice of the north", fontsize=18)
            page.insert_text((72, 120), "Jane Doe, John Roe", fontsize=11)
        for line in range(25):
            text = f"The lake {number} {line} freezes in November and thaws in May."
            page.insert_text((72, 200 + 14 * line), text, fontsize=10)
        page.insert_text((72, 800), foot, fontsize=8)
    document.set_xml_metadata(metadata)
    document.save(path)
    return path


def test_the_doi_of_the_files_metadata_is_the_papers(tmp_path: Path) -> None:
    stated = "<x:xmpmeta><prism:doi>10.1234/ICE.5</prism:doi></x:xmpmeta>"
    parsed = PdfParser().parse(pdf(tmp_path / "ice.pdf", 1, metadata=stated), ParserOptions())
    assert (parsed.doi, parsed.authors) == ("10.1234/ice.5", ("Jane Doe", "John Roe"))


def test_a_doi_in_the_running_feet_is_the_papers(tmp_path: Path) -> None:
    foot = "Ice Letters | https://doi.org/10.1234/ice.6"
    parsed = PdfParser().parse(pdf(tmp_path / "ice.pdf", 4, foot), ParserOptions())
    assert parsed.doi == "10.1234/ice.6" and not any("Ice Letters" in b.text for b in parsed.blocks)


def test_the_licence_in_the_running_feet_is_the_papers(tmp_path: Path) -> None:
    foot = "Not peer-reviewed by IceRxiv. License: CC BY 4.0"
    parsed = PdfParser().parse(pdf(tmp_path / "ice.pdf", 4, foot), ParserOptions())
    assert front_matter(parsed).licence == "cc-by-4.0"


def test_a_hostile_line_is_read_in_time() -> None:
    began = time.perf_counter()
    assert authors(row("A" + "." * 5000 + "!"), row("A-" * 3000 + "?", y=112)) == ()
    assert authors(*(row("x", y=61 + n / 10) for n in range(3000))) == ()
    assert time.perf_counter() - began < 5


def test_columns_of_single_names_are_read_by_rows() -> None:
    first = [*row("Jane Doe", x=50), *row("John Roe", x=250)]
    second = [*row("Ida Berg", x=50), *row("Wei Sun", x=250)]
    assert authors(first, second_row(second)) == ("Jane Doe", "John Roe", "Ida Berg", "Wei Sun")


def second_row(spans: list[Span]) -> list[Span]:
    return [span(s.text, s.box[0], s.base[1] + 13) for s in spans]


def test_names_before_an_affiliation_in_their_row_are_read() -> None:
    assert authors(row("Jane Doe, Ice Institute")) == ("Jane Doe",)
    assert authors(row("Jane Doe (jane@ice.no) – University of Oslo")) == ("Jane Doe",)
    assert authors(row("Jane Doe and John Roe, Ice Institute"), row("Ida Berg, Oslo", y=112)) == (
        "Jane Doe",
        "John Roe",
        "Ida Berg",
    )
    assert authors(row("Jane Doe"), row("P.O. Box 65207", y=112), row("Oslo, N.N. 20035", y=124)) == ("Jane Doe",)


def test_a_team_and_a_numbered_heading_below_names_are_no_names() -> None:
    assert authors(row("Jane Doe"), row("Ice Core Team", y=112)) == ("Jane Doe",)
    assert authors(row("Jane Doe"), row("1.1 Ice Cores", y=130)) == ("Jane Doe",)


def test_capitals_separate_names_and_an_initial_may_touch_its_name() -> None:
    assert authors(row("JANE DOE, JOHN ROE, AND IDA BERG")) == ("JANE DOE", "JOHN ROE", "IDA BERG")
    assert authors(row("J.Doe", "^1)", ", I.Berg", "^2)")) == ("J. Doe", "I. Berg")


def test_letters_of_an_order_are_no_name() -> None:
    assert authors(row("Jane Doe, John J. Roe, S.J., Ida Berg")) == ("Jane Doe", "John J. Roe", "Ida Berg")


def test_a_year_before_a_name_is_left_out() -> None:
    assert authors(row("2024 - Romain LAMBERT")) == ("Romain LAMBERT",)
    assert authors(row("Report of 2024 on kites")) == ()
