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
    "Is this warming of 0.5 °C real?",
]


@pytest.mark.parametrize("sentence", WHOLE)
def test_sentence_spans_when_abbreviations_inside_then_one_sentence(sentence: str) -> None:
    assert sentence_spans(sentence) == [(0, len(sentence))]


def test_sentence_spans_when_paragraph_then_each_sentence_once() -> None:
    text = "  " + " ".join(WHOLE) + "\n"
    assert [text[s:e] for s, e in sentence_spans(text)] == WHOLE


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
