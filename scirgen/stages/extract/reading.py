"""Reading a section with a model that follows instructions: numbered sentences in, numbers and quotations by aspect out.

What becomes an aspect is always the document's own sentence, found by the quotation; the model's words are never kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from scirgen.core.records import AspectCategory, Document
from scirgen.core.text.verbatim import Verbatim, bare
from scirgen.stages.base import StageContext
from scirgen.stages.extract.sections import Sentence, cut

_LEAST_QUOTE = 12  # letters and digits; less may stand anywhere
_REPLY_TOKENS = 1600


class Found(BaseModel):
    """A sentence the model points at."""

    model_config = ConfigDict(extra="forbid")
    sentence: int = Field(description="the number in front of the sentence")
    quote: str = Field(description="the first eight words of the sentence or more, copied exactly")


class AspectsReply(BaseModel):
    """The sentences of one passage by aspect."""

    model_config = ConfigDict(extra="forbid")
    background: list[Found]
    research_objective: list[Found]
    methods: list[Found]
    challenges: list[Found]
    dataset: list[Found]
    findings: list[Found]


@dataclass(frozen=True)
class Picked:
    """A sentence chosen for an aspect; or, with a code, what was chosen and why it cannot be kept."""

    category: AspectCategory
    sentence: Sentence | None
    said: str
    code: str = ""
    reason: str = ""
    prompt: str = ""
    replies: tuple[str, ...] = ()


async def read_section(document: Document, sentences: Sequence[Sentence], ctx: StageContext) -> list[Picked]:
    """One call a passage; a section that fits into ``max_tokens_per_call`` is one passage."""
    picked: list[Picked] = []
    index = Verbatim(document.text)
    for passage in cut(sentences, _room(ctx)):
        prompt = ctx.prompt("aspects").render(
            heading=_heading(passage[0]),
            sentences=[f"[{s.number}] {s.text}" for s in passage],
            aspects=[(a.id.value, a.definition) for a in ctx.taxonomies.aspects.aspects],
        )
        reply = await ctx.chat.ask(prompt, AspectsReply, seed=ctx.seed(passage[0].number))
        for category in AspectCategory:
            found: list[Found] = getattr(reply.value, category.value)
            picked += [
                locate(category, f, passage, index, prompt=prompt.reference, replies=(reply.reply_key,)) for f in found
            ]
    return picked


def locate(
    category: AspectCategory,
    found: Found,
    passage: Sequence[Sentence],
    index: Verbatim,
    *,
    prompt: str = "",
    replies: tuple[str, ...] = (),
) -> Picked:
    """The sentence of the passage that a quotation begins in: the numbered one where it holds it, or else the first that does."""
    quote = bare(found.quote.split("]", 1)[1] if found.quote.lstrip().startswith("[") else found.quote)
    said = f"[{found.sentence}] {found.quote}"
    if sum(c.isalnum() for c in quote) < _LEAST_QUOTE:
        why = "the quotation is too short to tell which sentence is meant"
        return Picked(category, None, said, "not_verbatim", why, prompt, replies)
    for sentence in sorted(passage, key=lambda s: s.number != found.sentence):
        at = index.find(quote, sentence.start)
        if at is not None and at[0] < sentence.end:
            return Picked(category, sentence, said, prompt=prompt, replies=replies)
    return Picked(category, None, said, "not_verbatim", "the quotation is not in the passage", prompt, replies)


def _room(ctx: StageContext) -> int:
    """Tokens of text in one call: the setting, or what the model's context leaves beside instructions and reply."""
    setting = ctx.config.extract.max_tokens_per_call
    context = ctx.chat.capabilities.context_tokens
    return setting if context is None else max(200, min(setting, context - _REPLY_TOKENS - 900))


def _heading(sentence: Sentence) -> str:
    return " > ".join(sentence.label.heading_path or (sentence.label.heading,))
