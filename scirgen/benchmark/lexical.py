"""BM25 (bm25s, Lucene's variant) and TF-IDF, both over the same terms as Lucene's EnglishAnalyzer gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirgen.benchmark.retriever import Ranking, Retriever, top
from scirgen.core.errors import MissingExtraError, PluginError

_BATCH = 256
_GRID_K1 = (0.6, 0.9, 1.2, 1.6, 2.0, 2.5, 3.0, 4.0, 6.0, 9.0)
_GRID_B = (0.2, 0.4, 0.6, 0.75, 0.9, 1.0)
_TUNING_QUERIES = 1000


def _extra(error: ImportError) -> MissingExtraError:
    return MissingExtraError(
        f"benchmarks need a package that is not installed: {error}", hint="pip install 'scirgen[benchmark]'"
    )


class BM25:
    """Okapi BM25 as Lucene computes it: sum over query terms of idf * tf / (tf + k1 (1 - b + b dl/avgdl)).

    ``idf = ln(1 + (N - n + 0.5) / (n + 0.5))``. Lucene also rounds document
    lengths to one byte, which is not imitated: on ScIRGen-Geo it lowers figures by 0.000 to 0.003.
    The default ``k1=0.9, b=0.4`` is Pyserini's.
    """

    def __init__(self, k1: float = 0.9, b: float = 0.4, *, tuned: bool = False) -> None:
        self.k1, self.b = k1, b
        self._tuned = tuned
        self._analyzer = EnglishAnalyzer()
        self._vocabulary: dict[str, int] = {}
        self._documents: list[list[int]] = []
        self._weights: Any = None

    @property
    def parameters(self) -> dict[str, object]:
        """k1 and b."""
        return {"k1": self.k1, "b": self.b}

    @property
    def wants_tuning(self) -> bool:
        """Whether it was asked for as ``bm25:tuned``."""
        return self._tuned

    def index(self, documents: Sequence[str]) -> None:
        """Analyse and weigh the corpus."""
        vocabulary = self._vocabulary = {}
        self._documents = [
            [vocabulary.setdefault(term, len(vocabulary)) for term in self._analyzer(text)] for text in documents
        ]
        self._weigh()

    def _weigh(self) -> None:
        try:
            import bm25s
            from scipy.sparse import csr_matrix
        except ImportError as error:
            raise _extra(error) from error
        if not self._vocabulary:
            self._weights = csr_matrix((0, len(self._documents)), dtype=np.float32)
            return
        model = bm25s.BM25(k1=self.k1, b=self.b, method="lucene")
        tokens = bm25s.tokenization.Tokenized(self._documents, self._vocabulary)
        model.index(tokens, show_progress=False, create_empty_token=False)
        # bm25s keeps one column of weights a term; many queries at once are one sparse product with them.
        shape = (len(model.scores["indptr"]) - 1, len(self._documents))
        self._weights = csr_matrix((model.scores["data"], model.scores["indices"], model.scores["indptr"]), shape=shape)

    def search(self, queries: Sequence[str], depth: int) -> Ranking:
        """Rank; a term that a query repeats counts as often."""
        parts = [
            top(self._scores(queries[at : at + _BATCH]), depth, positive=True) for at in range(0, len(queries), _BATCH)
        ]
        return joined(parts, depth)

    def _scores(self, queries: Sequence[str]) -> NDArray[np.float32]:
        from scipy.sparse import csr_matrix

        rows: list[int] = []
        columns: list[int] = []
        for i, query in enumerate(queries):
            known = [self._vocabulary[t] for t in self._analyzer(query) if t in self._vocabulary]
            rows += [i] * len(known)
            columns += known
        counts = csr_matrix(
            (np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=(len(queries), self._weights.shape[0])
        )
        scores: NDArray[np.float32] = np.asarray((counts @ self._weights).todense(), dtype=np.float32)
        return scores

    def tune(self, queries: Sequence[str], gold: Sequence[int]) -> None:
        """Try a grid of k1 and b on (a sample of) the queries; the best MRR@100 wins."""
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
    """``bm25``, ``bm25:k1=1.2,b=0.75`` or ``bm25:tuned``."""
    if argument == "tuned":
        return BM25(tuned=True)
    values = {"k1": 0.9, "b": 0.4}
    for part in filter(None, argument.split(",")):
        name, _, value = part.partition("=")
        try:
            values[{"k1": "k1", "b": "b"}[name.strip()]] = float(value)
        except (KeyError, ValueError):
            raise PluginError(f"bm25 does not take {part!r}", hint="bm25, bm25:k1=1.2,b=0.75 or bm25:tuned") from None
    return BM25(values["k1"], values["b"])


class TfIdf:
    """Cosine of TF-IDF vectors (scikit-learn's smoothed idf) over the same terms."""

    def __init__(self) -> None:
        self._analyzer = EnglishAnalyzer()
        self._vectors: Any = None
        self._vectorizer: Any = None

    @property
    def parameters(self) -> dict[str, object]:
        """None."""
        return {}

    def index(self, documents: Sequence[str]) -> None:
        """Fit on the corpus."""
        try:
            from sklearn.feature_extraction.text import TfidfVectorizer
        except ImportError as error:
            raise _extra(error) from error
        self._vectorizer = TfidfVectorizer(analyzer=self._analyzer, dtype=np.float32)
        self._vectors = self._vectorizer.fit_transform(documents).T.tocsr()

    def search(self, queries: Sequence[str], depth: int) -> Ranking:
        """Rank by cosine."""
        parts = []
        for at in range(0, len(queries), _BATCH):
            asked = self._vectorizer.transform(queries[at : at + _BATCH])
            scores = np.asarray((asked @ self._vectors).todense(), dtype=np.float32)
            parts.append(top(scores, depth, positive=True))
        return joined(parts, depth)


def tfidf(argument: str, make: Callable[[str], Retriever]) -> TfIdf:
    """``tfidf``."""
    if argument:
        raise PluginError(f"tfidf takes no argument, and got {argument!r}")
    return TfIdf()


def joined(parts: Sequence[Ranking], depth: int) -> Ranking:
    """Rankings of consecutive queries as one."""
    if not parts:
        return Ranking(np.empty((0, depth), dtype=np.int32), np.empty((0, depth), dtype=np.float32))
    return Ranking(np.concatenate([p.documents for p in parts]), np.concatenate([p.scores for p in parts]))


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
