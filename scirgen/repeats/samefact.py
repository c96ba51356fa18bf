"""Decides whether two pairs ask for one fact, by comparing the pairs of one dataset across question types. Pure
functions.

`neardup` compares questions of one type; this module compares, for example, a "which" and a "why" that one sentence
answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scirgen.claims.conformance import polarity
from scirgen.core.records import QAPair, Span
from scirgen.core.taxonomy import LanguageWording
from scirgen.core.text.textmatch import content_words, coverage, jaccard, numbers
from scirgen.repeats.neardup import Wordprint, wordprint

_SAME_ANSWER = 0.5
"""Share of content words that two pairs about one fact have in common; measured on pairs of a strong model
(docs/gates.md)."""

_OTHER_ANSWER = 0.15
"""The amount by which the share must be larger if the answers differ."""

_TOLD_ANSWER = 0.7
"""Share of the answer's content words that another answer has if it tells the same and more."""

_TOLD = 0.2
"""The amount by which the share of one pair's words that another has must exceed a share of the words of both."""


@dataclass(frozen=True)
class Fact:
    """The statement of a pair: the words of its question and its answer together.

    Attributes:
        asked: the question's wordprint, without its type.
        answer: content words of the answer; empty for a Yes or No.
        side: "yes", "no" or None.
        numbers: of the question and the answer.
        values: numbers of the answer.
        evidence: the spans, and their content words.
    """

    asked: Wordprint
    answer: frozenset[str]
    side: str | None
    numbers: frozenset[str]
    values: frozenset[str]
    evidence: tuple[Span, ...]
    evidence_words: frozenset[str]

    @property
    def words(self) -> frozenset[str]:
        """Content words of question and answer."""
        return self.asked.words | self.answer

    def similarity(self, other: Fact) -> float:
        """Return the share of the words of both pairs in common (Jaccard), if they can state one fact, otherwise 0.

        They cannot if they share no evidence, if a name, a number or a direction is exchanged, or if each question
        names something of the evidence that the other pair does not. A No states the opposite of its question. Pairs
        with different answers, such as a cause and its effect, need a larger share, and only one of them may name
        things of the evidence that the other lacks. A pair that another one tells along with more, such as one value
        of a comparison, is compared by the share of its own words.
        """
        if not _overlap(self.evidence, other.evidence) or "no" in (self.side, other.side):
            return 0.0
        return max(self._shared(other), self._covered_by(other) - _TOLD, other._covered_by(self) - _TOLD)

    def _covered_by(self, other: Fact) -> float:
        """Share of the words that ``other`` has, unless a name, a number or a thing of the evidence is missing
        there."""
        missing = self.words - other.words
        if missing & (self.asked.names | self.evidence_words) or not self.numbers <= other.numbers:
            return 0.0
        answered = not self.answer or coverage(self.answer, other.answer) >= _TOLD_ANSWER
        return coverage(self.words, other.words) if answered and not self.asked.reverses(other.asked) else 0.0

    def _shared(self, other: Fact) -> float:
        if self._differs(other):
            return 0.0
        share = jaccard(self.words, other.words)
        if self._answered_as(other):
            return share
        told = self.evidence_words | other.evidence_words
        apart = (self.words - other.words) & told and (other.words - self.words) & told
        return 0.0 if apart or self.side or other.side else max(share - _OTHER_ANSWER, 0.0)

    def _answered_as(self, other: Fact) -> bool:
        if self.side and other.side:
            return True
        if self.side or other.side:
            yes, told = (self, other) if self.side else (other, self)
            return bool(told.answer) and coverage(told.answer, yes.asked.words) >= _SAME_ANSWER
        return jaccard(self.answer, other.answer) >= _SAME_ANSWER

    def _differs(self, other: Fact) -> bool:
        numbers_differ = self.asked.numbers - other.numbers and other.asked.numbers - self.numbers
        values_differ = self.values - other.numbers and other.values - self.numbers
        names_differ = self.asked.names - other.words and other.asked.names - self.words
        mine, theirs = self.asked.words - other.words, other.asked.words - self.words
        told = self.evidence_words | other.evidence_words
        return bool(
            numbers_differ or values_differ or names_differ or (mine & told and theirs & told)
        ) or self.asked.reverses(other.asked)


def fact(pair: QAPair, wording: LanguageWording) -> Fact:
    """Return the assertion of a pair."""
    side = polarity(pair.answer, wording)
    stop = wording.stop
    asked = wordprint(pair.id, pair.question, "", stop, directed=wording.directed)
    answer = frozenset(content_words(pair.answer, stop)) if side is None else frozenset()
    told = content_words("\n".join(s.text for s in pair.evidence), stop)
    values = frozenset(numbers(pair.answer)) if side is None else frozenset()
    found = frozenset(numbers(pair.question)) | values
    return Fact(asked, answer, side, found, values, pair.evidence, frozenset(told))


def _overlap(first: Sequence[Span], second: Sequence[Span]) -> bool:
    return any(a.document_id == b.document_id and a.start < b.end and b.start < a.end for a in first for b in second)
