"""Sorts the sentences of an abstract into facets: by the paper's aspects if a model chose them, otherwise by rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from scirgen.core.text.textmatch import normalise
from scirgen.plugin import Aspect, grouped
from scirgen_bench.tasks.taxonomies import Facets

_USUAL = {"background": 0.0, "method": 0.55, "result": 1.0}
"""Where in an abstract a facet usually stands: 0 is its first sentence, 1 its last."""
_PULL, _FREE = 3.0, 0.1
"""The number of cues that the distance of a whole abstract outweighs, and the distance from the usual place that costs
nothing."""
_MAX_CUES = 2
_CERTAIN = 100.0
"""Weight of a heading, more than all cues together."""
_FORWARD, _BACK, _UNSAID = 0.2, 1.5, 1.0
"""The cost of a change of facet: to a later one, to an earlier one, and what is added if the sentence has no cue of the
new facet."""


_LANGUAGE = "en"
"""The language of the cues."""


def sentence_facets(
    sentences: Sequence[str], aspects: Iterable[Aspect], facets: Facets, language: str
) -> list[tuple[str, ...]]:
    """Return the facets of each sentence of an abstract.

    If a model chose all of the abstract's aspects, they decide. Extraction by rules sorts only a section's clearest
    sentences, each for itself; then `FacetLabels` reads the whole abstract, if it is in English.

    Args:
        sentences: of the abstract, in order.
        aspects: of the paper.
        facets: the taxonomy.
        language: of the paper.
    """
    said = grouped((normalise(aspect.span.text), aspect) for aspect in aspects)
    inside = [said.get(normalise(sentence), []) for sentence in sentences]
    by_model = all(a.provenance and a.provenance.prompt for found in inside for a in found)
    if language == _LANGUAGE and not (by_model and any(inside)):
        return [(facet,) if facet else () for facet in FacetLabels(facets).label(sentences)]
    facet_of = {category: f.id for f in facets.facets for category in f.aspects}
    return [tuple(dict.fromkeys(facet_of[a.category] for a in found if a.category in facet_of)) for found in inside]


class FacetLabels:
    """Labels the sentences of an abstract with facets.

    Abstracts go from background over method to result (Hirohata et al., IJCNLP 2008), so a sentence is labelled
    together with its neighbours: the labels are those with the best sum of cues, minus a cost for each change of facet
    (Viterbi).

    Args:
        facets: with their cues and headings, in the order in which an abstract has them.
    """

    def __init__(self, facets: Facets) -> None:
        self._ids = [f.id for f in facets.facets]
        self._cues = [[re.compile(c, re.I) for c in f.cues] for f in facets.facets]
        self._headings = [_heading("|".join(f.headings)) for f in facets.facets]

    def label(self, sentences: Sequence[str]) -> list[str]:
        """Return the facet of each sentence. It is empty if the facet has no cue in the whole abstract and is not the
        first one: then only the sentence's place would decide."""
        counts = ([sum(bool(c.search(s)) for c in cues) for cues in self._cues] for s in sentences)
        hits = [[min(_MAX_CUES, n) for n in row] for row in counts]
        best: list[float] = []
        ways: list[list[int]] = []
        headed = self._headed(sentences)
        for number in range(len(sentences)):
            scores = [
                (_CERTAIN if i == headed[number] else 0.0) + n - self._misplaced(i, number, len(sentences))
                for i, n in enumerate(hits[number])
            ]
            if best:
                unsaid = [_UNSAID * (not n) for n in hits[number]]
                way = [_best_before(best, b, unsaid[b]) for b in range(len(scores))]
                best = [n + best[way[b]] - _cost(way[b], b, unsaid[b]) for b, n in enumerate(scores)]
            else:
                way, best = [], scores
            ways.append(way)
        path = _back(best, ways)
        sure = {0} | {i for i, n in zip(path, hits, strict=True) if n[i]} | set(headed)
        return [self._ids[i] if i in sure else "" for i in path]

    def _headed(self, sentences: Sequence[str]) -> list[int | None]:
        """Return the facet whose heading stands before each sentence. Headings count only if the abstract has those of
        two facets."""
        found: list[int | None] = []
        for sentence in sentences:
            before = found[-1] if found else None
            found.append(next((i for i, h in enumerate(self._headings) if h and h.match(sentence)), before))
        return found if len({f for f in found if f is not None}) > 1 else [None] * len(sentences)

    def _misplaced(self, facet: int, number: int, of: int) -> float:
        """Measure how unusual the facet is at this place."""
        place = number / (of - 1) if of > 1 else 0.0
        return _PULL * max(0.0, abs(place - _USUAL.get(self._ids[facet], place)) - _FREE)


def _heading(names: str) -> re.Pattern[str] | None:
    """Match "Methods:", "Data and methods:", and "Methods We" where the parser lost the colon; None without names."""
    if not names:
        return None
    after = r"(?:(?: and | & |/| of )\w+){0,2}\s?[:—–]|(?-i: ?(?=[A-Z]))"
    return re.compile(rf"(?:abstract\s?)?(?:{names})(?:{after})", re.I)


def _back(best: Sequence[float], ways: Sequence[Sequence[int]]) -> list[int]:
    """Return the best path to the last sentence."""
    if not best:
        return []
    path = [max(range(len(best)), key=best.__getitem__)]
    for way in reversed(ways[1:]):
        path.append(way[path[-1]])
    return path[::-1]


def _best_before(best: Sequence[float], facet: int, unsaid: float) -> int:
    """Return the facet of the sentence before, on the best path that continues with ``facet``."""
    return max(range(len(best)), key=lambda before: best[before] - _cost(before, facet, unsaid))


def _cost(before: int, after: int, unsaid: float) -> float:
    return 0.0 if before == after else unsaid + (_FORWARD if after > before else _BACK)
