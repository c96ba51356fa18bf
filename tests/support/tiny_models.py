"""Tiny causal language models with random weights and a small byte-level tokenizer, made on the spot."""

from __future__ import annotations

import threading
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3NextConfig,
)

from scirgen.llm.base import ModelIdentity
from scirgen_local.loading import LoadedModel

TEXT = (
    "The dataset holds daily precipitation of the Tibetan Plateau from 1979 to 2018 at a resolution of 0.1 degrees. "
    "Question: which period does the dataset cover? Answer: Yes, it covers 40 years. No, it does not. "
    "Soil moisture, snow depth, river discharge and grassland biomass were measured at 12 stations. "
)
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
VOCABULARY = 420
SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512, "initializer_range": 0.2,
}  # fmt: skip


def tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE with chat control tokens."""
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator(
        [TEXT],
        trainers.BpeTrainer(
            vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        ),
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=raw, bos_token="<|endoftext|>", eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    fast.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    fast.chat_template = TEMPLATE
    return fast


CONFIGS: dict[str, Any] = {
    "llama": lambda: LlamaConfig(**SHAPE),
    "qwen2": lambda: Qwen2Config(**SHAPE),
    "gpt2": lambda: GPT2Config(
        vocab_size=VOCABULARY, n_positions=512, n_embd=48, n_layer=3, n_head=4, initializer_range=0.2
    ),
    "mistral-sliding": lambda: MistralConfig(**SHAPE, sliding_window=24),
    "qwen2-sliding": lambda: Qwen2Config(
        **SHAPE, use_sliding_window=True, sliding_window=24, max_window_layers=1
    ),
    "gemma2-sliding": lambda: Gemma2Config(**SHAPE, sliding_window=24, head_dim=12),
    "qwen3-next-linear": lambda: Qwen3NextConfig(
        **SHAPE, num_experts=2, num_experts_per_tok=1, moe_intermediate_size=32, shared_expert_intermediate_size=32,
        head_dim=12, linear_num_value_heads=2, linear_num_key_heads=2, linear_key_head_dim=8, linear_value_head_dim=8,
        layer_types=["linear_attention", "full_attention", "linear_attention"],
    ),
}  # fmt: skip


def tiny(kind: str, attention: str | None = None, spread: float = 0.2) -> LoadedModel:
    """A tiny model of an architecture, in float32. ``spread`` is the standard deviation of its weights."""
    torch.manual_seed(7)
    extra = {"attn_implementation": attention} if attention else {}
    config = CONFIGS[kind]()
    config.initializer_range = spread
    model = AutoModelForCausalLM.from_config(config, **extra).eval()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    return LoadedModel(
        model=model,
        tokenizer=tokenizer(),
        identity=ModelIdentity("hf", f"tiny-{kind}", "random"),
        context_tokens=512,
        parameters=sum(p.numel() for p in model.parameters()),
        lock=threading.RLock(),
    )
