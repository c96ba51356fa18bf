"""Decodes a batch of rows with one model; finished rows leave the batch, which `transformers.generate` does not
support.

`transformers_local` batches concurrent requests and owns the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import DynamicCache

from scirgen import ModelError
from scirgen_local.decoding import Row
from scirgen_local.loading import LoadedModel


class BatchDecoder:
    """Decodes batches one at a time; not thread-safe."""

    def __init__(self, loaded: LoadedModel) -> None:
        self.loaded = loaded
        self.eos = end_tokens(loaded)
        self._model: Any = loaded.model

    @torch.inference_mode()
    def decode(
        self, rows: Sequence[Row], finished: Callable[[Row], None], closed: Callable[[], bool] = lambda: False
    ) -> None:
        """Decode all rows to their end; ``finished`` is called for each as soon as it is done."""
        active = list(rows)
        cache, logits, mask, positions = self._prefill(active)
        while active:
            if closed():
                raise ModelError("the model was used after close()")
            for row, values in zip(active, logits, strict=True):
                token = row.pick(values)
                row.accept(token, self.eos, self.loaded.tokenizer)
                if row.finish_reason:
                    finished(row)
            going = [i for i, row in enumerate(active) if not row.finish_reason]
            if not going:
                return
            if len(going) < len(active):
                active = [active[i] for i in going]
                cache.batch_select_indices(torch.tensor(going, device=self.loaded.device))
                mask, positions = mask[going], positions[going]
            device = self.loaded.device
            tokens = torch.tensor([[row.made[-1]] for row in active], device=device)
            mask = torch.cat([mask, mask.new_ones((len(active), 1))], dim=1)
            positions = positions + 1
            logits = self._forward(tokens, mask, positions[:, None], cache)

    def _prefill(self, rows: list[Row]) -> tuple[Any, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return (cache, logits of each row's last token, attention mask, position of each row's last token)."""
        device = self.loaded.device
        width = max(len(row.tokens) for row in rows)
        cache: Any = DynamicCache(config=self._model.config)
        tokens = torch.full((len(rows), width), int(self.loaded.tokenizer.pad_token_id or 0), device=device)
        mask = torch.ones((len(rows), width), dtype=torch.long, device=device)
        for index, row in enumerate(rows):
            empty = width - len(row.tokens)
            tokens[index, empty:] = torch.tensor(row.tokens, device=device)
            mask[index, :empty] = 0
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        logits = self._forward(tokens, mask, positions, cache)
        return cache, logits, mask, positions[:, -1]

    def _forward(self, tokens: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Any) -> torch.Tensor:
        out = self._model(
            input_ids=tokens, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True,
            logits_to_keep=1,
        )  # fmt: skip
        logits: torch.Tensor = out.logits[:, -1].float().cpu()
        return logits


def end_tokens(loaded: LoadedModel) -> set[int]:
    """Return the tokens that end a reply, according to the tokenizer and the model's generation settings."""
    config: Any = loaded.model.generation_config
    ids = config.eos_token_id if config is not None else None
    found = set(ids) if isinstance(ids, list) else {ids}
    found.add(loaded.tokenizer.eos_token_id)
    # Some generation settings name a token that the tokenizer does not have.
    size = len(loaded.tokenizer)
    return {int(i) for i in found if isinstance(i, int) and 0 <= i < size}
