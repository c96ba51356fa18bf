"""The second pass by a model: per aspect, which sentences are kept for the dataset. Small models have `singly`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from scirgen.core.records import Aspect, Dataset, aspects_by_category
from scirgen.stages.base import StageContext
from scirgen.stages.verify.rules import Verdict

_BATCH = 40


class Kept(BaseModel):
    """A sentence to keep."""

    model_config = ConfigDict(extra="forbid")
    number: int
    reason: str = Field(description="why it matters for the dataset, in a few words")


class Removed(BaseModel):
    """A sentence to remove."""

    model_config = ConfigDict(extra="forbid")
    number: int
    fault: Literal["irrelevant", "redundant", "incomplete", "wrong_category"]
    reason: str


class VerifyReply(BaseModel):
    """The second pass's decision on the sentences of one aspect."""

    model_config = ConfigDict(extra="forbid")
    keep: list[Kept]
    remove: list[Removed]


async def judge_aspects(dataset: Dataset, aspects: Sequence[Aspect], ctx: StageContext) -> list[Verdict]:
    """One call an aspect (and batch of forty): numbers to keep with reasons. What the reply leaves out is not kept."""
    definitions = {a.id: a for a in ctx.taxonomies.aspects.aspects}
    verdicts: list[Verdict] = []
    for category, group in aspects_by_category(aspects).items():
        for first in range(0, len(group), _BATCH):
            batch = group[first : first + _BATCH]
            prompt = ctx.prompt("keep").render(
                metadata=dataset.text,
                aspect=definitions[category].name,
                definition=definitions[category].definition,
                sentences=[f"[{n}] {' '.join(a.span.text.split())}" for n, a in enumerate(batch, 1)],
            )
            reply = await ctx.chat.ask(prompt, VerifyReply, seed=ctx.seed(category, first))
            verdicts += _applied(reply.value, batch, prompt.reference, reply.reply_key)
    return verdicts


def _applied(reply: VerifyReply, batch: Sequence[Aspect], prompt: str, reply_key: str) -> list[Verdict]:
    """A reply's decisions; numbers without a sentence are ignored, a number in both lists is removed."""
    removed = {r.number: r for r in reply.remove}
    kept = {k.number: k for k in reply.keep if k.number not in removed}
    verdicts: list[Verdict] = []
    for number, aspect in enumerate(batch, 1):
        if number in kept:
            verdicts.append(Verdict(aspect, True, _line(kept[number].reason), prompt=prompt, replies=(reply_key,)))
        elif number in removed:
            fault = removed[number]
            verdicts.append(
                Verdict(aspect, False, _line(fault.reason), fault.fault, prompt=prompt, replies=(reply_key,))
            )
        else:
            why = "the second pass did not choose it"
            verdicts.append(Verdict(aspect, False, why, "irrelevant", prompt=prompt, replies=(reply_key,)))
    return verdicts


def _line(reason: str) -> str:
    return " ".join(reason.split())[:300]
