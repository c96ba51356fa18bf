"""The material for questions: verbatim passages of metadata and kept aspects, and their suitability for a type."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from scirgen.core.fingerprint import derived_seed
from scirgen.core.records import Aspect, AspectCategory, Dataset, Span
from scirgen.core.taxonomy import QuestionType
from scirgen.core.text.sentences import sentence_spans
from scirgen.stages.generate.strategy import Passage

_LABEL = re.compile(r"^[A-Z][\w /()-]{1,40}: ")
_MIN_WORDS, _MAX_WORDS = 6, 90
_MAX_SEMICOLONS = 2
"""A text with more is a list of instruments or columns, not a sentence about which a question can be asked."""
_VAGUE = re.compile(
    r"(?:the|these|this|those|it|they|its|their|data)\s(?:\w+\s)?"
    r"(?:data|dataset|files?|is|are|was|were|can|has|have|includes?|provides?)\b",
    re.I,
)
_WORTH = {
    AspectCategory.FINDINGS: 3.0,
    AspectCategory.METHODS: 2.0,
    AspectCategory.DATASET: 2.0,
    AspectCategory.CHALLENGES: 1.5,
    AspectCategory.OBJECTIVE: 1.0,
    AspectCategory.BACKGROUND: 0.5,
}
"""The share of the lines that statements of an aspect get if there is not enough room for all."""
_DEFINES = re.compile(
    r"\b(?:(?:is|are) (?:defined|known|referred to|measured|called)|refers? to|means?|denotes?)\b", re.I
)
_VAGUE_COST = 0.4
"""A sentence that begins with "This dataset ..." gives a question that does not say what it is about."""


def passages(
    dataset: Dataset, aspects: Iterable[Aspect], titles: Mapping[str, str] | None = None
) -> tuple[Passage, ...]:
    """Return all passages of a dataset: kept aspects in document order, then the sentences of the metadata.

    ``titles`` are those of the papers, by id: a paper's statements are about its own subject, not about the dataset's.
    """
    named = titles or {}
    # A sentence of several aspects is one passage, of the aspect that is asked about most.
    ordered = sorted(aspects, key=lambda a: (a.paper_id, a.span.start, a.span.end, -_WORTH[a.category], a.category))
    seen: set[tuple[str, int, int, tuple[Span, ...]]] = set()
    found: list[Passage] = []
    for aspect in ordered:
        place = (aspect.span.document_id, aspect.span.start, aspect.span.end, aspect.cells)
        if place not in seen:
            seen.add(place)
            about = aspect.context, aspect.context_span, aspect.id, aspect.cells
            found.append(Passage(aspect.span, aspect.category, aspect.paper_id, named.get(aspect.paper_id, ""), *about))
    found += [
        Passage(Span(document_id=dataset.id, start=a, end=b, text=dataset.text[a:b]), topic=dataset.title)
        for a, b in _metadata(dataset)
    ]
    return tuple(found)


def by_worth(statements: Sequence[Passage], seed: str) -> list[int]:
    """Return the indices of statements in the order in which they are taken if there is not enough room for all.

    Results come first, then methods, data and definitions, each in its share; in an aspect, those with numbers. A hash
    decides the rest, so that the place in the paper does not.
    """
    order = sorted(
        range(len(statements)),
        key=lambda i: (
            not any(c.isdigit() for c in statements[i].text),
            derived_seed(seed, statements[i].span.document_id, statements[i].span.start),
        ),
    )
    taken: Counter[AspectCategory] = Counter()
    turns: dict[int, float] = {}
    for i in order:
        category = statements[i].category or AspectCategory.DATASET
        if category is AspectCategory.BACKGROUND and _DEFINES.search(statements[i].text):
            category = AspectCategory.DATASET
        taken[category] += 1
        turns[i] = taken[category] / _WORTH[category]
    return sorted(order, key=lambda i: turns[i])


def _metadata(dataset: Dataset) -> list[tuple[int, int]]:
    """Return the sentences of the metadata, without the title line and bare lists of keywords."""
    text = dataset.text
    spans: list[tuple[int, int]] = []
    position = 0
    for line in text.split("\n"):
        label = _LABEL.match(line)
        start = label.end() if label else 0
        if not line.startswith(("Title: ", "Keywords: ")):
            base = position + start
            spans += [(base + a, base + b) for a, b in sentence_spans(line[start:], dataset.language)]
        position += len(line) + 1
    return [(a, b) for a, b in spans if _MIN_WORDS <= len(text[a:b].split()) <= 2 * _MAX_WORDS]


@lru_cache(maxsize=512)
def _cues(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    # Case counts, since some cues look for names; a cue that ignores case begins with (?i).
    return tuple(re.compile(p if "[A-Z]" in p else f"(?i){p}") for p in patterns)


def fitness(passage: Passage, kind: QuestionType) -> float:
    """Return the fitness of a passage for a type, by its cues (at most 3 count), a preferred aspect and a suitable
    length. 0: it does not suit."""
    words = len(passage.text.split())
    cues = sum(min(len(p.findall(passage.text)), 2) for p in _cues(kind.evidence_cues))
    if words < _MIN_WORDS or passage.text.count(";") > _MAX_SEMICOLONS or (kind.evidence_cues and not cues):
        return 0.0
    score = min(cues, 3) / 3 if kind.evidence_cues else 0.5
    if passage.category in kind.aspects:
        score += 0.5 - 0.1 * kind.aspects.index(passage.category)
    score += 0.3 if words <= _MAX_WORDS else 0.0
    return max(score - _VAGUE_COST, 0.01) if _VAGUE.match(passage.text) else score
