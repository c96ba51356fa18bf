"""Counts and means over a run's pairs or a release's rows, and selection of the rows that are shown."""

from __future__ import annotations

import math
import random
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from sys import intern
from typing import Any, Protocol, TypeVar

from scirgen.core.fingerprint import derived_seed
from scirgen.core.grouped import grouped
from scirgen.core.records import QAPair, Score
from scirgen.release_files.release import ReleaseRow
from scirgen.release_files.release import ScoreRow as Measured
from scirgen.report.data import LEVELS, AspectRow, Highlight, NearRow, SampleRow, ScoreRow, Sides, TypeRow, shown

R = TypeVar("R")
_EACH = 5


class Row(Protocol):
    """The properties of a question that are counted."""

    @property
    def question(self) -> str: ...
    @property
    def answer(self) -> str: ...
    @property
    def question_type(self) -> str: ...
    @property
    def bloom(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Counted:
    """The parts of a row that the tables need, since the rows of a large run or release may not fit in memory;
    ``dataset_id`` is empty if the row is about none."""

    id: str
    dataset_id: str
    question: str
    answer: str
    question_type: str
    bloom: str | None
    facts: int
    asked: str
    linked: str


def figures_of(rows: Sequence[Counted], rejected: Mapping[str, dict[str, int]]) -> dict[str, Any]:
    """Return the figures that rows alone give, by their names in `ReportData`; ``rejected`` as in `type_rows`."""
    bloom = Counter(r.bloom for r in rows if r.bloom)
    return {
        "types": tuple(type_rows(rows, rejected)),
        "bloom": {level: bloom.get(level, 0) for level in LEVELS},
        "bloom_by_type": cross(rows),
        "evenness": evenness(bloom) if bloom else None,
        "facts": histogram(r.facts for r in rows) if any(r.facts for r in rows) else {},
        "asked": dict(Counter(r.asked for r in rows)),
        "linked": dict(Counter(r.linked for r in rows if r.linked)),
    }


def accepted_row(row: QAPair | ReleaseRow, stage: str, dataset: str, evidence: tuple[Highlight, ...]) -> SampleRow:
    """Return an accepted row as the report shows it."""
    return SampleRow(
        id=row.id, status="accepted", stage=stage, code="", reason="", question=shown(row.question),
        answer=shown(row.answer), question_type=row.question_type, bloom=row.bloom or "",
        dataset=dataset or "about no dataset",
        evidence=evidence, scores={s.name: s.value for s in row.scores},
    )  # fmt: skip


def score_rows(scores: Iterable[Score | Measured], question_type: str, *, accepted: bool) -> Iterator[ScoreRow]:
    """Yield the scores of a pair or row that measured something."""
    for s in scores:
        if not (isinstance(s, Score) and s.abstained):
            yield ScoreRow(intern(s.name), s.value, s.threshold, accepted, intern(question_type))


def evenness(levels: Counter[str]) -> float:
    """Return the evenness of levels: Shannon entropy of the distribution over C1..C6 divided by log 6, so 0 (one level)
    to 1 (even)."""
    total = sum(levels.values())
    entropy = -sum(n / total * math.log(n / total) for n in levels.values() if n)
    return max(0.0, entropy / math.log(len(LEVELS)))


def type_rows(pairs: Sequence[Row], rejected: Mapping[str, dict[str, int]]) -> Iterator[TypeRow]:
    """Yield one line per type, most rows first."""
    by_type = grouped((pair.question_type, pair) for pair in pairs)
    for name in sorted({*by_type, *rejected}, key=lambda n: (-len(by_type.get(n, ())), n)):
        group = by_type.get(name, [])
        yield TypeRow(
            question_type=name,
            rows=len(group),
            share=len(group) / len(pairs) if pairs else 0.0,
            question_words=mean(len(p.question.split()) for p in group),
            answer_words=mean(len(p.answer.split()) for p in group),
            rejected=rejected.get(name, {}),
        )


def cross(pairs: Iterable[Row]) -> dict[str, dict[str, int]]:
    """Return a mapping: question type -> level -> rows."""
    table = grouped((pair.question_type, pair.bloom) for pair in pairs if pair.bloom)
    return {name: {level: table[name].count(level) for level in LEVELS} for name in sorted(table)}


@dataclass(frozen=True)
class ScoreSummary:
    """One score over the pairs that were kept, or over those rejected."""

    name: str
    accepted: bool
    count: int
    lowest: float
    median: float
    highest: float
    thresholds: tuple[str, ...]


def summaries(scores: Iterable[ScoreRow]) -> list[ScoreSummary]:
    """Return the figures behind the charts of the scores: for each score, kept pairs first."""
    named = grouped(((score.name, not score.accepted), score) for score in scores)
    return [
        ScoreSummary(
            name=name,
            accepted=not rejected,
            count=len(group),
            lowest=min(s.value for s in group),
            median=median(s.value for s in group),
            highest=max(s.value for s in group),
            thresholds=tuple(f"{t:g}" for t in sorted({s.threshold for s in group if s.threshold is not None})),
        )
        for (name, rejected), group in sorted(named.items())
    ]


class Nearest:
    """The rows closest to each score's threshold, on either side."""

    def __init__(self) -> None:
        self._sides: dict[str, tuple[list[NearRow], list[NearRow]]] = defaultdict(lambda: ([], []))

    def add(self, score: str, row: NearRow, *, kept: bool) -> None:
        """Consider a row; it is kept only while it is among the closest."""
        rows = self._sides[score][kept]
        insort(rows, row, key=lambda r: (abs(r.value - r.threshold), r.id))
        del rows[_EACH:]

    def sides(self) -> Iterator[Sides]:
        """Yield the scores that rejected something."""
        for name, (rejected, kept) in sorted(self._sides.items()):
            if rejected:
                yield Sides(score=name, rejected=tuple(rejected), kept=tuple(kept))


def drawn(rows: Sequence[R], size: int, kind: Callable[[R], str]) -> list[R]:
    """Return at most ``size`` rows in their order, the same for the same input: some of every kind, then random ones.

    Args:
        rows: the rows to draw from.
        size: number of rows.
        kind: the kind of a row; up to five of each are drawn first, as far as there is room.
    """
    if len(rows) <= size:
        return list(rows)
    order = list(range(len(rows)))
    random.Random(derived_seed("report", len(rows))).shuffle(order)
    seen: Counter[str] = Counter()
    first: list[int] = []
    rest: list[int] = []
    for i in order:
        name = kind(rows[i])
        seen[name] += 1
        (first if seen[name] <= _EACH else rest).append(i)
    return [rows[i] for i in sorted([*first, *rest][:size])]


def histogram(values: Iterable[int]) -> dict[str, int]:
    """Return a mapping: value -> count, smallest first."""
    return {str(k): n for k, n in sorted(Counter(values).items())}


def mean(values: Iterable[float]) -> float:
    """Return the mean; 0 without values."""
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def aspect_rows(found: Iterable[tuple[str, str, str, str]]) -> Iterator[AspectRow]:
    """Yield the rows of table 3c by category, from (category, dataset id, paper id, text) of each kept sentence; words
    are separated by white space."""
    words: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    sentences: Counter[str] = Counter()
    for category, dataset_id, paper_id, text in found:
        words[category][(dataset_id, paper_id)] += len(text.split())
        sentences[category] += 1
    for name in sorted(words):
        groups = words[name]
        yield AspectRow(
            aspect=name,
            groups=len(groups),
            sentences=sentences[name],
            words=mean(groups.values()),
            words_each=groups.total() / sentences[name],
        )
