"""Finds where a text explains an abbreviation or a code, and those that a question or an answer does not explain. Pure
functions.

"long form (SHORT)" and "SHORT: long form" are found as Schwartz & Hearst do (2003, "A simple algorithm for identifying
abbreviation definitions in biomedical text"): the letters of SHORT occur in order in the long form, the first one at a
word's beginning.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import islice

from scirgen.core.text.textmatch import stem, words

_USED = re.compile(r"(?<![\w-])[A-Z][A-Za-z]?[A-Z](?=s?(?![\w-]))")
"""Two or three letters; longer abbreviations are mostly names of products, which readers know."""
_CODE = re.compile(r"(?<![\w-])[A-Za-z](?=\w*[A-Z\d])\w{1,14}(?![\w-])")
"""A word with a capital or a digit inside: "POSCON", "vBMD", "T2"."""
_BEHIND = re.compile(r"(?:,|:| =) (an? )?([^(),.;:\n]{4,120})")
_WORD = re.compile(r"[^\W_]+")
_LETTERS = 4
"""Words of fewer letters ("of", "the") say nothing about whether a long form is a name or a term, nor whether it is
spelled out."""
_MAX_USES = 100
_PRODUCT = re.compile(
    r"\b(?:algorithm|benchmark|corpus|data ?(?:base|set)|instrument|library|model|network|package|platform|program"
    r"|satellite|sensor|software|system|tool(?:kit)?)s?\b"
)
"""Words for products: what is described as one is a name, not the code of a quantity ("BERT, a language model")."""
_ENOUGH = 2
"""Telling words of a description that explain its code."""


def codes(text: str) -> list[str]:
    """Return the words of a text that may be codes, each once."""
    return list(dict.fromkeys(_CODE.findall(text)))


def explained(text: str, short: str) -> tuple[int, str]:
    """Return where a text first explains an abbreviation or a code, and the words that do: "long form (SHORT)", "SHORT:
    long form", or "SHORT, a measure of ..."; (-1, "") if nowhere."""
    used = re.finditer(rf"(?<![\w-]){re.escape(short)}(?=s?[);,:]| =)", text)
    for match in islice(used, _MAX_USES):
        before = re.split(r"[().;:\n]", text[max(0, match.start() - 122) : match.start()])
        long = _long_form(short, before[-2]) if len(before) > 1 and not before[-1] else ""
        behind = _BEHIND.match(text, match.end())
        if not long and behind and short not in behind[2] and (behind[1] or _long_form(short, behind[2]) == behind[2]):
            long = behind[2]
        if long:
            return match.start(), long.strip()
    return -1, ""


def unexplained(
    text: str, sources: Collection[str], names: str, known: Collection[str], labels: str | None = None
) -> tuple[str, str] | None:
    """Return the first abbreviation of a term ("FL" for fork length) that a text uses and does not spell out, with its
    long form.

    Args:
        text: a question with its answer.
        sources: the texts that may define abbreviations.
        names: a text whose abbreviations are names, such as the dataset's title; abbreviations of long forms in it
            are names too.
        known: abbreviations that need no explanation. Those of proper names ("Weather Research and Forecasting") need
            none either, since the abbreviation is the name.
        labels: if given, the headers of cited cells. Only their codes count, of four letters or more, that a source
            describes ("NEGCON, a measure of ..."): readers know the names that it spells out, or look them up.
    """
    said = {stem(w) for w in words(text)}
    used = _USED.findall(text) if labels is None else [c for c in codes(labels) if len(c) >= _LETTERS]
    for short in dict.fromkeys(used):
        if short in known or short in names or short not in text:
            continue
        long = next((found for source in sources if (found := explained(source, short)[1])), "")
        if (_long_form(short, long) == long) is (labels is not None):
            continue
        telling = [w for w in _WORD.findall(long) if len(w) >= _LETTERS]
        is_name = all(w[0].isupper() for w in telling[1:]) and len(telling) > 1
        stems = {stem(w.lower()) for w in telling}
        is_name |= labels is not None and _PRODUCT.search(long) is not None
        enough = len(stems) if labels is None else min(_ENOUGH, len(stems))
        if telling and not is_name and len(stems & said) < enough and not stems <= {stem(w) for w in words(names)}:
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
