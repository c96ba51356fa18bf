"""Abbreviations and product names of an answer that a text does not have, in another spelling either. Pure
functions."""

from __future__ import annotations

import re
from functools import lru_cache

from rapidfuzz import fuzz

from scirgen.core.text.textmatch import stem, words

_NAME = re.compile(r"(?<![\w-])[A-Z][\w-]*[A-Z0-9][\w/-]*")
_NO_LETTER = re.compile(r"[\W_]+")
_NUMBERED = re.compile(r"([A-Za-z]{2,})(\d+)")
_LONGEST_ACRONYM = 6
"""Longer runs of capitals are names, not initials."""
_SPELT = 6
"""Shorter names stand inside other words by chance, and differ from each other in a letter or two."""
_ALIKE = 80
"""ArArCALC and "arcalc" have a ratio of 86; shorter names and those with other digits are not compared so."""


def unnamed(answer: str, text: str) -> list[str]:
    """The answer's abbreviations and product names that a text does not have.

    It has "Sentinel-2" as "sentinel 2", "GAN-based" as "GAN", "WPL" as "Webb-Pearman-Leuning", "ZY-3" as "ziyuan-3",
    and "ArArCALC" as "arcalc".
    """
    names = dict.fromkeys(_NAME.findall(answer))
    return [n for n in names if not _stands(n, text) and not _respelt(n, text)]


@lru_cache(maxsize=1024)
def _stands(name: str, text: str) -> bool:
    """Tells whether a text has a name with other signs between its parts; a short one or one with a number as a word
    of its own, or in capitals beside small letters ("NDVImax"), since "organic" holds GAN and "Landsat 80" holds
    "Landsat 8"."""
    plain = _NO_LETTER.sub("", name).removesuffix("s")
    if len(plain) > _SPELT and not plain[-1].isdecimal():
        return _run(plain) in _run(text)
    spelt = r"[\W_]*".join(map(re.escape, plain))
    alone = rf"(?i:(?<![^\W_]){spelt}s?(?![^\W_]))|(?<![A-Z0-9]){spelt}(?![A-Z0-9])"
    return re.search(alone, text) is not None


def _respelt(name: str, text: str) -> bool:
    plain = _NO_LETTER.sub("", name)
    if numbered := _NUMBERED.fullmatch(plain):
        return _numbered(numbered[1], numbered[2], text)
    parts = [p for p in re.split(r"[-/]", name) if not p.islower()]
    if parts != [name] and plain.isupper() and len(plain) > _CHANCE and _initials(plain, text):
        return True
    if parts != [name]:
        return all(len(p) > 2 and (stem(p.lower()) in _stems(text) or _initials(p, text)) for p in parts)
    short = plain.removesuffix("s")
    if 2 < len(short) <= _LONGEST_ACRONYM and short.isupper() and _initials(short, text):
        return True
    digits = re.sub(r"\D", "", plain)
    return len(plain) >= _SPELT and any(
        fuzz.ratio(plain.lower(), word) >= _ALIKE and re.sub(r"\D", "", word) == digits for word in set(words(text))
    )


def _numbered(letters: str, number: str, text: str) -> bool:
    """Tells whether a word that begins alike stands before the number, and one has all letters of the other in order:
    "gaofen-1" and "GF-1"."""
    pattern = rf"(?<![a-z])({re.escape(letters[0])}[a-z]+?)(?:[\s_-]|v|version )*0*{number}(?!\d)"
    return any(
        _in_order(letters, m[1]) or (m[1].isupper() and _in_order(m[1], letters))
        for m in re.finditer(pattern, text, re.IGNORECASE)
    )


def _in_order(letters: str, word: str) -> bool:
    left = iter(word.lower())
    return all(letter in left for letter in letters.lower())


@lru_cache(maxsize=1024)
def _initials(acronym: str, text: str) -> bool:
    """Tells whether words in a row begin with its letters: capitalised ones ("Webb-Pearman-Leuning"); any of a short
    text, or for four letters."""
    every = [w for w in _WORD.findall(text) if w not in _SMALL]
    if acronym in "".join(w[0] if w[0].isupper() else " " for w in every):
        return True
    return (len(every) <= _SHORT or len(acronym) > _CHANCE) and acronym.lower() in "".join(w[0].lower() for w in every)


_WORD = re.compile(r"[^\W\d_]+")
_SMALL = frozenset(["of", "and", "the", "for", "in", "on"])
_SHORT = 400
"""A text of more words has the initials of most short acronyms in a row by chance."""
_CHANCE = 3
"""An acronym of more letters is not met by chance in a long text."""


@lru_cache(maxsize=256)
def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, words(text)))


@lru_cache(maxsize=256)
def _run(text: str) -> str:
    return _NO_LETTER.sub("", text.lower())
