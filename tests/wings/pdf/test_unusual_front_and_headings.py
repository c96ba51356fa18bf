"""Front matter and headings as papers of other styles set them; each case was seen on a paper that no rule was made
for."""

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
    from scirgen_pdf.parser import PdfParser

    story = pymupdf.Story(html, user_css=CSS)
    writer = pymupdf.DocumentWriter(str(path))
    more = 1
    while more:
        device = writer.begin_page(pymupdf.paper_rect("a4"))
        more, _ = story.place(pymupdf.Rect(60, 60, 535, 780))
        story.draw(device)
        writer.end_page()
    writer.close()
    return assemble(Paper(id="p"), PdfParser().parse(path, ParserOptions()))


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


def test_left_headings_are_below_centred_ones_and_an_acronym_is_beside_others(tmp_path: Path) -> None:
    parts = ("HTTPS", "Secure mail", "Remote shells")
    below = "".join(f"<h3>{part}</h3><p>{PROSE * 4}</p>" for part in parts)
    made = "".join(f"<h3 style='text-align:center'>{name}</h3><p>{PROSE * 4}</p>{below}" for name in NAMES)
    found = headings(set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{made}"))
    assert found == [h for name in NAMES for h in [(1, name), *((2, part) for part in parts)]]


def test_theorems_and_short_bold_terms_are_not_headings(tmp_path: Path) -> None:
    theorems = "".join(f"<p><b>Theorem {i}.</b> {PROSE * 3}</p>" for i in range(1, 7))
    terms = "".join(f"<p><b>{lead}</b> It is small.</p>" for lead in LEADS)
    found = headings(set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{sections('', theorems, terms)}"))
    assert [text for _, text in found] == [f"{i}. {name}" for i, name in enumerate(NAMES, 1)]


def test_named_theorems_and_words_of_programs_are_not_headings(tmp_path: Path) -> None:
    made = "".join(f"<p><b>Theorem {i} (Snow melts).</b> {PROSE * 3}</p>" for i in range(1, 5))
    made += "".join(f"<p><b>{word}</b></p><p>{PROSE * 3}</p>" for word in ("while", "end", "return"))
    found = headings(set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{sections('', made)}"))
    assert [text for _, text in found] == [f"{i}. {name}" for i, name in enumerate(NAMES, 1)]


def test_letter_spaced_label_and_copyright_are_not_in_the_abstract(tmp_path: Path) -> None:
    made = (
        f"<h1>Snow of the upper valley</h1><p>a b s t r a c t</p><p>{PROSE * 5}It is so. "
        "© 2015 Elsevier B.V. All rights reserved.</p>"
    )
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
    made = (
        f"<h1>Letter</h1><h1>{title}</h1>{sections()}<div style='page-break-before:always'>"
        f"<p>{title}</p><p>{PROSE * 4}</p></div>"
    )
    document = set_html(tmp_path / "p.pdf", made)
    assert [b.kind for b in document.blocks if document.text[b.start : b.end] == title] == [
        BlockKind.TITLE,
        BlockKind.OTHER,
    ]


def test_a_bold_title_in_the_size_of_the_text_is_the_title(tmp_path: Path) -> None:
    made = "<p>Draft of 2021</p><p><b>Snow of the upper valley</b></p><p>Ann Author</p>"
    made += f"<h2>Abstract</h2><p>{PROSE * 5}</p>"
    document = set_html(tmp_path / "p.pdf", made + sections())
    assert (document.title, document.abstract) == ("Snow of the upper valley", (PROSE * 5).strip())


def test_the_lines_of_a_double_spaced_title_belong_together(tmp_path: Path) -> None:
    title = "<div style='font-size:17pt;line-height:2.2'><b>Snow of the upper valley<br/>and its rivers∗</b></div>"
    document = set_html(tmp_path / "p.pdf", f"{title}<p>Ann Author</p><h2>Abstract</h2><p>{PROSE * 5}</p>{sections()}")
    assert document.title == "Snow of the upper valley and its rivers"


def test_a_title_may_be_one_word_or_plain_above_names(tmp_path: Path) -> None:
    names = "<p style='font-size:9pt'>Ann B. Author and Jim Roe</p>"
    body = f"<h2>Abstract</h2><p>{PROSE * 5}</p>{sections()}"
    assert set_html(tmp_path / "p.pdf", f"<h1>Avalanches</h1>{names}{body}").title == "Avalanches"
    plain = set_html(tmp_path / "q.pdf", f"<p>Snow of the upper valley</p>{names}{body}")
    assert plain.title == "Snow of the upper valley"


def test_a_title_goes_on_behind_a_colon_and_in_another_font(tmp_path: Path) -> None:
    lines = ("<b>SNOW:</b>", "A study of the upper valley with", "<span style='font-family:monospace'>rods</span>")
    title = "".join(f"<p style='font-size:17pt;margin:0'>{line}</p>" for line in lines)
    document = set_html(tmp_path / "p.pdf", f"{title}<p>Ann Author</p><h2>Abstract</h2><p>{PROSE * 5}</p>{sections()}")
    assert document.title == "SNOW: A study of the upper valley with rods"


def test_a_heading_like_its_own_ends_the_abstract(tmp_path: Path) -> None:
    made = f"<h1>Snow of the upper valley</h1><p>Ann Author</p><h2>Summary</h2><p>{PROSE * 5}</p><h2>Snow pits</h2>"
    document = set_html(tmp_path / "p.pdf", f"{made}<p>{PROSE * 5}</p>{sections()}")
    assert document.abstract == (PROSE * 5).strip()


def test_the_journals_line_with_the_doi_ends_the_abstract(tmp_path: Path) -> None:
    entry = "<p>J Ice Res 2021;28:e82426; doi: 10.1234/82426</p><p><b>Keywords:</b> snow</p>"
    made = f"<h1>Snow of the upper valley</h1><h2>Abstract</h2><p>{PROSE * 5}</p>{entry}"
    assert set_html(tmp_path / "p.pdf", made + sections()).abstract == (PROSE * 5).strip()


def outlined(folder: Path, html: str, *outline: tuple[int, str]) -> Document:
    """The document of a PDF with this outline (level, text); each entry points at the last page that prints its
    text."""
    from scirgen_pdf.parser import PdfParser

    set_html(folder / "p.pdf", html)
    with pymupdf.open(folder / "p.pdf") as pdf:
        pages = {text: max(page.number + 1 for page in pdf if page.search_for(text)) for _, text in outline}
        pdf.set_toc([[level, text, pages[text]] for level, text in outline])
        pdf.save(folder / "outlined.pdf")
    return assemble(Paper(id="p"), PdfParser().parse(folder / "outlined.pdf", ParserOptions()))


def test_outline_entries_below_abstract_are_not_the_sections_of_that_name(tmp_path: Path) -> None:
    bodies = "".join(f"<h2>{name}</h2><p>{PROSE * 4}</p>" for name in NAMES)
    made = f"<h1>Snow of the upper valley</h1><h2>Abstract</h2><p>{PROSE * 4}</p>{bodies}"
    below = [(2, name) for name in NAMES[:2]]
    document = outlined(tmp_path, made, (1, "Abstract"), *below, *((1, name) for name in NAMES))
    assert [one for one in headings(document) if one[1] in NAMES] == [(1, name) for name in NAMES]


def test_outline_entries_below_a_closing_summary_are_its_subsections(tmp_path: Path) -> None:
    parts = ("Gauges of the valley", "Snow of the slopes", "Ice of the lakes")
    below = "".join(f"<h2>{part}</h2><p>{PROSE * 3}</p>" for part in parts)
    front = f"<h1>Snow of the upper valley</h1><h2>Abstract</h2><p>{PROSE * 4}</p>"
    made = f"{front}{sections()}<h2>5. Summary</h2><p>{PROSE * 2}</p>{below}"
    outline = [*((1, f"{i}. {name}") for i, name in enumerate(NAMES, 1)), (1, "5. Summary"), *((2, p) for p in parts)]
    assert headings(outlined(tmp_path, made, *outline))[-4:] == [(1, "5. Summary"), *((2, part) for part in parts)]


def test_abstract_without_label_or_title_is_the_prose_before_introduction(tmp_path: Path) -> None:
    document = set_html(tmp_path / "p.pdf", f"<p>Ann Author</p><p style='font-size:9pt'>{PROSE * 5}</p>{sections()}")
    assert document.abstract.count(PROSE.strip()) == 5


def test_lines_of_a_type_used_for_nothing_else_are_headings(tmp_path: Path) -> None:
    medium = "".join(f"<p style='font-family:sans-serif'>{lead[:-1]}</p><p>{PROSE * 3}</p>" for lead in LEADS)
    found = headings(set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{sections('', medium)}"))
    assert [text for _, text in found if f"{text}." in LEADS] == [lead[:-1] for lead in LEADS]


def test_roles_below_author_contributions_are_not_headings(tmp_path: Path) -> None:
    roles = "".join(
        f"<p><b>{role}:</b> Ann Author, Bo Bauer, Cy Chen. {PROSE}</p>"
        for role in ("Review", "Data", "Writing", "Funds")
    )
    made = f"<h1>Snow of the upper valley</h1>{sections()}<h2>Author contributions</h2>{roles}"
    assert headings(set_html(tmp_path / "p.pdf", made))[-1] == (1, "Author contributions")


def test_numbered_bold_items_of_a_list_are_not_headings(tmp_path: Path) -> None:
    items = "".join(f"<p><b>{i}. {name}:</b> {PROSE * 2}</p>" for i, name in enumerate(("New data", "Open code"), 1))
    found = headings(set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{sections(items)}"))
    assert [text for _, text in found] == [f"{i}. {name}" for i, name in enumerate(NAMES, 1)]


def test_references_in_the_bodys_own_type_are_a_heading(tmp_path: Path) -> None:
    entries = "".join(f"<p>[{i}] A. Author and B. Bauer, Snow and rivers, J. Snow, 200{i}.</p>" for i in range(1, 8))
    document = set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{sections()}<p>REFERENCES</p>{entries}")
    assert headings(document)[-1] == (1, "REFERENCES")
    assert sum(b.kind is BlockKind.REFERENCE for b in document.blocks) == 7


def test_the_outermost_headings_have_level_one_whatever_their_numbers() -> None:
    from scirgen_pdf.headings.candidates import Candidate
    from scirgen_pdf.headings.levels import set_levels
    from scirgen_pdf.headings.numbering import Number
    from scirgen_pdf.page.lines import Line, Style
    from scirgen_pdf.paragraphs import Group

    made = []
    for index, values in enumerate([(1, 1), (2, 1), (2, 1, 1), (3, 1)]):
        style = Style("Serif", 14.0 - 2 * len(values), True, False)
        group = Group([Line(1, (0, 0, 1, 1), [], 0)], 0, 0, 1)
        made.append(Candidate(index, group, "Snow", style, 1.0, number=Number("arabic", values, 3)))
    set_levels(made)
    assert [c.level for c in made] == [1, 1, 2, 1]


def test_cover_page_is_neither_title_nor_abstract(tmp_path: Path) -> None:
    notice = (
        "This is a PDF file of an unedited manuscript that has been accepted for publication. It will be copyedited. "
        * 4
    )
    cover = f"<h1>Accepted Manuscript</h1><p>Snow of the upper valley</p><p>{notice}</p>"
    paper = (
        "<h1>Title: Snow of the upper valley</h1><p>Ann Author</p>"
        f"<h2>Abstract (250 words)</h2><p>{PROSE * 5}</p>{sections()}"
    )
    document = set_html(tmp_path / "p.pdf", f"{cover}<div style='page-break-before:always'>{paper}</div>")
    assert document.title == "Snow of the upper valley"
    assert document.abstract == (PROSE * 5).strip()


def test_a_title_of_two_short_words_is_the_title(tmp_path: Path) -> None:
    assert set_html(tmp_path / "p.pdf", f"<h1>zoo FAQ</h1><p>Ann Author</p>{sections()}").title == "zoo FAQ"


def test_a_journals_name_above_a_title_is_not_in_it_and_a_bold_line_below_is(tmp_path: Path) -> None:
    lines = (
        (26, "normal", "Journal of Cold Places"),
        (17, "bold", "Snow of the valley"),
        (13, "bold", "A survey by rod"),
    )
    made = "".join(
        f"<p style='margin-top:5pt;font-size:{size}pt;font-weight:{weight}'>{text}</p>" for size, weight, text in lines
    )
    document = set_html(tmp_path / "p.pdf", f"{made}<p>Ann Author</p><h2>Abstract</h2><p>{PROSE * 5}</p>{sections()}")
    assert document.title == "Snow of the valley A survey by rod"


def test_a_label_on_a_page_behind_the_start_of_the_body_is_no_abstracts(tmp_path: Path) -> None:
    made = (
        f"<h1>Snow of the upper valley</h1><p>Ann Author</p>{sections() * 2}<h2>Synopsis</h2><p>Rods. {PROSE * 5}</p>"
    )
    assert not set_html(tmp_path / "p.pdf", made).abstract.startswith("Rods")


def test_letter_that_says_how_to_cite_it_keeps_its_first_page(tmp_path: Path) -> None:
    title = "Letter on snow in the upper valley"
    cite = (
        f"<h1>{title}</h1><p>Ann Author</p>"
        f"<p>To cite this article: Author, A. Snow. J. Snow 2010.</p><p>{PROSE * 9}</p>"
    )
    head = f"<div style='page-break-before:always'><p style='font-size:8pt'>Author: {title}</p><p>{PROSE * 8}</p></div>"
    document = set_html(tmp_path / "p.pdf", cite + head)
    assert document.title == title
    prose = " ".join(document.text[b.start : b.end] for b in document.blocks if b.kind is BlockKind.PARAGRAPH)
    assert prose.count(PROSE.strip()) == 17


def test_numbers_below_a_headings_number_are_headings_in_the_bodys_own_type(tmp_path: Path) -> None:
    parts = "".join(f"<p>2.1.{i}. {lead[:-1]}</p><p>{PROSE * 3}</p>" for i, lead in enumerate(LEADS[:2], 1))
    made = f"<h1>Snow of the upper valley</h1>{sections('', f'<h3><i>2.1. Field work</i></h3>{parts}')}"
    found = headings(set_html(tmp_path / "p.pdf", made))
    assert [h for h in found if h[1].startswith("2.1.")][1:] == [(3, "2.1.1. Sampling"), (3, "2.1.2. Snow pits")]


def test_run_in_that_fills_its_first_line_stays_with_its_paragraph(tmp_path: Path) -> None:
    leads = (
        "Laboratory-based measurements of temperature, precipitation and streamflow throughout spring.",
        *LEADS[1:],
    )
    made = "".join(f"<p style='text-align:justify'><b>{lead}</b> {PROSE * 4}</p>" for lead in leads)
    document = set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{sections('', made)}")
    assert [(2, lead) for lead in leads] == [h for h in headings(document) if h[1] in leads]


def test_bold_titles_with_a_name_in_another_slant_are_headings(tmp_path: Path) -> None:
    names = (
        "Snow depths with <i>Rcpp</i> and <i>openBUGS</i> of a long winter in the upper valley",
        "<i>Rcpp</i> in use",
        "Runs of <i>openBUGS</i>",
    )
    made = "".join(f"<h2>{name}</h2><p style='margin-top:0'>{PROSE * 4}</p>" for name in names)  # fmt: skip
    front = f"<h1>Snow of the upper valley</h1><h2>Introduction</h2><p>{PROSE * 4}</p>"
    found = headings(set_html(tmp_path / "p.pdf", front + made))
    assert [text for _, text in found[1:]] == [name.replace("<i>", "").replace("</i>", "") for name in names]


def test_section_of_the_papers_name_below_an_outline_of_it_has_level_one(tmp_path: Path) -> None:
    title, names = "Snow of the upper valley", ("Introduction", "Snow of the upper valley", "Methods", "Results")
    made = f"<h1>{title}</h1>" + "".join(f"<h2>{name}</h2><p>{PROSE * 4}</p>" for name in names)
    document = outlined(tmp_path, made, (1, title), *((2, name) for name in names))
    assert headings(document) == [(1, name) for name in names]


def test_entry_at_another_level_of_the_outline_than_its_type_moves(tmp_path: Path) -> None:
    parts = ("Snow pits", "Stream gauges", "Rain records", "Model runs", "River ice")
    below = "".join(f"<h3>{part}</h3><p>{PROSE * 4}</p>" for part in parts)
    outline = [*((2, part) for part in parts[:-1]), (1, parts[-1])]
    made = f"<h1>Snow of the upper valley</h1>{sections('', below)}"
    found = headings(outlined(tmp_path, made, (1, "1. Introduction"), (1, "2. Methods"), *outline, (1, "3. Results")))
    assert (2, "River ice") in found


def test_labelled_parts_are_the_abstract_and_another_languages_are_not_the_body(tmp_path: Path) -> None:
    def parts(*names: str) -> str:
        return "".join(f"<p style='font-size:8pt'><b>{name}:</b> {PROSE * 4}</p>" for name in names)

    turkish = f"<p><b>Yukarı vadinin karı</b></p>{parts('Amaç', 'Yöntem', 'Bulgular')}"
    made = f"<h1>Snow of the upper valley</h1>{parts('Aim', 'Materials and Methods', 'Results')}{turkish}"
    document = set_html(tmp_path / "p.pdf", made + sections(*[f"<p>{PROSE * 4}</p>" * 3] * 4).replace("1. ", "", 1))
    assert document.abstract.startswith("Aim: The snow") and document.abstract.count("winter") == 12
    assert headings(document)[0] == (1, "Introduction")


def test_centred_appendices_in_the_bodys_type_are_headings(tmp_path: Path) -> None:
    made = "".join(
        f"<p style='text-align:center'>Appendix {letter}<br>Melt of the {name} snow</p><p>{PROSE * 4}</p>"
        for letter, name in zip("ABC", ("old", "new", "wet"), strict=True)
    )
    found = headings(set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{sections()}{made}"))
    assert found[-2:] == [(1, "Appendix B Melt of the new snow"), (1, "Appendix C Melt of the wet snow")]


def test_back_matter_with_a_stop_and_below_numbered_headings_has_level_one(tmp_path: Path) -> None:
    below = "".join(f"<h3>2.{i} {lead[:-1]}</h3><p>{PROSE * 3}</p>" for i, lead in enumerate(LEADS[:3], 1))
    back = f"<h3>Acknowledgments.</h3><p>{PROSE * 2}</p><h3>Affiliation:</h3><p>Ann Author, Snow Institute, Valley</p>"
    found = headings(set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{sections('', below)}{back}"))
    assert found[-2:] == [(1, "Acknowledgments."), (1, "Affiliation:")]


def test_slanted_lines_between_paragraphs_are_subheadings_and_lone_ones_not(tmp_path: Path) -> None:
    slanted = "".join(f"<p><i>{lead[:-1]}</i></p><p>{PROSE * 3}</p>" for lead in LEADS)
    title = "<h1>Snow of the upper valley</h1>"
    found = headings(set_html(tmp_path / "p.pdf", f"{title}{sections('', slanted)}"))
    assert [(2, lead[:-1]) for lead in LEADS] == [h for h in found if f"{h[1]}." in LEADS]
    lone = headings(
        set_html(tmp_path / "p.pdf", f"{title}{sections('<p><i>Snow pits</i></p><p>' + PROSE * 3 + '</p>')}")
    )
    assert [text for _, text in lone] == [f"{i}. {name}" for i, name in enumerate(NAMES, 1)]


def test_a_bold_word_that_a_sentence_goes_on_behind_is_none_and_a_formula_stands_in_a_lead(tmp_path: Path) -> None:
    names = ("Mapping <i>x</i>, <i>y</i> to the valley", "Snow pits", "Stream gauges")
    leads = "".join(
        f"<p><b>{name.replace('<i>', '</b><i>').replace('</i>', '</i><b>')}</b> {PROSE * 3}</p>" for name in names
    )
    program = f"<p><b>snowfit</b> is for the valley. {PROSE * 3}</p>" * 3
    found = headings(set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{sections(program, leads)}"))
    assert [text for _, text in found if text[0].isalpha()] == ["Mapping x, y to the valley", *names[1:]]


def test_run_ins_below_lines_of_several_levels_are_below_all_lines(tmp_path: Path) -> None:
    leads = "".join(f"<p><b>{lead}</b> {PROSE * 3}</p>" for lead in LEADS[:3])
    below = "".join(
        f"<h3>{n} {lead[:-1]}</h3><p>{PROSE}</p>" for n, lead in zip(("2.1", "2.1.1"), LEADS[3:], strict=False)
    )
    found = headings(set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{sections(leads, below + leads)}"))
    assert {level for level, text in found if text in LEADS[:3]} == {4}


def test_a_line_alone_in_its_row_and_underlined_is_as_a_bold_one() -> None:
    from scirgen_pdf.reading.page import Page, Span, TextLine
    from scirgen_pdf.reading.rules import underlined

    def line(text: str, x0: float, y0: float) -> TextLine:
        box = (x0, y0, x0 + 60, y0 + 12)
        return TextLine([Span(text, "Serif", 12, box, (x0, y0 + 10))], box)

    lines = [
        line("Snow pits ", 70, 100),
        line("Depth", 70, 200),
        line("Density", 200, 200),
        line("Rain records", 70, 300),
    ]
    underlined(Page(lines, 600, 800), lambda: [(70, 111, 127, 111), (70, 211, 130, 211), (70, 311, 500, 311)])
    assert [one.spans[0].bold for one in lines] == [True, False, False, False]


def test_of_two_lines_with_the_missing_number_one_is_a_heading(tmp_path: Path) -> None:
    lines = f"<p>3. Use of gauges</p><p>{PROSE * 3}</p><p>3. Place of the rods</p><p>The rods stand.</p>"
    made = sections("", lines).replace("4. Disc", "5. Disc").replace("3. Results", "4. Results")
    found = [text for _, text in headings(set_html(tmp_path / "p.pdf", f"<h1>Snow of the upper valley</h1>{made}"))]
    assert found == ["1. Introduction", "2. Methods", "3. Use of gauges", "4. Results", "5. Discussion"]
