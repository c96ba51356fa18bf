"""Key/value caches for batched decoding: memory is allocated once, rows are dropped as they finish, and prefixes are
kept for reuse."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer

from scirgen.llm.tokens.prefixes import common_prefix


class RoomyLayer(DynamicLayer):
    """A full-attention layer whose memory is allocated at once, since growing by concatenation copies everything for
    each token.

    Keys and values have shape (rows, heads, room, head size); the first ``length`` places are in use.
    """

    keys: Any
    values: Any

    def __init__(self, room: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.room = room
        self.length = 0

    def update(self, key_states: Any, value_states: Any, *args: Any, **kwargs: Any) -> Any:
        rows, heads, new, _ = key_states.shape
        if not self.is_initialized:
            self.dtype, self.device = key_states.dtype, key_states.device
            self.keys = key_states.new_empty((rows, heads, self.room, key_states.shape[-1]))
            self.values = value_states.new_empty((rows, heads, self.room, value_states.shape[-1]))
            self.is_initialized = True
        end = self.length + new
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def fill(self, keys: torch.Tensor, values: torch.Tensor, rows: int) -> None:
        """Begin with a prefix of shape (1, heads, length, head size), the same for all rows."""
        _, heads, length, _ = keys.shape
        self.dtype, self.device = keys.dtype, keys.device
        self.keys = keys.new_empty((rows, heads, self.room, keys.shape[-1]))
        self.values = values.new_empty((rows, heads, self.room, values.shape[-1]))
        self.keys[:, :, :length] = keys
        self.values[:, :, :length] = values
        self.length = length
        self.is_initialized = True

    def get_seq_length(self) -> int:
        return self.length

    def keep(self, rows: torch.Tensor) -> None:
        if self.is_initialized:
            self.keys = self.keys[rows]
            self.values = self.values[rows]


Prefix = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values per layer, each (1, heads, length, head size)."""


class RoomyCache(Cache):
    """One `RoomyLayer` per model layer."""

    layers: list[Any]

    def __init__(self, layers: int, room: int) -> None:
        super().__init__(layers=[RoomyLayer(room) for _ in range(layers)])

    def begin(self, prefix: Prefix, length: int, rows: int) -> None:
        """Fill in the first ``length`` places of all rows from a prefix."""
        for layer, (keys, values) in zip(self.layers, prefix, strict=True):
            layer.fill(keys[:, :, :length], values[:, :, :length], rows)

    def keep(self, rows: list[int]) -> None:
        index = torch.tensor(rows, device=self.layers[0].device)
        for layer in self.layers:
            layer.keep(index)

    def prefix(self, length: int) -> Prefix:
        """A copy of the first row's first ``length`` places."""
        return [(la.keys[:1, :, :length].clone(), la.values[:1, :, :length].clone()) for la in self.layers]


class PrefixStore:
    """Recently computed prefixes; the least recently used are dropped first.

    Args:
        max_bytes: limit for the keys and values of all prefixes.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._kept: OrderedDict[tuple[int, ...], tuple[Prefix, int]] = OrderedDict()

    def longest(self, tokens: list[int]) -> tuple[int, Prefix | None]:
        """(length, keys and values) of the longest stored prefix of ``tokens``."""
        best, found = 0, None
        for kept in self._kept:
            length = common_prefix(kept, tokens)
            if length > best:
                best, found = length, kept
        if found is None:
            return 0, None
        self._kept.move_to_end(found)
        return best, self._kept[found][0]

    def add(self, tokens: list[int], prefix: Prefix) -> None:
        """Keep a prefix, if it fits at all."""
        size = sum(k.nbytes + v.nbytes for k, v in prefix)
        key = tuple(tokens)
        if size > self.max_bytes or key in self._kept:
            return
        self._kept[key] = (prefix, size)
        while sum(s for _, s in self._kept.values()) > self.max_bytes:
            self._kept.popitem(last=False)
