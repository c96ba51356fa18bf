"""BM25 as in Lucene and TF-IDF, both over the same terms as Lucene's EnglishAnalyzer gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirgen.plugin import PluginError, require
from scirgen_bench.retriever import Ranking, Retriever, ranked

_GRID_K1 = (0.6, 0.9, 1.2, 1.6, 2.0, 2.5, 3.0, 4.0, 6.0, 9.0)
_GRID_B = (0.2, 0.4, 0.6, 0.75, 0.9, 1.0)
_TUNING_QUERIES = 1000


class BM25:
    """Okapi BM25 as Lucene computes it: sum over query terms of idf * tf / (tf + k1 (1 - b + b dl/avgdl)).

    ``idf = ln(1 + (N - n + 0.5) / (n + 0.5))``; N and avgdl count documents with a term. The default ``k1=0.9, b=0.4``
    is Pyserini's. With ``norms="byte"``, a document's length is rounded as Lucene does to store it in one byte, and
    scores equal Lucene's to the last digits of a float.
    """

    def __init__(self, k1: float = 0.9, b: float = 0.4, *, tuned: bool = False, norms: str = "exact") -> None:
        self.k1, self.b, self.norms = k1, b, norms
        self._tuned = tuned
        self._analyzer = EnglishAnalyzer()
        self._vocabulary: dict[str, int] = {}
        self._counts: Any = None
        self._lengths: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._weights: Any = None

    @property
    def parameters(self) -> dict[str, object]:
        """k1 and b; and ``norms``, unless lengths are exact."""
        return {"k1": self.k1, "b": self.b, **({"norms": self.norms} if self.norms != "exact" else {})}

    @property
    def wants_tuning(self) -> bool:
        """True for ``bm25:tuned``."""
        return self._tuned

    def index(self, documents: Sequence[str]) -> None:
        """Split the documents into terms and compute the weight of each term in each document."""
        with require("benchmark", "benchmarks"):
            from scipy.sparse import csr_matrix
        vocabulary = self._vocabulary = {}
        found = [[vocabulary.setdefault(term, len(vocabulary)) for term in self._analyzer(text)] for text in documents]
        self._lengths = np.asarray([len(terms) for terms in found], dtype=np.int64)
        rows = np.fromiter((term for terms in found for term in terms), dtype=np.int32, count=int(self._lengths.sum()))
        columns = np.repeat(np.arange(len(found), dtype=np.int32), self._lengths)
        ones = np.ones(len(rows), dtype=np.float32)
        # One row per term; adding up repeated entries gives the term frequencies.
        self._counts = csr_matrix((ones, (rows, columns)), shape=(len(vocabulary), len(found)))
        self._weigh()

    def _weigh(self) -> None:
        """Weights of (term, document) in single precision, step by step as Lucene's BM25Similarity takes them."""
        single = np.float32
        lengths = self._lengths if self.norms == "exact" else np.asarray([byte_length(int(n)) for n in self._lengths])
        filled = max(1, int((self._lengths > 0).sum()))
        average = single(max(1, int(self._lengths.sum())) / filled)
        k1, b = single(self.k1), single(self.b)
        norms = (k1 * ((single(1) - b) + b * lengths.astype(np.float32) / average)).astype(np.float32)
        holding = np.diff(self._counts.indptr)
        idf = np.log(1 + (filled - holding + 0.5) / (holding + 0.5)).astype(np.float32)
        weight = np.repeat(idf, holding)
        frequency = self._counts.data
        with np.errstate(divide="ignore"):  # k1 = 0: the frequency does not matter, so the weight is the idf
            inverse = (single(1) / norms)[self._counts.indices]
        scores = weight - weight / (single(1) + frequency * inverse)
        self._weights = self._counts.copy()
        self._weights.data = scores.astype(np.float64)  # Lucene too adds them up in double precision

    def search(self, queries: Sequence[str], depth: int) -> Ranking:
        """Rank; a term counts as often as the query repeats it."""
        return ranked(lambda part: self._scores(queries[part]), len(queries), depth, positive=True)

    def _scores(self, queries: Sequence[str]) -> NDArray[np.float32]:
        from scipy.sparse import csr_matrix

        rows: list[int] = []
        columns: list[int] = []
        for i, query in enumerate(queries):
            known = [self._vocabulary[t] for t in self._analyzer(query) if t in self._vocabulary]
            rows += [i] * len(known)
            columns += known
        counts = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(queries), self._weights.shape[0]))
        scores: NDArray[np.float32] = np.asarray((counts @ self._weights).todense(), dtype=np.float32)
        return scores

    def tune(self, queries: Sequence[str], gold: Sequence[int]) -> None:
        """Choose k1 and b from a grid by MRR@100 on about 1,000 of the queries, evenly spaced."""
        step = max(1, len(queries) // _TUNING_QUERIES)
        asked, right = list(queries)[::step], np.asarray(list(gold)[::step])
        best = (-1.0, self.k1, self.b)
        for k1 in _GRID_K1:
            for b in _GRID_B:
                self.k1, self.b = k1, b
                self._weigh()
                hits = self.search(asked, 100).documents == right[:, None]
                value = float((hits / (1 + np.arange(hits.shape[1]))).sum(axis=1).mean())
                best = max(best, (value, k1, b), key=lambda t: t[0])
        _, self.k1, self.b = best
        self._weigh()


def bm25(argument: str, make: Callable[[str], Retriever]) -> BM25:
    """Make ``bm25``, ``bm25:k1=1.2,b=0.75``, ``bm25:norms=byte`` or ``bm25:tuned``."""
    values: dict[str, float] = {"k1": 0.9, "b": 0.4}
    norms, tuned = "exact", False
    for part in filter(None, (p.strip() for p in argument.split(","))):
        name, _, value = part.partition("=")
        if part == "tuned":
            tuned = True
        elif name == "norms" and value in ("exact", "byte"):
            norms = value
        else:
            try:
                values[{"k1": "k1", "b": "b"}[name]] = float(value)
            except (KeyError, ValueError):
                hint = "bm25, bm25:k1=1.2,b=0.75, bm25:norms=byte or bm25:tuned"
                raise PluginError(f"bm25 does not accept {part!r}", hint=hint) from None
    return BM25(values["k1"], values["b"], tuned=tuned, norms=norms)


def byte_length(length: int) -> int:
    """Return a document's length as Lucene stores it in one byte: exact below 40, then four significant bits of what
    exceeds 24.

    ``SmallFloat.intToByte4`` and back (Lucene 7 and later).
    """
    rest = length - 24
    if rest < 16:
        return length
    shift = rest.bit_length() - 4
    return 24 + (rest >> shift << shift)


class TfIdf:
    """Cosine of TF-IDF vectors (scikit-learn's smoothed idf) over the same terms."""

    def __init__(self) -> None:
        self._analyzer = EnglishAnalyzer()
        self._vectors: Any = None
        self._vectorizer: Any = None

    @property
    def parameters(self) -> dict[str, object]:
        """Empty: it has no parameters."""
        return {}

    def index(self, documents: Sequence[str]) -> None:
        """Fit on the corpus."""
        with require("benchmark", "benchmarks"):
            from sklearn.feature_extraction.text import TfidfVectorizer
        self._vectorizer = TfidfVectorizer(analyzer=self._analyzer, dtype=np.float32)
        self._vectors = self._vectorizer.fit_transform(documents).T.tocsr()

    def search(self, queries: Sequence[str], depth: int) -> Ranking:
        """Rank by cosine."""
        return ranked(lambda part: self._scores(queries[part]), len(queries), depth, positive=True)

    def _scores(self, queries: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray((self._vectorizer.transform(queries) @ self._vectors).todense(), dtype=np.float32)


def tfidf(argument: str, make: Callable[[str], Retriever]) -> TfIdf:
    """Make ``tfidf``."""
    if argument:
        raise PluginError(f"tfidf takes no argument, but got {argument!r}")
    return TfIdf()


STOP_WORDS: frozenset[str] = frozenset([
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
])  # fmt: skip
"""``EnglishAnalyzer.ENGLISH_STOP_WORDS_SET`` of Lucene."""

# Word boundaries of UAX #29, as in Lucene's StandardTokenizer. A mark or format character belongs to the character
# before it.
# Each ideograph, Hiragana sign and pictograph is a term. A colon between letters does not end a word.
_WITH = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+"
_LETTER = r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]" + _WITH
_NUMBER = r"\p{WB=Numeric}" + _WITH
_KATAKANA = r"\p{WB=Katakana}" + _WITH
_JOINER = r"(?:\p{WB=ExtendNumLet}" + _WITH + ")"
_IN_WORD = r"[\p{WB=MidLetter}\p{WB=MidNumLet}\p{WB=Single_Quote}:]" + _WITH
_IN_NUMBER = r"[\p{WB=MidNum}\p{WB=MidNumLet}\p{WB=Single_Quote}]" + _WITH
_RUN = (
    f"(?:{_KATAKANA}(?:{_JOINER}*{_KATAKANA})*"
    f"|(?:{_NUMBER}(?:(?:{_JOINER}*|{_IN_NUMBER}){_NUMBER})*|{_LETTER}(?:(?:{_JOINER}*|{_IN_WORD}){_LETTER})*)+)"
)
_TOKEN = (
    f"{_JOINER}*{_RUN}(?:{_JOINER}+{_RUN})*{_JOINER}*"
    r"|[\p{Han}\p{Hiragana}]|\p{Line_Break=Complex_Context}+|\p{Extended_Pictographic}" + _WITH
)
_MEASURED = re.compile("(?:[aeiou]|(?<=[^aeiou])y)[^aeiou]")
"""A vowel followed by a consonant: in Porter's rules, a measure above 0."""
_POSSESSIVE = ("'s", "\u2019s", "\uff07s", "'S", "\u2019S", "\uff07S")
_MAX_TOKEN = 255


class EnglishAnalyzer:
    """Callable: text -> terms. It remembers the term of each word. Each thread needs its own instance."""

    def __init__(self) -> None:
        """Load the stemmer.

        Raises:
            MissingExtraError: PyStemmer or regex is not installed.
        """
        with require("benchmark", "benchmarks"):
            import regex
            import Stemmer
        self._stem = Stemmer.Stemmer("porter", 0).stemWord
        self._words = regex.compile(_TOKEN)
        self._terms: dict[str, str] = {}

    def __call__(self, text: str) -> list[str]:
        """Return the terms of a text, in order, with repetitions."""
        terms = self._terms
        found: list[str] = []
        for word in self._words.findall(text):
            term = terms.get(word)
            if term is None:
                term = terms[word] = self._term(word)
            if term:
                found.append(term)
        return found

    def _term(self, word: str) -> str:
        # Lucene splits longer tokens. They are not words, and no query matches their pieces, so they are dropped.
        word = word[:_MAX_TOKEN]
        if word.endswith(_POSSESSIVE):
            word = word[:-2]
        word = word.lower()
        if word in STOP_WORDS:
            return ""
        # Lucene's PorterStemmer leaves words of one or two letters alone; Snowball's does not.
        return word if len(word) <= 2 else self._porter(word)

    def _porter(self, word: str) -> str:
        """Porter's stem with the two departures of his own Java and C code, which Lucene uses: -logi -> -log, -bli ->
        -ble."""
        stem = str(self._stem(word))
        if stem.endswith("logi") and _MEASURED.search(stem[:-4]):
            return stem[:-1]
        if stem.endswith("bli") and _MEASURED.search(stem[:-3]):
            return str(self._stem(f"{stem[:-1]}e"))
        return stem
