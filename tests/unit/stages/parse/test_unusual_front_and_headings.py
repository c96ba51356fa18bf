"""Front matter and headings as papers of other styles set them; each case was seen on a paper that no rule was made for."""

from __future__ import annotations

from pathlib import Path

import pytest

from scirgen.core.records import BlockKind, Document, Paper
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import ParserOptions

pymupdf = pytest.importorskip("pymupdf")

PROSE = "The snow that fell in the upper valley in the winter of that year melted late and fed the river into July. "
CSS = "body{font-family:serif;font-size:10pt} h1{font-size:17pt} h2{font-size:12pt} h3{font-size:10pt}"
LEADS = ("Sampling.", "Snow pits.", "Stream gauges.", "Rain records.", "Model runs.", "Statistics.")
NAMES = ("Introduction", "Methods", "Results", "Discussion")


def set_html(path: Path, html: str) -> Document:
    from scirgen.stages.parse.pdf.parser import PyMuPDFParser

    story = pymupdf.Story(html, user_css=CSS)
    writer = pymupdf.DocumentWriter(str(path))
    more = 1
    while more:
        device = writer.begin_page(pymupdf.paper_rect("a4"))
        more, _ = story.place(pymupdf.Rect(60, 60, 535, 780))
        story.draw(device)
        writer.end_page()
    writer.close()
    return assemble(Paper(id="p"), PyMuPDFParser().parse(path, ParserOptions()))


def headings(document: Document) -> list[tuple[int, str]]:
    return [(b.level or 0, document.text[b.start : b.end]) for b in document.blocks if b.kind is BlockKind.HEADING]


def sections(*between: str) -> str:
    return "".join(
        f"<h2>{i}. {name}</h2><p>{PROSE * 4}</p>{between[i - 1] if i <= len(between) else ''}"
        for i, name in enumerate(NAMES, 1)
    )


def test_bold_run_ins_in_a_series_are_headings_of_the_next_level(tmp_path: Path) -> None:
    run_ins = "".join(f"<p><b>{lead}</b> {PROSE * 4}</p>" for lead in LEADS)
    found = headings(set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{sections('', run_ins)}"))
    assert [(2, lead) for lead in LEADS] == [h for h in found if h[1] in LEADS]


def test_theorems_and_short_bold_terms_are_not_headings(tmp_path: Path) -> None:
    theorems = "".join(f"<p><b>Theorem {i}.</b> {PROSE * 3}</p>" for i in range(1, 7))
    terms = "".join(f"<p><b>{lead}</b> It is small.</p>" for lead in LEADS)
    found = headings(set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{sections('', theorems, terms)}"))
    assert [text for _, text in found] == [f"{i}. {name}" for i, name in enumerate(NAMES, 1)]


def test_letter_spaced_label_and_copyright_are_not_in_the_abstract(tmp_path: Path) -> None:
    made = f"<h1>Snow of the upper valley</h1><p>a b s t r a c t</p><p>{PROSE * 5}It is so. © 2015 Elsevier B.V. All rights reserved.</p>"
    document = set_html(tmp_path / "p.pdf", made + sections())
    assert document.abstract == (PROSE * 5 + "It is so.").strip()
    assert headings(document)[0] == (1, "abstract")


def test_running_head_above_the_abstracts_label_is_not_the_label(tmp_path: Path) -> None:
    made = f"<h1>Snow of the upper valley</h1><p>Abstract</p><h2>Abstract</h2><p>{PROSE * 5}</p>"
    assert set_html(tmp_path / "p.pdf", made + sections()).abstract == (PROSE * 5).strip()


def test_introduction_without_a_heading_is_no_abstract(tmp_path: Path) -> None:
    made = "<h1>Snow of the upper valley</h1><p>Ann Author</p>" + f"<p>{PROSE * 5}</p>" * 5
    assert set_html(tmp_path / "p.pdf", made + sections()).abstract == ""


def test_prose_under_a_heading_references_stays_prose(tmp_path: Path) -> None:
    made = f"<h1>Snow of the upper valley</h1>{sections()}<h2>References</h2><p>{PROSE * 3}</p>"
    document = set_html(tmp_path / "p.pdf", made)
    assert not any(b.kind is BlockKind.REFERENCE for b in document.blocks)


def test_numbered_and_back_matter_run_ins_are_headings(tmp_path: Path) -> None:
    numbered = "".join(f"<p><i>2.{i}. {lead}</i> {PROSE * 4}</p>" for i, lead in enumerate(LEADS[:3], 1))
    back = "".join(
        f"<p style='font-size:9pt'><i>{t}.</i> None.</p>" for t in ("Author contributions", "Competing interests")
    )
    found = headings(set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{sections('', numbered)}{back}"))
    assert [(2, f"2.{i}. {lead}") for i, lead in enumerate(LEADS[:3], 1)] == found[2:5]
    assert found[-2:] == [(1, "Author contributions."), (1, "Competing interests.")]


def test_lettered_headings_above_figures_are_headings_too(tmp_path: Path) -> None:
    titles = [f"{letter}. The winter of {year}" for letter, year in zip("ABCD", range(2001, 2005), strict=True)]
    figure = "<p style='font-size:7pt'>0.1</p>" * 3 + "<p style='font-size:8pt'>Figure 1. Snow of the valley.</p>"
    parts = "".join(f"<p><i>{t}</i></p>" + (figure if t[0] == "D" else f"<p>{PROSE * 3}</p>") for t in titles)
    found = headings(set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{sections('', parts)}"))
    assert [text for _, text in found if text in titles] == titles


def test_title_at_the_top_of_a_later_page_is_not_prose(tmp_path: Path) -> None:
    title = "Snow of the upper valley"
    made = f"<h1>Letter</h1><h1>{title}</h1>{sections()}<div style='page-break-before:always'><p>{title}</p><p>{PROSE * 4}</p></div>"
    document = set_html(tmp_path / "p.pdf", made)
    assert [b.kind for b in document.blocks if document.text[b.start : b.end] == title] == [
        BlockKind.TITLE,
        BlockKind.OTHER,
    ]


def test_structured_abstract_without_a_label_is_taken_whole(tmp_path: Path) -> None:
    parts = "".join(f"<p style='font-size:9pt'><b>{p}:</b> {PROSE * 3}</p>" for p in ("Aim", "Methods", "Results"))
    document = set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1><p>Ann Author</p>{parts}{sections()}")
    assert document.abstract.startswith("Aim: ") and document.abstract.count(PROSE.strip()) == 9
