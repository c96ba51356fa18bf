"""Computes log-probabilities of many sequences; the beginnings that they share are computed once.

A long shared beginning (a "trunk": a dataset's context) goes through the model once and leaves its keys and values; the
branches on top of it are packed into one row without padding, with a mask that lets each token see only its own
sequence. `encoding` encodes, and `prefixes` finds shared beginnings.
"""

from __future__ import annotations

import gc
import inspect
import logging
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import torch

from scirgen import ModelError
from scirgen.llm.tokens.prefixes import prefix_groups

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TRUNK: Final = 32
"""Shared beginnings of at least this many tokens get their own forward pass; shorter ones are repeated."""

_SMALLEST_PACK: Final = 16
_FASTEST_PACK: Final = {"cpu": 384, "cuda": 8192, "mps": 1024}
_TOLERANCE: Final = {torch.float32: 1e-3, torch.bfloat16: 0.25, torch.float16: 0.05}

_log = logging.getLogger(__name__)

Sequences = Sequence[tuple[Sequence[int], int]]
"""(token ids, index of the first token to be scored, at least 1)."""

Branches = dict[int, tuple[list[int], int]]
"""Index of a sequence -> the sequence."""


class SharedPrefixEngine:
    """Runs one causal language model. Not safe for concurrent use: hold the model's lock.

    Args:
        model: in eval mode.
        memory_bytes: memory of one forward pass on top of the weights: activations, mask, logits and the trunk's keys
            and values. It determines the size of a pack; an out-of-memory error halves it permanently.
        pack_tokens: upper bound of a pack; None for the fastest size on the device.
    """

    def __init__(self, model: PreTrainedModel, memory_bytes: int, pack_tokens: int | None = None) -> None:
        self._model: Any = model
        self._config: Any = model.config.get_text_config()
        self._memory = memory_bytes
        self._limit = pack_tokens or _FASTEST_PACK.get(model.device.type, 512)
        self._sharing: bool | None = None
        self._keeps_logits = "logits_to_keep" in inspect.signature(model.forward).parameters
        self.computed_tokens = 0
        self.forward_passes = 0

    @property
    def pack_tokens(self) -> int:
        """The current upper bound of a pack; it shrinks when memory runs out."""
        return self._limit

    def logprobs(self, sequences: Sequences) -> list[tuple[float, ...]]:
        """Return the log-probabilities (nats) of each sequence's scored tokens, in order.

        Equal to running each sequence alone, up to the rounding of the model's dtype: within 1e-4 in float32. In
        bfloat16 they differ from each other by less than either differs from float32, where rounding the weights alone
        can move a token by some hundredths; the softmax is taken in float32 always. A model that cannot be run on a
        shared prefix (checked once, on a few tokens) is run sequence by sequence.

        Raises:
            ModelError: out of memory (code ``out_of_memory``) with the smallest pack, or a score is not a number.
        """
        if not sequences:
            return []
        with torch.inference_mode():
            if self._sharing is None:
                self._sharing = self._can_share()
            if not self._sharing:
                return self.one_by_one(sequences)
            return self._shared(sequences)

    def one_by_one(self, sequences: Sequences) -> list[tuple[float, ...]]:
        """Return the same, computed naively: one sequence, one forward pass. The reference for tests and benchmarks."""
        return [self._alone(list(ids), first) for ids, first in sequences]

    def _shared(self, sequences: Sequences) -> list[tuple[float, ...]]:
        found: dict[int, tuple[float, ...]] = {}
        for trunk, members in prefix_groups(sequences, TRUNK):
            cache, _ = self._read(list(sequences[members[0]][0]), trunk + 1, trunk) if trunk else (None, ())
            branches = {i: (list(sequences[i][0]), sequences[i][1]) for i in members}
            found |= self._branch(branches, trunk, cache)
        return [found[i] for i in range(len(sequences))]

    def _alone(self, ids: list[int], first: int) -> tuple[float, ...]:
        with torch.inference_mode():
            inputs = torch.tensor([ids[:-1]], device=self._model.device)
            keep = torch.arange(first - 1, len(ids) - 1, device=self._model.device)
            try:
                logits = self._logits(keep, input_ids=inputs, use_cache=False)
            except Exception as error:
                self._after(error, len(ids), whole=True)
                raise
            picked = _gather(logits, list(range(len(keep))), ids[first:])
        self._count(len(ids) - 1)
        return tuple(picked)

    # -- a trunk and its branches ------------------------------------------------------------------------------------

    def _branch(self, branches: Branches, trunk: int, cache: Any) -> dict[int, tuple[float, ...]]:
        """Score sequences whose first ``trunk`` tokens are in ``cache`` (None for none), in packs."""
        found: dict[int, tuple[float, ...]] = {}
        pack: Branches = {}
        for i, (ids, first) in branches.items():
            if not self._fits({i: (ids, first)}, trunk):
                found[i] = self._read(ids, first, len(ids) - 1, trunk, cache)[1]
                continue
            if not self._fits({**pack, i: (ids, first)}, trunk):
                found |= self._flush(pack, trunk, cache)
                pack = {}
            pack[i] = (ids, first)
        return found | self._flush(pack, trunk, cache)

    def _read(
        self, ids: list[int], first: int, end: int, at: int = 0, cache: Any = None
    ) -> tuple[Any, tuple[float, ...]]:
        """Read the tokens [at, end) in chunks that fit the budget, on top of ``cache``.

        Returns:
            A new cache, and the log-probabilities of the tokens from ``first`` to ``end``.
        """
        values: list[float] = []
        while at < end:
            size = self._chunk(at, end, first)
            rows = range(max(first - 1, at), at + size)
            grown = _copy(cache)
            try:
                logits = self._logits(
                    torch.tensor([p - at for p in rows] or [size - 1], device=self._model.device),
                    input_ids=torch.tensor([ids[at : at + size]], device=self._model.device),
                    position_ids=torch.arange(at, at + size, device=self._model.device)[None],
                    past_key_values=grown,
                    use_cache=True,
                )
            except Exception as error:
                self._after(error, size)
                continue
            values += _gather(logits, list(range(len(rows))), [ids[p + 1] for p in rows])
            self._count(size)
            cache, at = grown, at + size
        return cache, tuple(values)

    def _flush(self, pack: Branches, trunk: int, cache: Any) -> dict[int, tuple[float, ...]]:
        """Score a pack, in smaller ones if it does not fit into memory."""
        if not pack:
            return {}
        try:
            return self._run_pack(pack, trunk, cache)
        except Exception as error:
            self._after(error, sum(len(ids) - 1 - trunk for ids, _ in pack.values()))
            return self._branch(pack, trunk, cache)

    def _run_pack(self, pack: Branches, trunk: int, cache: Any) -> dict[int, tuple[float, ...]]:
        device = self._model.device
        tokens: list[int] = []
        rows: list[int] = []
        for ids, first in pack.values():
            rows += range(len(tokens) + first - 1 - trunk, len(tokens) + len(ids) - 1 - trunk)
            tokens += ids[trunk:-1]
        positions = [p for ids, _ in pack.values() for p in range(trunk, len(ids) - 1)]
        owners = [i for i, (ids, _) in pack.items() for _ in range(trunk, len(ids) - 1)]
        logits = self._logits(
            torch.tensor(rows, device=device),
            input_ids=torch.tensor([tokens], device=device),
            position_ids=torch.tensor([positions], device=device),
            attention_mask=self._masks(torch.tensor(owners), torch.tensor(positions), trunk),
            past_key_values=_copy(cache),
            use_cache=True,
        )
        self._count(len(tokens))
        values = iter(_gather(logits, list(range(len(rows))), [t for ids, first in pack.values() for t in ids[first:]]))
        return {i: tuple(islice(values, len(ids) - first)) for i, (ids, first) in pack.items()}

    def _masks(self, owners: torch.Tensor, positions: torch.Tensor, trunk: int) -> Any:
        """Return the attention mask of a pack: each token sees the trunk and the tokens of its own sequence before it;
        additive, [1, 1, q, k]."""
        device, dtype = self._model.device, self._model.dtype
        own = (owners[:, None] == owners[None, :]) & (positions[:, None] >= positions[None, :])
        seen = torch.cat([torch.ones(len(owners), trunk, dtype=torch.bool), own], dim=1)
        full = _additive(seen, dtype).to(device)
        window = getattr(self._config, "sliding_window", None)
        layers = getattr(self._config, "layer_types", None)
        if not window or (layers and "sliding_attention" not in layers):
            return full
        keys = torch.cat([torch.arange(trunk), positions])
        slid = _additive(seen & (positions[:, None] - keys[None, :] < window), dtype).to(device)
        return {"full_attention": full, "sliding_attention": slid} if layers else slid

    # -- the model ---------------------------------------------------------------------------------------------------

    def _logits(self, keep: torch.Tensor, **inputs: Any) -> torch.Tensor:
        """Return the logits [len(keep), vocabulary] at the kept positions."""
        if self._keeps_logits:
            return self._model(**inputs, logits_to_keep=keep).logits[0]  # type: ignore[no-any-return]
        return self._model(**inputs).logits[0, keep]  # type: ignore[no-any-return]

    def _count(self, tokens: int) -> None:
        self.computed_tokens += tokens
        self.forward_passes += 1

    def _can_share(self) -> bool:
        """Check whether packs give the same result as single sequences, checked with a few tokens on this model."""
        kinds = set(getattr(self._config, "layer_types", None) or ["full_attention"])
        rope = getattr(self._config, "rope_parameters", None) or getattr(self._config, "rope_scaling", None) or {}
        kind = rope.get("rope_type", "default") if isinstance(rope, dict) else "default"
        reason = ""
        if kinds - {"full_attention", "sliding_attention"}:
            reason = f"layers of type {', '.join(sorted(kinds - {'full_attention', 'sliding_attention'}))}"
        elif kind in ("dynamic", "longrope"):
            reason = "positions that depend on a sequence's whole length"
        else:
            try:
                reason = self._probe()
            except (TypeError, ValueError, RuntimeError, IndexError, KeyError, AttributeError) as error:
                reason = f"{type(error).__name__}: {error}"
        if reason:
            _log.warning("the model cannot be run on shared prefixes (%s): scoring is one sequence at a time", reason)
        return not reason

    def _probe(self) -> str:
        size = int(self._config.vocab_size)
        token = [(7919 * i + 13) % size for i in range(64)]
        stem = token[:40]
        probes = [
            ([*stem, *token[40:48]], 42),
            ([*stem, *token[48:60]], 41),
            ([*stem, *token[40:44], *token[50:55]], 43),
        ]
        keep = (self._limit, self.computed_tokens, self.forward_passes)
        self._limit = 32
        shared = self._shared(probes)
        self._limit, self.computed_tokens, self.forward_passes = keep
        alone = self.one_by_one(probes)
        self.computed_tokens, self.forward_passes = keep[1:]
        worst = max(abs(a - b) for x, y in zip(shared, alone, strict=True) for a, b in zip(x, y, strict=True))
        return "" if worst <= _TOLERANCE.get(self._model.dtype, 0.25) else f"scores differ by {worst:.3g}"

    # -- memory ------------------------------------------------------------------------------------------------------

    def _fitting(self, shared: int, wanted: int) -> int:
        """Count the tokens that a pack may have on top of ``shared`` ones, with ``wanted`` rows of logits."""
        c, width = self._config, self._model.dtype.itemsize
        hidden = int(c.hidden_size)
        heads = int(c.num_attention_heads)
        kv = int(getattr(c, "num_key_value_heads", None) or heads) * int(
            getattr(c, "head_dim", None) or hidden // heads
        )
        inner = int(getattr(c, "intermediate_size", None) or getattr(c, "n_inner", None) or 4 * hidden)
        layers = int(c.num_hidden_layers)
        held = shared * kv * 2 * width * (layers + 2 * heads * hidden // max(1, heads * kv))
        room = self._memory - held - wanted * int(c.vocab_size) * (width + 8)
        eager = heads * 8 if getattr(c, "_attn_implementation", "sdpa") == "eager" else 0
        # Per token: activations of one layer, its new keys and values in all layers, and its row of the mask.
        each = width * (8 * hidden + 4 * inner + 2 * kv * layers) + (shared + self._limit) * (6 + eager)
        return int(max(_SMALLEST_PACK, min(self._limit, room // each)))

    def _fits(self, pack: Branches, trunk: int) -> bool:
        wanted = sum(len(ids) - first for ids, first in pack.values())
        return sum(len(ids) - 1 - trunk for ids, _ in pack.values()) <= self._fitting(trunk, wanted)

    def _chunk(self, at: int, end: int, first: int) -> int:
        """Return the number of tokens to read next. A chunk needs no mask, so it may be larger than a pack."""
        size = min(end - at, self._fitting(at, 0) * (4 if self._limit > _SMALLEST_PACK else 1))
        wanted = max(0, at + size - max(first - 1, at))
        return min(size, self._fitting(at, wanted)) if wanted else size

    def _after(self, error: Exception, size: int, *, whole: bool = False) -> None:
        """Halve the pack after an out-of-memory error, unless it is ``whole``; other errors are raised."""
        text = str(error)
        if (
            not isinstance(error, torch.OutOfMemoryError)
            and "allocate memory" not in text
            and "out of memory" not in text
        ):
            raise error
        if whole or self._limit <= _SMALLEST_PACK or size <= 1:
            raise ModelError(
                f"out of memory while scoring {size} tokens",
                hint="Use a smaller model, bfloat16, or a shorter context (filter.window: evidence).",
                code="out_of_memory",
            ) from error
        self._limit = max(_SMALLEST_PACK, min(self._limit, size) // 2)
        _log.warning("out of memory with %d tokens at once: continuing with at most %d", size, self._limit)
        gc.collect()  # garbage is collected rarely during a run, and the failed tensors may be in a cycle
        if self._model.device.type == "cuda":
            torch.cuda.empty_cache()


def _gather(logits: torch.Tensor, rows: list[int], targets: list[int]) -> list[float]:
    """Return log softmax(logits)[rows, targets] in float32, in slices, so a large vocabulary needs little memory."""
    values: list[float] = []
    for at in range(0, len(rows), 64):
        row = torch.tensor(rows[at : at + 64], device=logits.device)
        target = torch.tensor(targets[at : at + 64], device=logits.device)
        part = logits[row].float()
        values += (part.gather(1, target[:, None])[:, 0] - part.logsumexp(dim=1)).tolist()
    if any(v != v for v in values):
        raise ModelError(
            "the model returned a log-probability that is not a number",
            hint="Use float32 or bfloat16.",
            code="not_a_number",
        )
    return values


def _additive(seen: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return 0 for visible positions, the dtype's lowest value elsewhere."""
    mask = torch.zeros(seen.shape, dtype=dtype)
    return mask.masked_fill_(~seen, torch.finfo(dtype).min)[None, None]


def _copy(cache: Any) -> Any:
    """Return a separate cache that shares the tensors; growing it leaves the original unchanged (`torch.cat` makes new
    tensors)."""
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer

    # Made without a config, so sliding-window layers keep all keys; the mask does the sliding.
    copy: Any = DynamicCache()
    for layer in cache.layers if cache is not None else ():
        twin: Any = DynamicLayer()  # type: ignore[no-untyped-call]
        twin.lazy_initialization(layer.keys, layer.values)
        twin.keys, twin.values = layer.keys, layer.values
        copy.layers.append(twin)
    return copy
