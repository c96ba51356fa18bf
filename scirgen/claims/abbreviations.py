"""Finds the abbreviations that a text defines, and those that a question or an answer does not explain. Pure functions.

Definitions are found as Schwartz & Hearst do (2003, "A simple algorithm for identifying abbreviation definitions in
biomedical text"): "long form (SHORT)", where the letters of SHORT occur in order in the words before it, the first one
at a word's beginning.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from scirgen.core.text.textmatch import stem, words

_DEFINED = re.compile(r"([^().;:\n]{4,120}?)\s\(([A-Z][A-Za-z]{0,5}[A-Z])s?[);,:]")
_USED = re.compile(r"(?<![\w-])[A-Z][A-Za-z]?[A-Z](?=s?(?![\w-]))")
"""Two or three letters; longer abbreviations are mostly names of products, which readers know."""
_WORD = re.compile(r"[^\W_]+")
_LETTERS = 4
"""Words of fewer letters ("of", "the") say nothing about whether a long form is a name or a term, nor whether it is
spelled out."""


@lru_cache(maxsize=32)
def definitions(text: str) -> dict[str, str]:
    """Return a mapping: abbreviation -> its long form, at its first definition in the text."""
    found: dict[str, str] = {}
    for match in _DEFINED.finditer(text):
        short = match.group(2)
        if short not in found and (long := _long_form(short, match.group(1))):
            found[short] = long
    return found


def unexplained(text: str, sources: Collection[str], names: str, known: Collection[str]) -> tuple[str, str] | None:
    """Return the first abbreviation of a term ("FL" for fork length) that a text uses and does not spell out, with its
    long form.

    Args:
        text: a question with its answer.
        sources: the texts that may define abbreviations.
        names: a text whose abbreviations are names, such as the dataset's title; abbreviations of long forms in it
            are names too.
        known: abbreviations that need no explanation. Those of proper names ("Weather Research and Forecasting") need
            none either, since the abbreviation is the name.
    """
    said = {stem(w) for w in words(text)}
    for short in dict.fromkeys(_USED.findall(text)):
        if short in known or short in names:
            continue
        long = next((d[short] for d in map(definitions, sources) if short in d), "")
        telling = [w for w in _WORD.findall(long) if len(w) >= _LETTERS]
        is_name = all(w[0].isupper() for w in telling[1:]) and len(telling) > 1
        stems = {stem(w.lower()) for w in telling}
        if telling and not is_name and not stems <= said and not stems <= {stem(w) for w in words(names)}:
            return short, long
    return None


def _long_form(short: str, before: str) -> str:
    """Return the words before a parenthesis that hold its letters in order, from the right; "" if they do not."""
    most = min(len(short) + 5, 2 * len(short))
    starts = [m.start() for m in _WORD.finditer(before)][-most:]
    if not starts:
        return ""
    at = len(before)
    for n in range(len(short) - 1, -1, -1):
        at = before.lower().rfind(short[n].lower(), starts[0], at)
        while n == 0 and at >= 0 and at not in starts:
            at = before.lower().rfind(short[0].lower(), starts[0], at)
        if at < 0:
            return ""
    return before[at:]
