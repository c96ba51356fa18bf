"""The strategies that may ask the model. Its word alone never makes a match: its quotations must be spans of the paper, and
they must speak of the dataset in more than the name of a place.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from scirgen.core.records import SectionClass
from scirgen.core.text.untrusted import talks_to_machine
from scirgen.core.text.words import telling_words
from scirgen.stages.base import StageContext
from scirgen.stages.match.base import Judgement, Pair, Place
from scirgen.stages.match.lexical import Indirect, find_indirect, judge_indirect
from scirgen.stages.match.mention import find_mentions, judge_mentions
from scirgen.stages.match.names import DatasetNames

YES, NO = "yes", "no"
_LEAST_QUOTE = 20  # characters; less can be found in any paper
_EXPLICIT_COVERAGE = 0.3


class JudgeReply(BaseModel):
    """The model's structured judgement."""

    model_config = ConfigDict(extra="forbid")
    evidence_quotes: list[str] = Field(description="sentences of the paper, copied exactly, that show it")
    explanation: str = Field(description="one or two sentences")
    used: bool = Field(description="whether the paper uses this dataset")


class ModelStrategy:
    """``model``: the sentences nearest to the metadata and those that name the dataset are judged by the generator."""

    name = "model"

    async def judge(self, pair: Pair, ctx: StageContext) -> Judgement:
        """By the model, within the guards."""
        named = find_mentions(pair)
        indirect = find_indirect(pair, ctx.config.match.evidence_sentences)
        return await ask_model(pair, [*named.uses(), *named.entries], indirect, ctx)


class AutoStrategy:
    """``auto``: by rule where the paper names the dataset; where it only speaks like it, by the model.

    A paper that the user or the record names as the dataset's own is judged more kindly; small models, and runs without a
    model, are left out of it: then the lexical rule decides.
    """

    name = "auto"

    async def judge(self, pair: Pair, ctx: StageContext) -> Judgement:
        """By rule first."""
        named = find_mentions(pair)
        by_rule = judge_mentions(pair, named)
        if by_rule.used:
            return by_rule
        indirect = find_indirect(pair, ctx.config.match.evidence_sentences)
        if pair.explicit:
            lexical = judge_indirect(indirect, _EXPLICIT_COVERAGE)
        elif named.entries or named.named or indirect.describing:
            lexical = judge_indirect(indirect, 1.0)
        else:
            return by_rule
        if ctx.chat_session is None or ctx.chat.pack == "small":
            return lexical if lexical.used and pair.explicit else by_rule
        return await ask_model(pair, [*named.named, *named.cited, *named.entries], indirect, ctx)


async def ask_model(pair: Pair, named: list[Place], indirect: Indirect, ctx: StageContext) -> Judgement:
    """The model's judgement on the candidate sentences; the guards have the last word."""
    shown = _shown(pair, named, [s.place for s in indirect.sentences], ctx.config.match.evidence_sentences)
    if not shown:
        return Judgement(False, "The paper has no sentence that speaks of such data.", code="not_named")
    prompt = ctx.prompt("judge").render(
        metadata=pair.dataset.text,
        found_by=", ".join(pair.found_by) or "not said",
        paper_title=pair.document.title or "not known",
        sentences=[pair.words(p.start, p.end) for p in shown],
    )
    if ctx.chat.pack == "small":
        answer = await ctx.chat.choose(prompt, (YES, NO), seed=ctx.seed())
        said = Judgement(answer.text == YES, f"The model says {answer.text}.", tuple(shown[:4]))
        replies = (answer.reply_key,)
        if said.used and not judge_indirect(indirect, _EXPLICIT_COVERAGE).used:
            said = Judgement(False, "The model says yes, but the paper's sentences do not bear it out.", said.places)
    else:
        reply = await ctx.chat.ask(prompt, JudgeReply, seed=ctx.seed())
        said, replies = guarded(pair, reply.value), (reply.reply_key,)
    return Judgement(said.used, said.explanation, said.places, said.code, prompt.reference, replies)


def guarded(pair: Pair, reply: JudgeReply) -> Judgement:
    """What of a reply holds: its quotations located in the paper, and a yes only with one that speaks of the dataset."""
    places = _located(pair, reply.evidence_quotes)
    if not reply.used:
        return Judgement(False, reply.explanation, places)
    if not places:
        why = "The model says that the paper uses the dataset, but none of its quotations is in the paper."
        return Judgement(False, why, code="not_verbatim")
    names = DatasetNames(pair.dataset)
    if not any(_speaks_of(pair.document.text[p.start : p.end], names) for p in places):
        why = "The model says that the paper uses the dataset, but its quotations share no more with it than a place."
        return Judgement(False, why, places, "place_only")
    return Judgement(True, reply.explanation, places)


def _located(pair: Pair, quotes: list[str]) -> tuple[Place, ...]:
    found: dict[int, Place] = {}
    for quote in quotes:
        if len(quote.strip()) < _LEAST_QUOTE:
            continue
        at = pair.verbatim.find(quote)
        if at is not None and not talks_to_machine(_sentences_of(pair, *at)):
            found.setdefault(at[0], Place(*at, pair.section(at[0]), "quotation"))
    return tuple(found[start] for start in sorted(found))


def _sentences_of(pair: Pair, start: int, end: int) -> str:
    """The whole sentences that a quotation is part of: half an order is an order."""
    return pair.document.text[pair.sentence_at(start, end)[0] : max(end, pair.sentence_at(start, end)[1])]


def _speaks_of(quote: str, names: DatasetNames) -> bool:
    low = quote.lower()
    if any(i in low for i in names.identifiers) or any(n.text in quote for n in names.names):
        return True
    return len(telling_words(quote) & names.subject) >= 2


def _shown(pair: Pair, named: list[Place], similar: list[Place], limit: int) -> list[Place]:
    """Sentences for the prompt: those that name the dataset first, then the nearest; in the paper's order."""
    chosen: dict[tuple[int, int], Place] = {}
    for place in [*named, *similar]:
        hostile = talks_to_machine(pair.document.text[place.start : place.end])
        if len(chosen) < limit and place.section is not SectionClass.RELATED_WORK and not hostile:
            chosen.setdefault((place.start, place.end), place)
    return [chosen[key] for key in sorted(chosen)]
