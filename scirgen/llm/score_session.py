"""The `ScoreSession` that stages use: it caches measured log-probabilities like replies, and never uses defaults."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from scirgen.core.config import LimitsConfig
from scirgen.core.errors import ModelError
from scirgen.core.fingerprint import digest
from scirgen.core.registry import returned_list
from scirgen.core.runtime.tracing import annotate, span
from scirgen.llm.base import BackendSession, ModelIdentity, ScoreReply, ScoreRequest, ScoringModel, Usage
from scirgen.llm.cache import ReplyCache
from scirgen.llm.usage import UsageMeter


def score_key(identity: ModelIdentity, request: ScoreRequest) -> str:
    """Return the cache key of a score."""
    prompt = request.prompt if isinstance(request.prompt, str) else [(m.role, m.content) for m in request.prompt]
    return digest("score", identity.backend, identity.name, identity.revision, prompt, request.continuation)


class CachedScoreSession(BackendSession[ScoringModel]):
    """A `ScoreSession` over one backend."""

    def __init__(
        self,
        model: ScoringModel,
        *,
        cache: ReplyCache | None = None,
        usage: UsageMeter | None = None,
        limits: LimitsConfig | None = None,
    ) -> None:
        super().__init__(model)
        self._cache = cache if cache is not None else ReplyCache.open()
        self._usage = usage or UsageMeter(limits or LimitsConfig())

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | ModelError]:
        keys = [score_key(self._model.identity, request) for request in requests]
        known: dict[str, ScoreReply | ModelError] = {}
        mine: dict[str, ScoreRequest] = {}
        for key, request in zip(keys, requests, strict=True):
            if key in known or key in mine:
                continue
            cached = self._cache.get(key)
            if cached is not None:
                self._usage.role("scorer").cache_hits += 1
                known[key] = _unpacked(cached.text)
            elif key not in self._in_flight:
                mine[key] = request
                # Recorded at once, since another caller may come before the measurement starts.
                self._in_flight[key] = asyncio.get_running_loop().create_future()
        waiting = {key: self._in_flight[key] for key in keys if key not in known and key not in mine}
        if mine:
            # Scores from a server are kept one by one as they arrive; in process, requests are measured together to
            # share their prefix.
            separate = self._model.capabilities.separate_scores
            batches = [{key: request} for key, request in mine.items()] if separate else [mine]
            for measured in await asyncio.gather(*(self._measure(batch) for batch in batches)):
                known.update(measured)
        for key, future in waiting.items():
            known[key] = await asyncio.shield(future)
        return [known[key] for key in keys]

    async def _measure(self, requests: dict[str, ScoreRequest]) -> dict[str, ScoreReply | ModelError]:
        results: dict[str, ScoreReply | ModelError] = {}
        try:
            characters = sum(_length(request) for request in requests.values())
            longest = sum(len(request.continuation) for request in requests.values())
            booking = await self._usage.book("scorer", characters, longest / 2)
            try:
                with span("scirgen.score", model=str(self._model.identity), requests=len(requests)):
                    given = await self._model.score(list(requests.values()))
                    kinds = (ScoreReply, ModelError)
                    replies = returned_list(self._model.score, given, kinds, "a scirgen.ScoreReply", len(requests))
                    read = sum(r.prompt_tokens + len(r.logprobs) for r in replies if isinstance(r, ScoreReply))
                    annotate(gen_ai__usage__input_tokens=read)
            finally:
                self._usage.unbook(booking)
            for (key, request), reply in zip(requests.items(), replies, strict=True):
                if isinstance(reply, ScoreReply) and (fault := reply.fault()):
                    self._usage.role("scorer").failures += 1
                    results[key] = ModelError(f"{self._model.identity}: {fault}", code="bad_logprobs")
                elif isinstance(reply, ScoreReply):
                    self._keep(key, request, reply)
                    results[key] = reply
                elif isinstance(reply, ModelError):
                    self._usage.role("scorer").failures += 1
                    results[key] = reply
                else:
                    raise reply
        finally:
            for key in requests:
                future = self._in_flight.pop(key)
                if not future.done():
                    future.set_result(results.get(key) or ModelError("the call that was measuring this gave up"))
        return results

    def _keep(self, key: str, request: ScoreRequest, reply: ScoreReply) -> None:
        usage = Usage(reply.prompt_tokens, len(reply.logprobs))
        self._usage.add("scorer", usage, characters=_length(request))
        prompt = request.prompt if isinstance(request.prompt, str) else [[m.role, m.content] for m in request.prompt]
        body = {"prompt": prompt, "continuation": request.continuation}
        text = json.dumps([reply.tokens, reply.logprobs, reply.prompt_tokens, reply.truncated], ensure_ascii=False)
        self._cache.put(key, body, text, kind="score", model=str(self._model.identity), usage=usage)


def _length(request: ScoreRequest) -> int:
    prompt = request.prompt
    return len(prompt) if isinstance(prompt, str) else sum(len(m.content) for m in prompt)


def _unpacked(text: str) -> ScoreReply:
    tokens, logprobs, prompt_tokens, truncated = json.loads(text)
    return ScoreReply(tuple(tokens), tuple(logprobs), prompt_tokens, truncated)
