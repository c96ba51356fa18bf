"""Gates for duplicates within a dataset: the same question, or the same fact. The release finds duplicates between
datasets, since it sees the whole run."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten
from typing import ClassVar, Literal

from scirgen.core.records import QAPair
from scirgen.repeats.neardup import Wordprint, wordprint
from scirgen.repeats.samefact import fact
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import ACCEPT, Gate, Material, Verdict


class DuplicateGate(Gate):
    """The question repeats another one of the same dataset; the first by id is kept, earlier rounds' before all."""

    code: ClassVar[str] = "duplicate"
    explanation: ClassVar[str] = (
        "The question repeats another of the same dataset (threshold: share of content words two questions have in "
        "common; their numbers must be the same, and no name, thing or direction may be exchanged)."
    )
    order: ClassVar[int] = 100
    after_scores: ClassVar[bool] = True
    version: ClassVar[int] = 2
    default_threshold: ClassVar[float | None] = 0.8

    async def check(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Verdict]:
        limit = self.threshold(ctx.config)
        kept = [_print(p, ctx) for p in material.accepted]
        verdicts = []
        for pair in pairs:
            mine = _print(pair, ctx)
            score, at = max(((mine.similarity(other), i) for i, other in enumerate(kept)), default=(0.0, 0))
            if score >= limit:
                verdicts.append(Verdict(False, f"repeats {kept[at].id}: {_short(kept[at].text)!r}", score))
            else:
                kept.append(mine)
                verdicts.append(ACCEPT)
        return verdicts


class SameFactGate(Gate):
    """The pair asks for a fact that another one of the same dataset asks for too, in another form; the longest answer
    is kept."""

    code: ClassVar[str] = "same_fact"
    explanation: ClassVar[str] = (
        "Another pair asks for the same fact in another form, from the same evidence (threshold: share of the words "
        "of question and answer that two pairs have in common, 0.15 more with another answer; no name, number or "
        "thing of the evidence may be exchanged; or, 0.2 more, the share of a pair's words that another pair tells "
        "along with more)."
    )
    known_items: ClassVar[bool] = True
    action: ClassVar[Literal["reject", "doubt"]] = "doubt"
    order: ClassVar[int] = 101
    after_scores: ClassVar[bool] = True
    version: ClassVar[int] = 4
    default_threshold: ClassVar[float | None] = 0.55
    needs: ClassVar[tuple[str, ...]] = ("answer", "evidence")

    async def check(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Verdict]:
        limit = self.threshold(ctx.config)
        kept = [(p, fact(p, ctx.taxonomies.wording.of(p.language))) for p in material.accepted]
        verdicts: dict[str, Verdict] = {}
        # Ids differ between datasets with the same text, so the longest answer is kept in both.
        for pair in sorted(pairs, key=lambda p: (-len(p.answer.split()), p.question)):
            mine = fact(pair, ctx.taxonomies.wording.of(pair.language))
            score, first = max(((mine.similarity(f), p) for p, f in kept), key=lambda x: x[0], default=(0.0, pair))
            if score >= limit:
                verdicts[pair.id] = Verdict(False, f"asks what {first.id} asks: {_short(first.question)!r}", score)
            else:
                kept.append((pair, mine))
                verdicts[pair.id] = ACCEPT
        return [verdicts[p.id] for p in pairs]


def _print(pair: QAPair, ctx: StageContext) -> Wordprint:
    wording = ctx.taxonomies.wording.of(pair.language)
    return wordprint(
        pair.id, pair.question, pair.question_type, wording.stop, directed=wording.directed, answer=pair.answer
    )


def _short(text: str) -> str:
    return shorten(text, 80, placeholder=" ...")
