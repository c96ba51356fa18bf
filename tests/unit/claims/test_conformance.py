"""Patterns joined for speed say what the patterns say one by one."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from scirgen.claims.conformance import matches
from scirgen.core.text.textmatch import normalise, words

PATTERNS = (
    r"\bthe study\b",
    r"\bthis|these\b",
    r"^the\b",
    r"\[\d+\]",
    r"\b(?:in|of) the text\b(?! of)",
    r"(\w)\1\1",
    r"(?i)ABOVE",
    r"\bNDVI\b",
)
TEXT = st.lists(
    st.sampled_from(["the", "study", "this", "these", "[12]", "in the text", "of", "aaa", "above", "NDVI", "Über",
                     "\u00a0", "x-y's", "1,000.5"]),
    max_size=8,
).map(" ".join)  # fmt: skip


@given(st.lists(st.sampled_from(PATTERNS), max_size=6, unique=True).map(tuple), TEXT)
def test_the_first_pattern_that_is_found_whether_joined_or_not(patterns: tuple[str, ...], text: str) -> None:
    expected = next((p for p in patterns if re.search(p, text, re.IGNORECASE)), None)
    assert matches(patterns, text) == expected
    folded = normalise(text)
    expected = next((p for p in patterns if re.search(p, folded, re.IGNORECASE)), None)
    assert matches(patterns, folded, normalised=True) == expected


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_text_is_normalised_and_cut_as_any_other(text: str) -> None:
    # A letter outside ASCII takes the general way; it stands apart and is taken off again.
    general = normalise(f"{text} é")
    assert normalise(text) == general.removesuffix("é").strip()
    assert words(text) == words(f"{text} é")[:-1]
