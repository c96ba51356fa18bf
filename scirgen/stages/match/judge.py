"""The strategies that may ask the model. The model's verdict alone is never enough: the sentences that it cites must
share more with the dataset than a place name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from scirgen.core.records import SectionClass
from scirgen.core.text.untrusted import talks_to_machine
from scirgen.core.text.words import telling_words
from scirgen.stages.base import StageContext
from scirgen.stages.match.base import Judgement, Pair, Place
from scirgen.stages.match.lexical import Indirect, find_indirect, judge_indirect
from scirgen.stages.match.mention import USE_CUES, find_mentions, judge_mentions
from scirgen.stages.match.names import DatasetNames

YES, NO = "yes", "no"
_FOUND_BY = {
    "column": "the record names this paper",
    "related_doi": "the record names this paper's DOI",
    "doi": "the record names this paper's DOI",
    "file_name": "the file is named after the dataset",
    "folder": "the paper lies in the same folder as the record",
    "cites": "the paper cites the dataset",
    "cites_related": "the paper cites a paper that the record names",
    "doi_in_text": "the dataset's DOI stands in the paper",
    "text_search": "a text search for the dataset",
    "related_identifier": "the record relates to this paper",
}
"""How a paper was found -> a description; others are shown by their name."""
_DATA_HEADING = re.compile(r"\b(?:data|datasets?|materials?|forcing|inputs?|datos|dados)\b|数据|资料", re.I)
_AVAILABLE = re.compile(
    r"\bdata availability\b|\b(?:data|dataset|records?)\b.{0,60}\b(?:available|archived|deposited|downloaded)\b", re.I
)
_EXPLICIT_COVERAGE = 0.3
_LEAST_WORDS = 4


Criterion = Literal["yes", "no", "unclear"]


class JudgeReply(BaseModel):
    """The model's structured judgement: ScIRGen's three criteria (section 2.1), then the verdict."""

    model_config = ConfigDict(extra="forbid")
    evidence: list[int] = Field(description="numbers of the sentences that decide it, at most five")
    methodology: Criterion = Field(description="the paper's methods take in these data, or made them")
    terminology: Criterion = Field(description="names, variables, region and period are those of the record")
    results: Criterion = Field(description="results of the paper rest on values of these data")
    explanation: str = Field(description="one sentence")
    verdict: Literal["used", "mentioned", "unclear"]


class ModelStrategy:
    """``model``: the sentences nearest to the metadata and those that name the dataset are judged by the generator."""

    name = "model"
    needs = ("generator",)

    async def judge(self, pair: Pair, ctx: StageContext) -> Judgement:
        """The model's judgement, limited by the guards."""
        named = find_mentions(pair)
        indirect = find_indirect(pair, ctx.config.match.evidence_sentences)
        return await ask_model(pair, [*named.uses(), *named.entries], indirect, ctx)


class AutoStrategy:
    """``auto``: a rule decides if the paper names the dataset; if their words are only similar, the model decides.

    With a small model or without a model, the lexical rule decides instead, but only about papers that, according to
    the user or the record, belong to the dataset; for these it needs less coverage.
    """

    name = "auto"
    needs = ("generator",)

    async def judge(self, pair: Pair, ctx: StageContext) -> Judgement:
        """The rule's judgement if it is clear, otherwise the model's."""
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
    """The model's judgement on the candidate sentences; the guards may overrule it."""
    shown = _shown(pair, named, [s.place for s in indirect.sentences], ctx.config.match.evidence_sentences)
    if not shown:
        return Judgement(False, "The paper has no sentence about such data.", code="not_named")
    small = ctx.chat.pack == "small"
    prompt = ctx.prompt("judge").render(
        metadata=pair.dataset.text,
        found_by="; ".join(_FOUND_BY.get(how, how.replace("_", " ")) for how in pair.found_by) or "not known",
        paper_title=pair.document.title or "not known",
        sentences=[("" if small else f"[{n}] ") + pair.words(p.start, p.end) for n, p in enumerate(shown, 1)],
    )
    if small:
        answer = await ctx.chat.choose(prompt, (YES, NO), seed=ctx.seed())
        said = Judgement(answer.text == YES, f"The model says {answer.text}.", tuple(shown[:4]))
        replies = (answer.reply_key,)
        if said.used and not judge_indirect(indirect, _EXPLICIT_COVERAGE).used:
            said = Judgement(False, "The model says yes, but the paper's sentences do not support it.", said.places)
    else:
        reply = await ctx.chat.ask(prompt, JudgeReply, seed=ctx.seed())
        said, replies = guarded(pair, reply.value, shown, ctx.config.match.when_unsure), (reply.reply_key,)
    return Judgement(said.used, said.explanation, said.places, said.code, prompt.reference, replies)


