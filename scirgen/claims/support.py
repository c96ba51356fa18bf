"""Measures how many of an answer's words, numbers and names occur in its evidence. Pure functions; gates and scorers
set the limits.

Words are compared by family (`related`): "measured" meets "measurement", "month" meets "monthly". On the pairs of
`benchmarks.faithfulness`, lemmas separated right from wrong answers no better than stems (AUC 0.75 both), and families
a little better (0.76).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from scirgen.core.taxonomy import LanguageWording
from scirgen.core.text.textmatch import stem, words
from scirgen.qa.claims.names import unnamed
from scirgen.qa.claims.quantities import Quantity, missing, quantities, stated

_FARTHEST = 40
_FEWEST_COUNTED = 2
_LETTERS_COUNTED = 4
_CLAUSE_END = re.compile(r"[.;:,!?()\n]")
_SHORT_NOT = re.compile(r"n['’]t\b")
_NO_NEGATOR = re.compile(r"(?i)\b(?:yes[-/])?no-(?=\w)|\byes[-/]no\b")
"""No-till plots and yes-no questions negate nothing."""
_NEAR = 4
"""Two neighbouring words of an answer count as linked if they are at most this many words apart in the evidence."""


@dataclass(frozen=True)
class Support:
    """The parts of an answer that occur in its evidence (and its question).

    Attributes:
        words: the answer's content words, each once, numbers left out.
        unknown: words that neither evidence nor question has.
        known: share of ``words`` that evidence or question has, in [0, 1]; related words count in part. 1 without words.
        added: share, in the evidence, of the words that the answer adds to its question; 1 if it adds none.
        additions: how many words it adds.
        numbers: numbers of the answer that neither evidence nor question states.
        names: abbreviations and product names that neither has.
        absolute: words that allow no exception and that neither has ("all", "never", "prove").
        denied: words that the answer negates ("not", "cannot", "never") and the evidence has without a negation.
        antonyms: words that neither has, each with the opposite that one of them has.
        linked: share of the answer's neighbouring words that stand near each other in the evidence or the question too.
        distance: mean logarithm of the distance there, in words, of neighbours that both occur.
        reversed: share of the pairs of known words whose order differs from that of their first places.
    """

    words: tuple[str, ...]
    unknown: tuple[str, ...]
    known: float
    added: float
    additions: int
    numbers: tuple[Quantity, ...]
    names: tuple[str, ...]
    absolute: tuple[str, ...]
    denied: tuple[str, ...]
    antonyms: tuple[tuple[str, str], ...]
    linked: float
    distance: float
    reversed: float


@lru_cache(maxsize=65536)
def related(word: str, other: str) -> float:
    """1 for words of one family, 0.7 for words that share half of the longer one, 0 for others."""
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
    """Content words in order, numbers left out, repeats kept."""
    return [w for w in words(text) if w not in stop and (len(w) > 1 or not w.isascii()) and not w[0].isdigit()]


def worded(answer: str) -> str:
    """The answer without its numbers and their units, which are compared as quantities."""
    for q in reversed(quantities(answer)):
        answer = f"{answer[: q.start]} {answer[q.end :]}"
    return answer


_ACRONYM = re.compile(r"(?<![\w-])[A-Z]{3,6}(?=s?(?![\w-]))")


def spelled_out(text: str, evidence: str) -> list[str]:
    """Words of a text for which the evidence has an acronym: "sea surface temperature" if it says "SSTs".

    Each word gives its first letter, or its first three: "contiguous United States" is "CONUS".
    """
    said = words(text)
    found: list[str] = []
    for acronym in dict.fromkeys(m.group().lower() for m in _ACRONYM.finditer(evidence)):
        for start in range(len(said)):
            found += said[start : start + _spelled(acronym, said[start:])]
    return found


def _spelled(acronym: str, said: Sequence[str]) -> int:
    """The number of words, from the first on, that an acronym stands for; 0 if it stands for none of them."""
    at = 0
    for count, word in enumerate(said, 1):
        size = 3 if len(acronym) - at > 3 and word[:3] == acronym[at : at + 3] else 1
        if word[:size] != acronym[at : at + size]:
            return 0
        at += size
        if at == len(acronym):
            return count if count > 1 else 0
    return 0


def share_known(wanted: Sequence[str], vocabulary: Collection[str]) -> float:
    """Share of the words that a vocabulary contains, in [0, 1]; 1 without words."""
    index = _by_letter(vocabulary)
    return sum(_nearest(w, index) for w in wanted) / len(wanted) if wanted else 1.0


def support(answer: str, question: str, evidence: Sequence[str], wording: LanguageWording) -> Support:
    """Compare an answer with its evidence and its question.

    Args:
        answer, question: the pair.
        evidence: the texts from which the answer must follow.
        wording: words of the pair's language.
    """
    stop = wording.unclaiming
    whole = "\n".join(evidence)
    stood, asked = frozenset(content(whole, stop)), frozenset(content(question, stop))
    known_index, stood_index, asked_index = _by_letter(stood | asked), _by_letter(stood), _by_letter(asked)
    said = tuple(dict.fromkeys(content(worded(answer), stop)))
    nearness = {w: _nearest(w, known_index) for w in said}
    adds = [w for w in said if _nearest(w, asked_index) < 0.7]
    every = frozenset(words(whole)) | frozenset(words(question))
    told = dict.fromkeys(words(answer))
    linked, distance, turned = _order(answer, (*evidence, question), stop)
    return Support(
        words=said,
        unknown=tuple(w for w in said if nearness[w] < 0.7),
        known=sum(nearness.values()) / len(said) if said else 1.0,
        added=sum(_nearest(w, stood_index) for w in adds) / len(adds) if adds else 1.0,
        additions=len(adds),
        numbers=tuple(unstated(answer, f"{whole}\n{question}", wording)),
        names=tuple(unnamed(answer, f"{whole}\n{question}")),
        absolute=tuple(w for w in told if w in wording.absolute and w not in every),
        denied=_denied(answer, whole, wording),
        antonyms=tuple(_turned(answer, f"{whole}\n{question}", wording)),
        linked=linked,
        distance=distance,
        reversed=turned,
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
    """Stems of the content words that follow a negator within their clause, at most ``reach`` words later; and stems of
    all content words."""
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


def added(answer: str, question: str, evidence: Sequence[str], wording: LanguageWording) -> tuple[int, float]:
    """Only `Support.additions` and `Support.added`, for a gate that needs no more of many pairs."""
    stop = wording.unclaiming
    asked = _by_letter(frozenset(content(question, stop)))
    adds = [w for w in dict.fromkeys(content(worded(answer), stop)) if _nearest(w, asked) < 0.7]
    return len(adds), share_known(adds, frozenset(content("\n".join(evidence), stop)))


def unstated(answer: str, text: str, wording: LanguageWording, *, counts: bool = True) -> list[Quantity]:
    """The answer's numbers that a text does not state; of counts up to 20 only those of things that the text counts otherwise.

    ``counts``: off for a text so long that it counts another thing of the same name somewhere.
    """
    claimed = quantities(answer)
    if not claimed and not any(_count(w, wording.number_words) for w in words(answer)):
        return []  # most answers; a text's numbers are costly to read
    support = stated(text, wording.number_words)
    lacking = missing(claimed, support)
    known = {q.value for q in claimed if q not in lacking} | support.values
    return [q for q in lacking if not q.count] + (_miscounted(answer, text, known, wording) if counts else [])


def _miscounted(answer: str, text: str, known: Collection[float], wording: LanguageWording) -> list[Quantity]:
    """Counts of the answer ("five plots") that a text does not state although it counts the same thing ("three mosquito plots")."""
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


def wrong_signs(answer: str, text: str, wording: LanguageWording) -> list[tuple[Quantity, str]]:
    """Numbers for which the answer's words say another sign than the text writes, each with the word: "lower it by 5.67
    %" for +5.67 %.

    The nearest word for a direction before the number decides, within its clause. Numbers that the text writes with
    both signs, or without one, are left out.
    """
    turns = dict.fromkeys(wording.rising, 1) | dict.fromkeys(wording.falling, -1)
    claimed = quantities(answer)
    written = [q for q in quantities(text) if q.signed] if claimed else []
    found = []
    for q in claimed:
        signs = {
            1 if known.value > 0 else -1
            for known in written
            if abs(known.value) == abs(q.value) and known.unit == q.unit
        }
        clause = re.split(r"[;:.]\s|,|\b(?:while|whereas|but)\b", answer[: q.start])[-1]
        said = [w for w in words(clause) if w in turns]
        if not q.signed and len(signs) == 1 and said and turns[said[-1]] not in signs:
            found.append((q, said[-1]))
    return found


def _by_letter(vocabulary: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for word in sorted(vocabulary):
        found.setdefault(word[0], []).append(word)
    return found


def _nearest(word: str, index: dict[str, list[str]]) -> float:
    return max((related(word, other) for other in index.get(word[0], ())), default=0.0)


def _order(answer: str, texts: Sequence[str], stop: Collection[str]) -> tuple[float, float, float]:
    """Share of neighbouring words that are linked in the texts, their mean log distance, and the share of reversed pairs."""
    places: dict[str, list[tuple[int, int]]] = {}
    for number, text in enumerate(texts):
        for at, word in enumerate(words(text)):
            places.setdefault(stem(word), []).append((number, at))
    sequence = [stem(w) for w in words(answer) if w not in stop]
    apart = []
    for one, other in itertools.pairwise(sequence):
        if one in places and other in places:
            near = (abs(i - j) for a, i in places[one] for b, j in places[other] if a == b)
            apart.append(min(min(near, default=_FARTHEST), _FARTHEST))
    firsts = [places[w][0] for w in sequence if w in places]
    pairs = len(firsts) * (len(firsts) - 1) // 2
    turned = sum(firsts[i] > firsts[j] for i in range(len(firsts)) for j in range(i + 1, len(firsts)))
    return (
        sum(d <= _NEAR for d in apart) / (len(sequence) - 1) if len(sequence) > 1 else 1.0,
        sum(math.log1p(d) for d in apart) / max(1, len(apart)),
        turned / pairs if pairs else 0.0,
    )
