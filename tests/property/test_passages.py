"""Passages cover their text's tokens, each once, with exact offsets."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from scirgen.core.text.passages import count_words, windows

SPACED = st.text(
    st.sampled_from("ab é\n\t\u00a0.") | st.characters(codec="utf-8", exclude_categories=["Lo"]), max_size=300
)
ANY = st.text(st.sampled_from("ab \n雪冰山.") | st.characters(codec="utf-8"), max_size=300)


@settings(deadline=None)  # the first call imports the splitter
@given(SPACED, st.integers(1, 7))
def test_windows_hold_every_token_once_and_no_more_than_asked(text: str, tokens: int) -> None:
    found = windows(text, tokens)
    pieces = [text[a:b] for a, b in found]
    assert [token for piece in pieces for token in piece.split()] == text.split()
    assert all(0 < len(piece.split()) <= tokens for piece in pieces)
    assert all(len(piece.split()) == tokens for piece in pieces[:-1])
    assert all(a == 0 or text[a - 1].isspace() for a, _ in found)


@settings(deadline=None)
@given(ANY, st.integers(1, 7))
def test_windows_of_scripts_without_spaces_hold_every_token_once(text: str, tokens: int) -> None:
    pieces = [text[a:b] for a, b in windows(text, tokens)]
    assert [token for piece in pieces for token in piece.split()] == text.split()
    assert all(count_words(piece) <= tokens or len(piece.split()) == 1 for piece in pieces)
