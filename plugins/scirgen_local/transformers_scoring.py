"""Scoring with transformers in process: joint encoding, shared prefixes computed once, refusals instead of cuts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from scirgen import Capabilities, ConfigError, ModelError, ModelIdentity, ModelURI, ScoreReply, ScoreRequest
from scirgen.plugin import ContextTooLongError, LimitsConfig, ModelsConfig, ScoringModel
from scirgen_local.encoding import Encoded, JointEncoder
from scirgen_local.loading import LOADING_OPTIONS, LoadedModel, load_causal_lm

SCORING_OPTIONS: Final[Mapping[str, str]] = {
    "scoring_memory_mb": "memory for one forward pass on top of the weights (default: 1024; on CUDA half of the free "
    "memory)",
    "scoring_pack_tokens": "upper bound of the tokens in one forward pass (default: the fastest size on the device)",
}
"""The keys of ``config.models.options`` that this module reads in addition to those of loading. They change the speed,
but not a score."""


class TransformersScoring(ScoringModel):
    """Implements `scirgen.llm.base.ScoringModel` on a model that transformers runs in this process.

    A subclass that loads its own model overrides `load`.
    """

    OPTIONS: ClassVar[Mapping[str, str]] = {**LOADING_OPTIONS, **SCORING_OPTIONS}

    async def start(self) -> None:
        """Load the model, or take the one that is already loaded in this process."""
        self.use(await asyncio.to_thread(self.load))

    def load(self) -> LoadedModel:
        """Return the model to score with; runs in a thread."""
        return load_causal_lm(self.uri.name, self.options)

    @classmethod
    def of(cls, loaded: LoadedModel, options: Mapping[str, object] | None = None) -> TransformersScoring:
        """Score with a model that is already loaded."""
        uri = ModelURI(loaded.identity.backend, loaded.identity.name)
        self = cls(uri, ModelsConfig(options=dict(options or {})), LimitsConfig())
        self.use(loaded)
        return self

    def use(self, loaded: LoadedModel) -> None:
        """Score with this model from now on."""
        from scirgen_local.shared_prefix import SharedPrefixEngine

        self._loaded = loaded
        self._encoder = JointEncoder(loaded.tokenizer)
        pack = _positive(self.options, "scoring_pack_tokens")
        self.engine = SharedPrefixEngine(loaded.model, _memory(loaded, self.options), pack)

    @property
    def identity(self) -> ModelIdentity:
        return self._loaded.identity

    @property
    def capabilities(self) -> Capabilities:
        """Log-probabilities; the window is the model's own."""
        return Capabilities(
            logprobs=True,
            context_tokens=self._loaded.context_tokens,
            pack="small" if self._loaded.parameters < 1_500_000_000 else "standard",
            parameters=self._loaded.parameters,
        )

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
        """See `ScoringModel.score`. Blocks a thread, not the event loop; calls run one after another."""
        return await asyncio.to_thread(self.score_now, requests)

    def score_now(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
        """Return the same, in this thread."""
        with self._loaded.lock:
            encoded = [self._encode(r) for r in requests]
            # Equal requests are computed once; the engine finds other shared parts.
            unique = list(dict.fromkeys(e for e in encoded if isinstance(e, Encoded)))
            try:
                values: Sequence[tuple[float, ...] | Exception] = self.engine.logprobs(
                    [(e.ids, e.first) for e in unique]
                )
            except ModelError as error:
                values = [error] * len(unique)
            found = dict(zip(unique, values, strict=True))
            return [self._reply(e, found) for e in encoded]

    async def aclose(self) -> None:
        """Do nothing: other users may share the weights."""

    def _encode(self, request: ScoreRequest) -> Encoded | ModelError:
        try:
            encoded = self._encoder.encode(request)
        except ModelError as error:
            return error
        window = self._loaded.context_tokens
        if window is not None and len(encoded.ids) > window:
            return ContextTooLongError(
                f"{len(encoded.ids)} tokens do not fit the model's window of {window}",
                hint="Score against the evidence (filter.window: evidence), or use another scorer.",
            )
        return encoded

    def _reply(
        self, encoded: Encoded | ModelError, found: Mapping[Encoded, tuple[float, ...] | Exception]
    ) -> ScoreReply | Exception:
        if not isinstance(encoded, Encoded):
            return encoded
        value = found[encoded]
        if isinstance(value, Exception):
            return value
        return ScoreReply(self._encoder.pieces(encoded.ids[encoded.first :]), value, prompt_tokens=encoded.first)


def _memory(loaded: LoadedModel, options: Mapping[str, object] | None) -> int:
    asked = _positive(options, "scoring_memory_mb")
    if asked is not None:
        return asked * 2**20
    if loaded.device.type == "cuda":
        import torch

        free: Any = torch.cuda.mem_get_info(loaded.device)[0]
        return int(free) // 2
    return 1024 * 2**20


def _positive(options: Mapping[str, object] | None, name: str) -> int | None:
    value = (options or {}).get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"models.options.{name}: {value!r} must be a positive number", hint=SCORING_OPTIONS[name])
    return value