def guarded(
    pair: Pair, reply: JudgeReply, shown: Sequence[Place], when_unsure: Literal["keep", "drop"] = "drop"
) -> Judgement:
    """The judgement that a reply supports: the sentences it cites, and use only if one of them is about the dataset.

    Args:
        pair: the dataset and the paper.
        reply: the model's reply.
        shown: the sentences that the model saw, in the order of their numbers.
        when_unsure: whether ``unclear`` counts as use.
    """
    places = tuple(shown[n - 1] for n in dict.fromkeys(reply.evidence) if 1 <= n <= len(shown))
    criteria = f"methodology {reply.methodology}, terminology {reply.terminology}, results {reply.results}"
    why = f"{' '.join(reply.explanation.split())} ({reply.verdict}: {criteria})"
    if reply.verdict == "mentioned" or (reply.verdict == "unclear" and when_unsure == "drop"):
        return Judgement(False, why, places, "unclear" if reply.verdict == "unclear" else "not_used")
    if not places:
        return Judgement(False, f"No cited sentence supports it: {why}", code="no_evidence")
    names = DatasetNames(pair.dataset)
    if not _speak_of([pair.document.text[p.start : p.end] for p in places], names):
        return Judgement(
            False, f"The sentences cited share no more with the dataset than a place: {why}", places, "place_only"
        )
    return Judgement(True, why, places)


def _speak_of(quotes: Sequence[str], names: DatasetNames) -> bool:
    """Whether a sentence names the dataset or an acronym of its title or has two words of its subject, or all sentences
    together have three."""
    low = " ".join(quotes).lower()
    if any(i in low for i in names.identifiers) or any(n.text in q for n in names.names for q in quotes):
        return True
    if any(re.search(rf"(?<![^\W_]){acronym}(?![^\W_])", q) for acronym in names.acronyms for q in quotes):
        return True
    shared = [telling_words(q) & names.subject for q in quotes]
    return any(len(s) >= 2 for s in shared) or len(frozenset[str]().union(*shared)) >= 3


def _shown(pair: Pair, named: list[Place], similar: list[Place], limit: int) -> list[Place]:
    """Sentences for the prompt, in the paper's order.

    They are chosen in three steps: sentences that name the dataset; sentences of data sections and availability
    statements about using data, for at most half of the remaining places; then the most similar sentences.
    """
    chosen: dict[tuple[int, int], Place] = {}
    data = _data_places(pair, similar)

    def take(places: Iterable[Place], most: int) -> None:
        for place in places:
            text = pair.document.text[place.start : place.end]
            # A figure's label such as "ERA5" says nothing about use and would take the place of a sentence.
            says = place.in_references or len(text.split()) >= _LEAST_WORDS
            if (
                len(chosen) < most
                and place.section is not SectionClass.RELATED_WORK
                and says
                and not talks_to_machine(text)
            ):
                chosen.setdefault((place.start, place.end), place)

    take(named, limit)
    take(data, len(chosen) + (limit - len(chosen)) // 2)
    take(similar, limit)
    return [chosen[key] for key in sorted(chosen)]


def _data_places(pair: Pair, similar: Sequence[Place]) -> list[Place]:
    """Sentences of data sections and availability statements that say which data were used; those most similar to the
    metadata first."""
    rank = {(p.start, p.end): n for n, p in enumerate(similar)}
    runs = [x for x in pair.labels if _DATA_HEADING.search(x.heading)]
    found = [
        Place(start, end, pair.section(start), "data section")
        for start, end in pair.sentences
        if (any(x.start <= start < x.end for x in runs) and USE_CUES.search(pair.document.text[start:end]))
        or _AVAILABLE.search(pair.document.text[start:end])
    ]
    return sorted(found, key=lambda p: (rank.get((p.start, p.end), len(rank)), p.start))
