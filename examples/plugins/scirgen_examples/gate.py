"""A gate: a reason to reject a pair. `PairGate` looks at one pair at a time; `Gate` at all pairs of a dataset
together."""

from typing import ClassVar

from scirgen import ACCEPT, Material, PairGate, QAPair, StageContext, Verdict


class ShoutingGate(PairGate):
    """Questions in capital letters."""

    code: ClassVar[str] = "shouting"
    explanation: ClassVar[str] = "More than the threshold of the question's letters are capitals."
    order: ClassVar[int] = 35
    default_threshold: ClassVar[float | None] = 0.5

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        letters = [c for c in pair.question if c.isalpha()]
        share = sum(c.isupper() for c in letters) / max(len(letters), 1)
        if share > self.threshold(ctx.config):
            return Verdict(False, f"{share:.0%} of the letters are capitals", share)
        return ACCEPT
