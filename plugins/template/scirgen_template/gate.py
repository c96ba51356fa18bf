"""A gate: a reason to reject a pair. It runs if the settings name it, as this domain's ``config.yaml`` does:
``filter.gate_options.template_gate.enabled``."""

from __future__ import annotations

from typing import ClassVar

from scirgen import ACCEPT, Material, PairGate, QAPair, StageContext, Verdict


class TemplateGate(PairGate):
    """Questions with too many words; replace `judge` with your field's rule."""

    code: ClassVar[str] = "template_gate"
    explanation: ClassVar[str] = "The question has more words than the threshold."
    default_threshold: ClassVar[float | None] = 50.0

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        """Accept, or reject with a reason that a person can check."""
        words = len(pair.question.split())
        return Verdict(False, f"{words} words", words) if words > self.threshold(ctx.config) else ACCEPT
