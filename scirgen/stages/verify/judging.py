"""The second pass by a model: it names the sentences of a paper that are not kept for a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from scirgen.core.records import Aspect, Dataset
from scirgen.stages.base import StageContext
from scirgen.stages.verify.rules import Verdict

_BATCH = 80
_WHY = {
    "irrelevant": "of no use to somebody who wants to understand or use the dataset",
    "redundant": "another sentence says the same",
    "incomplete": "it cannot be understood alone",
    "wrong_category": "it is not of the kind it was given for",
}


class Removed(BaseModel):
    """A sentence to remove."""

    model_config = ConfigDict(extra="forbid")
    number: int
    fault: Literal["irrelevant", "redundant", "incomplete", "wrong_category"]


class VerifyReply(BaseModel):
    """The sentences that are not kept; all others are."""

    model_config = ConfigDict(extra="forbid")
    remove: list[Removed] = Field(description="empty where every sentence is worth keeping")


async def judge_aspects(dataset: Dataset, aspects: Sequence[Aspect], ctx: StageContext) -> list[Verdict]:
    """Ask about all aspects of a paper, eighty sentences a call. A removal needs one of four codes; others stay."""
    sentences: dict[tuple[str, int, int], list[Aspect]] = {}
    for aspect in sorted(aspects, key=lambda a: (a.span.start, a.span.end)):
        sentences.setdefault((aspect.span.document_id, aspect.span.start, aspect.span.end), []).append(aspect)
    groups = list(sentences.values())
    verdicts: list[Verdict] = []
    for first in range(0, len(groups), _BATCH):
        batch = groups[first : first + _BATCH]
        prompt = ctx.prompt("keep").render(
            metadata=dataset.text,
            aspects=[(a.id.value, a.definition) for a in ctx.taxonomies.aspects.aspects],
            sentences=_shown(batch),
        )
        reply = await ctx.chat.ask(prompt, VerifyReply, seed=ctx.seed(first))
        faults = {r.number: r.fault for r in reply.value.remove}
        for number, group in enumerate(batch, 1):
            fault = faults.get(number, "")
            why = _WHY[fault] if fault else "the second pass kept it"
            verdicts += [Verdict(a, not fault, why, fault, prompt.reference, (reply.reply_key,)) for a in group]
    return verdicts


def _shown(batch: Sequence[Sequence[Aspect]]) -> list[str]:
    """Numbered sentences, each with its kinds and, where it does not say so itself, what it is about."""
    lines = []
    for number, group in enumerate(batch, 1):
        kinds = ", ".join(a.category.value.replace("_", " ") for a in group)
        about = f"; about {group[0].context}" if group[0].context else ""
        lines.append(f"[{number}] ({kinds}{about}) {' '.join(group[0].span.text.split())}")
    return lines
