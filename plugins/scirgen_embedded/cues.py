"""Scores a sentence for each of the six aspects, by the cue patterns of ``taxonomies/aspects.yaml``. No model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scirgen.core.taxonomy import AspectDefinition
from scirgen.plugin import AspectCategory, SectionClass

_USUAL_SECTION = 0.5
_EARLIER_CUES = 0.05


class AspectCues:
    """The compiled patterns.

    Args:
        definitions: the six aspects; if two fit equally, the earlier one comes first.
    """

    def __init__(self, definitions: Sequence[AspectDefinition]) -> None:
        self._definitions = [(d, [re.compile(c, re.I) for c in d.cues]) for d in definitions]

    def scores(self, sentence: str, section: SectionClass | None = None) -> dict[AspectCategory, float]:
        """Return a mapping: aspect -> number of its cues in the sentence, plus a half if the section is typical of it.

        Aspects without any cue in the sentence are left out. The first cues of an aspect are the most reliable and
        weigh slightly more, so ties are rare. In related work, the aims, methods and findings of others count as
        background.
        """
        found: dict[AspectCategory, float] = {}
        for definition, cues in self._definitions:
            hits = [i for i, cue in enumerate(cues) if cue.search(sentence)]
            if hits:
                sure = _EARLIER_CUES * (len(cues) - hits[0]) / len(cues)
                found[definition.id] = len(hits) + sure + (_USUAL_SECTION if section in definition.sections else 0.0)
        if section is SectionClass.RELATED_WORK:
            return _as_background(found)
        return found

    def ranked(self, sentence: str, section: SectionClass | None = None) -> list[tuple[AspectCategory, float]]:
        """Return the aspects with a cue in the sentence, best first."""
        return sorted(self.scores(sentence, section).items(), key=lambda item: -item[1])


def _as_background(found: dict[AspectCategory, float]) -> dict[AspectCategory, float]:
    others = (AspectCategory.OBJECTIVE, AspectCategory.METHODS, AspectCategory.FINDINGS, AspectCategory.DATASET)
    kept = {c: s for c, s in found.items() if c not in others}
    told = [s for c, s in found.items() if c in others]
    if told:
        kept[AspectCategory.BACKGROUND] = max(kept.get(AspectCategory.BACKGROUND, 0.0), _USUAL_SECTION + max(told))
    return kept
