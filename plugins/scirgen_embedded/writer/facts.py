"""Finds the facts of a sentence about which a short question can ask: numbers with their unit, and names.

It serves models that are too small to plan a question: the fact is chosen first, so that the answer is verbatim.
`alterations` changes facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from scirgen.plugin import content_words

UNIT = (
    r"(?:°(?:\s?[CNSEW](?!\w))?|℃|%|‰|(?:k|c|m|d|μ|µ|n|h|M|G)?(?:m|g|s|W|Hz|Pa|bar|eV|J|L|l|K)(?:[²³]|\^?-?[23])?|"
    r"ha|kg|km|mol|ppm|ppb|dB|MB|GB|"
    r"percent|degrees?(?: Celsius)?|arc-?(?:seconds?|minutes?)|m a\.s\.l\.|[a-z]+meters?|[a-z]+metres?)"
)
_NUMBER = re.compile(
    rf"(?<![\w.,/–−-])(?P<value>[-–−]?\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|[-–−]?\d+(?:\.\d+)?)"
    rf"(?:(?P<unit>\s?{UNIT}(?:[/·⋅ ]?(?:{UNIT}(?:[-−]\d)?|s|d|day|year|yr|h)(?:[-−⁻]?[\d¹²])?)?(?![\w]))|"
    rf"(?P<noun>[\s-][a-z]{{3,}}(?:\s[a-z]{{3,}})?))?"
    r"(?![\w/]|\.\d)"
)
_NAME = re.compile(
    r"(?<![\w-])(?:[A-Z][\w'’-]*[a-z0-9][\w'’-]*|[A-Z]{2,}[\w-]*)(?:\s(?:of\s(?:the\s)?)?(?:[A-Z][\w'’-]+))*(?![\w-])"
)
YEAR = re.compile(r"(?:18|19|20)\d\d")
_SOME_YEAR = re.compile(
    rf"\b(?:in|since|from|between|during|years?|and|to|till|until|before|after|by)\s"
    rf"(?P<year>{YEAR.pattern})(?!\d|\s?{UNIT}(?!\w))"
)
_REFERENCE = re.compile(
    r"\b(?:fig(?:ure)?s?|tab(?:le)?s?|eqs?|equations?|sections?|sect|chapters?|appendix|steps?|types?|levels?|"
    r"versions?|ver|no|nos|numbers?|phases?|parts?|tasks?|bands?|channels?|collections?|scenarios?|samples?|sites?|"
    r"stations?)\.?\s(?:\(?\w{1,3}\)?\s?(?:,|and|to|-|–)\s?)?$",
    re.IGNORECASE,
)
"""Words after which a number is a name and not a count: "Fig. 3 shows", "band 4 covers"."""
_BOUND = re.compile(
    r"(?:\b(?:than|at least|at most|up to|above|below|over|under|beyond|within|exceed(?:s|ed|ing)?|"
    r"about|around|nearly|almost|to|by|x)|[<>≤≥~×±])\s?$",
    re.I,
)
_SIDE = re.compile(r"\s?(?:by|x|×|to|±)\s?\d", re.I)
_AND = re.compile(r",?\s(?:(?:and|or)\s)?")
"""The text between the entries of a list."""
_SPANS = frozenset(("year", "month", "week", "day", "hour", "minute", "second"))
_VERBS = frozenset((
    "shows", "indicates", "suggests", "presents", "provides", "gives", "includes", "contains", "covers", "lies", "does",
    "uses", "means",
))  # fmt: skip
_FOLLOWED = re.compile(r"\s([a-z]{3,})")
_PRECEDED = re.compile(r"(\w+)\s(?:the\s)?$")
_PLACED = frozenset(("in", "at", "over", "across", "throughout", "near"))
_LEADING = frozenset((*_PLACED, "by", "from", "using", "via", "called", "named"))
"""Words after which a name is a whole phrase that can be asked for."""
_INSTANCE = re.compile(
    r"\b(?:such as|for example|for instance|e\.g\.|including|among them),?\s([^.;)]+)", re.IGNORECASE
)
_AUXILIARY = re.compile(r"(?<!-)\b(is|are|was|were|has|have|can|does|do|did|will)\b")
_NOUN_STOP = frozenset((
    "and", "the", "with", "from", "for", "was", "were", "are", "that", "which", "has", "have", "had",
    "but", "not", "can", "may", "than", "between", "into", "per", "each", "using", "based",
))  # fmt: skip
_MONTHS = frozenset((
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December", "Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct",
    "Nov", "Dec", "Title", "Description", "Keywords",
))  # fmt: skip


_MARKS = re.compile(
    r"\s?\[\d{1,3}(?:\s?[,–-]\s?\d{1,3})*\]|\s?\((?:see )?(?:figs?|figures?|tables?|eqs?|equations?)\b\.?[^()]{0,30}\)",
    re.IGNORECASE,
)


_LINKED = re.compile(
    r"(^|(?<=[.!?] ))"
    r"(?:First|Second|Third|Fourth|Finally|Lastly|However|Therefore|Thus|Hence|Moreover|Furthermore|Nevertheless"
    r"|Consequently|Additionally|In addition|By contrast|In contrast|As a result|On the other hand)(?:ly)?,\s+(\w)"
)
_CLAUSE = re.compile(
    r"(?:When|While|If|As|Although|Though|After|Before|Since|Because|Once|Where|Whereas|Unless)\b[^,]*,\s"
)


def readable(sentence: str) -> str:
    """Return the sentence without references to other text: "[17,18]", "(Fig. 3)", "First," or "However," at its
    beginning.

    Neither a question nor an answer may repeat them.
    """
    return _LINKED.sub(lambda m: m.group(2).upper(), _MARKS.sub("", sentence))


@dataclass(frozen=True)
class Fact:
    """A piece of a sentence, [start, end), that can be the answer to a question about the rest of it."""

    kind: Literal["number", "name", "word"]
    start: int
    end: int
    text: str
    counted: bool = False
    """A flag: the number counts things and is not a measurement in a unit."""


def numbers(sentence: str) -> list[Fact]:
    """Return the numbers with the unit or the counted noun that follows them; bare years and reference numbers are left
    out."""
    found = []
    years = {m.start("year") for m in _SOME_YEAR.finditer(sentence)}
    for match in _NUMBER.finditer(sentence):
        unit = match.group("unit")
        if _listed(sentence, match.start()):
            continue
        if match.start() in years or (not unit and _REFERENCE.search(sentence, 0, match.start())):
            continue
        words = _counted((match.group("noun") or "").strip(" -").split())
        if not unit and not words:
            continue
        end = match.end("unit") if unit else match.start("noun") + 1 + len(" ".join(words))
        found.append(Fact("number", match.start(), end, sentence[match.start() : end], counted=not unit))
    return [f for n, f in enumerate(found) if not any(_in_a_row(sentence, f, g) for g in found[max(n - 1, 0) : n + 2])]


def exact_numbers(sentence: str) -> list[Fact]:
    """Return those of `numbers` that are exact amounts: neither a bound ("more than 9000") nor a side of "1 degree by 1
    degree"."""
    return [
        f for f in numbers(sentence) if not _BOUND.search(sentence, 0, f.start) and not _SIDE.match(sentence, f.end)
    ]


