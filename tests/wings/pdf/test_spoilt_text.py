"""Text of publishers' pages that would spoil sentences: raised citations, soft hyphens, boxes, reviews, labels."""

from __future__ import annotations

from itertools import count

import pytest

from scirgen.core.records import BlockKind
from scirgen.core.text.sentences import sentence_spans
from scirgen_pdf.classify import mark_kinds, mark_references, mark_reviews
from scirgen_pdf.flow import Vocabulary, blocks
from scirgen_pdf.front import strip_title_label
from scirgen_pdf.page.lines import Line, Run, Style, page_lines
from scirgen_pdf.page.order import Region, reading_order
from scirgen_pdf.paragraphs import Group
from scirgen_pdf.paragraphs import groups as group_lines
from scirgen_pdf.reading.page import Span, TextLine

SERIF = Style("Serif", 10.0, False, False)


def spans(*texts: str) -> list[Span]:
    """Spans of one line; those that begin with ^ are raised."""
    made, x = [], 60.0
    for text in texts:
        raised = text.startswith("^")
        size = 6.0 if raised else 10.0
        text = text.removeprefix("^")
        width = 0.5 * size * len(text)
        box, base = (x, 92.0, x + width, 102.0), (x, 97.0 if raised else 100.0)
        made.append(Span(text, "Serif", size, box, base, raised=raised))
        x += width
    return made


def line(text: str, y: float, x0: float = 60.0, x1: float = 300.0, size: float = 10.0) -> Line:
    style = Style("Serif", size, False, False)
    return Line(1, (x0, y, x1, y + size), [Run(text, style, x0=x0)], 0).settle()


@pytest.mark.parametrize(
    ("texts", "printed"),
    [
        (("complex networks", "^18", "^–", "^21", " reveal"), "complex networks reveal"),
        (("daily SSTs", "^41", " were drawn"), "daily SSTs were drawn"),
        (("shrinking ice", "^9,10", " and more"), "shrinking ice and more"),
        (("based on R 4.0.2", "^29", "."), "based on R 4.0.2."),
        (("an area of 12 km", "^2", " was"), "an area of 12 km2 was"),
        (("the inverse (G", "^−", "^1", ") of it"), "the inverse (G−1) of it"),
        (("about 10", "^−8", " moles"), "about 10^−8 moles"),
        (("under \u00adwarming of the sea",), "under warming of the sea"),
        (("a word is bro\u00ad",), "a word is bro\u00ad"),
    ],
)
def test_raised_citations_and_soft_hyphens_leave_no_rest(texts: tuple[str, ...], printed: str) -> None:
    parts = spans(*texts)
    raw = TextLine(parts, (60.0, 92.0, parts[-1].box[2], 102.0))
    assert [found.text for found in page_lines([raw], 1)] == [printed]


@pytest.mark.parametrize(
    "printed",
    [
        "Sharks of the sea [v2; ref status: indexed, http://f1000r.es/4fj]",
        "OPEN Sharks of the sea",
        "Title: Sharks of the sea",
        "Sharks of the sea",
    ],
)
def test_title_is_without_the_publishers_labels_and_version_notes(printed: str) -> None:
    assert strip_title_label(printed) == "Sharks of the sea"


def test_box_of_referees_beside_the_abstract_is_read_after_it() -> None:
    words = "of sharks that were tagged and caught again in the sea"
    abstract = [line(f"Line {n} {words}", 100 + 12 * n) for n in range(8)]
    box = [
        line(text, 104 + 20 * n, 390, 420 + 9 * n, 7) for n, text in enumerate(("Referees", "report", "version", "ok"))
    ]
    in_order = [found.text for region in reading_order([*abstract, *box]) for found in region.lines]
    assert in_order == [found.text for found in (*abstract, *box)]


def groups(*texts: tuple[BlockKind, str]) -> list[Group]:
    y = count(100, 40)
    made = [Group([line(text, next(y))], 0, 60.0, 300.0, above=30.0, kind=kind) for kind, text in texts]
    return [group.settle() for group in made]


