"""Finds the sentences of a paper that are most similar to a dataset's metadata (BM25).

Names of places never count, so that a shared study area alone is not evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

from scirgen.core.records import SectionClass
from scirgen.core.text.bm25 import BM25
from scirgen.core.text.untrusted import talks_to_machine
from scirgen.core.text.words import DATA_WORDS, telling_words
from scirgen.stages.match.base import Pair, Place
from scirgen.stages.match.mention import USE_CUES
from scirgen.stages.match.names import DatasetNames


@dataclass(frozen=True)
class Sentence:
    """A sentence with its BM25 score and the distinctive words that it shares with the metadata."""

    place: Place
    score: float
    shared: frozenset[str]
    says_data: bool

    @property
    def describes(self) -> bool:
        """Tells whether it has three of the dataset's distinctive words, or is about data and has two."""
        return len(self.shared) >= (2 if self.says_data else 3)


def nearest_sentences(pair: Pair, limit: int) -> list[Sentence]:
    """The sentences most similar to the metadata, outside of related work, best first.

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
        return []
    words = [sorted(telling_words(text[p.start : p.end])) for p in places]
    return [
        Sentence(places[i], score, names.subject & set(words[i]), _says_data(text[places[i].start : places[i].end]))
        for i, score in BM25(words).ranked(query)[:limit]
        if score > 0  # it shares a word
    ]


def _says_data(sentence: str) -> bool:
    words = {w.strip(".,;:()").lower() for w in sentence.split()}
    return bool(words & (DATA_WORDS | {"data"})) and USE_CUES.search(sentence) is not None
