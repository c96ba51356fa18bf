"""Reads a section with a model that follows instructions.

The prompt shows numbered sentences, and the reply holds their numbers by aspect. An aspect is always a sentence of the
document; the model's words are never kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from scirgen.core.records import AspectCategory, Dataset, Document
from scirgen.stages.base import StageContext
from scirgen.stages.extract.sections import Sentence, cut

_REPLY_TOKENS = 1600
_DATASET_CHARS = 400
_LONGEST_CHAIN = 2
_VARIABLES = re.compile(r"variable|parameter|measur|element", re.I)


class AspectsReply(BaseModel):
    """Numbers of the sentences of one passage, by aspect; a sentence may be of several."""

    model_config = ConfigDict(extra="forbid")
    background: list[int]
    research_objective: list[int]
    methods: list[int]
    challenges: list[int]
    dataset: list[int]
    findings: list[int]
    needs_previous: list[int] = Field(
        description="of all these, the sentences that cannot be understood without the one before; that one too, if the same holds for it"
    )


@dataclass(frozen=True)
class Picked:
    """A sentence that was chosen for an aspect; with a code, one that cannot be kept, and why."""

    category: AspectCategory
    sentence: Sentence | None
    said: str
    code: str = ""
    reason: str = ""
    prompt: str = ""
    replies: tuple[str, ...] = ()
    context: tuple[Sentence, ...] = ()


async def read_section(
    document: Document, sentences: Sequence[Sentence], datasets: Sequence[Dataset], ctx: StageContext
) -> list[Picked]:
    """One call per passage; a section that fits into ``max_tokens_per_call`` is one passage.

    Args:
        document: the paper.
        sentences: the sentences of the section.
        datasets: all datasets that the paper uses; the sentences are chosen for them.
        ctx: gives the model and the settings.
    """
    picked: list[Picked] = []
    for passage in cut(sentences, _room(ctx)):
        prompt = ctx.prompt("aspects").render(
            heading=_heading(passage[0]),
            sentences=[f"[{s.number}] {s.text}" for s in passage],
            aspects=[(a.id.value, a.definition) for a in ctx.taxonomies.aspects.aspects],
            datasets=[_described(d) for d in datasets],
        )
        reply = await ctx.chat.ask(prompt, AspectsReply, seed=ctx.seed(passage[0].number))
        by_number = {s.number: s for s in passage}
        for category in AspectCategory:
            numbers: list[int] = getattr(reply.value, category.value)
            for number in dict.fromkeys(numbers):
                found = by_number.get(number)
                code = "" if found else "no_such_sentence"
                why = "" if found else f"the passage has no sentence {number}"
                picked.append(
                    Picked(
                        category, found, found.text if found else str(number), code, why, prompt.reference, (reply.reply_key,),
                        _before(document, found, sentences, reply.value.needs_previous) if found else (),
                    )
                )  # fmt: skip
    return picked


def _before(
    document: Document, sentence: Sentence, sentences: Sequence[Sentence], leaning: Collection[int]
) -> tuple[Sentence, ...]:
    """The sentence right before one that leans on it, in the same block of the document or the one above, and the one
    before that where it leans, too."""
    by_number = {s.number: s for s in sentences}
    found: list[Sentence] = []
    while sentence.number in leaning and len(found) < _LONGEST_CHAIN:
        before = by_number.get(sentence.number - 1)
        if before is None or document.text[before.end : sentence.start].strip():
            break
        found.insert(0, before)
        sentence = before
    return tuple(found)


def _described(dataset: Dataset) -> str:
    """A dataset's title, keywords and variables on one line."""
    more = [f"{label}: {value}" for label, value in dataset.fields if _VARIABLES.search(label)]
    said = ". ".join(text for text in (dataset.title, "; ".join(dataset.keywords), *more) if text)
    return " ".join(said.split())[:_DATASET_CHARS]


def _room(ctx: StageContext) -> int:
    """Tokens of text in one call: the setting, or the model's context less instructions and reply."""
    setting = ctx.config.extract.max_tokens_per_call
    context = ctx.chat.capabilities.context_tokens
    return setting if context is None else max(200, min(setting, context - _REPLY_TOKENS - 900))


def _heading(sentence: Sentence) -> str:
    return " > ".join(sentence.label.heading_path or (sentence.label.heading,))
