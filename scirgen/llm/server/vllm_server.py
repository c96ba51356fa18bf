"""Scoring through a vLLM server's token-level endpoints, which let the prefix cache be read. Connections are
`openai_scoring`'s."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from scirgen.core.errors import ContextTooLongError, ModelError
from scirgen.llm.base import ScoreReply, ScoreRequest
from scirgen.llm.server.openai_client import OpenAIServer
from scirgen.llm.server.server_errors import RefusedRequestError, ServerErrorStatus
from scirgen.llm.tokens.prefixes import WARM, prefix_groups
from scirgen.llm.uri import ModelURI

R = TypeVar("R")
Guarded = Callable[[Callable[[OpenAIServer], Awaitable[R]]], Awaitable[R | ModelError]]
"""Runs a call on one of the servers and returns its result, or the error that concerns only this call."""

CACHED_TRIES: Final = 2
"""Number of attempts to get a reply with the cache, before one attempt without the cache."""

_PROBE: Final = ScoreRequest("The sky is", " blue")


@dataclass(frozen=True)
class Rendered:
    """Token ids of prompt + continuation; the continuation's are ``ids[first:]``, and ``pieces`` is their text."""

    ids: tuple[int, ...]
    first: int
    pieces: tuple[str, ...]


class VLLMServer:
    """A vLLM server with ``--enable-scale-out``: ``/v1/completions/render`` encodes, ``/inference/v1/generate``
    computes.

    Encoding happens on the server, prompt and continuation together, and its character offsets give the boundary. By
    default vLLM does not use its prefix cache for requests with ``prompt_logprobs``. This class enables the cache if
    replies say how many tokens came from it (``--enable-prompt-tokens-details``). Rows of cached tokens hold nothing,
    so a request whose answer was in the cache is repeated without it.
    """

    def __init__(self, uri: ModelURI, window: int | None) -> None:
        self._uri = uri
        self._window = window
        self.reads_cache = False
        self.recomputed = 0
        self.unwritten = 0

    async def answers(self, server: OpenAIServer) -> bool:
        """Check with one tiny request whether the server reports how many tokens came from its cache.

        Raises:
            ModelError: the server lacks these endpoints, or does not answer.
        """
        encoded = await self._encode(server, _PROBE)
        _, cached = await self._generate(server, encoded.ids, read_cache=False)
        return cached is not None

    async def score(
        self, requests: Sequence[ScoreRequest], guarded: Guarded[Any], servers: int
    ) -> list[ScoreReply | Exception]:
        encoded = await asyncio.gather(*(guarded(partial(self._encode, request=r)) for r in requests))
        unique = list(dict.fromkeys(e for e in encoded if isinstance(e, Rendered)))
        if self.reads_cache and servers == 1 and len(unique) > 1:
            groups = prefix_groups([(e.ids, e.first) for e in unique], WARM)
            shared = [unique[members[0]].ids[:length] for length, members in groups if length]
            await asyncio.gather(*(guarded(partial(self._warm, ids=ids)) for ids in shared))
        replies = await asyncio.gather(*(guarded(partial(self._score, encoded=e)) for e in unique))
        found = dict(zip(unique, replies, strict=True))
        return [found[e] if isinstance(e, Rendered) else e for e in encoded]

    async def _encode(self, server: OpenAIServer, request: ScoreRequest) -> Rendered:
        if not request.continuation:
            raise ModelError("nothing to score: the continuation is empty", code="empty_continuation")
        body: dict[str, Any] = {"model": self._uri.name, "max_tokens": 1, "return_token_offsets": True}
        if isinstance(request.prompt, str):
            body["prompt"] = request.prompt + request.continuation
            replies = await server.post("/completions/render", body)
            rendered = replies[0] if isinstance(replies, list) and replies else {}
        else:
            messages = [{"role": m.role, "content": m.content} for m in request.prompt]
            body["messages"] = [*messages, {"role": "assistant", "content": request.continuation}]
            body |= {"add_generation_prompt": False, "continue_final_message": True}
            rendered = await server.post("/chat/completions/render", body)
        ids, offsets = rendered.get("token_ids"), rendered.get("token_offsets")
        if not ids or not offsets or len(ids) != len(offsets):
            raise ModelError(f"{self._uri}: the server reports no token positions", code="no_offsets")
        if self._window is not None and len(ids) >= self._window:
            raise ContextTooLongError(
                f"{len(ids)} tokens do not fit the model's window of {self._window}",
                hint="Score against the evidence (filter.window: evidence), or use another scorer.",
            )
        # With a chat template, the start of the continuation can only be found from the end.
        skipped = 0 if isinstance(request.prompt, str) else max(end for _, end in offsets) - len(request.continuation)
        text = request.continuation if skipped else f"{request.prompt}{request.continuation}"
        return _rendered(tuple(ids), [end - skipped for _, end in offsets], text, len(text) - len(request.continuation))

    async def _warm(self, server: OpenAIServer, ids: Sequence[int]) -> None:
        body = {"model": self._uri.name, "token_ids": list(ids), "sampling_params": _sampling()}
        await server.post(_root(server) + "/inference/v1/generate", body)

    async def _score(self, server: OpenAIServer, encoded: Rendered) -> ScoreReply:
        rows, cached = await self._rows(server, encoded)
        # Position first - 1 predicts the first scored token, so it must be computed now, not read from the cache.
        if self.reads_cache and (cached is None or cached >= encoded.first):
            self.recomputed += 1
            rows, _ = await self._generate(server, encoded.ids, read_cache=False)
        answer = encoded.ids[encoded.first :]
        try:
            values = tuple(
                float(row[str(token)]["logprob"]) for row, token in zip(rows[encoded.first :], answer, strict=True)
            )
        except (KeyError, TypeError, ValueError):
            raise ModelError(f"{self._uri}: log-probabilities of the answer are missing", code="no_logprobs") from None
        if any(v != v for v in values):
            raise ModelError("vLLM returned a log-probability that is not a number", code="not_a_number")
        return ScoreReply(encoded.pieces, values, encoded.first)

    async def _rows(self, server: OpenAIServer, encoded: Rendered) -> tuple[list[Any], int | None]:
        if not self.reads_cache:
            return await self._generate(server, encoded.ids, read_cache=False)
        for _ in range(CACHED_TRIES):
            try:
                return await self._generate(server, encoded.ids, read_cache=True)
            except (ServerErrorStatus, RefusedRequestError):
                # Rows of cached tokens hold whatever was in memory. If that is not a number, vLLM cannot write its
                # reply ("Out of range float values are not JSON compliant", HTTP 400). The next attempt gets other
                # memory.
                self.unwritten += 1
        return [], None

    async def _generate(
        self, server: OpenAIServer, ids: Sequence[int], *, read_cache: bool
    ) -> tuple[list[Any], int | None]:
        """Return one row of log-probabilities per token, and the number of tokens from the cache (None if the server
        does not say)."""
        # Do not convert anything to text: rows of cached tokens hold whatever was in memory.
        sampling = _sampling(prompt_logprobs=0, skip_reading_prefix_cache=not read_cache)
        body = {"model": self._uri.name, "token_ids": list(ids), "sampling_params": sampling}
        reply = await server.post(_root(server) + "/inference/v1/generate", body)
        rows = reply.get("prompt_logprobs")
        if not isinstance(rows, list) or len(rows) != len(ids):
            raise ModelError(
                f"{self._uri}: the server's reply has no log-probabilities of the prompt", code="no_logprobs"
            )
        details = (reply.get("usage") or {}).get("prompt_tokens_details") or {}
        return rows, details.get("cached_tokens")


def _rendered(ids: tuple[int, ...], ends: Sequence[int], text: str, boundary: int) -> Rendered:
    """Apply the rule of `ScoreRequest`: a token that reaches past the boundary belongs to the continuation.

    Args:
        ids: token ids of the whole text.
        ends: where each token ends in ``text``; below 0: before it.
        text: at least the continuation.
        boundary: where the continuation begins in ``text``.
    """
    first = next((i for i, end in enumerate(ends) if end > boundary), len(ids))
    if not 1 <= first < len(ids):
        raise ModelError("the prompt or the continuation has no token", code="empty_continuation")
    # Tokenizers may leave the space before a word out of its offsets, so a piece begins where the one before it ends.
    pieces = tuple(text[max(0, ends[i - 1]) : ends[i]] for i in range(first, len(ids)))
    return Rendered(ids, first, pieces)


def _root(server: OpenAIServer) -> str:
    """Return the server's address without the API's version."""
    return server.base_url.removesuffix("/v1")


def _sampling(**more: object) -> dict[str, object]:
    return {"temperature": 0.0, "max_tokens": 1, "detokenize": False, **more}
