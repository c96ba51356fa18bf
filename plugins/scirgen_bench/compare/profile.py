"""Profiles a question set: the paper's tables 3a, 3b and 3c, its figures 4 and 5, and a diversity index.

A word is a maximal run of characters that are not white space (``str.split``), as in `wc -w`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from scirgen.core.records import AspectCategory
from scirgen.release_files.judged import label_note
from scirgen.release_files.release import Release
from scirgen_bench.compare.question_sets import Asked, QuestionSet

LEVELS = ("C1", "C2", "C3", "C4", "C5", "C6")
TYPES = 18
WORD = "a maximal run of characters that are not white space (Python's str.split, wc -w)"
DIVERSITY = (
    "Shannon entropy of the shares divided by the logarithm of the number of classes (18 types, 6 levels, 108 cells): "
    "1 when all are equally frequent, 0 when there is one; simpson is the chance that two questions drawn differ"
)


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True)


class TypeRow(_Row):
    """Table 3a: one question type."""

    question_type: str
    count: int
    share: float
    question_words: float
    answer_words: float


class PapersRow(_Row):
    """Table 3b: ``by_number`` maps a number of papers to how many datasets have that many."""

    datasets: int
    datasets_with_papers: int
    by_number: dict[str, int]


class AspectCount(_Row):
    """Table 3c: one aspect category, with its mean length in words."""

    aspect: str
    count: int
    words: float


class LevelRow(_Row):
    """Figure 4: one level of revised Bloom."""

    level: str
    count: int
    share: float


class Diversity(_Row):
    """Evenness and Simpson's index of types, of levels, and of (type, level)."""

    types: float | None
    bloom: float | None
    cells: float | None
    types_simpson: float | None
    bloom_simpson: float | None


class Profile(_Row):
    """One question set."""

    name: str
    kind: str
    questions: int
    labels: str
    question_words: float
    answer_words: float
    table_3a: list[TypeRow]
    table_3b: PapersRow | None
    table_3c: list[AspectCount]
    bloom: list[LevelRow]
    type_by_bloom: dict[str, dict[str, int]]
    diversity: Diversity


class Analysis(_Row):
    """The output of ``scirgen analyze --json``."""

    word: str = WORD
    diversity_index: str = DIVERSITY
    sets: list[Profile]
    notes: list[str] = []


def words(text: str) -> int:
    """Number of words; see `WORD`."""
    return len(text.split())


def profile(questions: QuestionSet) -> Profile:
    """All tables of one set."""
    asked = questions.questions
    types = Counter(a.question_type for a in asked if a.question_type)
    levels = Counter(a.bloom for a in asked if a.bloom)
    cells = Counter((a.question_type, a.bloom) for a in asked if a.question_type and a.bloom)
    return Profile(
        name=questions.name,
        kind=questions.kind,
        questions=len(asked),
        labels=_origin(questions.release) if types or levels else "none",
        question_words=_mean([words(a.question) for a in asked]),
        answer_words=_mean([words(a.answer) for a in asked if a.answer]),
        table_3a=table_3a(asked),
        table_3b=table_3b(questions.release) if questions.release else None,
        table_3c=table_3c(questions.release) if questions.release else [],
        bloom=[
            LevelRow(level=level, count=levels[level], share=round(levels[level] / levels.total(), 6))
            for level in LEVELS
            if levels
        ],
        type_by_bloom={t: {level: cells[(t, level)] for level in LEVELS} for t in sorted(types) if cells},
        diversity=Diversity(
            types=evenness(types.values(), TYPES) if types else None,
            bloom=evenness(levels.values(), len(LEVELS)) if levels else None,
            cells=evenness(cells.values(), TYPES * len(LEVELS)) if cells else None,
            types_simpson=simpson(types.values()) if types else None,
            bloom_simpson=simpson(levels.values()) if levels else None,
        ),
    )


def _origin(release: Release | None) -> str:
    """Who wrote the types and levels of a set."""
    if release is None or not release.info.models:
        return "as in the set"
    read = [label_note(note) for note in release.info.labels]
    return f"by language models ({', '.join(release.info.models)}); " + ("; ".join(read) or "read by nobody")


def table_3a(asked: Sequence[Asked]) -> list[TypeRow]:
    """Counts, shares and mean words per question type, by type."""
    by_type: dict[str, list[Asked]] = {}
    for a in asked:
        if a.question_type:
            by_type.setdefault(a.question_type, []).append(a)
    return [
        TypeRow(
            question_type=name,
            count=len(members),
            share=round(len(members) / len(asked), 6),
            question_words=_mean([words(a.question) for a in members]),
            answer_words=_mean([words(a.answer) for a in members]),
        )
        for name, members in sorted(by_type.items())
    ]


def table_3b(release: Release) -> PapersRow:
    """Count the datasets by their number of papers."""
    numbers = Counter(len(d.papers) for d in release.corpus())
    return PapersRow(
        datasets=numbers.total(),
        datasets_with_papers=numbers.total() - numbers[0],
        by_number={str(n): numbers[n] for n in sorted(numbers) if n},
    )


def table_3c(release: Release) -> list[AspectCount]:
    """Count the statements of each aspect, per dataset and paper, and their mean words."""
    lengths: dict[str, list[int]] = {}
    for aspect in release.aspects():
        lengths.setdefault(aspect.category, []).append(words(aspect.text))
    return [
        AspectCount(aspect=c.value, count=len(lengths[c.value]), words=_mean(lengths[c.value]))
        for c in AspectCategory
        if c.value in lengths
    ]


def evenness(counts: Iterable[int], classes: int) -> float:
    """Shannon entropy over ``ln(classes)`` (Pielou 1966, with all classes that could occur)."""
    numbers = [c for c in counts if c]
    total = sum(numbers)
    return round(-sum(c / total * math.log(c / total) for c in numbers) / math.log(classes), 6) + 0.0


def simpson(counts: Iterable[int]) -> float:
    """``1 - sum p^2`` (Simpson 1949)."""
    numbers = list(counts)
    total = sum(numbers)
    return round(1 - sum((c / total) ** 2 for c in numbers), 6)


def shares_side_by_side(profiles: Sequence[Profile]) -> list[list[object]]:
    """Figure 4 as rows: level, then each set's share (a dash if the set has no levels)."""
    table: list[Mapping[str, float]] = [{r.level: r.share for r in p.bloom} for p in profiles]
    return [[level, *(t.get(level, "-") for t in table)] for level in LEVELS]


def _mean(values: Sequence[int]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0
