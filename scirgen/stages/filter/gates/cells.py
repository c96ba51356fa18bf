"""The gate for answers that rest on cells of a table: code recomputes their numbers."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from scirgen.claims.computed import alike, cell_numbers, computed
from scirgen.claims.quantities import quantities, stated
from scirgen.core.records import QAPair
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import ACCEPT, Material, PairGate, Verdict

_LARGEST = re.compile(r"\b(?:highest|largest|greatest|most|maximum|longest|oldest|warmest|deepest)\b", re.I)
_SMALLEST = re.compile(r"\b(?:lowest|smallest|least|fewest|minimum|shortest|youngest|coldest|shallowest)\b", re.I)


class NotComputedGate(PairGate):
    """A number of an answer that rests on cells is neither in the evidence or the question nor follows from them."""

    code: ClassVar[str] = "not_computed"
    explanation: ClassVar[str] = (
        "The answer rests on cells of a table, and code cannot recompute it: a number is neither in the evidence or "
        "the question nor a difference, ratio, per cent, share, sum, mean or count of the cited cells within its "
        "rounding, or has another unit than its cell; or what is called the largest or smallest (in English) is not so "
        "among two or more of them."
    )
    action: ClassVar[Literal["reject", "doubt"]] = "doubt"
    order: ClassVar[int] = 94
    version: ClassVar[int] = 2
    needs: ClassVar[tuple[str, ...]] = ("answer", "evidence")

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        cells = cell_numbers(pair.evidence)
        if not cells:
            return ACCEPT
        words = ctx.taxonomies.wording.of(pair.language).number_words
        known = stated("\n".join((pair.question, *(s.shown for s in pair.evidence))), words)
        for claimed in quantities(pair.answer):
            same = [c for c in cells if abs(c.value) == abs(claimed.value)]
            if same and not any(alike(claimed, c) for c in same):
                return Verdict(False, f"{claimed.text.strip()} is in {same[0].unit} in its cell")
            plain = claimed.count or claimed.year
            if not (known.holds(claimed) or computed(claimed, cells) or (plain and claimed.text in pair.question)):
                return Verdict(False, f"{claimed.text.strip()} does not follow from the {len(cells)} cited cells")
        return self._ranked(pair)

    def _ranked(self, pair: QAPair) -> Verdict:
        """Check what is asked for as the largest or smallest, if the answer gives the value of one of its cells."""
        asked = [pick for words, pick in ((_LARGEST, max), (_SMALLEST, min)) if words.search(pair.question)]
        if len(asked) != 1 or pair.language != "en":
            return ACCEPT
        cells = cell_numbers(pair.evidence)
        if len(cells) < 2:
            return Verdict(False, "it asks for an extreme, and only one cell is cited")
        values = [q.value for q in quantities(pair.answer) if any(abs(q.value) == abs(c.value) for c in cells)]
        alike = [
            c.value
            for c in cells
            if not values or c.unit == next(k.unit for k in cells if abs(k.value) == abs(values[0]))
        ]
        if len(values) == 1 and abs(values[0]) != abs(asked[0](alike)):
            return Verdict(False, f"{values[0]:g} is not the {'largest' if asked[0] is max else 'smallest'} cited cell")
        return ACCEPT
