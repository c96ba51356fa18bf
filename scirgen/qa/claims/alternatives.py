"""Writes alternatives of an answer that differ in one checkable point.

If a scorer prefers one of them, given the evidence, the answer is probably wrong
(`stages.filter.faithfulness.contrast`). Words come from `taxonomies/wording.yaml`; numbers and names from the evidence,
then from the context.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, zip_longest
from typing import Final, Literal

from scirgen.core.taxonomy import LanguageWording, QuestionType
from scirgen.core.text.textmatch import content_words, normalise, stem, words
from scirgen.qa.claims.quantities import Quantity, quantities
from scirgen.qa.conformance import polarity

Kind = Literal["polarity", "option", "number", "unit", "exchange", "opposite", "negation", "name", "degree"]

MOST: Final = 8
"""Alternatives of one answer."""

_UNITS: Final = (
    ("mm", "cm", "m", "km"), ("s", "min", "h", "d"), ("minutes", "hours", "days", "months", "years"), ("g", "kg", "t"),
    ("hourly", "daily", "monthly", "annual"),
)  # fmt: skip
_NAME = re.compile(r"(?<![\w-])(?:[A-Z][\w-]*[A-Z0-9][\w/-]*|[A-Z][a-z]+(?:[ -][A-Z][a-z]+)*)(?![\w-])")
_WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*")


@dataclass(frozen=True)
class Alternative:
    """The answer with one point changed.

    Attributes:
        text: the whole altered answer.
        kind: the kind of change.
        said: the answer's words at that point.
        instead: the alternative's words there.
    """

    text: str
    kind: Kind
    said: str
    instead: str

    @property
    def sentence(self) -> str:
        """Reason for the rejection if the evidence prefers this alternative."""
        return f"the evidence prefers {self.instead!r} to {self.said!r}"


def alternatives(
    question: str,
    answer: str,
    evidence: str,
    wording: LanguageWording,
    *,
    context: str = "",
    kind: QuestionType | None = None,
    most: int = MOST,
) -> tuple[Alternative, ...]:
    """Up to ``most`` alternatives, one of each kind in turn, so that no kind crowds out another.

    Args:
        question, answer: the pair.
        evidence: the text from which the answer must follow; numbers and names are taken from it first.
        wording: words of the pair's language.
        context: source of further numbers and names of the same sort.
        kind: the question's type; answers by yes or no and by options get their own alternatives.
    """
    if (said := polarity(answer, wording)) is not None and (kind is None or kind.polar or len(words(answer)) <= 3):
        return tuple(_polarity(answer, said, wording))[:most]
    by_kind: list[Iterable[Alternative]] = [
        _options(question, answer, wording) if kind is not None and kind.answer.kind == "option" else (),
        _numbers(answer, evidence, context),
        _exchanges(answer, evidence, question, wording),
        _opposites(answer, evidence, wording),
        _negations(answer, evidence, wording),
        _names(answer, evidence, context),
        _degrees(answer, evidence, wording),
        _units(answer),
    ]
    found: dict[str, Alternative] = {}
    for row in zip_longest(*by_kind):
        for one in row:
            if one is not None and one.text != answer and one.text not in found:
                found[one.text] = one
    return tuple(found.values())[:most]


def _put(answer: str, start: int, end: int, instead: str, kind: Kind) -> Alternative:
    return Alternative(answer[:start] + instead + answer[end:], kind, answer[start:end], instead)


def _polarity(answer: str, said: str, wording: LanguageWording) -> Iterator[Alternative]:
    mine, theirs = (wording.affirmative, wording.negative) if said == "yes" else (wording.negative, wording.affirmative)
    for word in sorted(mine, key=len, reverse=True):
        if normalise(answer).startswith(normalise(word)) and theirs:
            other = theirs[0].capitalize() if answer[:1].isupper() else theirs[0]
            yield _put(answer, 0, len(word), other, "polarity")
            return


def _options(question: str, answer: str, wording: LanguageWording) -> Iterator[Alternative]:
    """The options that the question names other than the one that the answer chooses."""
    mine = set(content_words(answer, wording.stop))
    for option in options(question, wording):
        theirs = set(content_words(option, wording.stop))
        if theirs and not theirs <= mine and not (mine and mine <= theirs):
            yield Alternative(option, "option", answer, option)


def options(question: str, wording: LanguageWording) -> tuple[str, ...]:
    """The options of a question, in its words: the text around its "or", back to a word that they do not share."""
    if not wording.either:
        return ()
    joints = "|".join(re.escape(w) for w in wording.either)
    body = question.strip().rstrip("?？. ")
    parts = re.split(rf"\s*,?\s+(?:{joints})\s+", body, flags=re.IGNORECASE)
    if len(parts) < 2:
        return ()
    last = parts[-1].strip()
    size = max(1, len(last.split()))
    lead = parts[0]
    listed = [p.strip() for p in re.split(r"\s*[,:;]\s+", lead) if p.strip()]
    if len(listed) > 1 and len(listed[-1].split()) <= size + 2:
        first = listed[-1]
    else:
        tokens = lead.split()
        found = [i for i in range(len(tokens)) if tokens[i].lower().strip(",") in wording.stop]
        near = [i for i in found if len(tokens) - 1 - i >= 1]
        first = " ".join(tokens[near[-1] + 1 :] if near else tokens[-size:])
    return tuple(dict.fromkeys([first, *[p.strip() for p in parts[1:-1]], _trimmed(last, first)]))


def _trimmed(last: str, first: str) -> str:
    """The last option without the clause that follows it."""
    return " ".join(re.split(r"[,;]", last)[0].split()[: max(4, len(first.split()) + 3)])


def _numbers(answer: str, evidence: str, context: str) -> Iterator[Alternative]:
    """Replace each number by others of the evidence, then of the context, then by one of another size or sign."""
    mine = quantities(answer)
    taken = {abs(q.value) for q in mine}
    pools = [[q for q in quantities(t) if abs(q.value) not in taken] for t in (evidence, context)]
    rows = [list(_for_number(answer, q, pools)) for q in mine]
    for row in zip_longest(*rows):
        yield from (one for one in row if one is not None)


def _for_number(answer: str, q: Quantity, pools: Sequence[Sequence[Quantity]]) -> Iterator[Alternative]:
    seen: set[float] = {abs(q.value)}
    digits = answer[q.start : q.digits_end]
    start = q.start + (len(digits) - len(digits.lstrip("+-–−— ")))
    for pool in pools:
        fitting = [o for o in pool if o.unit == q.unit and o.year == q.year] or [o for o in pool if o.year == q.year]
        for other in sorted(fitting, key=lambda o: (o.unit != q.unit, (o.decimals > 0) != (q.decimals > 0))):
            if abs(other.value) not in seen:
                seen.add(abs(other.value))
                new = other.text[: other.digits_end - other.start].lstrip("+-–−— ")
                yield _put(answer, start, q.digits_end, new, "number")
    if not q.year and "/" not in q.text and q.value:
        factor = 10 if abs(q.value) < 10 else 0.5
        yield _put(answer, start, q.digits_end, f"{abs(q.value) * factor:.{q.decimals}f}", "number")


def _units(answer: str) -> Iterator[Alternative]:
    for q in quantities(answer):
        written = answer[q.digits_end : q.end].strip()
        yield from _of_group(answer, q.end - len(written), q.end, written)
    for match in _WORD.finditer(answer):
        if match.group().lower() in _UNITS[-1]:
            yield from _of_group(answer, match.start(), match.end(), match.group())


def _of_group(answer: str, start: int, end: int, written: str) -> Iterator[Alternative]:
    for group in _UNITS:
        if written in group:
            at = group.index(written)
            for near in (at - 1, at + 1):
                if 0 <= near < len(group):
                    yield _put(answer, start, end, group[near], "unit")


def _exchanges(answer: str, evidence: str, question: str, wording: LanguageWording) -> Iterator[Alternative]:
    """Exchange two similar things of the answer: numbers, names, or the words on both sides of a joint."""
    counted = [q for q in quantities(answer) if not q.count]
    for a, b in combinations(counted, 2):
        if a.unit == b.unit and a.year == b.year and abs(a.value) != abs(b.value):
            yield _exchanged(answer, (a.start, a.digits_end), (b.start, b.digits_end))
    named = _named(answer)
    for first, second in pairwise(named):
        if answer[first[0] : first[1]] != answer[second[0] : second[1]]:
            yield _exchanged(answer, first, second)
    yield from _across(answer, evidence, question, wording)


def _across(answer: str, evidence: str, question: str, wording: LanguageWording) -> Iterator[Alternative]:
    if not wording.joints:
        return
    known = set(content_words(f"{evidence} {question}"))
    joint = re.compile(rf"[,;]|\b(?:{'|'.join(re.escape(j) for j in wording.joints)})\b", re.IGNORECASE)
    for match in joint.finditer(answer):
        left = [m for m in _WORD.finditer(answer, 0, match.start()) if _telling(m.group(), known, wording)]
        right = [m for m in _WORD.finditer(answer, match.end()) if _telling(m.group(), known, wording)]
        for a, b in (
            pair for pair in ((left[:1], right[:1]), (left[-1:], right[:1]), (left[:1], right[-1:])) if all(pair)
        ):
            one, other = a[0], b[0]
            if stem(one.group().lower()) != stem(other.group().lower()):
                yield _exchanged(answer, one.span(), other.span())


def _telling(word: str, known: set[str], wording: LanguageWording) -> bool:
    plain = word.lower()
    return len(word) > 2 and plain not in wording.stop and stem(plain) in known


def _exchanged(answer: str, a: tuple[int, int], b: tuple[int, int]) -> Alternative:
    one, other = answer[a[0] : a[1]], answer[b[0] : b[1]]
    if a[0] == 0 and one[:1].isupper() and other[:1].islower():
        one, other = one[:1].lower() + one[1:] if one[1:].islower() else one, other[:1].upper() + other[1:]
    text = answer[: a[0]] + other + answer[a[1] : b[0]] + one + answer[b[1] :]
    between = f"{answer[a[0] : a[1]]} ... {answer[b[0] : b[1]]}"
    return Alternative(text, "exchange", between, f"{other} ... {one}")


def _opposites(answer: str, evidence: str, wording: LanguageWording) -> Iterator[Alternative]:
    pairs = (*wording.opposites, *wording.contrasts, *wording.antonyms)
    yield from _exchanged_words(answer, evidence, pairs, "opposite")


def _degrees(answer: str, evidence: str, wording: LanguageWording) -> Iterator[Alternative]:
    yield from _exchanged_words(answer, evidence, wording.degrees, "degree")


def _exchanged_words(answer: str, evidence: str, pairs: Iterable[tuple[str, str]], kind: Kind) -> Iterator[Alternative]:
    """Replace words by their counterparts if the evidence has the counterpart; between two words that it never read, a
    scorer has no preference."""
    known = {stem(w) for w in words(evidence)}
    for pair in pairs:
        for said, instead in (pair, pair[::-1]):
            if not ({stem(w) for w in words(instead)} - {stem(w) for w in words(said)}) & known:
                continue
            for match in re.finditer(rf"(?<![\w-]){re.escape(said)}(?!\w)", answer, re.IGNORECASE):
                new = instead.capitalize() if match.group()[0].isupper() else instead
                yield _put(answer, match.start(), match.end(), new, kind)


def _negations(answer: str, evidence: str, wording: LanguageWording) -> Iterator[Alternative]:
    """Make a negated statement plain, always; negate a plain one if the evidence negates something."""
    denies = bool(set(words(evidence)) & set(wording.negating))
    both = [way for pair in wording.negations for way in (pair[::-1], pair)]
    for said, instead in both:
        plain, negated = sorted((said, instead), key=len)
        if not said or (said == plain and not denies):
            continue
        tail = r"\s+" if not instead else r"(?![\w-])"
        for match in re.finditer(rf"(?<![\w-]){re.escape(said)}{tail}", answer, re.IGNORECASE):
            doubled = negated.startswith(plain) and answer[match.end() :].lower().startswith(
                negated[len(plain) :].lower()
            )
            if said == negated or not doubled:
                yield _put(answer, match.start(), match.end(), instead, "negation")


def _names(answer: str, evidence: str, context: str) -> Iterator[Alternative]:
    mine = {answer[a:b].lower() for a, b in _named(answer)}
    pools = [dict.fromkeys(t[a:b] for t in (text,) for a, b in _named(t)) for text in (evidence, context)]
    for a, b in _named(answer):
        said = answer[a:b]
        # If the evidence has neither name, it cannot prefer one; the dataset's own name often comes only from its title.
        for pool in pools if said.lower() in evidence.lower() else pools[:1]:
            like = [
                n for n in pool if n.lower() not in mine and _sort(n) == _sort(said) and n.lower() not in said.lower()
            ]
            for name in like[:2]:
                yield _put(answer, a, b, name, "name")


def _named(text: str) -> list[tuple[int, int]]:
    """Names: abbreviations anywhere, and capitalised words that do not begin a sentence."""
    return [
        m.span()
        for m in _NAME.finditer(text)
        if _sort(m.group()) == "abbreviation" or (m.start() and not re.search(r"[.!?:]\s*$", text[: m.start()]))
    ]


def _sort(name: str) -> str:
    if sum(c.isupper() for c in name) > 1 and " " not in name:
        return "abbreviation"
    return f"{len(name.split())} words"
