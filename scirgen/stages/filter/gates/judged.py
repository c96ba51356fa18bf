"""The judge's verdict on questions, which comes with its verdict on answers (``llm_judge``)."""

from __future__ import annotations

from typing import ClassVar, Literal

from scirgen.core.config import Config
from scirgen.core.records import QAPair
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import ACCEPT, Material, PairGate, Verdict
from scirgen.stages.filter.deciding import possible_names
from scirgen.stages.filter.faithfulness.judged import JudgeScorer


class PoorQuestionGate(PairGate):
    """The judge finds the answer supported and the question at fault. Asks no model: reads the score of
    ``llm_judge``."""

    code: ClassVar[str] = "poor_question"
    explanation: ClassVar[str] = (
        "The judge (llm_judge) finds that the question does not say which dataset, samples, place or years it means, "
        "asks two things, runs in a circle, or has many right answers; off without the judge."
    )
    on_by_default: ClassVar[bool] = False
    known_items: ClassVar[bool] = True
    action: ClassVar[Literal["reject", "doubt"]] = "doubt"
    order: ClassVar[int] = 90
    after_scores: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("scores",)

    def in_force(self, config: Config) -> bool:
        """Only with the judge."""
        return JudgeScorer.name in possible_names(config)

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        judged = next((s for s in pair.scores if s.name == JudgeScorer.name), None)
        if judged is None or dict(judged.parts).get("question", 1.0) >= 0.5:
            return ACCEPT
        return Verdict(False, judged.detail)
