"""The chat session that stages use: reply cache, one call for identical requests in flight, usage, budgets, structured
replies.

Backends handle transport (retries, endpoints, rate limits).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Literal, TypeVar, Unpack

from pydantic import BaseModel

from scirgen.core.config import LimitsConfig
from scirgen.core.errors import ModelError, ReplyInvalidError, ReplyTruncatedError
from scirgen.core.fingerprint import digest
from scirgen.core.prompts import PromptLibrary, RenderedPrompt
from scirgen.core.registry import returned
from scirgen.core.runtime.tracing import annotate, span
from scirgen.core.text.tame import tame, visible, whole_characters
from scirgen.llm.base import (
    BackendSession,
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    ModelIdentity,
    Sampling,
    Schema,
)
from scirgen.llm.cache import ReplyCache
from scirgen.llm.session import Answer, Asking, TextAnswer
from scirgen.llm.structured import UnparsableReply, parse_reply, reply_schema
from scirgen.llm.usage import UsageMeter

T = TypeVar("T", bound=BaseModel)


def chat_key(identity: ModelIdentity, request: ChatRequest, sample: int) -> str:
    """Return the cache key of a reply: everything that can change it, but no address, key or time."""
    return digest(
        "chat", identity.backend, identity.name, identity.revision,
        [(m.role, m.content) for m in request.messages], vars(request.sampling), request.schema, sample,
    )  # fmt: skip


class CachedChatSession(BackendSession[ChatModel]):
    """A `ChatSession` over one backend. One event loop; safe for any number of concurrent callers."""

    def __init__(
        self,
        model: ChatModel,
        *,
        prompts: PromptLibrary,
        cache: ReplyCache | None = None,
        usage: UsageMeter | None = None,
        limits: LimitsConfig | None = None,
        pack: Literal["auto", "standard", "small"] = "auto",
        role: str = "generator",
    ) -> None:
        super().__init__(model)
        self._cache = cache if cache is not None else ReplyCache.open()
        self._limits = limits or LimitsConfig()
        self._usage = usage or UsageMeter(self._limits)
        self._repair = prompts.get("llm/repair")
        self._pack = model.capabilities.pack if pack == "auto" else pack
        self._role = role
        self._slots = asyncio.Semaphore(self._limits.concurrency)

    @property
    def pack(self) -> str:
        return self._pack

    async def ask(self, prompt: RenderedPrompt, reply: type[T], *, seed: int, **how: Unpack[Asking]) -> Answer[T]:
        messages = _messages(prompt)
        sampling = _sampling(prompt, seed, how)
        schema = reply_schema(reply)
        keys: list[str] = []
        for attempt in range(self._limits.repair_attempts + 1):
            key, answer = await self._reply(ChatRequest(messages, schema, sampling), how.get("sample", 0))
            keys.append(key)
            try:
                value = parse_reply(answer.text, reply, fix=answer.finish_reason != "length")
                return Answer(value, answer.text, key, answer.finish_reason)
            except UnparsableReply as problem:
                if answer.finish_reason == "length":
                    self._cache.spoil(*keys)
                    raise _truncated(prompt, sampling) from None
                if attempt == self._limits.repair_attempts:
                    self._cache.spoil(*keys)
                    raise ReplyInvalidError(
                        f"{prompt.id}: no usable reply after {attempt} repair turns: {problem}",
                        hint="Run again to retry it; if it keeps failing, use a stronger model or a simpler prompt.",
                    ) from None
                turn = self._repair.render(problem=str(problem)).messages[-1][1]
                # Several servers refuse an empty assistant turn, and half a character cannot be sent.
                said = whole_characters(answer.text) or "(nothing)"
                messages = (*messages, Message("assistant", said), Message("user", turn))
        raise AssertionError("unreachable")

    async def ask_text(self, prompt: RenderedPrompt, *, seed: int, **how: Unpack[Asking]) -> TextAnswer:
        request = ChatRequest(_messages(prompt), None, _sampling(prompt, seed, how))
        key, answer = await self._reply(request, how.get("sample", 0))
        return TextAnswer(tame(visible(answer.text)).strip(), key, answer.finish_reason)

    async def choose(self, prompt: RenderedPrompt, options: Sequence[str], *, seed: int) -> TextAnswer:
        wanted = list(dict.fromkeys(options))
        sampling = _sampling(prompt, seed, {})
        key, answer = await self._reply(ChatRequest(_messages(prompt), choice_schema(wanted), sampling), 0)
        chosen = _option(answer.text, wanted)
        if chosen is None:
            self._cache.spoil(key)
            raise ReplyInvalidError(
                f"{prompt.id}: the reply is not one of the options {', '.join(wanted)}",
                hint="Run again to retry it; if it keeps failing, use a stronger model.",
            )
        return TextAnswer(chosen, key, answer.finish_reason)

    async def _reply(self, request: ChatRequest, sample: int) -> tuple[str, ChatReply]:
        key = chat_key(self._model.identity, request, sample)
        task = self._in_flight.get(key)
        if task is not None:
            self._usage.role(self._role).shared += 1
        else:
            cached = self._cache.get(key)
            if cached is not None:
                self._usage.role(self._role).cache_hits += 1
                return key, ChatReply(cached.text, cached.finish_reason, cached.usage)
            task = asyncio.create_task(self._fetch(key, request))
            self._in_flight[key] = task
            task.add_done_callback(lambda t: self._landed(key, t))
        # Shielded, so a caller that gives up does not take the reply from others or waste a paid call.
        return key, await asyncio.shield(task)

    def _landed(self, key: str, task: asyncio.Task[ChatReply]) -> None:
        self._in_flight.pop(key, None)
        if not task.cancelled():
            task.exception()  # retrieved, so asyncio does not report it if all callers have gone

    async def _fetch(self, key: str, request: ChatRequest) -> ChatReply:
        async with self._slots:
            characters = sum(len(m.content) for m in request.messages)
            booking = await self._usage.book(self._role, characters, request.sampling.max_tokens)
            try:
                with span("scirgen.chat", model=str(self._model.identity), reply_key=key):
                    given = await self._model.chat(request)
                    reply = returned(self._model.chat, given, ChatReply, "a scirgen.ChatReply")
                    annotate(
                        gen_ai__usage__input_tokens=reply.usage.prompt_tokens,
                        gen_ai__usage__output_tokens=reply.usage.completion_tokens,
                        finish_reason=reply.finish_reason,
                        text={
                            "gen_ai.input.messages": lambda: json.dumps([vars(m) for m in request.messages]),
                            "gen_ai.output.messages": lambda: reply.text,
                        },
                    )
            except BaseException as error:
                self._usage.unbook(booking)
                self._usage.role(self._role).failures += isinstance(error, ModelError)
                raise
            # An impossible count would break the caps and the store, so it counts as missing.
            usage = reply.usage.believable()
            self._usage.add(self._role, usage, booking)
        body = {
            "messages": [[m.role, m.content] for m in request.messages],
            "sampling": vars(request.sampling),
            "schema": request.schema,
        }
        self._cache.put(
            key, body, reply.text, model=str(self._model.identity), finish_reason=reply.finish_reason, usage=usage
        )
        return reply

    async def aclose(self) -> None:
        for task in list(self._in_flight.values()):
            task.cancel()
        await asyncio.gather(*self._in_flight.values(), return_exceptions=True)
        await super().aclose()


def choice_schema(options: Sequence[str]) -> Schema:
    """Return the schema of a plain choice: the reply is one of the strings, without quotes (see `ChatRequest`)."""
    return {"type": "string", "enum": list(options)}


def _messages(prompt: RenderedPrompt) -> tuple[Message, ...]:
    return tuple(Message(role, content) for role, content in prompt.messages)


def _sampling(prompt: RenderedPrompt, seed: int, how: Asking) -> Sampling:
    temperature = how.get("temperature")
    wanted = prompt.sampling.temperature if temperature is None else temperature
    return Sampling(
        temperature=wanted,
        top_p=prompt.sampling.top_p if wanted > 0 else 1.0,
        max_tokens=how.get("max_tokens") or prompt.sampling.max_tokens,
        # Greedy decoding needs no seed; without a seed, equal prompts share one reply.
        seed=seed if wanted > 0 else None,
        stop=prompt.sampling.stop,
    )


def _truncated(prompt: RenderedPrompt, sampling: Sampling) -> ReplyTruncatedError:
    return ReplyTruncatedError(
        f"{prompt.id}: the reply was cut at max_tokens={sampling.max_tokens} before it was complete",
        hint=f"Raise sampling.max_tokens in the prompt {prompt.id}, or request less at a time.",
    )


def _option(text: str, options: Sequence[str]) -> str | None:
    """Return the option that a reply names: an exact match, or the only option that occurs in it."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    said = str(value).strip().strip("\"'`.").strip()
    if said in options:
        return said
    folded = said.casefold()
    exact = [o for o in options if o.casefold() == folded]
    inside = exact or [o for o in options if o.casefold() in folded]
    longest = max(inside, key=len, default=None)
    return longest if longest and all(o.casefold() in longest.casefold() for o in inside) else None
