"""Measures how many of an answer's words, numbers and names occur in its evidence. Pure functions; gates and scorers
set the limits.

Words are compared by family (`related`): "measured" meets "measurement", "month" meets "monthly". On the pairs of
`benchmarks.faithfulness`, lemmas separated right from wrong answers no better than stems (AUC 0.75 both), and families
a little better (0.76).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from scirgen.claims.quantities import Quantity, missing, quantities, stated
from scirgen.core.grouped import grouped
from scirgen.core.taxonomy import LanguageWording
from scirgen.core.text.textmatch import stem, words

_FEWEST_COUNTED = 2
_LETTERS_COUNTED = 4
_CLAUSE_END = re.compile(r"[.;:,!?()\n]")
_SHORT_NOT = re.compile(r"n['’]t\b")
_NO_NEGATOR = re.compile(r"(?i)\b(?:yes[-/])?no-(?=\w)|\byes[-/]no\b")
"""No-till plots and yes-no questions negate nothing."""
_NEAR = 4
"""A count belongs to a thing at most this many words after it."""


@dataclass(frozen=True)
class Support:
    """The parts of an answer that neither its evidence nor its question contains.

    Attributes:
        unknown: content words that neither evidence nor question has.
        numbers: numbers of the answer that neither evidence nor question states.
        absolute: words that allow no exception and that neither has ("all", "never", "prove").
        denied: words that the answer negates ("not", "cannot", "never") and the evidence has without a negation.
        antonyms: words that neither has, each with the opposite that one of them has.
    """

    unknown: tuple[str, ...]
    numbers: tuple[Quantity, ...]
    absolute: tuple[str, ...]
    denied: tuple[str, ...]
    antonyms: tuple[tuple[str, str], ...]


@lru_cache(maxsize=65536)
def related(word: str, other: str) -> float:
    """Return 1 for words of one family, 0.7 for words that share half of the longer one, 0 for others."""
    if word == other or stem(word) == stem(other):
        return 1.0
    common = 0
    for a, b in zip(word, other, strict=False):
        if a != b:
            break
        common += 1
    longest = max(len(word), len(other))
    if common >= 5 and common >= 0.6 * longest:
        return 1.0
    return 0.7 if common >= 4 and common >= 0.5 * longest else 0.0


def content(text: str, stop: Collection[str]) -> list[str]:
    """Return the content words in order, numbers left out, repeats kept."""
    return [w for w in words(text) if w not in stop and (len(w) > 1 or not w.isascii()) and not w[0].isdigit()]


def worded(answer: str) -> str:
    """Return the answer without its numbers and their units, which are compared as quantities."""
    for q in reversed(quantities(answer)):
        answer = f"{answer[: q.start]} {answer[q.end :]}"
    return answer


@lru_cache(maxsize=64)
def vocabulary(text: str, stop: frozenset[str]) -> frozenset[str]:
    """Collect the content words of a text; kept for the next rows about the same text."""
    return frozenset(content(text, stop))


def share_known(wanted: Sequence[str], *vocabularies: frozenset[str]) -> float:
    """Compute the share of the words that one of the vocabularies contains, in [0, 1]; 1 without words."""
    return sum(max(_nearest(w, v) for v in vocabularies) for w in wanted) / len(wanted) if wanted else 1.0


def support(answer: str, question: str, evidence: Sequence[str], wording: LanguageWording) -> Support:
    """Compare an answer with its evidence and its question.

    Args:
        answer, question: the pair.
        evidence: the texts from which the answer must follow.
        wording: words of the pair's language.
    """
    stop = wording.unclaiming
    whole = "\n".join(evidence)
    known = frozenset(content(f"{whole}\n{question}", stop))
    said = dict.fromkeys(content(worded(answer), stop))
    every = frozenset(words(whole)) | frozenset(words(question))
    return Support(
        unknown=tuple(w for w in said if _nearest(w, known) < 0.7),
        numbers=tuple(unstated(answer, f"{whole}\n{question}", wording)),
        absolute=tuple(w for w in dict.fromkeys(words(answer)) if w in wording.absolute and w not in every),
        denied=_denied(answer, whole, wording),
        antonyms=tuple(_turned(answer, f"{whole}\n{question}", wording)),
    )


def _turned(answer: str, text: str, wording: LanguageWording) -> Iterator[tuple[str, str]]:
    said, stood = (f" {' '.join(words(t))} " for t in (answer, text))
    for pair in (*wording.opposites, *wording.contrasts, *wording.antonyms):
        for mine, other in (pair, pair[::-1]):
            if f" {mine} " in said and f" {mine} " not in stood and f" {other} " in stood:
                yield mine, other


def _denied(answer: str, evidence: str, wording: LanguageWording) -> tuple[str, ...]:
    negated, _ = _negated(answer, wording.denying, 4, wording)
    theirs, plain = _negated(evidence, wording.negating, 6, wording)
    return tuple(sorted((negated & plain) - theirs))


def _negated(text: str, negators: Collection[str], reach: int, wording: LanguageWording) -> tuple[set[str], set[str]]:
    """Return the stems of the content words that follow a negator within their clause, at most ``reach`` words later;
    and stems of all content words."""
    inside: set[str] = set()
    every: set[str] = set()
    for clause in _CLAUSE_END.split(_NO_NEGATOR.sub("", _SHORT_NOT.sub(" not", text))):
        last = -reach - 1
        for at, word in enumerate(words(clause)):
            if word in negators or word in wording.clause_words:
                last = at if word in negators else -reach - 1
            elif word not in wording.stop and word not in wording.negating:
                base = stem(wording.base_forms.get(word, word))
                every.add(base)
                inside |= {base} if at - last <= reach else set()
    return inside, every


def unstated(
    answer: str, text: str, wording: LanguageWording, *, also: str = "", counts: bool = True
) -> list[Quantity]:
    """Find the answer's numbers that a text does not state; a count up to 20 only if the text gives another count of
    the same things.

    Args:
        answer: the answer.
        text: the text, whose numbers are kept for the next answer about it.
        wording: words of the language.
        also: a second text, such as the question.
        counts: off for a text so long that it counts another thing of the same name somewhere.
    """
    claimed = quantities(answer)
    if not claimed and not any(_count(w, wording.number_words) for w in words(answer)):
        return []  # most answers; a text's numbers are costly to read
    support = stated(text, wording.number_words)
    if also:
        support = support.joined(stated(also, wording.number_words))
        text = f"{text}\n{also}"
    lacking = missing(claimed, support)
    known = {q.value for q in claimed if q not in lacking} | support.values
    return [q for q in lacking if not q.count] + (_miscounted(answer, text, known, wording) if counts else [])


def _miscounted(answer: str, text: str, known: Collection[float], wording: LanguageWording) -> list[Quantity]:
    """Return the counts of the answer ("five plots") that a text does not state although it counts the same thing
    ("three mosquito plots")."""
    told = words(answer)
    number_words = wording.number_words
    if not any(_count(w, number_words) for w in told[:-1]):
        return []
    stood = words(text)
    known = {*known, *(float(w) for w in stood if _is_count(w))}
    found = []
    for at, word in enumerate(told[:-1]):
        number = _count(word, number_words)
        if number is None or number in known or number < _FEWEST_COUNTED or len(told[at + 1]) < _LETTERS_COUNTED:
            continue
        things = [i for i, w in enumerate(stood) if stem(w) == stem(told[at + 1])]
        counts = {_count(w, number_words) for i in things for w in stood[max(0, i - _NEAR) : i]} - {None}
        # "both datasets" of many speaks of two of them; "both ends" of one does not.
        if counts and (word not in wording.stop or counts == {1.0}):
            start = answer.lower().find(word)
            found.append(Quantity(word, start, start + len(word), start + len(word), number))
    return found


def _count(word: str, number_words: Mapping[str, float]) -> float | None:
    return float(word) if _is_count(word) else number_words.get(word)


def _is_count(word: str) -> bool:
    return len(word) < _LETTERS_COUNTED and word.isdecimal()


@lru_cache(maxsize=256)
def _by_letter(vocabulary: frozenset[str]) -> dict[str, list[str]]:
    return grouped((word[0], word) for word in sorted(vocabulary))


@lru_cache(maxsize=65536)
def _nearest(word: str, vocabulary: frozenset[str]) -> float:
    if word in vocabulary:
        return 1.0
    return max((related(word, other) for other in _by_letter(vocabulary).get(word[0], ())), default=0.0)
