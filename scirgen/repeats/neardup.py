"""Near-duplicate questions: within a dataset and over a whole run. Pure functions of their input, whatever its order.

The share of common content words decides; `setjoin` finds the pairs that can reach it. This module also decides which
questions of a group are kept; the release stage applies the decision.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING

from scirgen.claims.conformance import polarity
from scirgen.core.runtime import stop_here
from scirgen.core.taxonomy import LanguageWording
from scirgen.core.text.textmatch import content_words, coverage, jaccard, names, normalise, numbers, stem, words
from scirgen.repeats.setjoin import similar_sets

if TYPE_CHECKING:
    import numpy

Embed = Callable[[Sequence[str]], "numpy.ndarray"]
"""Texts -> one row of floats each, shape (n, d)."""

ANSWER_THRESHOLD = 0.8
"""From this cosine on, two answers to one question mean the same; measured on conflicts in ScIRGen-Geo
(docs/gates.md)."""


_SAME_ANSWER = 0.6
"""Two questions that differ in one word mean the same if this share of the shorter answer's words is in the longer."""

_PRINTS = 8192
"""The number of wordprints kept in memory (10 MB): enough for the questions of one template, which are all compared."""


@dataclass(frozen=True)
class Wordprint:
    """The features by which questions are compared: content words, numbers, proper names, and the type."""

    id: str
    text: str
    kind: str
    words: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    sequence: tuple[str, ...] = ()
    directed: frozenset[tuple[str, str]] = frozenset()
    answer: frozenset[str] | None = None
    stated: str = ""

    def similarity(self, other: Wordprint) -> float:
        """Return the share of content words in common (Jaccard); 1 for equal texts.

        0 if they cannot be the same question: their type differs (a researcher may ask why after asking whether), a
        number differs, a proper name or another word is exchanged, or the direction is reversed.
        """
        return 1.0 if self.text == other.text else jaccard(self.words, other.words) if self.comparable(other) else 0.0

    def comparable(self, other: Wordprint) -> bool:
        """Return whether the two can be the same question; see `similarity`."""
        # An abbreviation that is spelt like a stop word ("AT") is among the names and not among the words.
        mine, theirs = self.words | self.names, other.words | other.names
        exchanged = bool(self.names - theirs) and bool(other.names - mine)
        if self.kind != other.kind or self.numbers != other.numbers or exchanged:
            return False
        return not self.reverses(other) and not self._exchanged(other) and not self._swapped(other)

    def reverses(self, other: Wordprint) -> bool:
        """Return whether two things changed places around a word such as "than": "A more than B", "B more than A"."""
        return any(
            after != others_after and after in other.words and others_after in self.words
            for marker, after in self.directed - other.directed
            for others_marker, others_after in other.directed - self.directed
            if marker == others_marker
        )

    def _exchanged(self, other: Wordprint) -> bool:
        """Return whether one word stands in another's place and the answers differ: "sedges and forbs", "sedges and
        graminoids".

        If the answers are equal, the two words probably mean the same; "Yes" and "No" do not show that.
        """
        mine, theirs = self.words - other.words, other.words - self.words
        if self.answer is None or other.answer is None or not mine or not theirs:
            return False
        if self._answered_alike(other):
            return False
        slots = self._slots(theirs=other)
        return any(slot in slots for slot in other._slots(theirs=self))

    def _swapped(self, other: Wordprint) -> bool:
        """Return whether two parts of a question changed places and the answers differ: "how does A affect B", "how
        does B affect A"."""
        if self.answer is None or other.answer is None or self.words != other.words or self.stated == other.stated:
            return False
        mine, theirs = ([w for w in p.sequence if w in p.words] for p in (self, other))
        if mine == theirs or len(mine) != len(theirs) or self._answered_alike(other):
            return False
        start = next(i for i, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b)
        end = next(i for i, (a, b) in enumerate(zip(mine[::-1], theirs[::-1], strict=True)) if a != b)
        one, two = mine[start : len(mine) - end], theirs[start : len(theirs) - end]
        size = len(one)
        return any(
            one[:a] == two[size - a :] and one[size - b :] == two[:b] and one[a : size - b] == two[b : size - a]
            for a in range(1, size - 1)
            for b in range(1, size - a)
        )

    def _answered_alike(self, other: Wordprint) -> bool:
        less, more = sorted((self.answer or frozenset(), other.answer or frozenset()), key=len)
        return bool(less) and coverage(less, more) >= _SAME_ANSWER

    def _slots(self, theirs: Wordprint) -> set[tuple[str, str]]:
        """Return the neighbours of the words that the other question lacks."""
        line = ("", *self.sequence, "")
        return {
            (line[i - 1], line[i + 1])
            for i in range(1, len(line) - 1)
            if line[i] in self.words and line[i] not in theirs.words
        }


