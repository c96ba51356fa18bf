"""Computes log-probabilities of many sequences that share prefixes, with each unique token computed once.

A long shared run (a "trunk": a dataset's context) goes through the model once and leaves its keys and values; the
branches on top of it are packed into one row without padding, with a mask that lets each token see only its own
ancestors. `encoding` encodes, and `token_trie` finds shared prefixes.
"""

from __future__ import annotations

import gc
import inspect
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import torch

from scirgen.core.errors import ModelError
from scirgen.llm.tokens.token_trie import Node, TokenTrie

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TRUNK: Final = 32
"""Shared runs of at least this many tokens get their own forward pass; shorter ones are repeated in each pack."""

_SMALLEST_PACK: Final = 16
_FASTEST_PACK: Final = {"cpu": 384, "cuda": 8192, "mps": 1024}
_TOLERANCE: Final = {torch.float32: 1e-3, torch.bfloat16: 0.25, torch.float16: 0.05}

_log = logging.getLogger(__name__)

Sequences = Sequence[tuple[Sequence[int], int]]
"""(token ids, index of the first token to be scored, at least 1)."""


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
        """Log-probabilities (nats) of each sequence's scored tokens, in order.

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
        """The same, computed naively: one sequence, one forward pass. The reference for tests and benchmarks."""
        return [self._alone(list(ids), first) for ids, first in sequences]

    def _shared(self, sequences: Sequences) -> list[tuple[float, ...]]:
        trie = TokenTrie(sequences)
        self._grow(trie.root, None)
        return [trie.logprobs(i) for i in range(len(sequences))]

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

    # -- walking the trie ------------------------------------------------------------------------------------------

    def _grow(self, trunk: Node, cache: Any) -> None:
        """Compute everything below ``trunk``, whose keys and values are in ``cache`` (None for an empty trunk)."""
        pack: list[Node] = []
        for top in list(trunk.children.values()):
            pack = self._branch(top, trunk, cache, pack)
        self._flush(pack, trunk, cache)

    def _branch(self, node: Node, trunk: Node, cache: Any, pack: list[Node]) -> list[Node]:
        """Compute a subtree or add it to the pack; returns the pack (a new one if it was full)."""
        stack = [node]
        while stack:
            node = stack.pop()
            limit = self._fitting(trunk.end, 0)
            path = node.path(trunk)
            length = sum(len(n.tokens) for n in path)
            long_shared = (
                node.children and len(node.tokens) >= TRUNK and length - len(node.tokens) + node.weight > limit
            )
            if long_shared or length > limit:
                grown = cache
                for step in path:
                    grown = self._extend(step, grown)
                self._grow(node, grown)
            elif node.children:
                stack.extend(reversed(node.children.values()))
            else:
                held = {id(n) for n in pack}
                new = [n for n in path if id(n) not in held]
                if pack and not self._fits([*pack, *new], trunk):
                    self._flush(pack, trunk, cache)
                    pack, new = [], path
                pack = [*pack, *new]
        return pack

    def _extend(self, node: Node, cache: Any) -> Any:
        """A new cache: ``cache`` and the node's tokens, computed in chunks that fit the budget."""
        cache, at = _copy(cache), 0
        while at < len(node.tokens):
            size = self._chunk(node, at)
            chunk = node.tokens[at : at + size]
            offsets = [o for o in range(at, at + size) if o in node.wanted]
            grown = _copy(cache)
            try:
                start = node.start + at
                logits = self._logits(
                    torch.tensor([o - at for o in offsets] or [size - 1], device=self._model.device),
                    input_ids=torch.tensor([chunk], device=self._model.device),
                    position_ids=torch.arange(start, start + size, device=self._model.device)[None],
                    past_key_values=grown,
                    use_cache=True,
                )
            except Exception as error:
                self._after(error, size)
                continue
            self._note(logits, [(node, o) for o in offsets])
            self._count(size)
            cache, at = grown, at + size
        return cache

    def _flush(self, pack: list[Node], trunk: Node, cache: Any) -> None:
        """Compute a pack, halving it if it does not fit into memory."""
        if not pack:
            return
        try:
            self._run_pack(pack, trunk, cache)
        except Exception as error:
            size = sum(len(n.tokens) for n in pack)
            self._after(error, size)
            again: list[Node] = []
            leaves = {id(n) for n in pack} - {id(n.parent) for n in pack}
            for leaf in [n for n in pack if id(n) in leaves]:
                again = self._branch(leaf, trunk, cache, again)
            self._flush(again, trunk, cache)

    def _run_pack(self, pack: list[Node], trunk: Node, cache: Any) -> None:
        device = self._model.device
        ids = [t for n in pack for t in n.tokens]
        positions = [p for n in pack for p in range(n.start, n.end)]
        wanted: list[tuple[Node, int]] = []
        rows: list[int] = []
        at = 0
        for node in pack:
            for offset in node.wanted:
                wanted.append((node, offset))
                rows.append(at + offset)
            at += len(node.tokens)
        logits = self._logits(
            torch.tensor(rows or [len(ids) - 1], device=device),
            input_ids=torch.tensor([ids], device=device),
            position_ids=torch.tensor([positions], device=device),
            attention_mask=self._masks(pack, positions, trunk.end),
            past_key_values=_copy(cache),
            use_cache=True,
        )
        self._note(logits, wanted)
        self._count(len(ids))

    def _masks(self, pack: list[Node], positions: list[int], shared: int) -> Any:
        """Attention mask of the pack: each token sees the trunk, its ancestors in the pack, and itself; additive, [1,
        1, q, k]."""
        device, dtype = self._model.device, self._model.dtype
        start: dict[int, int] = {}
        at = 0
        for node in pack:
            start[id(node)] = at
            at += len(node.tokens)
        seen = torch.zeros(at, shared + at, dtype=torch.bool)
        seen[:, :shared] = True
        for node in pack:
            mine = start[id(node)]
            rows = slice(mine, mine + len(node.tokens))
            up = node.parent
            while up is not None and id(up) in start:
                first = shared + start[id(up)]
                seen[rows, first : first + len(up.tokens)] = True
                up = up.parent
            own = torch.ones(len(node.tokens), len(node.tokens), dtype=torch.bool).tril_()
            seen[rows, shared + mine : shared + mine + len(node.tokens)] = own
        full = _additive(seen, dtype).to(device)
        window = getattr(self._config, "sliding_window", None)
        layers = getattr(self._config, "layer_types", None)
        if not window or (layers and "sliding_attention" not in layers):
            return full
        where = torch.tensor(positions)
        keys = torch.cat([torch.arange(shared), where])
        near = seen & (where[:, None] - keys[None, :] < window)
        slid = _additive(near, dtype).to(device)
        return {"full_attention": full, "sliding_attention": slid} if layers else slid

    # -- the model ---------------------------------------------------------------------------------------------------

    def _logits(self, keep: torch.Tensor, **inputs: Any) -> torch.Tensor:
        """Logits [len(keep), vocabulary] at the kept positions."""
        if self._keeps_logits:
            return self._model(**inputs, logits_to_keep=keep).logits[0]  # type: ignore[no-any-return]
        return self._model(**inputs).logits[0, keep]  # type: ignore[no-any-return]

    def _note(self, logits: torch.Tensor, wanted: list[tuple[Node, int]]) -> None:
        rows, targets, places = [], [], []
        for row, (node, offset) in enumerate(wanted):
            for target in node.wanted[offset]:
                rows.append(row)
                targets.append(target)
                places.append((node, (offset, target)))
        if not rows:
            return
        for (node, place), value in zip(places, _gather(logits, rows, targets), strict=True):
            node.found[place] = value

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
        """The number of tokens that a pack may have on top of ``shared`` ones, with ``wanted`` rows of logits."""
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

    def _fits(self, nodes: list[Node], trunk: Node) -> bool:
        wanted = sum(len(n.wanted) for n in nodes)
        return sum(len(n.tokens) for n in nodes) <= self._fitting(trunk.end, wanted)

    def _chunk(self, node: Node, at: int) -> int:
        """The number of trunk tokens to compute next. A chunk needs no mask, so it may be larger than a pack."""
        rest = len(node.tokens) - at
        size = min(rest, self._fitting(node.start + at, 0) * (4 if self._limit > _SMALLEST_PACK else 1))
        wanted = sum(1 for o in node.wanted if at <= o < at + size)
        return min(size, self._fitting(node.start + at, wanted)) if wanted else size

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
                f"out of memory with a pack of {size} tokens",
                hint="Use a smaller model, bfloat16, or a shorter context (filter.window: evidence).",
                code="out_of_memory",
            ) from error
        self._limit = max(_SMALLEST_PACK, min(self._limit, size) // 2)
        _log.warning("out of memory with %d tokens at once: continuing with at most %d", size, self._limit)
        gc.collect()  # garbage is collected rarely during a run, and the failed tensors may be in a cycle
        if self._model.device.type == "cuda":
            torch.cuda.empty_cache()


def _gather(logits: torch.Tensor, rows: list[int], targets: list[int]) -> list[float]:
    """log softmax(logits)[rows, targets] in float32, in slices, so a large vocabulary needs little memory."""
    values: list[float] = []
    for at in range(0, len(rows), 64):
        row = torch.tensor(rows[at : at + 64], device=logits.device)
        target = torch.tensor(targets[at : at + 64], device=logits.device)
        part = logits[row].float()
        values += (part.gather(1, target[:, None])[:, 0] - part.logsumexp(dim=1)).tolist()
    if any(v != v for v in values):
        raise ModelError(
            "the model gave a log-probability that is not a number",
            hint="Use float32 or bfloat16.",
            code="not_a_number",
        )
    return values


def _additive(seen: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """0 for visible positions, the dtype's lowest value elsewhere."""
    mask = torch.zeros(seen.shape, dtype=dtype)
    return mask.masked_fill_(~seen, torch.finfo(dtype).min)[None, None]


def _copy(cache: Any) -> Any:
    """A separate cache that shares the tensors; growing it leaves the original unchanged (`torch.cat` makes new
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
