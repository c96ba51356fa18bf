"""Makes true answers false by rule, in eight kinds, to measure which parts of the filter catch them. Pure functions.

An answer is changed only where the change makes it false: the new number, place or year is nowhere in its evidence.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from scirgen import QAPair
from scirgen.claims.conformance import polarity
from scirgen.claims.quantities import quantities, stated
from scirgen.core.taxonomy import LanguageWording

T = TypeVar("T")


@dataclass(frozen=True)
class Around:
    """Holds the texts from which the falsehoods of one pair are drawn.

    Attributes:
        wording: words of the pair's language.
        places: proper names after a preposition of place, of all pairs.
        others: answers of the same question type about other datasets.
        draw: decides among several changes.
    """

    wording: LanguageWording
    places: Sequence[str]
    others: Sequence[str]
    draw: random.Random


Maker = Callable[[QAPair, Around], str]
_PLACE = re.compile(r"\b(?:in|at|near|from|across|off|around|of)\s(?:the\s)?((?:[A-Z][\w'’-]+\s?){1,4})(?![\w-])")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_SEASONS: Final = ("spring", "summer", "autumn", "winter")
_YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]|20)\d\d(?![\d,]|\.\d)")
_UNITS: Final[Mapping[str, str]] = {
    "mm": "cm", "cm": "mm", "m": "km", "km": "m", "%": "‰", "°C": "°F", "°": " km", "g": "kg", "kg": "g", "ha": "km2",
    "km2": "ha", "km²": "ha", "h": "days", "hPa": "kPa", "s": "min", "min": "h",
    "days": "weeks", "day": "week", "hours": "days", "hour": "day", "minutes": "hours", "years": "months",
    "year": "month", "months": "years", "month": "year", "weeks": "days", "week": "day", "meters": "kilometers",
    "metres": "kilometres", "kilometers": "meters", "kilometres": "metres", "percent": "per mille",
}  # fmt: skip
_STRONGER: Final = (
    ("may", "always"), ("might", "will certainly"), ("can", "always"), ("could", "did"), ("some", "all"),
    ("most", "all"), ("many", "all"), ("often", "always"), ("sometimes", "always"), ("usually", "always"),
    ("partly", "entirely"), ("suggests", "proves"), ("suggest", "prove"), ("suggested", "proved"),
    ("likely", "certainly"), ("possibly", "certainly"), ("probably", "certainly"), ("mainly", "only"),
    ("mostly", "only"), ("associated with", "caused by"), ("correlated with", "caused by"),
    ("helps", "suffices alone to"), ("generally", "without exception"), ("several", "all"),
)  # fmt: skip
_SWAPPED = (
    re.compile(r"\b(from )([^,;.]{2,50}?)( to )([^,;.]{2,50}?)(?=[,;.]|$)"),
    re.compile(r"^([^,;]{3,60}?)( (?:\w+ )?(?:higher|lower|larger|smaller|more|less|better|earlier|later|greater)\b"
               r"[^,;.]{0,40} than )([^,;.]{3,60})(?=[,;.]|$)", re.I),
)  # fmt: skip


def _evidence(pair: QAPair) -> str:
    return "\n".join(s.text for s in pair.evidence)


def number(pair: QAPair, around: Around) -> str:
    """Change a number that is not a year to one that the evidence does not state."""
    known = stated(f"{_evidence(pair)}\n{pair.question}", around.wording.number_words)
    for q in _shuffled((q for q in quantities(pair.answer) if not q.year), around):
        digits = pair.answer[q.start : q.digits_end]
        plain = re.fullmatch(r"\d+(?:\.\d+)?", digits)
        if not plain:
            continue
        for factor in (1.3, 0.6, 2.4, 3.7):
            value = float(digits) * factor
            new = f"{value:.{q.decimals}f}" if q.decimals else str(max(2, round(value)))
            changed = pair.answer[: q.start] + new + pair.answer[q.digits_end :]
            claimed = next((c for c in quantities(changed) if c.start == q.start), None)
            if claimed is not None and new != digits and not known.holds(claimed):
                return changed
    return ""


def unit(pair: QAPair, around: Around) -> str:
    """Change the unit of a number."""
    for q in _shuffled(quantities(pair.answer), around):
        written = pair.answer[q.digits_end : q.end]
        other = _UNITS.get(written.strip(" -\u00a0\u2009"))
        if other:
            gap = written[: len(written) - len(written.lstrip(" -\u00a0\u2009"))]
            return f"{pair.answer[: q.digits_end]}{gap}{other}{pair.answer[q.end :]}"
    return ""


def place(pair: QAPair, around: Around) -> str:
    """Change a place to one that only other pairs name."""
    near = f"{_evidence(pair)}\n{pair.question}\n{pair.answer}"
    for name in _shuffled(places(pair.answer), around):
        other = next((p for p in _shuffled(around.places, around) if p not in near), "")
        if other:
            return pair.answer.replace(name, other, 1)
    return ""


def time(pair: QAPair, around: Around) -> str:
    """Change a year, a month or a season to one that the evidence does not name."""
    near = f"{_evidence(pair)}\n{pair.question}"
    for match in _shuffled(_YEAR.finditer(pair.answer), around):
        for step in (3, -3, 7, -7, 12):
            year = str(int(match.group()) + step)
            if year not in near:
                return pair.answer[: match.start()] + year + pair.answer[match.end() :]
    for names in (_MONTHS, _SEASONS):
        said = [n for n in names if re.search(rf"\b{n}\b", pair.answer)]
        others = [n for n in names if n not in near and n not in pair.answer]
        if said and others:
            return re.sub(rf"\b{said[0]}\b", around.draw.choice(others), pair.answer, count=1)
    return ""


def direction(pair: QAPair, around: Around) -> str:
    """Turn a word of direction, or a Yes or No, into its opposite."""
    wording = around.wording
    said = polarity(pair.answer, wording)
    if said is not None and len(pair.answer.split()) == 1 and wording.affirmative and wording.negative:
        return (wording.negative if said == "yes" else wording.affirmative)[0].capitalize()
    for one, other in _shuffled((*wording.opposites, *wording.antonyms), around):
        for mine, new in ((one, other), (other, one)):
            found = re.search(rf"\b{re.escape(mine)}\b", pair.answer, re.I)
            if found and not re.search(rf"\b{re.escape(new)}\b", pair.answer, re.I):
                turned = new.capitalize() if found.group()[0].isupper() else new
                return pair.answer[: found.start()] + turned + pair.answer[found.end() :]
    return ""


def swapped(pair: QAPair, around: Around) -> str:
    """Exchange two parts: of a comparison, of a change, or two numbers of one unit."""
    if found := _SWAPPED[0].search(pair.answer):
        start, one, to, other = found.groups()
        return pair.answer[: found.start()] + start + other + to + one + pair.answer[found.end() :]
    if found := _SWAPPED[1].search(pair.answer):
        one, than, other = found.groups()
        return pair.answer[: found.start()] + other + than + one + pair.answer[found.end() :]
    every = [q for q in quantities(pair.answer) if not q.year]
    for a, b in itertools.pairwise(every):
        between = pair.answer[a.end : b.start]
        alike = a.unit == b.unit and a.value != b.value
        if alike and len(between.split()) >= 3 and not between.startswith((" to", "-")):
            first, second = pair.answer[a.start : a.digits_end], pair.answer[b.start : b.digits_end]
            text = pair.answer
            return text[: a.start] + second + text[a.digits_end : b.start] + first + text[b.digits_end :]
    return ""


def stronger(pair: QAPair, around: Around) -> str:
    """Remove a qualification, or claim all where the evidence says some."""
    evidence = _evidence(pair).lower()
    for mild, strong in _shuffled(_STRONGER, around):
        found = re.search(rf"\b{mild}\b", pair.answer)
        if found and not re.search(rf"\b{strong.split()[-1]}\b", evidence):
            return pair.answer[: found.start()] + strong + pair.answer[found.end() :]
    return ""


def other_study(pair: QAPair, around: Around) -> str:
    """Answer with the answer of another dataset's pair of the same type."""
    fit = [a for a in around.others if a != pair.answer and 0.4 <= len(a) / max(1, len(pair.answer)) <= 2.5]
    return around.draw.choice(fit) if fit and polarity(pair.answer, around.wording) is None else ""


KINDS: Final[Mapping[str, Maker]] = {
    "number": number, "unit": unit, "place": place, "time": time, "direction": direction, "swapped": swapped,
    "stronger": stronger, "other_study": other_study,
}  # fmt: skip
"""Kind of falsehood -> what makes it; "" where an answer does not lend itself to it."""


def places(text: str) -> list[str]:
    """Find the proper names that follow a preposition of place."""
    found = (m.group(1).strip() for m in _PLACE.finditer(text))
    return [name for name in dict.fromkeys(found) if name not in _MONTHS and not name.isupper()]


def _shuffled(items: Iterable[T], around: Around) -> list[T]:
    found = list(items)
    around.draw.shuffle(found)
    return found
