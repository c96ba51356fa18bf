"""Makes a sentence false by rule, and detects where a question deviates from its sentence.

The change gives the "No" to a yes-or-no question of a small model; it is recorded with the pair.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from scirgen.core.text.textmatch import numbers as stated
from scirgen_embedded.writer.facts import UNIT, YEAR, Fact, exact_numbers

_LIMITS = (
    (re.compile(r"\s?(?:%|per ?cent\b)"), 100),
    (re.compile(r"\s?(?:°|degrees? )\s?[NS]\b"), 90),
    (re.compile(r"\s?(?:°(?!\s?C)|degrees? [EW]\b)"), 180),
)
"""Units whose values cannot exceed a limit; the first match counts."""
# Only if an earlier year makes the sentence false: "until 2013" would still be true of something that lasted until
# 2020, and what was done in 1995 may have been done in 1991, too.
_DATED = re.compile(rf"\b(?:since|from|between)\s(?P<year>{YEAR.pattern})(?![\w,.]?\d|\s?{UNIT}(?!\w))")
_NEGATIONS = frozenset(("not", "never", "no", "cannot", "without", "neither", "nor"))
_LETTERS = re.compile(r"[a-z]+")


@dataclass(frozen=True)
class Change:
    """A sentence made false on purpose: ``old`` was replaced by ``new``."""

    text: str
    old: str
    new: str


def change(sentence: str, opposites: Sequence[tuple[str, str]], rng: random.Random) -> Change | None:
    """Return the sentence with one fact changed by rule, so that the source contradicts it; None if no rule applies.

    In order of preference: a word by its opposite, a number by another of the same form, the year of a beginning by an
    earlier one. A name is not exchanged: if the source names one, another is not necessarily false.
    """
    for fact, word in opposed(sentence, rng.sample(list(opposites), len(opposites))):
        return Change(sentence[: fact.start] + word + sentence[fact.end :], fact.text, word)
    counted = exact_numbers(sentence)
    if counted:
        fact = rng.choice(counted)
        altered = other_number(fact.text, rng)
        return Change(sentence[: fact.start] + altered + sentence[fact.end :], fact.text, altered)
    dated = list(_DATED.finditer(sentence))
    if dated:
        match = rng.choice(dated)
        altered = other_number(match["year"], rng)
        return Change(sentence[: match.start("year")] + altered + sentence[match.end("year") :], match["year"], altered)
    return None


def opposed(sentence: str, opposites: Sequence[tuple[str, str]]) -> list[tuple[Fact, str]]:
    """Return the words of a sentence whose opposite it does not contain, each with the opposite, in the order of
    ``opposites``."""
    found = []
    for pair in opposites:
        for a, b in (pair, pair[::-1]):
            match = _whole(a).search(sentence)
            if match and not _whole(b).search(sentence):
                word = b.capitalize() if match.group()[0].isupper() else b
                found.append((Fact("word", match.start(), match.end(), match.group()), word))
    return found


@lru_cache(maxsize=1024)
def _whole(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])", re.IGNORECASE)


def other_number(text: str, rng: random.Random) -> str:
    """Return another number of the same form and unit: halved, doubled, tripled or five times as large.

    A percentage stays within 100, an angle within its range, and a year becomes an earlier one, so that the No is not
    obvious.
    """
    match = re.search(r"\d[\d,]*(?:\.\d+)?", text)
    if match is None:
        raise ValueError(f"no number in {text!r}")
    digits = match.group()
    decimals = len(digits.partition(".")[2])
    value = float(digits.replace(",", ""))
    if YEAR.fullmatch(digits) and not re.match(rf"\s?{UNIT}(?!\w)", text[match.end() :]):
        altered = value - rng.choice((3, 4, 6, 7))
    elif value == 0:
        altered = float(rng.choice((1, 2, 5)))
    else:
        choices = [value * f for f in (2.0, 3.0, 5.0)]
        limit = next((most for unit, most in _LIMITS if unit.match(text, match.end())), math.inf)
        choices = [c for c in choices if c <= limit] or [_half(value, decimals)]
        if (decimals or value % 2 == 0) and (half := _half(value, decimals)) > 0:
            choices.append(half)
        altered = rng.choice(choices)
    shown = f"{altered:,.{decimals}f}" if "," in digits else f"{altered:.{decimals}f}"
    return text[: match.start()] + shown + text[match.end() :]


def departure(question: str, sentence: str, opposites: Sequence[tuple[str, str]]) -> str:
    """Describe how a yes/no question departs from its sentence: a changed number, a negation or an antonym; "" if it
    does not.
    """
    if new := sorted(stated(question) - stated(sentence)):
        return new[0]
    asked, told = set(_LETTERS.findall(question.lower())), set(_LETTERS.findall(sentence.lower()))
    if (asked & _NEGATIONS) and not told & _NEGATIONS:
        return str(min(asked & _NEGATIONS))
    for pair in opposites:
        for a, b in (pair, pair[::-1]):
            if b in asked and b not in told and a in told and a not in asked:
                return b
    return ""


def _half(value: float, decimals: int) -> float:
    """Return half of a value, rounded to so many decimals; always another number than the value."""
    unit = 10.0**-decimals
    return math.floor(value / 2 / unit) * unit