def _in_a_row(sentence: str, fact: Fact, other: Fact) -> bool:
    """Return whether two values are in one list, "at 2cm, 4cm and 10cm", so that neither alone is an answer."""
    first, second = sorted((fact, other), key=lambda f: f.start)
    return (
        first is not second
        and not (first.counted or second.counted)
        and _unit_of(first.text) == _unit_of(second.text)
        and _AND.fullmatch(sentence[first.end : second.start]) is not None
    )


def _listed(sentence: str, at: int) -> bool:
    """Return whether a number is in a parenthesis with others, "(10 cm, 20 cm)", or repeats one, "(about 25 km)"."""
    opened = sentence.rfind("(", 0, at)
    if opened < 0 or ")" in sentence[opened:at]:
        return False
    inside = sentence[opened + 1 :].partition(")")[0]
    return len(re.findall(r"\d+(?:\.\d+)?", inside)) > 1 or inside.casefold().startswith(
        ("about", "approximately", "i.e", "~")
    )


def _counted(following: Sequence[str]) -> list[str]:
    """Return the counted noun at the beginning of the words after a number; "" without a plural: "10 most
    important"."""
    for position, word in enumerate(following):
        if word in _NOUN_STOP or word in _VERBS:
            break
        if word in _SPANS or (word.endswith("s") and not word.endswith(("ss", "us", "is"))):
            return list(following[: position + 1])
    return []


def telling_apart(sentence: str, fact: Fact, found: Sequence[Fact]) -> set[str]:
    """Return the words that distinguish a value from others of its unit: words of its clause that occur nowhere else in
    the sentence.

    Empty if it is the only value of its unit, or if no word distinguishes them.
    """
    unit = _unit_of(fact.text)
    others = [f for f in found if f.start != fact.start and _unit_of(f.text) == unit]
    if not others:
        return set()
    edges = [m.start() for m in re.finditer(r"[,;()]", sentence)]
    start = max([e + 1 for e in edges if e < fact.start], default=0)
    end = min([e for e in edges if e >= fact.end], default=len(sentence))
    if sentence[: fact.start].rstrip().endswith("("):  # "... dominated by forbs (35 %)": its subject is before it
        start = max([e + 1 for e in edges if e < start - 1], default=0)
    # The subject of a value follows it ("5 % for sedges") or, if nothing follows, precedes it ("sedges 5 %").
    own = _telling(sentence[fact.end : end]) or _telling(sentence[start : fact.start])
    return own - _telling(sentence[:start] + " " + sentence[end:])


