"""The verbatim locator finds each quotation of a text at its place, and nothing else."""

from __future__ import annotations

import time
import unicodedata

from hypothesis import assume, given
from hypothesis import strategies as st

from scirgen.core.text.verbatim import Verbatim

WORD = st.text("abcdeéxyzABC", min_size=1, max_size=8)
NUMBER = st.integers(0, 9999).map(str)
SPECIAL = st.sampled_from(["m²", "ﬁne", "°C", "0.1°", "(Liu", "2018)", "−5", "well-being", "“high”", "Å"])
TEXT = st.lists(st.one_of(WORD, NUMBER, SPECIAL), min_size=3, max_size=40)


def same_words(one: str, other: str) -> bool:
    """Whether two texts have the same letters and digits in the same order."""
    letters = ["".join(c for c in unicodedata.normalize("NFKC", t).casefold() if c.isalnum()) for t in (one, other)]
    return letters[0] == letters[1]


@given(TEXT, st.data())
def test_find_when_quoting_whole_words_then_gives_text_that_says_the_same(
    words: list[str], data: st.DataObject
) -> None:
    text = " ".join(words)
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    quote = " ".join(words[first : last + 1])
    found = Verbatim(text).find(quote)
    assert found is not None
    assert same_words(text[found[0] : found[1]], quote.strip("“”"))


@given(TEXT, st.sampled_from(["\n", "  ", "\u00a0", " \u00ad", "\t\n"]))
def test_find_when_white_space_or_marks_differ_then_still_found(words: list[str], gap: str) -> None:
    text = "Before. " + gap.join(words) + " After."
    changed = " ".join(words).replace("ﬁ", "fi").replace("−", "-").replace("“", '"').replace("”", '"')
    found = Verbatim(text).find(changed)
    assert found is not None and same_words(changed.strip('"'), text[found[0] : found[1]])


@given(WORD.filter(lambda w: len(w) > 3), st.integers(1, 6))
def test_find_when_word_is_hyphenated_at_line_end_then_it_is_that_word(word: str, cut: int) -> None:
    assume(cut < len(word))
    text = f"the 3 {word[:cut]}-\n{word[cut:]} 4 of"
    assert Verbatim(text).find(word) == (6, 6 + len(word) + 2)


@given(TEXT, TEXT)
def test_find_when_result_then_offsets_are_inside_and_words_whole(words: list[str], quote: list[str]) -> None:
    text = " ".join(words)
    found = Verbatim(text).find(" ".join(quote))
    if found:
        start, end = found
        assert 0 <= start < end <= len(text)
        assert not (start and text[start - 1].isalnum() and text[start].isalnum())


@given(st.text(max_size=200), st.text(max_size=40))
def test_find_when_any_input_then_never_fails(text: str, quote: str) -> None:
    found = Verbatim(text).find(quote)
    assert found is None or 0 <= found[0] < found[1] <= len(text)


def test_find_when_other_word_number_or_sign_then_none() -> None:
    text = "Warming by 1.5 °C in 2001 2002, not −3 °C; the gauge-corrected product of stations."
    for quote in ("Warming by 15 °C", "20012002", "warming by", "corrected products", "stat", "+3 °C", "", '"…"'):
        assert Verbatim(text).find(quote) is None, quote


def test_find_when_several_places_then_start_chooses() -> None:
    index = Verbatim("a station. Another station. A station")
    assert index.find("station") == (2, 9)
    assert index.find("station", 3) == (19, 26)
    assert index.find("station", 3, 20) is None


def test_find_when_text_is_100_kb_then_fast() -> None:
    text = "Annual precipitation rose by 3.2 mm a−1 at the sta-\ntion (Liu et al., 2018). " * 1300
    begun = time.process_time()
    assert Verbatim(text).find("never said in this text") is None
    assert time.process_time() - begun < 2.0  # about 0.1 s alone on one core
