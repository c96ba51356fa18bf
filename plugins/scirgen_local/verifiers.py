"""Models that say whether a text supports a claim, each with the input form and reply that it was trained on.

A model is known by its id or folder name; any other one is read as a classifier of (premise, hypothesis) pairs, by the
names of its labels. The forms are those of the models' own code: MiniCheck's ``inference.py``, the template of FactCG,
the prompt of HHEM-2.1-open, and the model card of Granite Guardian 3.1.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import yaml

from scirgen import ConfigError
from scirgen.core.files.yamlfile import parse_yaml
from scirgen.plugin import ModelAccessError, require

_LOG = logging.getLogger("scirgen.models")

Pair = tuple[str, str]
"""A premise and a hypothesis."""

_FACTCG: Final = (
    '{premise}\n\nChoose your answer: based on the paragraph above can we conclude that "{hypothesis}"?\n\n'
    "OPTIONS:\n- Yes\n- No\nI think the answer is "
)
_HHEM: Final = (
    "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {premise}\n\nHypothesis: {hypothesis}"
)
_FOUNDATION: Final = "google/flan-t5-base"
"""The model under HHEM-2.1-open. Its own file names it too, but a model's file may not name another model to load."""
_NO_SUPPORT, _SUPPORT = 3, 209
"""MiniCheck's Flan-T5 replies with one of these two token ids."""
_ENTAILS = re.compile(r"(?:entail|support|consistent|grounded|faithful)", re.I)
_CONTRADICTS = re.compile(r"(?:contradict|refut)", re.I)
_NON_COMMERCIAL = re.compile(r"\bnc\b|non-?commercial", re.I)


@dataclass(frozen=True)
class Verifier:
    """A loaded model.

    Attributes:
        encode: pairs -> the model's inputs, padded.
        read: inputs -> (probability of support, of contradiction) for each pair.
        window: longest input, in tokens.
        only: the one thing that the model detects, if it does not tell support from contradiction.
    """

    encode: Callable[[Sequence[Pair]], Any]
    read: Callable[[Any], list[tuple[float, float]]]
    window: int
    only: Literal["", "entailment", "contradiction"] = "entailment"


def load_verifier(name: str, options: Mapping[str, object]) -> Verifier:
    """Load the model of a Hugging Face id or folder, and print its licence.

    Raises:
        ConfigError: its licence forbids commercial use, and ``models.options.non_commercial`` is not set.
        ModelAccessError: it cannot be loaded, or its reply has no known form.
    """
    licence = licence_of(name)
    if _NON_COMMERCIAL.search(licence) and not options.get("non_commercial"):
        raise ConfigError(
            f"the entailment model {name!r} is under {licence}: not for commercial use",
            hint="If yours is none, set models.options.non_commercial: true.",
        )
    _LOG.warning("entailment model %s: licence %s", name, licence)
    known = name.lower()
    with require("local", "entailment models in process"):
        import transformers  # noqa: F401
    try:
        if "granite-guardian" in known:
            return _granite_guardian(name)
        config = json.loads(_file_of(name, "config.json").read_text(encoding="utf-8"))
        if config.get("model_type") == "HHEMv2Config":
            return _hhem(name)
        if "minicheck" in known and config.get("model_type") == "t5":
            return _minicheck_t5(name)
        if "minicheck" in known:
            return _two_classes(name, lambda t, pair: str(t.eos_token or t.sep_token).join(pair))
        if "factcg" in known:
            return _two_classes(name, lambda _, pair: _FACTCG.format(premise=pair[0], hypothesis=pair[1]))
        return _by_labels(name)
    except (OSError, ValueError, KeyError) as error:
        if isinstance(error, ModelAccessError):
            raise
        raise ModelAccessError(
            f"cannot load the entailment model {name!r}: {str(error).splitlines()[0] if str(error) else error!r}",
            hint="Give hf:ID_OR_DIR of a classifier for natural language inference, MiniCheck, FactCG, HHEM-2.1-open "
            "or "
            "Granite Guardian 3.0 to 3.2.",
        ) from error


def licence_of(name: str) -> str:
    """The licence that a model's card names; "unknown" if it names none or cannot be read."""
    try:
        card = _file_of(name, "README.md").read_text(encoding="utf-8")[:100_000]
    except (OSError, ValueError):
        return "unknown"
    front = card.removeprefix("---\n").partition("\n---")[0] if card.startswith("---\n") else ""
    try:
        found = parse_yaml(front)
    except yaml.YAMLError:
        return "unknown"
    return str(found.get("license_name") or found.get("license") or "unknown") if isinstance(found, dict) else "unknown"


def _file_of(name: str, file: str) -> Path:
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder / file
    with require("local", "entailment models in process"):
        from huggingface_hub import hf_hub_download
    return Path(hf_hub_download(name, file))


def _opened(name: str, kind: str) -> tuple[Any, Any]:
    """The tokenizer, and the model as a class of transformers'."""
    import transformers

    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    return tokenizer, getattr(transformers, kind).from_pretrained(name, trust_remote_code=False).eval()


