"""A faithfulness scorer: how much the evidence supports an answer, higher is better. It runs if the settings name it:
``--set filter.faithfulness='[shift, template_scorer]'``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from scirgen import Faithfulness, Material, QAPair, Score, StageContext


class TemplateScorer(Faithfulness):
    """Share of the answer's words that occur in its evidence; replace `score` with your own measure."""

    name: ClassVar[str] = "template_scorer"
    needs = ()  # ("scorer",) for one that asks a model
    default_threshold: ClassVar[float] = 0.2

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        """Return one score per pair, in order; an exception if none can be measured."""
        return [Score(name=self.name, value=_share(pair)) for pair in pairs]


def _share(pair: QAPair) -> float:
    said, evidence = pair.answer.lower().split(), " ".join(s.text for s in pair.evidence).lower()
    return sum(word in evidence for word in said) / max(len(said), 1)
