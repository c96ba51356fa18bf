"""A gate for questions about something else than their evidence, as in a reply that was made for another prompt."""

from __future__ import annotations

from typing import ClassVar, Literal

from scirgen.claims.support import content, share_known, vocabulary
from scirgen.core.records import QAPair
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import ACCEPT, Material, PairGate, Verdict
from scirgen.stages.filter.gates.form import foreign_letters, foreign_material

_LEAST_WORDS = 4
"""A shorter question may ask for one thing in other words than its evidence."""
_FOREIGN = 4
"""This many letters of another script in the evidence: its words cannot be those of the question."""


class OtherQuestionGate(PairGate):
    """Hardly a word of the question, its names included, is in the cited lines or the dataset's title.

    A cache that answers a prompt with the reply to another one gives such pairs: lines are cited by number, so the
    question comes with lines of another record. Of 583 pairs of a strong writer, 498 are found when each gets the
    lines of another dataset, and 2 with their own (``tests/unit/stages/filter/test_other_question.py``).
    """

    code: ClassVar[str] = "other_question"
    explanation: ClassVar[str] = (
        "Fewer of the question's content words than the threshold are in its evidence or the title: it seems to have "
        "been written for another text."
    )
    action: ClassVar[Literal["reject", "doubt"]] = "doubt"
    order: ClassVar[int] = 94
    default_threshold: ClassVar[float | None] = 0.1
    needs: ClassVar[tuple[str, ...]] = ("evidence",)

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        wording = ctx.taxonomies.wording.of(pair.language)
        cited = "\n".join(span.text for span in pair.evidence)
        asked = list(dict.fromkeys(content(pair.question, wording.stop)))
        if not cited or len(asked) < _LEAST_WORDS or foreign_letters(cited, pair.language) >= _FOREIGN:
            return ACCEPT
        title = material.dataset.title if material.dataset else ""
        share = share_known(asked, vocabulary(f"{title}\n{cited}", wording.stop))
        if share >= self.threshold(ctx.config) or foreign_material(cited, pair.language, ctx.taxonomies):
            return ACCEPT
        return Verdict(False, f"only {share:.0%} of the question's words are in its evidence", share)
