from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from scirgen.core.errors import PluginError
from scirgen.core.registry import load_registry
from scirgen_bench.lexical import BM25, STOP_WORDS, EnglishAnalyzer, TfIdf, bm25, byte_length
from scirgen_bench.retriever import make_retriever, split_specs, top


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The runner's shoes were RUNNING", ["runner", "shoe", "were", "run"]),
        ("Lake\u2019s 3.5-km resolution, 1,000 points", ["lake", "3.5", "km", "resolut", "1,000", "point"]),
        ("ERA5_CNN and e.g. U.S. data; snow/ice", ["era5_cnn", "e.g", "u.", "data", "snow", "ic"]),
        ("km\u00b2 of H2O", ["km", "h2o"]),
        ("us is as", ["us"]),
        ("\u96ea\u6df1 data", ["\u96ea", "\u6df1", "data"]),
        ("relational conditional hopping", ["relat", "condit", "hop"]),
        ("terminology possibly logy", ["terminolog", "possibl", "logi"]),
        ("Done \u2705\u2705 caf\u0065\u0301s", ["done", "\u2705", "\u2705", "cafe\u0301"]),
        ("", []),
    ],
)
def test_terms_are_those_of_lucenes_english_analyzer(text, terms):
    assert EnglishAnalyzer()(text) == terms


def test_there_are_33_stop_words():
    assert len(STOP_WORDS) == 33


DOCUMENTS = [
    "snow depth measured at valley stations",
    "soil moisture and soil temperature of the valley",
    "snow snow snow cover from satellites over the plateau and its basins",
    "glacier outlines",
]


def test_bm25_scores_follow_the_formula():
    k1, b = 1.3, 0.6
    model = BM25(k1, b)
    model.index(DOCUMENTS)
    analyze = EnglishAnalyzer()
    terms = [analyze(d) for d in DOCUMENTS]
    average = sum(map(len, terms)) / len(terms)
    for query in ("snow in the valley", "soil soil moisture", "glacier"):
        expected = []
        for document in terms:
            score = 0.0
            for term in analyze(query):
                n = sum(term in d for d in terms)
                tf = Counter(document)[term]
                if n:
                    idf = math.log(1 + (len(terms) - n + 0.5) / (n + 0.5))
                    score += idf * tf / (tf + k1 * (1 - b + b * len(document) / average))
            expected.append(score)
        found = model.search([query], 4)
        for document, score in zip(found.documents[0], found.scores[0], strict=True):
            if document >= 0:
                assert score == pytest.approx(expected[document], rel=1e-4)
        kept = [d for d in found.documents[0] if d >= 0]
        assert kept == [d for d in sorted(range(4), key=lambda d: (-expected[d], d)) if expected[d] > 0]


@pytest.mark.parametrize(
    ("length", "kept"), [(0, 0), (39, 39), (40, 40), (41, 40), (42, 42), (57, 56), (100, 96), (1000, 984)]
)
def test_a_length_is_what_lucenes_byte_keeps_of_it(length, kept):
    assert byte_length(length) == kept


def test_norms_byte_scores_with_the_lengths_that_a_byte_keeps():
    documents = ["snow", "snow " + "valley " * 40]
    scores = {}
    for norms in ("exact", "byte"):
        model = BM25(norms=norms)
        model.index(documents)
        scores[norms] = model.search(["snow"], 2).scores[0].tolist()
    assert scores["exact"][0] == scores["byte"][0]
    assert scores["exact"][1] < scores["byte"][1]  # 41 terms are kept as 40


def test_a_query_without_a_known_term_finds_nothing():
    model = BM25()
    model.index(DOCUMENTS)
    assert (model.search(["zebra", "", "the"], 3).documents == -1).all()


def test_a_corpus_of_empty_texts_can_be_searched():
    model = BM25()
    model.index(["", "the"])
    assert (model.search(["snow"], 5).documents == -1).all()


def test_equal_scores_are_ranked_in_corpus_order_also_at_the_cut():
    scores = np.asarray([[1.0, 2.0, 1.0, 1.0, 2.0]], dtype=np.float32)
    assert top(scores, 3, positive=True).documents.tolist() == [[1, 4, 0]]
    assert top(scores, 9, positive=True).documents.tolist() == [[1, 4, 0, 2, 3]]


def test_tuning_takes_the_parameters_that_rank_the_known_answers_best():
    # Long documents repeat the asked word; the answers are the short ones: only strong length normalisation finds them.
    documents = [f"alpha{i} snow" for i in range(6)] + ["snow " * 3 + "filler " * 300 for _ in range(6)]
    model = BM25(0.9, 0.0, tuned=True)
    model.index(documents)
    before = model.search(["snow"], 12).documents[0].tolist().index(0)
    model.tune(["snow"], [0])
    after = model.search(["snow"], 12).documents[0].tolist().index(0)
    assert after == 0 < before
    assert model.b > 0


def test_specs_with_parameters_are_told_apart_from_the_next_retriever():
    assert split_specs("bm25, bm25:k1=1.2,b=0.75,tfidf") == ["bm25", "bm25:k1=1.2,b=0.75", "tfidf"]
    model = bm25("k1=1.2,b=0.75", lambda s: None)
    assert model.parameters == {"k1": 1.2, "b": 0.75}


@pytest.mark.parametrize("spec", ["bm25:k3=1", "bm25:fast", "tfidf:x", "bn25", "st:", "rerank"])
def test_a_wrong_retriever_is_refused_with_a_hint(spec):
    with pytest.raises(PluginError):
        make_retriever(load_registry(), spec)


def test_tfidf_ranks_by_cosine():
    model = TfIdf()
    model.index(DOCUMENTS)
    assert model.search(["soil temperature"], 2).documents[0].tolist() == [1, -1]
