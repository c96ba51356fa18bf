"""A faithfulness scorer (``filter.faithfulness: [overlap]``): how much the material supports an answer; higher is
better."""

from collections.abc import Sequence
from typing import ClassVar

from scirgen import Faithfulness, Material, QAPair, Score, StageContext


class OverlapScorer(Faithfulness):
    """Share of the answer's words that stand in its evidence."""

    name: ClassVar[str] = "overlap"
    needs = ()
    default_threshold: ClassVar[float] = 0.5

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        return [Score(name=self.name, value=self._share(p)) for p in pairs]

    @staticmethod
    def _share(pair: QAPair) -> float:
        said, evidence = pair.answer.lower().split(), " ".join(s.text for s in pair.evidence).lower()
        return sum(word in evidence for word in said) / max(len(said), 1)
