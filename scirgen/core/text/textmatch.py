"""Comparing short texts: normalisation, words, content words, numbers, overlap. Pure functions, used by the gates."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache

_CJK = r"぀-ヿ㐀-䶿一-鿿豈-﫿가-힯"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+(?:[.,]\d+)*(?:['’][^\W\d_]+)?")
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:[.,][0-9]+)*(?:'[a-z]+)?")
"""Finds the same as `_WORD` in normalised ASCII text, several times as fast."""
_NUMBER = re.compile(r"(?<![\d.,])\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")
_SPACES = re.compile(r"\s+")
_ORDINARY = str.maketrans(
    dict.fromkeys("’‘", "'") | dict.fromkeys("“”", '"') | dict.fromkeys("–—−‐‑", "-") | {"\u00ad": ""}
)


@lru_cache(maxsize=2048)  # cached: several gates look at the same question
def normalise(text: str) -> str:
    """Return the text in NFKC and lower case, with straight quotes and hyphens and single spaces."""
    if text.isascii():
        return " ".join(text.lower().split())
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", text).translate(_ORDINARY).casefold()).strip()


@lru_cache(maxsize=2048)
def words(text: str) -> tuple[str, ...]:
    """Return the words of the normalised text, in order; each CJK character counts as one word."""
    normal = normalise(text)
    return tuple((_ASCII_WORD if normal.isascii() else _WORD).findall(normal))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the word without common English endings, so "stations" matches "station"; other words are unchanged."""
    if len(word) > 5 and word.endswith("ies"):
        return word[:-3] + "y"
    for ending, keep in (("ing", 4), ("edly", 4), ("ed", 4), ("ely", 4), ("ly", 4), ("es", 4), ("s", 3), ("e", 4)):
        if word.endswith(ending) and len(word) - len(ending) >= keep and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=2048)  # as with `normalise`
def content_words(text: str, stop_words: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the stems of the content words, in order, with repeats."""
    return tuple(
        [stem(w) for w in words(text) if w not in stop_words and (len(w) > 1 or not w.isascii() or w.isdigit())]
    )


def names(text: str) -> set[str]:
    """Return the stems of the words with a capital letter, except the first word: proper names and abbreviations."""
    found = _WORD.findall(unicodedata.normalize("NFKC", text).translate(_ORDINARY))
    return {stem(w.casefold()) for w in found[1:] if not w.islower() and any(c.isupper() for c in w)}


def numbers(text: str) -> set[str]:
    """Return the numbers in the text, thousands separators and trailing zeros removed: {"1000", "0.25"}."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return {_canonical(m) for m in _NUMBER.findall(plain)}


@lru_cache(maxsize=8192)
def _canonical(number: str) -> str:
    plain = number.rstrip(".,")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain):
        plain = plain.replace(",", "")
    plain = plain.replace(",", ".")
    try:
        value = float(plain)
    except ValueError:
        return plain
    return f"{value:.10g}"


def jaccard(a: Collection[object], b: Collection[object]) -> float:
    """Return |a and b| / |a or b|; 0 when both are empty."""
    left, right = set(a), set(b)
    union = len(left | right)
    return len(left & right) / union if union else 0.0


def coverage(part: Collection[object], whole: Collection[object]) -> float:
    """Return the share of the distinct members of ``part`` that are in ``whole``; 1 when ``part`` is empty."""
    wanted = set(part)
    return len(wanted & set(whole)) / len(wanted) if wanted else 1.0