def _by_labels(name: str) -> Verifier:
    """A classifier of pairs with a label for support, for contradiction, or for both."""
    tokenizer, model = _opened(name, "AutoModelForSequenceClassification")
    named = {str(label): int(index) for index, label in model.config.id2label.items()}
    support = next((i for label, i in named.items() if _ENTAILS.match(label)), None)
    against = next((i for label, i in named.items() if _CONTRADICTS.match(label)), None)
    if support is None and against is None:
        raise ModelAccessError(
            f"{name!r} has no label named entailment, supported or contradiction: {sorted(named)}",
            hint="Use a classifier trained for natural language inference.",
        )

    def read(inputs: Any) -> list[tuple[float, float]]:
        rows = _logits(model, inputs).softmax(dim=-1).tolist()
        return [
            (row[support] if support is not None else 0.0, row[against] if against is not None else 0.0) for row in rows
        ]

    only: Literal["", "entailment", "contradiction"] = ""
    if support is None or against is None:
        only = "contradiction" if support is None else "entailment"
    return Verifier(
        lambda pairs: tokenizer([p for p, _ in pairs], [h for _, h in pairs], padding=True, return_tensors="pt"),
        read, _window(tokenizer, model), only,
    )  # fmt: skip


def _two_classes(name: str, form: Callable[[Any, Pair], str]) -> Verifier:
    """A classifier of one text that holds premise and hypothesis; its class 1 means support."""
    tokenizer, model = _opened(name, "AutoModelForSequenceClassification")
    if model.config.num_labels != 2:
        raise ModelAccessError(f"{name!r} has {model.config.num_labels} classes, and this kind of model has two")
    return Verifier(
        lambda pairs: tokenizer([form(tokenizer, pair) for pair in pairs], padding=True, return_tensors="pt"),
        lambda inputs: [(row[1], 0.0) for row in _logits(model, inputs).softmax(dim=-1).tolist()],
        2048 if getattr(model.config, "relative_attention", False) else _window(tokenizer, model),
    )


def _minicheck_t5(name: str) -> Verifier:
    import torch

    tokenizer, model = _opened(name, "AutoModelForSeq2SeqLM")

    def read(inputs: Any) -> list[tuple[float, float]]:
        first = torch.zeros((len(inputs["input_ids"]), 1), dtype=torch.long)
        logits = _logits(model, {**inputs, "decoder_input_ids": first})[:, 0, [_NO_SUPPORT, _SUPPORT]]
        return [(row[1], 0.0) for row in logits.softmax(dim=-1).tolist()]

    return Verifier(
        lambda pairs: tokenizer(
            ["predict: " + str(tokenizer.eos_token).join(pair) for pair in pairs], padding=True, return_tensors="pt"
        ),
        read,
        2048,
    )


def _hhem(name: str) -> Verifier:
    """HHEM-2.1-open without its own code: a T5 that labels tokens, whose first token's class 1 means consistent."""
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoTokenizer, T5ForTokenClassification

    tokenizer: Any = AutoTokenizer.from_pretrained(_FOUNDATION, trust_remote_code=False)
    model: Any = T5ForTokenClassification(
        AutoConfig.from_pretrained(_FOUNDATION, num_labels=2, trust_remote_code=False)
    )
    model.eval()
    weights = load_file(_file_of(name, "model.safetensors"))
    missing, unknown = model.load_state_dict({k.removeprefix("t5."): v for k, v in weights.items()}, strict=False)
    if unknown or any("embed_tokens" not in key for key in missing):
        raise ModelAccessError(f"the weights of {name!r} are not those of HHEM-2.1-open: {[*missing, *unknown][:3]}")
    model.tie_weights()
    return Verifier(
        lambda pairs: tokenizer(
            [_HHEM.format(premise=p, hypothesis=h) for p, h in pairs], padding=True, return_tensors="pt"
        ),
        lambda inputs: [(row[1], 0.0) for row in _logits(model, inputs)[:, 0].softmax(dim=-1).tolist()],
        2048,
    )


def _granite_guardian(name: str) -> Verifier:
    """Granite Guardian: asked for the risk that the answer is not grounded in the context, it replies Yes or No."""
    import torch

    if re.search(r"guardian-(?:3\.[3-9]|[4-9])", name.lower()):
        raise ModelAccessError(f"{name!r}: scirgen knows the form of Granite Guardian 3.0 to 3.2 alone")
    tokenizer, model = _opened(name, "AutoModelForCausalLM")
    tokenizer.padding_side = "right"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    words = {word: [i for token, i in tokenizer.get_vocab().items() if token.lower() == word] for word in ("yes", "no")}
    if not all(words.values()):
        raise ModelAccessError(f"{name!r} has no tokens for yes and no")

    def encode(pairs: Sequence[Pair]) -> Any:
        texts = [
            tokenizer.apply_chat_template(
                [{"role": "context", "content": premise}, {"role": "assistant", "content": hypothesis}],
                guardian_config={"risk_name": "groundedness"}, add_generation_prompt=True, tokenize=False,
            )
            for premise, hypothesis in pairs
        ]  # fmt: skip
        return tokenizer(texts, padding=True, add_special_tokens=False, return_tensors="pt")

    def read(inputs: Any) -> list[tuple[float, float]]:
        last = inputs["attention_mask"].sum(dim=1) - 1
        logits = _logits(model, inputs)[torch.arange(len(last)), last]
        risky, safe = (logits[:, words[word]].logsumexp(dim=-1) for word in ("yes", "no"))
        return [(share, 0.0) for share in (safe - risky).sigmoid().tolist()]

    return Verifier(encode, read, _window(tokenizer, model))


def _logits(model: Any, inputs: Any) -> Any:
    import torch

    with torch.inference_mode():
        return model(**inputs).logits.float()


def _window(tokenizer: Any, model: Any) -> int:
    return min(int(getattr(model.config, "max_position_embeddings", 512)), int(tokenizer.model_max_length))
