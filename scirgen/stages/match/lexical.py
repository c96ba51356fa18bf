"""Indirect evidence: finds the sentences most similar to the dataset's metadata (BM25), and applies a rule to them.

Names of places never count, so that a shared study area alone is not evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

from scirgen.core.records import SectionClass
from scirgen.core.text.bm25 import BM25
from scirgen.core.text.untrusted import talks_to_machine
from scirgen.core.text.words import DATA_WORDS, telling_words
from scirgen.stages.base import StageContext
from scirgen.stages.match.base import Judgement, Pair, Place
from scirgen.stages.match.mention import USE_CUES
from scirgen.stages.match.names import DatasetNames


@dataclass(frozen=True)
class Sentence:
    """A sentence with its BM25 score and the distinctive words that it shares with the metadata."""

    place: Place
    score: float
    shared: frozenset[str]
    says_data: bool


@dataclass(frozen=True)
class Indirect:
    """The best sentences, best first, and the share of the title's distinctive words that they cover."""

    sentences: tuple[Sentence, ...]
    coverage: float

    @property
    def describing(self) -> list[Sentence]:
        """Sentences about data that have at least two of the dataset's distinctive words."""
        return [s for s in self.sentences if s.says_data and len(s.shared) >= 2]


def find_indirect(pair: Pair, limit: int) -> Indirect:
    """The sentences most similar to the metadata, outside of related work.

    Args:
        pair: the dataset and the paper.
        limit: at most this many sentences.
    """
    names = DatasetNames(pair.dataset)
    text = pair.document.text
    places = [
        Place(s, e, pair.section(s), "similar words")
        for s, e in pair.sentences
        if pair.section(s) is not SectionClass.RELATED_WORK and e - s >= 30 and not talks_to_machine(text[s:e])
    ]
    query = sorted(telling_words(f"{pair.dataset.title} {' '.join(pair.dataset.keywords)} {pair.dataset.description}"))
    query = [w for w in query if w not in names.places]
    if not places or not query:
        return Indirect((), 0.0)
    words = [sorted(telling_words(text[p.start : p.end])) for p in places]
    found = [
        Sentence(places[i], score, names.subject & set(words[i]), _says_data(text[places[i].start : places[i].end]))
        for i, score in BM25(words).ranked(query)[:limit]
        if score > 0  # it shares a word
    ]
    covered = frozenset().union(*(s.shared for s in found)) & names.telling
    return Indirect(tuple(found), len(covered) / len(names.telling) if names.telling else 0.0)


def _says_data(sentence: str) -> bool:
    words = {w.strip(".,;:()").lower() for w in sentence.split()}
    return bool(words & (DATA_WORDS | {"data"})) and USE_CUES.search(sentence) is not None


class LexicalStrategy:
    """``lexical``: a dataset is used if the paper says that it uses data, with most of the words that distinguish the
    dataset. It needs no model."""

    name = "lexical"
    needs = ()
    LEAST_COVERAGE = 0.75
    LEAST_WORDS = 4

    async def judge(self, pair: Pair, ctx: StageContext) -> Judgement:
        """The rule's judgement."""
        return judge_indirect(find_indirect(pair, ctx.config.match.evidence_sentences), self.LEAST_COVERAGE)


def judge_indirect(indirect: Indirect, least_coverage: float) -> Judgement:
    """Used, if enough distinctive words are covered and a sentence says that such data were used."""
    describing = indirect.describing
    words = frozenset().union(*(s.shared for s in describing))
    places = tuple(s.place for s in describing[:4])
    share = f"{indirect.coverage:.0%} of the title's telling words"
    if describing and indirect.coverage >= least_coverage and len(words) >= LexicalStrategy.LEAST_WORDS:
        return Judgement(True, f"The paper describes using such data; its nearest sentences have {share}.", places)
    return Judgement(False, f"The paper's nearest sentences have {share}; that is too little.", places)
