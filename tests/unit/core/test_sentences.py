"""Sentences of scientific prose."""

from __future__ import annotations

import pytest

from scirgen.core.records import Block, BlockKind, Document
from scirgen.core.text.sentences import document_sentences, sentence_spans

WHOLE = [
    "Precipitation rose by 3.2 mm a−1 (Liu et al., 2018) at 4,500 m a.s.l. in the basin (Fig. 3).",
    "See Eq. (4) and Figs. 2–3 for details [20,21].",
    "The approx. 30 stations vs. the 12 gauges of Dr. Wang et al. are in Sect. 2.1.",
    "Data from the 0.1° grid, i.e. ERA5, were used.",
    "No. 6 was removed.",
    "Values are stored in *.TXT files.",
    "Is this warming of 0.5 °C real?",
    "Fires burned c. 40 % of the area, see Eqn. 7, Figs. S2 and S3 and Suppl. Table 1.",
    "The frogs L. sp. D and L. heinrichi were caught by J. A. McGuire and D. T. Iskandar.",
    "The steel held 99.9 wt. % of iron (no. 4, cat. A12.3, Proc. Natl. Acad. Sci. 118).",
    "The code is at https://github.com/a.b/R.git, doi:10.5194/gmd-10-1.2017, in the file anomaly.R there.",
    "We use approaches 1. or 2. as they come, e.g. those of Kim et al. [15].",
    "It uses the scheme of Xu et al. [15] CP-ABE in two rounds.",
    "El caudal medio (aprox. 3.5 m3/s, véase la Fig. 2 y la pág. 7) es bajo.",
]


@pytest.mark.parametrize("sentence", WHOLE)
def test_sentence_spans_when_abbreviations_inside_then_one_sentence(sentence: str) -> None:
    assert sentence_spans(sentence) == [(0, len(sentence))]


def test_sentence_spans_when_paragraph_then_each_sentence_once() -> None:
    text = "  " + " ".join(WHOLE) + "\n"
    assert [text[s:e] for s, e in sentence_spans(text)] == WHOLE


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The sampling was complete (Fig. 6A.).", "The rest was dry."),
        ("The unit is 1) wide, 2) flat.", "It was sold."),
        ("The index is written in R.", "Specifically, we used it."),
        ("It melts at 783 K.", "Data are few."),
        ("The lake had little chlorophyll a.", "In summer it rose."),
        ("The cost was 4 US$ (in 2010).", "(We did not ask why.)"),
        ("It was built in the U.S.", "However, it was sold."),
        ("As said [7,8-10].", "Ostrom lists four."),
        ("The lost blank is found.", "The end"),
        ("4.2. Electrodes were dried.", "4.3. Cells were filled."),
        ("It was seen before. [7], [8]", "However, it fell."),
        ("They were treated with ART.", "The use rose."),
        ("We waited for 20 ms.", "This is long."),
        ("It moved in two ways.", "(i) Every step was drawn."),
        ("The power falls with K.", "Indeed, it must."),
        ("The roots lie in [0, ∞[.", "Remember that they are real."),
    ],
)
def test_sentence_spans_when_two_sentences_then_cut_between(first: str, second: str) -> None:
    glue = "" if "blank" in first else " "
    text = first + glue + second + (" is near." if glue == "" else "")
    assert next(text[s:e] for s, e in sentence_spans(text)) == first


def test_document_sentences_when_equation_interrupts_then_one_sentence() -> None:
    parts = [
        (BlockKind.PARAGRAPH, "We sum it up. The ratio is given by"),
        (BlockKind.EQUATION, "r = a / b (3)"),
        (BlockKind.PARAGRAPH, "where a is the area. It is small."),
        (BlockKind.CAPTION, "Figure 1. A map."),
        (BlockKind.PARAGRAPH, "then more."),
    ]
    text, blocks = "", []
    for kind, part in parts:
        blocks.append(Block(kind=kind, start=len(text), end=len(text) + len(part)))
        text += part + "\n\n"
    document = Document(id="d", paper_id="p", text=text.rstrip(), blocks=tuple(blocks))
    assert [" ".join(text[s:e].split()) for s, e in document_sentences(document)] == [
        "We sum it up.",
        "The ratio is given by r = a / b (3) where a is the area.",
        "It is small.",
        "then more.",
    ]


def test_document_sentences_when_a_page_ends_in_a_sentence_then_one_sentence() -> None:
    parts = [
        "Use a Susceptible-",
        "Infectious model. Values",
        "are small (Fig. 2)",
        "It has two parts;",
        "the end.",
    ]
    text, blocks = "", []
    for part in parts:
        blocks.append(Block(kind=BlockKind.PARAGRAPH, start=len(text), end=len(text) + len(part)))
        text += part + "\n\n"
    document = Document(id="d", paper_id="p", text=text.rstrip(), blocks=tuple(blocks))
    assert [" ".join(text[s:e].split()) for s, e in document_sentences(document)] == [
        "Use a Susceptible- Infectious model.",
        "Values are small (Fig. 2)",
        "It has two parts;",
        "the end.",
    ]


def test_document_sentences_when_headings_and_tables_then_left_out() -> None:
    text = "Methods\n\nWe used X1. We used Y2.\n\n1 2 3\n\nThen C."
    kinds = [
        (BlockKind.HEADING, 0, 7),
        (BlockKind.PARAGRAPH, 9, 32),
        (BlockKind.TABLE, 34, 39),
        (BlockKind.PARAGRAPH, 41, 48),
    ]
    document = Document(
        id="d", paper_id="p", text=text, blocks=tuple(Block(kind=k, start=s, end=e) for k, s, e in kinds)
    )
    assert [text[s:e] for s, e in document_sentences(document)] == ["We used X1.", "We used Y2.", "Then C."]
    assert [text[s:e] for s, e in document_sentences(document, 18, 40)] == ["We used Y2."]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("A name is set (it would also work here.) You can change it.", 2),
        ("It froze. (The other lake froze too, see Smith et al.) The ice was thin.", 3),
        ("It froze late (as in the winter of 1990 by Smith et al.) Brown saw it.", 1),
    ],
)
def test_a_full_stop_before_a_closing_bracket_may_end_a_sentence(text: str, sentences: int) -> None:
    assert len(sentence_spans(text)) == sentences
