"""Detects PDFs whose extracted text is not the printed text, so that garbage is reported and not used.

Some fonts have no map to Unicode. In right-to-left lines, numbers and Latin words are misplaced and ligatures reversed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import pymupdf

_SAMPLED: Final = 4
_MAX_UNMAPPED: Final = 0.3
_MIN_WORDS, _MIN_WITH_VOWEL = 60, 0.6
_WORD: Final = re.compile(r"[A-Za-zÀ-ÿ]{3,}")
_VOWEL: Final = re.compile(r"[aeiouyà-åè-ïò-öù-üý]", re.I)
_RIGHT_TO_LEFT: Final = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_MAX_RIGHT_TO_LEFT: Final = 0.3
_FLAGS: Final = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP


def is_unreadable(document: Any, texts: Iterable[str]) -> bool:
    """Tells whether a PDF's text is garbage.

    Args:
        document: the open PDF; a few pages are read again to count glyphs without a Unicode value.
        texts: its pages' text as the parser reads it, with character codes where there is no Unicode value. These codes
            may still be right; then the words look like words.
    """
    joined = " ".join(texts)
    if _like_words(joined):
        return False
    if _unmapped(document) > _MAX_UNMAPPED:
        return True
    words = _WORD.findall(joined)
    return len(words) >= _MIN_WORDS and _with_vowel(words) < _MIN_WITH_VOWEL


def is_right_to_left(text: str) -> bool:
    """Tells whether many of a text's letters are of a right-to-left script (Arabic, Hebrew, Syriac ...)."""
    letters = sum(c.isalpha() for c in text)
    return len(_RIGHT_TO_LEFT.findall(text)) > _MAX_RIGHT_TO_LEFT * max(1, letters)


def _like_words(text: str) -> bool:
    """Tells whether most letters are small ones and most words have a vowel."""
    words = _WORD.findall(text)
    letters = "".join(words)
    small = sum(c.islower() for c in letters) >= 0.6 * len(letters)
    return len(words) >= _MIN_WORDS and small and _with_vowel(words) >= 0.75


def _with_vowel(words: Sequence[str]) -> float:
    return sum(bool(_VOWEL.search(word)) for word in words) / max(1, len(words))


def _unmapped(document: Any) -> float:
    """The share of glyphs without a Unicode value on a few pages."""
    count = document.page_count
    places = sorted({round(i * (count - 1) / max(1, _SAMPLED - 1)) for i in range(min(count, _SAMPLED))})
    text = "".join("".join(document[place].get_text("text", flags=_FLAGS).split()) for place in places)
    return sum(c == "\ufffd" or "\ue000" <= c <= "\uf8ff" for c in text) / max(1, len(text))
