"""Facts of a sentence that a short question can be about: numbers with their unit and names; and changing one by rule.

Used where the model is too small to plan a question: the fact is chosen first, so that the answer is verbatim, and the "No" of a
yes-or-no question follows from the change that is recorded with the pair.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

_UNIT = (
    r"(?:°\s?[CNSEW]?|℃|%|‰|(?:k|c|m|d|μ|µ|n|h|M|G)?(?:m|g|s|W|Hz|Pa|bar|eV|J|L|l|K)(?:[²³]|\^?-?[23])?|ha|kg|km|mol|ppm|ppb|dB|MB|GB|"
    r"percent|degrees?(?: Celsius)?|arc-?(?:seconds?|minutes?)|m a\.s\.l\.|[a-z]+meters?|[a-z]+metres?)"
)
_NUMBER = re.compile(
    rf"(?<![\w.,/-])(?P<value>[-−]?\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|[-−]?\d+(?:\.\d+)?)"
    rf"(?:(?P<unit>\s?{_UNIT}(?:[/·⋅ ]?(?:{_UNIT}(?:[-−]\d)?|s|d|day|year|yr|h)(?:[-−⁻]?[\d¹²])?)?(?![\w]))|(?P<noun>[\s-][a-z]{{3,}}(?:\s[a-z]{{3,}})?))?"
    r"(?![\w/]|\.\d)"
)
_NAME = re.compile(
    r"(?<![\w-])(?:[A-Z][\w'’-]*[a-z0-9][\w'’-]*|[A-Z]{2,}[\w-]*)(?:\s(?:of\s(?:the\s)?)?(?:[A-Z][\w'’-]+))*(?![\w-])"
)
_YEAR = re.compile(r"(?:18|19|20)\d\d")
# Only where an earlier year makes the sentence false: "until 2013" would still be true of what lasted until 2020.
_DATED = re.compile(
    rf"\b(?:in|since|from|between|during|years?)\s(?P<year>{_YEAR.pattern})(?![\w,.]?\d|\s?{_UNIT}(?!\w))"
)
_SOME_YEAR = re.compile(
    rf"\b(?:in|since|from|between|during|years?|and|to|till|until|before|after|by)\s(?P<year>{_YEAR.pattern})(?!\d|\s?{_UNIT}(?!\w))"
)
_LIMITS = (
    (re.compile(r"\s?(?:%|per ?cent\b)"), 100),
    (re.compile(r"\s?(?:°|degrees? )\s?[NS]\b"), 90),
    (re.compile(r"\s?(?:°(?!\s?C)|degrees? [EW]\b)"), 180),
)
"""Units whose values cannot exceed a limit, first match counts."""
_NOUN_STOP = frozenset(
    [
        "and",
        "the",
        "with",
        "from",
        "for",
        "was",
        "were",
        "are",
        "that",
        "which",
        "has",
        "have",
        "had",
        "but",
        "not",
        "can",
        "may",
        "than",
        "between",
        "into",
        "per",
        "each",
        "using",
        "based",
    ]
)
_MONTHS = frozenset(
    [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
        "Title",
        "Description",
        "Keywords",
    ]
)


@dataclass(frozen=True)
class Fact:
    """A piece of a sentence, [start, end), that can be the answer to a question about the rest of it."""

    kind: Literal["number", "name"]
    start: int
    end: int
    text: str
    counted: bool = False
    """Whether the number counts things, rather than measures in a unit."""


@dataclass(frozen=True)
class Change:
    """A sentence made false on purpose: ``old`` was replaced by ``new``."""

    text: str
    old: str
    new: str


def numbers(sentence: str) -> list[Fact]:
    """Numbers with the unit or the counted noun that follows them; bare years and reference numbers are left out."""
    found = []
    years = {m.start("year") for m in _SOME_YEAR.finditer(sentence)}
    for match in _NUMBER.finditer(sentence):
        if match.start() in years:
            continue
        noun = (match.group("noun") or "").strip(" -")
        words = []
        for word in noun.split():
            if word in _NOUN_STOP:
                break
            words.append(word)
        unit = match.group("unit")
        if not unit and not words:
            continue
        end = match.end("unit") if unit else match.start("noun") + 1 + len(" ".join(words))
        found.append(Fact("number", match.start(), end, sentence[match.start() : end], counted=not unit))
    return found


def names(sentence: str) -> list[Fact]:
    """Names, acronyms and instruments: capitalised runs that do not merely begin the sentence."""
    found = []
    for match in _NAME.finditer(sentence):
        text = match.group()
        start = match.start()
        lead = re.match(r"(?:The|This|These|Those|A|An|In|At|On|For|From|However|Our|We|It|Its)\s+", text)
        if lead:
            start, text = start + lead.end(), text[lead.end() :]
        single = " " not in text
        begins = start == 0 and single and not text.isupper() and not any(c.isdigit() for c in text)
        if begins or text in _MONTHS or len(text) < 3 or text.lower() in _NOUN_STOP:
            continue
        found.append(Fact("name", start, match.end(), text))
    return found


def change(
    sentence: str, others: Iterable[str], opposites: Sequence[tuple[str, str]], rng: random.Random
) -> Change | None:
    """The sentence with one fact changed by rule, so that it is no longer what the source says; None where no rule applies.

    In order of preference: a word by its opposite, a number by another of the same form, a year by an earlier one, a
    name by another name of the material.
    """
    for old, new in rng.sample(list(opposites), len(opposites)):
        for a, b in ((old, new), (new, old)):
            match = re.search(rf"(?<![\w-]){re.escape(a)}(?![\w-])", sentence, re.IGNORECASE)
            if match and not re.search(rf"(?<![\w-]){re.escape(b)}(?![\w-])", sentence, re.IGNORECASE):
                word = b.capitalize() if match.group()[0].isupper() else b
                return Change(sentence[: match.start()] + word + sentence[match.end() :], match.group(), word)
    counted = numbers(sentence)
    if counted:
        fact = rng.choice(counted)
        altered = other_number(fact.text, rng)
        return Change(sentence[: fact.start] + altered + sentence[fact.end :], fact.text, altered)
    dated = list(_DATED.finditer(sentence))
    if dated:
        match = rng.choice(dated)
        altered = other_number(match["year"], rng)
        return Change(sentence[: match.start("year")] + altered + sentence[match.end("year") :], match["year"], altered)
    named = names(sentence)
    spare = other_names(sentence, others)
    if named and spare:
        fact = rng.choice(named)
        new = rng.choice([n for n in spare if _shape(n) == _shape(fact.text)] or spare)
        return Change(sentence[: fact.start] + new + sentence[fact.end :], fact.text, new)
    return None


def other_number(text: str, rng: random.Random) -> str:
    """Another number of the same form and unit: halved, doubled, tripled or five times as large.

    A percentage stays within 100, an angle within what it can be, and a year becomes an earlier one, so that the question does not give itself away.
    """
    match = re.search(r"\d[\d,]*(?:\.\d+)?", text)
    if match is None:
        raise ValueError(f"no number in {text!r}")
    digits = match.group()
    decimals = len(digits.partition(".")[2])
    value = float(digits.replace(",", ""))
    if _YEAR.fullmatch(digits) and not re.match(rf"\s?{_UNIT}(?!\w)", text[match.end() :]):
        altered = value - rng.choice((3, 4, 6, 7))
    elif value == 0:
        altered = float(rng.choice((1, 2, 5)))
    else:
        choices = [value * f for f in (2.0, 3.0, 5.0)]
        limit = next((most for unit, most in _LIMITS if unit.match(text, match.end())), math.inf)
        choices = [c for c in choices if c <= limit] or [_half(value, decimals)]
        if decimals or value % 2 == 0:
            choices.append(value / 2)
        altered = rng.choice(choices)
    shown = f"{altered:,.{decimals}f}" if "," in digits else f"{altered:.{decimals}f}"
    return text[: match.start()] + shown + text[match.end() :]


def _shape(name: str) -> tuple[bool, bool]:
    """Acronym or not, one word or several: a name is better swapped for one that looks like it."""
    return name.isupper(), " " in name


def _half(value: float, decimals: int) -> float:
    """Half of a value with that many decimals, always another number once it is shown with them."""
    unit = 10.0**-decimals
    return math.floor(value / 2 / unit) * unit


def other_names(sentence: str, others: Iterable[str]) -> list[str]:
    """Names of the other passages that the sentence does not hold, in their order."""
    mine = sentence.lower()
    found = (fact.text for other in others for fact in names(other))
    return [n for n in dict.fromkeys(found) if n.lower() not in mine]