def _telling(text: str) -> set[str]:
    return {w for w in content_words(text) if len(w) > 3 and not w[0].isdigit()}


def _unit_of(text: str) -> str:
    return text.lstrip("-–−0123456789,. ")


def names(sentence: str) -> list[Fact]:
    """Return the names, acronyms and instruments: capitalised runs that do not merely begin the sentence."""
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


def rivals(sentence: str, fact: Fact, others: Iterable[str]) -> list[str]:
    """Return the names of other passages that could replace a name, in their order; none of them is in the sentence.

    They have the same form (acronym, digits, number of words) and the same position: before the same noun ("ERA5
    reanalysis", "JRA55 reanalysis") or, if no noun follows, after the same preposition; names of several words may also
    share the last one ("Heihe River Basin", "Yarlung River Basin").
    """
    mine, lowered = _place(sentence, fact), sentence.lower()
    found: dict[str, None] = {}
    for other in others:
        for name in names(other):
            if (
                name.text.lower() in lowered
                or fact.text.lower() in name.text.lower()
                or _shape(name.text) != _shape(fact.text)
            ):
                continue
            if _same_thing(name.text, fact.text):
                continue
            alike = " " in name.text and name.text.split()[-1] == fact.text.split()[-1]
            if alike or (mine[1] and mine == _place(other, name)):
                found[name.text] = None
    return list(found)


def _same_thing(one: str, other: str) -> bool:
    """Return whether two names may be spellings of the same name: their first words have a part in common.

    "Qinghai-Xizang Plateau" and "Qinghai-Tibet Plateau", "ERA5" and "ERA5-Land"; not "Heihe River" and "Yarlung River".
    """
    first, second = ([p for p in re.split(r"[\s/-]+", n.casefold()) if p] for n in (one, other))
    begins = {re.split(r"[\s/-]+", n.casefold())[0] for n in (one, other)}
    return bool(begins & set(first) & set(second))


def stands_alone(sentence: str, fact: Fact) -> bool:
    """Return whether a name is a whole phrase after a preposition, and not part of a longer one ("the fresh ANPP of
    plants") or of a list."""
    noun, before = _place(sentence, fact)
    after = sentence[fact.end :]
    listed = (near := _AND.match(after)) is not None and after[near.end() : near.end() + 1].isupper()
    return not noun and not listed and before in _LEADING and not after.startswith((" of ", "-", "/"))


def main_auxiliary(sentence: str) -> re.Match[str] | None:
    """Return the main clause's first auxiliary, not that of a clause before it ("When the plots were burnt, ...")."""
    clause = _CLAUSE.match(sentence)
    return _AUXILIARY.search(sentence, clause.end() if clause else 0)


def opening(sentence: str, stems: Sequence[str]) -> str:
    """Return the auxiliary that a yes-or-no question made of a sentence begins with ("were measured" -> "Were").

    One of ``stems``, if they are given; "" if there is none.
    """
    first = main_auxiliary(sentence)
    for match in _AUXILIARY.finditer(sentence, first.start()) if first else ():
        word = match.group(1).capitalize()
        found = next((s for s in stems if s.casefold() == word.casefold()), None) if stems else word
        if found:
            return found
    return ""


def instances(sentence: str) -> list[str]:
    """Return the examples of a sentence: the words after "such as", "for example" and the like, up to the end of the
    clause."""
    return [m.group(1).strip() for m in _INSTANCE.finditer(sentence)]


def is_place(sentence: str, fact: Fact) -> bool:
    """Return whether a name is a place, judged by its words and the preposition before it."""
    _, before = _place(sentence, fact)
    return before in _PLACED and not fact.text.isupper() and not any(c.isdigit() for c in fact.text)


def _place(sentence: str, fact: Fact) -> tuple[str, str]:
    """Return the noun right after a name ("" if there is none), and the word before it; if there is a noun, it alone
    decides."""
    after = _FOLLOWED.match(sentence, fact.end)
    if after and after.group(1) not in _NOUN_STOP:
        return after.group(1), after.group(1)
    before = _PRECEDED.search(sentence, 0, fact.start)
    word = before.group(1).lower() if before else ""
    return "", word if word in _LEADING else ""


def _shape(name: str) -> tuple[bool, bool, bool]:
    """Return the form of a name: acronym or not, one word or several, with digits or without. A name is exchanged for
    one of the same form."""
    return name.isupper(), " " in name, any(c.isdigit() for c in name)