HEAD, PARA, ITEM, OTHER = BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.LIST_ITEM, BlockKind.OTHER


def test_reviews_behind_the_references_and_version_notes_are_not_prose() -> None:
    paper = mark_references(
        groups(
            (PARA, "REVISED Amendments from Version 1"),
            (PARA, "Two figures have been added."),
            (HEAD, "Introduction"),
            (PARA, "Sharks grow old."),
            (HEAD, "References"),
            (PARA, "Francis MP, Jones CM: Sharks. Sea Res. 2007; 58(1): 10–23."),
            (HEAD, "Acknowledgements"),
            (PARA, "We thank the crew."),
            (HEAD, "Referee Report 29 January 2015"),
            (PARA, "I have no further comments."),
        )
    )
    mark_reviews(paper)
    prose = [group.text for group in paper if group.kind in (PARA, HEAD)]
    assert prose == ["Introduction", "Sharks grow old.", "References", "Acknowledgements", "We thank the crew."]
    assert sum(group.kind is BlockKind.REFERENCE for group in paper) == 1


def test_lone_labels_are_not_prose_and_a_broken_word_of_a_list_is_joined() -> None:
    found = groups(
        (PARA, "Photo by Ann Author"), (ITEM, "– The program GRO-"), (PARA, "MACS was used."), (PARA, "It ran well.")
    )
    made = blocks(found, Vocabulary([line("Runs of GROMACS and GROMACS alone", 0)]))
    assert [(b.kind, b.text) for b in made][:2] == [
        (OTHER, "Photo by Ann Author"),
        (ITEM, "– The program GROMACS was used."),
    ]


def test_degree_signs_of_tex_do_not_end_a_sentence() -> None:
    text = "The angle is 0.37 ◦ larger than the mean of 0.04◦ per year. ◦ A point of a list. ◦ Another."
    found = [text[start:end] for start, end in sentence_spans(text)]
    assert found[0].endswith("per year.") and len(found) == 3


def test_a_program_set_inside_a_sentence_is_between_its_halves() -> None:
    found = groups(
        (PARA, "It can be opened by"), (OTHER, 'R> vignette("lake", package = "ice")'), (PARA, "directly in R.")
    )
    for group in (found[0], found[2]):
        group.x1 = 300.0
    made = blocks(found, Vocabulary([]))
    assert [b.kind for b in made] == [PARA, BlockKind.EQUATION, PARA]


def typed(found: list[Group], *places: int) -> list[Group]:
    """The groups, some in a typewriter font, each as wide as the column."""
    for place, group in enumerate(found):
        group.x1 = 300.0
        if place in places:
            for run in found[place].lines[0].runs:
                run.style = SERIF._replace(font="Courier")
            group.settle()
    return found


def test_a_sentence_that_leads_into_a_long_program_is_not_glued_to_the_next() -> None:
    program = "R> lake(" + "depth = 1, " * 60 + ")"
    found = typed(groups((PARA, "The depth is set by"), (OTHER, program), (PARA, "Snow is next.")), 1)
    found[2].lines[0].page = 2
    made = blocks(found, Vocabulary([]))
    assert [b.kind for b in made] == [PARA, BlockKind.EQUATION, PARA]


def test_an_address_at_the_foot_of_a_page_does_not_part_a_sentence() -> None:
    found = typed(groups((PARA, "The lake is fed by"), (OTHER, "1 https://snow.org"), (PARA, "snow of the valley.")), 1)
    for group in found[2:]:
        group.lines[0].page = 2
    made = blocks(found, Vocabulary([]))
    assert made[0].text == "The lake is fed by snow of the valley."


def test_a_table_of_contents_is_one_group_and_has_no_headings() -> None:
    names = ("1 Introduction", "2 Methods", "2.1 Snow pits . . . . . 3", "3 Results")
    listed = [(PARA, text) for text in ("Contents", *names, "12")]
    prose = "The snow that fell in the upper valley melted late. " * 6
    found = groups(*listed, *((PARA, text) for name in names for text in (name.split(" . ")[0], prose)))
    mark_kinds(found, SERIF)
    assert [group.kind for group in found[:2]] == [OTHER, PARA]
    assert found[0].text.endswith("3 Results 12") and found[1].text == "1 Introduction"


