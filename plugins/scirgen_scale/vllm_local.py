"""The ``vllm:`` backend: generation with structured output, and scoring on top of vLLM's prefix cache.

`vllm_engine` runs the engine, `encoding` encodes.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, cast

from scirgen import (
    Backend,
    Capabilities,
    ChatReply,
    ChatRequest,
    ConfigError,
    ModelError,
    ModelIdentity,
    ScoreReply,
    ScoreRequest,
    Usage,
)
from scirgen.llm.base import Sampling
from scirgen.llm.server.openai_compat import is_choice, parameters_in_name
from scirgen.llm.tokens.prefixes import WARM, prefix_groups
from scirgen.plugin import ChatModel, ContextTooLongError, ScoringModel
from scirgen_local.encoding import Encoded
from scirgen_scale.vllm_engine import VLLM_OPTIONS, VLLMEngine

SCORING: Final[Mapping[str, str]] = {
    "vllm_scoring": "prefix_cache (default) or prompt_logprobs: whether shared prefixes are read from vLLM's cache",
}


class _VLLM(Backend):
    """Common base of chat and scoring."""

    _engine: VLLMEngine | None = None

    async def start(self) -> None:
        """Read the model's configuration and tokenizer; the weights are loaded on the first request."""
        self._engine = await asyncio.to_thread(VLLMEngine.shared, self.uri.name, self.options)

    @property
    def engine(self) -> VLLMEngine:
        """The engine, after it has started."""
        assert self._engine is not None, "start() first"
        return self._engine

    @property
    def identity(self) -> ModelIdentity:
        """Backend, name, and revision with dtype."""
        return self.engine.identity

    @property
    def capabilities(self) -> Capabilities:
        """Structured output and log-probabilities."""
        parameters = parameters_in_name(self.uri.name)
        return Capabilities(
            structured=True,
            logprobs=True,
            context_tokens=self.engine.context_tokens,
            pack="small" if parameters is not None and parameters < 1_500_000_000 else "standard",
            parameters=parameters,
        )

    async def aclose(self) -> None:
        """Stop the engine when this was its last user."""
        if self._engine is not None:
            self._engine.release()
            self._engine = None


class VLLMChat(_VLLM, ChatModel):
    """A `ChatModel`: vLLM batches concurrent requests by itself."""

    OPTIONS: ClassVar[Mapping[str, str]] = VLLM_OPTIONS

    async def chat(self, request: ChatRequest) -> ChatReply:
        """See `ChatModel.chat`."""
        async with self.engine.encoding:
            ids = await asyncio.to_thread(self.engine.encoder.encode_chat, request.messages)
        window = self.engine.context_tokens
        if window is not None and len(ids) >= window:
            raise ContextTooLongError(f"{len(ids)} prompt tokens do not fit the window of {window}")
        room = request.sampling.max_tokens if window is None else min(request.sampling.max_tokens, window - len(ids))
        output = await self.engine.generate(ids, _sampling(request, room))
        choice = output.outputs[0]
        return ChatReply(
            choice.text,
            "length" if choice.finish_reason == "length" else "stop",
            Usage(len(output.prompt_token_ids), len(choice.token_ids)),
        )


