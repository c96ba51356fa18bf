"""The second pass by a model: per aspect, which sentences are kept for the dataset; by single yes/no questions for small ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from scirgen.core.context import aspects_by_category
from scirgen.core.cues import AspectCues
from scirgen.core.records import Aspect, AspectCategory, Dataset
from scirgen.core.words import DATA_WORDS, telling_words
from scirgen.stages.base import StageContext
from scirgen.stages.verify.rules import Verdict

YES, NO = "yes", "no"
_BATCH = 40
_CLEARLY_RELEVANT = 2


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
    """A reply's decisions; numbers that are no sentence's are passed over, a number in both lists is removed."""
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


async def judge_singly(dataset: Dataset, aspects: Sequence[Aspect], ctx: StageContext) -> list[Verdict]:
    """For small models: sentences that share words with the metadata are kept by rule; of the others, those with the most
    cues are asked about one by one, and the rest are not kept. At most ``aspects_per_category`` of a category.
    """
    subject = telling_words(dataset.text) - DATA_WORDS
    cues = AspectCues(ctx.taxonomies.aspects.aspects)
    ordered = sorted(aspects, key=lambda a: -cues.scores(a.span.text, a.span.section).get(a.category, 0.0))
    calls = ctx.config.verify.calls_per_paper
    kept: dict[AspectCategory, int] = {}
    verdicts: list[Verdict] = []
    for aspect in ordered:
        if kept.get(aspect.category, 0) >= ctx.config.verify.aspects_per_category:
            verdicts.append(Verdict(aspect, False, "enough better ones are kept", "surplus"))
            continue
        shared = sorted(telling_words(aspect.span.text) & subject)
        if len(shared) >= _CLEARLY_RELEVANT:
            verdict = Verdict(aspect, True, f"it speaks of {', '.join(shared[:5])}, as the metadata do")
        elif shared and calls > 0:
            calls -= 1
            verdict = await _ask(dataset, aspect, ctx)
        else:
            verdict = Verdict(aspect, False, "it shares hardly a word with the metadata", "irrelevant")
        kept[aspect.category] = kept.get(aspect.category, 0) + verdict.keep
        verdicts.append(verdict)
    return verdicts


async def _ask(dataset: Dataset, aspect: Aspect, ctx: StageContext) -> Verdict:
    prompt = ctx.prompt("keep").render(
        title=dataset.title,
        description=dataset.description,
        aspect=aspect.category.value.replace("_", " "),
        sentence=" ".join(aspect.span.text.split()),
    )
    answer = await ctx.chat.choose(prompt, (YES, NO), seed=ctx.seed(aspect.id))
    keep = answer.text == YES
    reason = f"the model says {answer.text} to its being relevant"
    return Verdict(aspect, keep, reason, "" if keep else "irrelevant", prompt.reference, (answer.reply_key,))
