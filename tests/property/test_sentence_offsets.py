"""Sentence offsets, whatever the text: nothing lost, nothing doubled, order kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scirgen.core.text.sentences import sentence_spans

PIECES = st.sampled_from(
    [
        "Liu et al.",
        "(Fig. 3)",
        "3.5 mm",
        "e.g.",
        "The snow melts.",
        "[12]",
        "km2",
        "  ",
        "\n\n",
        "…",
        "ça",
        "雪。",
        "Why?",
        "Eq. 4",
        ".",
        "U.S.",
        "−0.3",
    ]
)
TEXTS = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=30).map(" ".join))


@given(TEXTS, st.sampled_from(["en", "pt", "es", "zh", "xx"]))
def test_spans_are_ordered_trimmed_and_hold_every_character_once(text: str, language: str) -> None:
    spans = sentence_spans(text, language)
    last = 0
    for start, end in spans:
        assert last <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert not text[last:start].strip()
        last = end
    assert not text[last:].strip()


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        (
            "en",
            ["Snow falls (Liu et al., 2018; Fig. 3).", "It was 3.5 mm, cf. Eq. 4, at ca. 20 °C.", "We used ERA5 [12]."],
        ),
        ("en", ["Following Liu et al. (2018), we used it.", "Smith et al. found 0.5 m s−1.", "See Figs. 3 and 4."]),
        ("en", ["The ice declined.9,10", "The rest remained."]),
        ("en", ["The U.S. data are open.", "J. Smith and K. L. Jones agree.", "Is it so?", "It is."]),
        ("pt", ["Segundo Silva et al. (2018), chove 3,5 mm.", "A área é pequena (Fig. 2)."]),
        ("es", ["Según Pérez et al. (2018), llueve 3,5 mm.", "¿Por qué?", "El área es pequeña (véase la Fig. 2)."]),
    ],
)
def test_abbreviations_in_scientific_prose_do_not_end_sentences(language: str, sentences: list[str]) -> None:
    text = " ".join(sentences)
    assert [text[s:e] for s, e in sentence_spans(text, language)] == sentences


def test_chinese_when_split_then_full_stops_without_blanks_end_sentences() -> None:
    text = "青藏高原变暖。降水增加了吗？本文研究了它。"
    assert [text[s:e] for s, e in sentence_spans(text, "zh")] == ["青藏高原变暖。", "降水增加了吗？", "本文研究了它。"]
