"""Decodes a batch of rows with one model: a shared prefix is computed once, and rows leave as they finish.

`transformers_local` batches concurrent requests and owns the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch

from scirgen.core.errors import ModelError
from scirgen.llm.local.decoding import Row
from scirgen.llm.local.kv_cache import PrefixStore, RoomyCache
from scirgen.llm.local.loading import LoadedModel
from scirgen.llm.tokens.prefixes import common_prefix

WORTH_SHARING: Final = 24
"""Shorter common prefixes do not get their own forward pass."""


class BatchDecoder:
    """Decodes batches one at a time; not thread-safe.

    Args:
        loaded: model and tokenizer.
        prefix_bytes: memory for prefixes kept from one batch to the next.
    """

    def __init__(self, loaded: LoadedModel, prefix_bytes: int = 512 * 2**20) -> None:
        self.loaded = loaded
        self.eos = end_tokens(loaded)
        self._model: Any = loaded.model
        config: Any = loaded.model.config.get_text_config()
        kinds = getattr(config, "layer_types", None) or ["full_attention"]
        # Sliding windows and recurrent layers keep their own kind of cache, without shared prefixes.
        self._roomy = set(kinds) == {"full_attention"} and not getattr(config, "sliding_window", None)
        self._layers = int(config.num_hidden_layers)
        self._prefixes = PrefixStore(prefix_bytes)

    @torch.inference_mode()
    def decode(
        self, rows: Sequence[Row], finished: Callable[[Row], None], closed: Callable[[], bool] = lambda: False
    ) -> None:
        """Decode all rows to their end; ``finished`` is called for each as soon as it is done."""
        active = list(rows)
        cache, logits, mask, positions = self._prefill(active)
        while active:
            if closed():
                raise ModelError("the model was closed")
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
                self._keep(cache, going)
                mask, positions = mask[going], positions[going]
            device = self.loaded.device
            tokens = torch.tensor([[row.made[-1]] for row in active], device=device)
            mask = torch.cat([mask, mask.new_ones((len(active), 1))], dim=1)
            positions = positions + 1
            logits = self._forward(tokens, mask, positions[:, None], cache)

    def _prefill(self, rows: list[Row]) -> tuple[Any, torch.Tensor, torch.Tensor, torch.Tensor]:
        """(cache, logits of each row's last token, attention mask, position of each row's last token)."""
        device = self.loaded.device
        shared = self._shared(rows)
        longest = max(len(row.tokens) for row in rows)
        room = longest + max(row.request.sampling.max_tokens for row in rows)
        cache: Any
        if not self._roomy:
            from transformers import DynamicCache

            cache = DynamicCache(config=self._model.config)
        else:
            cache = RoomyCache(self._layers, room)
        if shared:
            _, prefix = self._prefixes.longest(rows[0].tokens[:shared])
            assert prefix is not None
            cache.begin(prefix, shared, len(rows))
        width = longest - shared
        tokens = torch.full((len(rows), width), int(self.loaded.tokenizer.pad_token_id or 0), device=device)
        mask = torch.ones((len(rows), longest), dtype=torch.long, device=device)
        for index, row in enumerate(rows):
            rest = row.tokens[shared:]
            tokens[index, width - len(rest) :] = torch.tensor(rest, device=device)
            mask[index, shared : longest - len(rest)] = 0
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        logits = self._forward(tokens, mask, positions[:, shared:], cache)
        return cache, logits, mask, positions[:, -1]

    def _shared(self, rows: list[Row]) -> int:
        """Length of the rows' common prefix whose keys and values are kept; 0 if it is too short.

        At least one token of each row remains, since its logits are needed.
        """
        if not self._roomy:
            return 0
        first = rows[0].tokens
        shared = min(common_prefix(first, row.tokens) for row in rows)
        shared = min(shared, min(len(row.tokens) for row in rows) - 1)
        known, prefix = self._prefixes.longest(first[:shared])
        if len(rows) == 1:
            return known if known >= WORTH_SHARING else 0
        if shared < WORTH_SHARING:
            return 0
        if known < shared:
            cache = RoomyCache(self._layers, shared)
            if prefix is not None:
                cache.begin(prefix, known, 1)
            device = self.loaded.device
            rest = torch.tensor([first[known:shared]], device=device)
            mask = torch.ones((1, shared), dtype=torch.long, device=device)
            self._forward(rest, mask, torch.arange(known, shared, device=device)[None], cache)
            self._prefixes.add(first[:shared], cache.prefix(shared))
            if self._prefixes.longest(first[:shared])[0] < shared:
                return 0  # it does not fit into the memory for prefixes
        return shared

    def _forward(self, tokens: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Any) -> torch.Tensor:
        out = self._model(
            input_ids=tokens, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True,
            logits_to_keep=1,
        )  # fmt: skip
        logits: torch.Tensor = out.logits[:, -1].float().cpu()
        return logits

    @staticmethod
    def _keep(cache: Any, rows: list[int]) -> None:
        if isinstance(cache, RoomyCache):
            cache.keep(rows)
        else:
            cache.batch_select_indices(torch.tensor(rows))


def end_tokens(loaded: LoadedModel) -> set[int]:
    """The tokens that end a reply, according to the tokenizer and the model's generation settings."""
    config: Any = loaded.model.generation_config
    ids = config.eos_token_id if config is not None else None
    found = set(ids) if isinstance(ids, list) else {ids}
    found.add(loaded.tokenizer.eos_token_id)
    # Some generation settings name a token that the tokenizer does not have.
    size = len(loaded.tokenizer)
    return {int(i) for i in found if isinstance(i, int) and 0 <= i < size}
