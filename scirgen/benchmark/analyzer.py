"""Text to index terms as Lucene's EnglishAnalyzer does it, so that BM25 figures compare with Pyserini's.

Standard tokenizer (word boundaries of UAX #29), possessive removal, lower case, Lucene's 33 stop words, Porter stemmer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from scirgen.core.errors import MissingExtraError

STOP_WORDS: frozenset[str] = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "for",
        "if",
        "in",
        "into",
        "is",
        "it",
        "no",
        "not",
        "of",
        "on",
        "or",
        "such",
        "that",
        "the",
        "their",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "was",
        "will",
        "with",
    ]
)
"""``EnglishAnalyzer.ENGLISH_STOP_WORDS_SET`` of Lucene."""

# Ideographs and Hiragana are terms of their own; superscripts, subscripts and fractions are no word characters there.
_SINGLE = "\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_NOT_WORD = "\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u209f\u2150-\u215f\u2460-\u24ff"
_WORD = f"[^\\W{_SINGLE}{_NOT_WORD}]"
_LETTER = f"[^\\W\\d_{_SINGLE}{_NOT_WORD}]"
_TOKEN = re.compile(
    f"[{_SINGLE}]|{_WORD}+(?:(?:(?<={_LETTER})[.:'\u2018\u2019\u00b7](?={_LETTER})|(?<=\\d)[.,;'\u2018\u2019](?=\\d)){_WORD}+)*"
)
_POSSESSIVE = ("'s", "\u2019s", "\uff07s", "'S", "\u2019S", "\uff07S")
_MAX_TOKEN = 255


class EnglishAnalyzer:
    """Callable: text -> terms. Remembers each word's term; one instance per thread."""

    def __init__(self) -> None:
        """Load the stemmer.

        Raises:
            MissingExtraError: PyStemmer is not installed.
        """
        try:
            import Stemmer
        except ImportError as error:
            raise MissingExtraError(
                f"benchmarks need a package that is not installed: {error}", hint="pip install 'scirgen[benchmark]'"
            ) from error
        self._stem = Stemmer.Stemmer("porter", 0).stemWord
        self._terms: dict[str, str] = {}

    def __call__(self, text: str) -> list[str]:
        """The terms of a text, in order, with repetitions."""
        terms = self._terms
        found: list[str] = []
        for word in _TOKEN.findall(text):
            term = terms.get(word)
            if term is None:
                term = terms[word] = self._term(word)
            if term:
                found.append(term)
        return found

    def many(self, texts: Iterable[str]) -> list[list[str]]:
        """The terms of several texts."""
        return [self(text) for text in texts]

    def _term(self, word: str) -> str:
        # Lucene splits a longer token; such tokens are no words, and their pieces match nothing that is asked.
        word = word[:_MAX_TOKEN]
        if word.endswith(_POSSESSIVE):
            word = word[:-2]
        word = word.lower()
        if word in STOP_WORDS:
            return ""
        # Lucene's PorterStemmer leaves words of one or two letters alone; Snowball's does not.
        return word if len(word) <= 2 else str(self._stem(word))
