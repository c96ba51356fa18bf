"""The strategies that may ask the model. Where nothing states the relation, the sentences that the model cites must
share more with the dataset than a place name.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from scirgen.core.records import Criteria, SectionClass
from scirgen.core.runtime import stop_here
from scirgen.core.text.bm25 import BM25
from scirgen.core.text.untrusted import talks_to_machine
from scirgen.core.text.words import DATA_WORDS, telling_words
from scirgen.stages.base import StageContext
from scirgen.stages.match.base import Judgement, Pair, Place
from scirgen.stages.match.mention import USE_CUES, bears_title, find_mentions, judge_mentions, says_use
from scirgen.stages.match.names import DatasetNames

_FOUND_BY = {
    "column": "the record names this paper",
    "related_doi": "the record names this paper's DOI",
    "doi": "the record names this paper's DOI",
    "file_name": "the file is named after the dataset",
    "folder": "the paper lies in the same folder as the record",
    "cites": "the paper cites the dataset",
    "cites_related": "the paper cites a paper that the record names",
    "doi_in_text": "the paper contains the dataset's DOI",
    "text_search": "a text search for the dataset",
    "related_identifier": "the record relates to this paper",
}
"""The way in which a paper was found -> a description; others are shown by their name."""
_DATA_HEADING = re.compile(r"\b(?:data|datasets?|materials?|forcing|inputs?|datos|dados)\b|数据|资料", re.I)
_AVAILABLE = re.compile(
    r"\bdata availability\b|\b(?:data|dataset|records?)\b.{0,60}\b(?:available|archived|deposited|downloaded)\b", re.I
)
_LEAST_WORDS = 4
_MAX_SHOWN = 12
"""Largest number of sentences shown to the model."""


_DOUBTFUL = re.compile(
    r"\b(?:not (?:been )?(?:us|includ|consider|appl|analy[sz])\w*|unlike|instead of|rather than|exclud\w+"
    r"|future (?:work|stud\w+)|such as"
    r"|other (?:data|products|surveys)\w*|compared? (?:with|to)|differs? from)\b",
    re.I,
)
"""Words by which a sentence that names a dataset may say that the paper does not use it."""
_DATA_SECTIONS = (SectionClass.METHOD, SectionClass.EXPERIMENT, SectionClass.INTRODUCTION)
_MAX_PLACES = 4
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
        """Ask the model; the guards may overrule it."""
        named = await asyncio.to_thread(find_mentions, pair)
        nearest = await asyncio.to_thread(nearest_sentences, pair, _MAX_SHOWN)
        return await ask_model(pair, [*named.uses(), *named.entries], nearest, ctx)


class AutoStrategy:
    """``auto``: rules decide what is certain; the model judges the rest if the paper's words are near the dataset's.

    Certain are an identifier, a title or a citation where the paper describes its data, a name there in a sentence that
    does not doubt the use, and a paper that has the dataset's title as its own. A relation that the record or the user
    states counts unless the model finds that the text contradicts it; with a small model or none, it counts.
    """

    name = "auto"
    needs = ("generator",)

    async def judge(self, pair: Pair, ctx: StageContext) -> Judgement:
        """Apply the rules, then ask the model where they leave it open."""
        if bears_title(pair):
            start = tuple(Place(a, b, pair.section(a), "title") for a, b in pair.sentences[:2])
            return Judgement(True, "The paper's own title is that of the dataset.", start)
        named = await asyncio.to_thread(find_mentions, pair)
        by_rule = judge_mentions(pair, named)
        asks = ctx.chat_session is not None and ctx.chat.pack != "small"
        if by_rule.used and (not asks or any(_is_certain(pair, p) for p in named.uses())):
            return by_rule
        nearest = await asyncio.to_thread(nearest_sentences, pair, _MAX_SHOWN)
        if not asks:
            return _as_stated(nearest) if pair.stated else by_rule
        told = [*named.named, *named.cited, *named.entries, *_marked(pair)]
        if pair.stated or told or any(s.describes for s in nearest):
            return await ask_model(pair, told, nearest, ctx)
        return by_rule


def _is_certain(pair: Pair, place: Place) -> bool:
    """Return whether a place shows use without a model: no bare name outside of the data's sections or in doubtful
    words."""
    if not place.what.startswith("name "):
        return True
    text = pair.document.text[place.start : place.end]
    described = place.section in _DATA_SECTIONS or _AVAILABLE.search(text)
    return bool(described) and says_use(pair, place) and not _DOUBTFUL.search(text)


def _marked(pair: Pair) -> list[Place]:
    """Find the first sentences outside of related work that have an acronym of the title or its words without years."""
    names = DatasetNames(pair.dataset)
    text = pair.document.text
    places = (Place(s, e, pair.section(s), "near name") for s, e in pair.sentences if names.marked(text[s:e]))
    return list(islice((p for p in places if p.section is not SectionClass.RELATED_WORK), _MAX_PLACES))


def _as_stated(nearest: Sequence[Sentence]) -> Judgement:
    places = tuple(s.place for s in nearest[:_MAX_PLACES])
    return Judgement(True, "The record or the user states that this paper belongs to the dataset.", places)


async def ask_model(pair: Pair, named: Sequence[Place], nearest: Sequence[Sentence], ctx: StageContext) -> Judgement:
    """Ask the model about the sentences that name the dataset and the nearest ones; the guards may overrule it."""
    shown = await asyncio.to_thread(_shown, pair, named, [s.place for s in nearest], _MAX_SHOWN)
    if not shown:
        none = Judgement(False, "The paper has no sentence about such data.", code="not_named")
        return _as_stated(nearest) if pair.stated else none
    prompt = ctx.prompt("judge").render(
        metadata=pair.dataset.text,
        found_by="; ".join(_FOUND_BY.get(how, how.replace("_", " ")) for how in pair.found_by) or "not known",
        paper_title=pair.document.title or "not known",
        sentences=[f"[{n}] {pair.words(p.start, p.end)}" for n, p in enumerate(shown, 1)],
    )
    reply = await ctx.chat.ask(prompt, JudgeReply, seed=ctx.seed())
    said = guarded(pair, reply.value, shown, ctx.config.match.when_unsure)
    return replace(said, prompt=prompt.reference, replies=(reply.reply_key,))


def guarded(
    pair: Pair, reply: JudgeReply, shown: Sequence[Place], when_unsure: Literal["keep", "drop"] = "drop"
) -> Judgement:
    """Return a reply's judgement with the sentences it cites; to count as use, one must be about the dataset, or there
    is a stated relation.

    Args:
        pair: the dataset and the paper.
        reply: the model's reply.
        shown: the sentences that the model saw, in the order of their numbers.
        when_unsure: whether ``unclear`` counts as use.
    """
    places = tuple(shown[n - 1] for n in dict.fromkeys(reply.evidence) if 1 <= n <= len(shown))
    criteria = Criteria(methodology=reply.methodology, terminology=reply.terminology, results=reply.results)
    why = f"{' '.join(reply.explanation.split())} ({reply.verdict})"
    if reply.verdict == "mentioned":
        return Judgement(False, why, places, "not_used", criteria)
    if reply.verdict == "unclear" and when_unsure == "drop" and not pair.stated:
        return Judgement(False, why, places, "unclear", criteria)
    if pair.stated:
        return Judgement(True, why, places or tuple(shown[:_MAX_PLACES]), criteria=criteria)
    if not places:
        return Judgement(False, f"No cited sentence supports it: {why}", code="no_evidence", criteria=criteria)
    names = DatasetNames(pair.dataset)
    if not _speak_of([pair.document.text[p.start : p.end] for p in places], names):
        why = f"The sentences cited share no more with the dataset than a place: {why}"
        return Judgement(False, why, places, "place_only", criteria)
    return Judgement(True, why, places, criteria=criteria)


def _speak_of(quotes: Sequence[str], names: DatasetNames) -> bool:
    """Return whether a sentence names the dataset, also by a near name, or has two words of its subject, or all
    sentences together have three."""
    low = " ".join(quotes).lower()
    if any(i in low for i in names.identifiers) or any(n.text in q for n in names.names for q in quotes):
        return True
    if any(map(names.marked, quotes)):
        return True
    shared = [telling_words(q) & names.subject for q in quotes]
    return any(len(s) >= 2 for s in shared) or len(frozenset[str]().union(*shared)) >= 3


def _shown(pair: Pair, named: Sequence[Place], similar: Sequence[Place], limit: int) -> list[Place]:
    """Return the sentences for the prompt, in the paper's order.

    They are chosen in three steps: sentences that name the dataset; sentences of data sections and availability
    statements about using data, for at most half of the remaining places; then the most similar sentences.
    """
    chosen: dict[tuple[int, int], Place] = {}
    data = _data_places(pair, similar)

    def take(places: Iterable[Place], limit: int) -> None:
        for place in places:
            text = pair.document.text[place.start : place.end]
            # A figure's label such as "ERA5" says nothing about use and would take the place of a sentence.
            says = place.in_references or len(text.split()) >= _LEAST_WORDS
            if (
                len(chosen) < limit
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
    """Return the sentences of data sections and availability statements that say which data were used; those most
    similar to the metadata first."""
    rank = {(p.start, p.end): n for n, p in enumerate(similar)}
    runs = {x.start for x in pair.labels if _DATA_HEADING.search(x.heading)}
    found = [
        Place(start, end, pair.section(start), "data section")
        for start, end in pair.sentences
        if ((run := pair.label_at(start)) and run.start in runs and USE_CUES.search(pair.document.text[start:end]))
        or _AVAILABLE.search(pair.document.text[start:end])
    ]
    return sorted(found, key=lambda p: (rank.get((p.start, p.end), len(rank)), p.start))


@dataclass(frozen=True)
class Sentence:
    """A sentence with words of the metadata. It ``describes`` the dataset if it has three of its distinctive words, or
    is about data and has two."""

    place: Place
    describes: bool


def nearest_sentences(pair: Pair, limit: int) -> list[Sentence]:
    """Return the sentences most similar to the metadata, outside of related work, best first.

    Args:
        pair: the dataset and the paper.
        limit: at most this many sentences.
    """
    names = DatasetNames(pair.dataset)
    text = pair.document.text
    places = [
        Place(s, e, pair.section(s), "similar words")
        for s, e in pair.sentences
        if pair.section(s) is not SectionClass.RELATED_WORK and e - s >= 30 and not _orders(text[s:e])
    ]
    query = sorted(telling_words(f"{pair.dataset.title} {' '.join(pair.dataset.keywords)} {pair.dataset.description}"))
    query = [w for w in query if w not in names.places]
    if not places or not query:
        return []
    words = [_telling(text[p.start : p.end]) for p in places]
    found: list[Sentence] = []
    for i, score in BM25(words).ranked(query)[:limit]:
        if score > 0:  # it shares a word
            enough = 2 if _says_data(text[places[i].start : places[i].end]) else 3
            found.append(Sentence(places[i], len(names.subject.intersection(words[i])) >= enough))
    return found


def _telling(sentence: str) -> list[str]:
    stop_here()
    return sorted(telling_words(sentence))


def _orders(sentence: str) -> bool:
    stop_here()
    return talks_to_machine(sentence)


def _says_data(sentence: str) -> bool:
    words = {w.strip(".,;:()").lower() for w in sentence.split()}
    return bool(words & (DATA_WORDS | {"data"})) and USE_CUES.search(sentence) is not None
