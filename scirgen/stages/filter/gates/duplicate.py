"""Duplicates within a dataset. Those across datasets are found in release, which sees the whole run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from scirgen.core.records import QAPair
from scirgen.qa.neardup import Wordprint, wordprint
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import ACCEPT, Gate, Material, Verdict


class DuplicateGate(Gate):
    """The question repeats another one of the same dataset; the first by id is kept, earlier rounds' before all."""

    code: ClassVar[str] = "duplicate"
    explanation: ClassVar[str] = (
        "The question repeats another of the same dataset (threshold: share of content words two questions have in common; "
        "their numbers must be the same, and no name, thing or direction may be exchanged)."
    )
    order: ClassVar[int] = 100
    version: ClassVar[int] = 2
    default_threshold: ClassVar[float | None] = 0.8

    async def check(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Verdict]:
        limit = self.threshold(ctx.config)
        kept = [_print(p, ctx) for p in material.accepted]
        verdicts = []
        for pair in pairs:
            mine = _print(pair, ctx)
            best = max(((mine.similarity(other), i) for i, other in enumerate(kept)), default=(0.0, 0))
            if best[0] >= limit:
                verdicts.append(Verdict(False, f"repeats {kept[best[1]].id}: {kept[best[1]].text[:80]!r}", best[0]))
            else:
                kept.append(mine)
                verdicts.append(ACCEPT)
        return verdicts


def _print(pair: QAPair, ctx: StageContext) -> Wordprint:
    wording = ctx.taxonomies.wording.of(pair.language)
    return wordprint(
        pair.id, pair.question, pair.question_type, wording.stop, directed=wording.directed, answer=pair.answer
    )