def wordprint(
    id: str,
    text: str,
    kind: str = "",
    stop_words: frozenset[str] = frozenset(),
    *,
    directed: Collection[str] = (),
    answer: str = "",
) -> Wordprint:
    """Return the wordprint of a question; all of its words count if none carries content.

    Args:
        id, text, kind: the question, and its type.
        stop_words: words that do not count.
        directed: words after which the second of two compared things stands.
        answer: if known, it shows whether two words name one thing or two things.
    """
    found = frozenset(content_words(text, stop_words) or content_words(text))
    plain = normalise(text).rstrip(" ?.!？。")
    line = words(text)
    after = {
        (word, following)
        for i, word in enumerate(line)
        if word in directed and (following := next((stem(w) for w in line[i + 1 :] if stem(w) in found), ""))
    }
    said = frozenset(content_words(answer, stop_words)) if answer else None
    return Wordprint(
        id, plain, kind, found, frozenset(numbers(text)), frozenset(names(text)), tuple(stem(w) for w in line),
        frozenset(after), said, normalise(answer).strip(" .。"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a run, as near-duplicate search sees it; ``dataset_ids``: all that answer it, where there are
    several. ``dataset_id`` is empty if none does."""

    id: str
    dataset_id: str
    question: str
    answer: str
    question_type: str = ""
    dataset_ids: tuple[str, ...] = ()

    @property
    def gold(self) -> frozenset[str]:
        """All datasets that answer it; the empty id, if none does."""
        return frozenset(self.dataset_ids or (self.dataset_id,))


@dataclass(frozen=True)
class Drop:
    """A question that is not released under its own id.

    Codes: ``near_duplicate`` (repeats ``of``, of the same dataset), ``merged`` (repeats ``of`` with the same answer;
    its dataset is now one of ``of``'s positives), ``conflicting_gold`` (repeats ``of``, of another dataset, with
    another answer).
    """

    id: str
    code: str
    of: str
    reason: str
    score: float


@dataclass(frozen=True)
class Group:
    """Questions that are the same. The leader is the smallest id; every member is similar to the leader itself."""

    leader: str
    members: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Resolution:
    """The duplicates of a run, and how each is handled.

    Attributes:
        groups: all groups of two or more, by leader.
        positives: kept question -> the datasets that answer it, for those with more than one, sorted.
        drops: questions not released, by id.
    """

    groups: tuple[Group, ...]
    positives: dict[str, tuple[str, ...]]
    drops: tuple[Drop, ...]


def near_duplicates(
    asked: Iterable[Asked],
    stop_words: frozenset[str] = frozenset(),
    *,
    directed: Collection[str] = (),
    threshold: float = 0.8,
    embed: Embed | None = None,
    embed_threshold: float = 0.95,
) -> list[Group]:
    """Group questions that are nearly the same.

    Args:
        asked: questions with unique ids, in any order.
        stop_words: words that do not count.
        directed: words after which the second of two compared things stands (`LanguageWording.directed`).
        threshold: least share of content words in common (`Wordprint.similarity`).
        embed: if given, comparable questions with a cosine of at least ``embed_threshold`` belong together too.
        embed_threshold: least cosine similarity.

    Returns:
        Groups of two or more, sorted by leader. In the order of ids, a question joins the most similar leader before it
        (the smallest id among equals), or leads a group of its own; so groups don't drift along chains.
    """
    ordered = sorted(asked, key=lambda a: a.id)
    similar = _lexical(ordered, stop_words, directed, threshold)
    if embed is not None:
        prints = [_wordprint_of(a, stop_words, directed) for a in ordered]
        for low, high, score in _semantic(prints, embed, embed_threshold):
            similar.setdefault(high, {}).setdefault(low, score)
    members: dict[int, list[tuple[str, float]]] = {}
    for index, own in enumerate(ordered):
        stop_here()
        leaders = [(-score, low) for low, score in similar.get(index, {}).items() if low in members]
        if leaders:
            score, leader = min(leaders)
            members[leader].append((own.id, -score))
        else:
            members[index] = []
    return [Group(ordered[i].id, tuple(found)) for i, found in sorted(members.items()) if found]


def resolve(
    asked: Iterable[Asked],
    wording: LanguageWording,
    *,
    threshold: float = 0.8,
    embed: Embed | None = None,
    embed_threshold: float = 0.95,
    answer_threshold: float = ANSWER_THRESHOLD,
) -> Resolution:
    """Decide how to handle the near-duplicates of a run; the order of ``asked`` does not matter.

    Of one dataset: the leader stays. Of several datasets: one question with several positives when all answers agree
    with the leader's; else nobody can say which dataset is meant, and the whole group is dropped.

    Args:
        asked, threshold, embed, embed_threshold: as for `near_duplicates`.
        wording: words of the questions' language.
        answer_threshold: with ``embed``, the cosine from which two answers agree that share too few words, unless they
            contradict each other (`contradict`).
    """
    known = {a.id: a for a in asked}
    found = near_duplicates(
        known.values(),
        wording.stop,
        directed=wording.directed,
        threshold=threshold,
        embed=embed,
        embed_threshold=embed_threshold,
    )
    groups = [_led(group, known) for group in found]
    alike = _alike(groups, known, wording, embed, answer_threshold) if embed is not None else frozenset()
    positives: dict[str, tuple[str, ...]] = {}
    drops: list[Drop] = []
    for group in groups:
        datasets, dropped = _decide(group, known, wording, alike)
        drops += dropped
        if len(datasets) > 1:
            positives[group.leader] = datasets
    return Resolution(tuple(groups), positives, tuple(sorted(drops, key=lambda d: d.id)))


def _led(group: Group, known: Mapping[str, Asked]) -> Group:
    """Let the first question that a dataset answers lead, if none answers the leader."""
    ids = [group.leader, *(id for id, _ in group.members)]
    first = next((id for id in ids if any(known[id].gold)), group.leader)
    scores = {**dict(group.members), group.leader: dict(group.members).get(first, 1.0)}
    return Group(first, tuple((id, scores[id]) for id in ids if id != first))


def _alike(
    groups: Sequence[Group], known: dict[str, Asked], wording: LanguageWording, embed: Embed, threshold: float
) -> frozenset[str]:
    """Return the members whose answer means the leader's in other words, by cosine; all such answers are embedded in
    one batch."""
    open_ = [
        (known[group.leader], known[id])
        for group in groups
        for id, _ in group.members
        if not known[id].gold & known[group.leader].gold
        and not answers_agree(known[group.leader].answer, known[id].answer, wording)
        and not contradict(known[group.leader].answer, known[id].answer, wording)
    ]
    if not open_:
        return frozenset()
    texts = sorted({a.answer for pair in open_ for a in pair})
    row = dict(zip(texts, _unit_vectors(embed, texts), strict=True))
    return frozenset(b.id for a, b in open_ if float(row[a.answer] @ row[b.answer]) >= threshold)


def _decide(
    group: Group, known: dict[str, Asked], wording: LanguageWording, alike: Collection[str]
) -> tuple[tuple[str, ...], list[Drop]]:
    """Return the leader's positives and the drops of one group. ``alike``: members whose answer means the leader's."""
    leader = known[group.leader]
    others = [(known[id], score) for id, score in group.members]
    foreign = [(a, score) for a, score in others if not a.gold & leader.gold]
    against = [a for a, _ in foreign if a.id not in alike and not answers_agree(leader.answer, a.answer, wording)]
    if against:
        count = len(leader.gold.union(*(a.gold for a, _ in foreign)))
        reason = f"{count} datasets have the question, with different answers"
        return (), [Drop(leader.id, "conflicting_gold", against[0].id, reason, 1.0)] + [
            Drop(a.id, "conflicting_gold", leader.id, reason, score) for a, score in others
        ]
    drops = []
    for other, score in others:
        if other.gold & leader.gold:
            drops.append(Drop(other.id, "near_duplicate", leader.id, f"repeats {leader.question[:80]!r}", score))
        else:
            reason = f"same question and answer as for {leader.dataset_id}: merged, with several gold datasets"
            drops.append(Drop(other.id, "merged", leader.id, reason, score))
    return tuple(sorted(leader.gold.union(*(a.gold for a, _ in foreign)) - {""})), drops


def answers_agree(first: str, second: str, wording: LanguageWording, threshold: float = 0.6) -> bool:
    """Return whether two answers agree, judged by their words.

    Yes or no must be equal. All numbers of the shorter answer, and at least ``threshold`` of its content words, must be
    in the other one. For two answers that are little more than a number, the number decides.
    """
    sides = polarity(first, wording), polarity(second, wording)
    if any(sides) and sides[0] != sides[1]:
        return False
    left, right = content_words(first, wording.stop), content_words(second, wording.stop)
    less, more = sorted((left, right), key=lambda found: len(set(found)))
    if not less:
        return any(sides) or normalise(first) == normalise(second)
    figures = (numbers(first), numbers(second)) if less is left else (numbers(second), numbers(first))
    if not figures[0] <= figures[1]:
        return False
    if figures[0] and len(more) <= 3 and figures[0] == figures[1]:
        return True
    return coverage(less, more) >= threshold


def contradict(first: str, second: str, wording: LanguageWording) -> bool:
    """Return whether two answers cannot mean the same, however similar an embedding finds them: another yes or no;
    other numbers; a proper name exchanged for another one; a word on one side only whose opposite is on the other
    ("increases", "decreases").
    """
    sides = polarity(first, wording), polarity(second, wording)
    figures = numbers(first), numbers(second)
    if sides[0] != sides[1] or (figures[0] - figures[1] and figures[1] - figures[0]):
        return True
    left, right = set(content_words(first)), set(content_words(second))
    if names(first) - right and names(second) - left:
        return True
    for a, b in wording.opposites:
        one, other = stem(a), stem(b)
        if {one, other} & left == {one} and {one, other} & right == {other}:
            return True
        if {one, other} & left == {other} and {one, other} & right == {one}:
            return True
    return False


def _wordprint_of(asked: Asked, stop_words: frozenset[str], directed: Collection[str]) -> Wordprint:
    return wordprint(asked.id, asked.question, asked.question_type, stop_words, directed=directed, answer=asked.answer)


def _lexical(
    asked: Sequence[Asked], stop_words: frozenset[str], directed: Collection[str], threshold: float
) -> dict[int, dict[int, float]]:
    """Return a mapping: index -> {smaller index: similarity} of the pairs that reach the threshold.

    For each question, only the numbers of its words are kept; its wordprint is made again if it has a similar question.
    """

    @lru_cache(maxsize=_PRINTS)
    def print_of(index: int) -> Wordprint:
        return _wordprint_of(asked[index], stop_words, directed)

    vocabulary: dict[str, int] = {}
    alike: dict[tuple[int, ...], list[int]] = {}
    for index, one in enumerate(asked):
        stop_here()
        found = sorted(vocabulary.setdefault(w, len(vocabulary)) for w in _wordprint_of(one, stop_words, ()).words)
        alike.setdefault(tuple(found), []).append(index)
    similar: dict[int, dict[int, float]] = {}
    # Questions with the same words; those of another type only if their texts are equal.
    for group in alike.values():
        for low, high in combinations(group, 2):
            if (score := print_of(low).similarity(print_of(high))) >= threshold:
                similar.setdefault(high, {})[low] = score
    # Questions with other words, if they can be the same question (`Wordprint.comparable`).
    sets, classes, members = _by_kind(asked, alike)
    for a, b, score in similar_sets(sets, classes, threshold):
        stop_here()
        for left, right in product(members[a], members[b]):
            low, high = sorted((left, right))
            if print_of(low).comparable(print_of(high)):
                similar.setdefault(high, {})[low] = score
    return similar


def _by_kind(
    asked: Sequence[Asked], alike: Mapping[tuple[int, ...], Sequence[int]]
) -> tuple[list[tuple[int, ...]], list[tuple[str, frozenset[str]]], list[list[int]]]:
    """Word sets, each with the type and the numbers of its questions, and these questions."""
    sets: list[tuple[int, ...]] = []
    classes: list[tuple[str, frozenset[str]]] = []
    members: list[list[int]] = []
    same: dict[tuple[str, frozenset[str]], tuple[str, frozenset[str]]] = {}
    for bag, group in alike.items():
        kinds: dict[tuple[str, frozenset[str]], list[int]] = {}
        for index in group:
            kind = (asked[index].question_type, frozenset(numbers(asked[index].question)))
            kinds.setdefault(same.setdefault(kind, kind), []).append(index)
        for kind, indices in kinds.items():
            sets.append(bag)
            classes.append(kind)
            members.append(indices)
    return sets, classes, members


def _unit_vectors(embed: Embed, texts: Sequence[str]) -> numpy.ndarray:
    import numpy as np

    vectors = np.asarray(embed(texts), dtype=np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return vectors


def _semantic(prints: Sequence[Wordprint], embed: Embed, threshold: float) -> Iterator[tuple[int, int, float]]:
    """Yield (smaller index, larger index, cosine) of pairs that reach the threshold, in bounded memory."""
    import numpy as np

    vectors = _unit_vectors(embed, [p.text for p in prints])
    block = 1024
    for start in range(0, len(prints), block):
        cosines = vectors[start : start + block] @ vectors[: start + block].T
        rows, columns = np.nonzero(cosines >= threshold)
        for row, low in zip(rows.tolist(), columns.tolist(), strict=True):
            high = start + row
            if low < high and prints[low].comparable(prints[high]):
                yield low, high, min(float(cosines[row, low]), 1.0)
