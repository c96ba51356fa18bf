from __future__ import annotations

import numpy as np
import pytest

from scirgen.core.errors import PluginError
from scirgen.core.registry import load_registry
from scirgen_bench import dense as dense_module
from scirgen_bench.dense import dense
from scirgen_bench.retriever import make_retriever, split_specs


class Letters:
    """Embeds a text as its counts of a few letters."""

    window = 10

    def __init__(self, name: str, bf16: bool = False) -> None:
        self.name = name
        self.bf16 = bf16

    def embed(self, texts, role="document"):
        found = np.asarray([[t.count(c) for c in "abcd"] for t in texts], dtype=np.float32)
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)


@pytest.fixture(autouse=True)
def letters(monkeypatch):
    monkeypatch.setattr(dense_module, "open_embedder", Letters)


def test_maxsim_ranks_by_the_best_pair_of_sentences():
    model = dense("m,maxsim", lambda s: None)
    # The second document has a sentence that is the query's; as a whole the first is nearer.
    model.index(["Aab aab aab.", "Bbb bbb ddd ddd. Aaa aaa aaa aaa."])
    assert model.search(["Aaa aaa."], 2).documents.tolist() == [[1, 0]]
    whole = dense("m", lambda s: None)
    whole.index(["Aab aab aab.", "Bbb bbb ddd ddd. Aaa aaa aaa aaa."])
    assert whole.search(["Aaa aaa."], 2).documents.tolist() == [[0, 1]]


def test_meanmax_is_the_mean_of_each_sentences_best_cosine():
    """DORIS-MAE's equation 4 by hand: unit vectors of counts of a, b, c, d."""
    model = dense("m,meanmax", lambda s: None)
    model.index(["Aaa aaa. Bbb bbb.", "ab ab ab."])
    found = model.search(["a.\n\nb.\n\nc"], 2)
    # The first document has a and b, and no c: (1 + 1 + 0) / 3. The second is (1, 1) / sqrt 2: (.7071 + .7071 + 0) / 3.
    assert found.documents.tolist() == [[0, 1]]
    assert found.scores[0] == pytest.approx([2 / 3, 2**0.5 / 3])
    best = dense("m,maxsim", lambda s: None)
    best.index(["Aaa aaa. Bbb bbb.", "ab ab ab."])
    assert best.search(["a.\n\nb.\n\nc"], 2).scores[0] == pytest.approx([1, 2**-0.5])


def test_options_of_an_embedding_model_combine():
    assert dense("m,bf16", lambda s: None).parameters == {"model": "m", "window": 10, "bf16": True}
    assert dense("m,maxsim,bf16", lambda s: None)._embedder.bf16
    assert dense("m,maxsim", lambda s: None)._embedder.bf16 is False


@pytest.mark.parametrize("spec", ["st:m,mean", "st:m,maxsim,meanmax"])
def test_a_wrong_argument_is_refused(spec):
    with pytest.raises(PluginError):
        make_retriever(load_registry(), spec)


def test_maxsim_belongs_to_the_model_before_it():
    assert split_specs("bm25,st:m,maxsim,tfidf") == ["bm25", "st:m,maxsim", "tfidf"]
    assert split_specs("hybrid:bm25:tuned+st:m,bf16,bm25") == ["hybrid:bm25:tuned+st:m,bf16", "bm25"]