class VLLMScoring(_VLLM, ScoringModel):
    """A `ScoringModel`: log-probabilities of the prompt's last tokens, with the shared rest read from the prefix cache.

    vLLM does not use the prefix cache for requests with ``prompt_logprobs``, because it has none for cached tokens.
    Scoring does not need those tokens: with ``skip_reading_prefix_cache=False``, vLLM computes only the uncached tail.
    Each reply is checked for whether the cached part ended before the answer (``num_cached_tokens``); if not, the
    request is repeated without the cache.
    """

    OPTIONS: ClassVar[Mapping[str, str]] = {**VLLM_OPTIONS, **SCORING}

    async def start(self) -> None:
        """Start as the base class does, and check ``vllm_scoring``."""
        way = self.options.get("vllm_scoring", "prefix_cache")
        if way not in ("prefix_cache", "prompt_logprobs"):
            raise ConfigError(f"models.options.vllm_scoring: {way!r} is unknown", hint=SCORING["vllm_scoring"])
        await super().start()
        self._cached = way == "prefix_cache" and _can_read_cache()
        self.recomputed = 0

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
        """See `ScoringModel.score`."""
        async with self.engine.encoding:
            encoded = await asyncio.to_thread(lambda: [self._encode(r) for r in requests])
        unique = list(dict.fromkeys(e for e in encoded if isinstance(e, Encoded)))
        if self._cached and len(unique) > 1:
            await self._warm(unique)
        replies = await asyncio.gather(*(self._score(e) for e in unique), return_exceptions=True)
        found = dict(zip(unique, replies, strict=True))
        out: list[ScoreReply | Exception] = []
        for item in encoded:
            reply = found[item] if isinstance(item, Encoded) else item
            if isinstance(reply, BaseException) and not isinstance(reply, ModelError):
                raise reply
            out.append(reply)
        return out

    async def _warm(self, unique: Sequence[Encoded]) -> None:
        """Compute shared beginnings first, so the requests find them in the cache."""
        groups = prefix_groups([(e.ids, e.first) for e in unique], WARM)
        shared = [unique[members[0]].ids[:length] for length, members in groups if length]
        await asyncio.gather(*(self.engine.generate(ids, _greedy(1)) for ids in shared))

    async def _score(self, encoded: Encoded) -> ScoreReply:
        if self._cached:
            output = await self.engine.generate(
                encoded.ids, _greedy(1, prompt_logprobs=0, skip_reading_prefix_cache=False)
            )
            # Position first - 1 predicts the first scored token, so it must be computed now, not read from the cache.
            if (output.num_cached_tokens or 0) >= encoded.first:
                self.recomputed += 1
                output = await self.engine.generate(
                    encoded.ids, _greedy(1, prompt_logprobs=0, skip_reading_prefix_cache=True)
                )
        else:
            output = await self.engine.generate(encoded.ids, _greedy(1, prompt_logprobs=0))
        rows = output.prompt_logprobs[encoded.first :]
        values = tuple(float(row[token].logprob) for row, token in zip(rows, encoded.ids[encoded.first :], strict=True))
        if any(v != v for v in values):
            raise ModelError("vLLM returned a log-probability that is not a number", code="not_a_number")
        return ScoreReply(self.engine.encoder.pieces(encoded.ids[encoded.first :]), values, encoded.first)

    def _encode(self, request: ScoreRequest) -> Encoded | ModelError:
        try:
            encoded = self.engine.encoder.encode(request)
        except ModelError as error:
            return error
        window = self.engine.context_tokens
        # vLLM generates one token after the prompt, which is discarded but needs room.
        if window is not None and len(encoded.ids) >= window:
            return ContextTooLongError(
                f"{len(encoded.ids)} tokens do not fit the model's window of {window}",
                hint="Score against the evidence (filter.window: evidence), or use another scorer.",
            )
        return encoded


def _greedy(max_tokens: int, **more: Any) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    more["output_kind"] = RequestOutputKind.FINAL_ONLY
    # Rows of cached positions hold whatever was in memory, so do not convert them to text.
    return SamplingParams(temperature=0.0, max_tokens=max_tokens, detokenize=False, **more)


def _can_read_cache() -> bool:
    from vllm import SamplingParams

    return "skip_reading_prefix_cache" in inspect.signature(SamplingParams).parameters


def _sampling(request: ChatRequest, max_tokens: int) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

    asked: Sampling = request.sampling
    form: Any = None
    if request.schema is not None and is_choice(request.schema):
        form = StructuredOutputsParams(choice=[str(v) for v in cast("list[object]", request.schema["enum"])])
    elif request.schema is not None:
        form = StructuredOutputsParams(json=request.schema)
    return SamplingParams(
        temperature=asked.temperature,
        top_p=asked.top_p,
        max_tokens=max_tokens,
        seed=asked.seed,
        stop=list(asked.stop) or None,
        output_kind=RequestOutputKind.FINAL_ONLY,
        structured_outputs=form,
    )