def test_authors_side_by_side_above_the_label_of_the_abstract_are_read_before_it() -> None:
    bold = Style("Serif", 10.0, True, False)
    left = [
        line(text, y, 70, 170)
        for text, y in (("Jane Doe of Oslo", 100), ("Ice Lab of the North", 113), ("Ann Roe of Tromsoe", 150))
    ]
    right = [
        line(text, y, 250, 350)
        for text, y in (("John Major Smith", 100), ("Snow House of Oslo", 113), ("University of Oslo", 163))
    ]
    left.append(line("Valley University of Snow", 163, 60, 180))
    label = Line(1, (170, 200, 215, 210), [Run("Abstract", bold, x0=170)], 0).settle()
    text = [line(f"Line {n} of an abstract about the snow that melted late", 230 + 12 * n, 60, 350) for n in range(5)]
    order = [found.text for region in reading_order([*left, *right, label, *text]) for found in region.lines]
    assert order.index("Abstract") == 7


def test_each_item_of_a_list_of_terms_is_a_paragraph() -> None:
    typewriter = SERIF._replace(font="Courier")
    lines = [line("The slots of the class are described in the manual of the package.", 100)]
    for place, term in enumerate(("fit:", "df:")):
        y = 112 + 12 * place
        runs = [Run(term, typewriter, x0=60.0), Run(" A function of the class.", SERIF, x0=80.0)]
        lines.append(Line(1, (60, y, 300, y + 10), runs, 0).settle())
    assert [len(group.lines) for group in group_lines([Region(lines, 60.0, 300.0)], 10.0)] == [1, 1, 1]


def test_bold_heading_with_a_stop_begins_a_paragraph_below_a_full_line() -> None:
    bold = SERIF._replace(bold=True)
    lines = [line("The requests of the kernel are read in this order by the daemon.", 100)]
    runs = [Run("Library levels.", bold, x0=60.0), Run(" The library has two levels in its", SERIF, x0=140.0)]
    lines += [
        Line(1, (60, 112, 300, 122), runs, 0).settle(),
        line("code, of which the lower one takes the requests.", 124),
    ]
    assert [len(group.lines) for group in group_lines([Region(lines, 60.0, 300.0)], 10.0)] == [1, 2]


def test_second_line_beside_a_drop_capital_begins_no_paragraph() -> None:
    runs = [Run("M", SERIF, x0=60.0), Run("any principles of the art of programming", SERIF, x0=80.0)]
    lines = [Line(1, (60, 100, 300, 110), runs, 0).settle(), line("are current and valuable in the work on", 112, 80)]
    lines += [line("Lines of the paragraph below the capital", y) for y in range(124, 200, 12)]
    assert len(group_lines([Region(lines, 60.0, 300.0)], 10.0)) == 1


def test_line_that_hangs_over_into_the_next_column_ends_neither() -> None:
    left = [line(f"Line {n} of the left column on the compiler", 100 + 12 * n, 60, 285) for n in range(30)]
    right = [line(f"Line {n} of the right column on its signals", 100 + 12 * n, 304, 546) for n in range(30)]
    left[15] = line("att = hslider(attenuation, 0.1, 0, 1, 0.01);", 280, 60, 305)
    found = reading_order([*left, *right], known=(285.0, 304.0))
    assert [found_line.text for region in found for found_line in region.lines] == [x.text for x in (*left, *right)]


def test_a_line_with_double_blanks_is_cut_where_its_text_says() -> None:
    runs = [Run("Model  setup", SERIF), Run("  and  simulations.", SERIF), Run("  The model  ran.", SERIF)]
    line = Line(1, (60.0, 92.0, 300.0, 102.0), runs, 0).settle()
    head, rest = line.cut(len("Model setup and simulations."))
    assert (head.text, rest.text) == ("Model setup and simulations.", "The model ran.")
