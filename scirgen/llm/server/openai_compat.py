"""Any OpenAI-compatible server (vLLM, Ollama, llama.cpp, LM Studio, the hosted APIs) as a chat backend.

`openai_client` does the HTTP, `server_errors` defines its errors, `endpoints` handles retries and several servers, and
`openai_scoring` gets log-probabilities.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, ValidationError

from scirgen.core.config import LimitsConfig, ModelsConfig
from scirgen.core.errors import ConfigError, ModelAccessError, ModelError, ReplyRefusedError, ServerUnavailableError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.resources import Resources
from scirgen.core.text.tame import whole_characters
from scirgen.llm.base import Backend, Capabilities, ChatModel, ChatReply, ChatRequest, ModelIdentity, Schema, Usage
from scirgen.llm.server.endpoints import EndpointPool, ask_each
from scirgen.llm.server.keys import address_without_url
from scirgen.llm.server.openai_client import OpenAIServer, open_servers
from scirgen.llm.server.server_errors import RefusedRequestError
from scirgen.llm.services import service_at
from scirgen.llm.uri import ModelURI

Form = Literal["json_schema", "json_object", "prompt"]
FORMS: Final[tuple[Form, ...]] = ("json_schema", "json_object", "prompt")
"""Ways to request JSON, best first; if a server refuses one, the next is used from then on."""

OPTIONS: Final[Mapping[str, str]] = {
    "api_key_env": "environment variable with the key of a server other than the service's own; a mapping of "
    "addresses to variables for several",
    "api_key_file": "file with that key instead; also a mapping of addresses to files",
    "extra_headers": "headers of every request; a value $NAME is read from the environment",
    "extra_query": "query parameters of every request",
    "structured": "json_schema (default), json_object or prompt: how the server is asked for JSON",
    "context_tokens": "the model's context window, if the server does not report it",
    "extra_body": "additional fields of every request, e.g. {chat_template_kwargs: {enable_thinking: false}}",
    "max_tokens_field": "max_tokens (default for your own servers) or max_completion_tokens (default for "
    "api.openai.com)",
}  # fmt: skip

_SMALL: Final = 1_500_000_000


def parameters_in_name(name: str) -> int | None:
    """Return the number of parameters in a model's name ("Qwen2.5-0.5B-Instruct", "smollm2:135m"), or None."""
    found = re.search(r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?)\s*([bBmM])(?![A-Za-z])", name)
    return int(float(found[1]) * (1e9 if found[2] in "bB" else 1e6)) if found else None


class OpenAIBackend(Backend):
    """One or more endpoints that serve the same model."""

    OPTIONS: ClassVar[Mapping[str, str]] = OPTIONS
    PAID: ClassVar[bool] = True

    def __init__(self, uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> None:
        super().__init__(uri, models, limits)
        self._servers: list[OpenAIServer] = []
        self._pool: EndpointPool[OpenAIServer] | None = None
        self._context: int | None = None
        self._listed = False

    def _open(self) -> EndpointPool[OpenAIServer]:
        self._servers = open_servers(self.uri, self.models, self.limits)
        self._pool = EndpointPool(self._servers, self.limits, str(self.uri))
        return self._pool

    async def _read_lists(self, pool: EndpointPool[OpenAIServer]) -> None:
        """Check key and address, and read the servers' lists of models: the model's window, if they give it."""
        for listed in await ask_each(pool, self.limits, OpenAIServer.windows):
            self._context = self._context or listed.get(self.uri.name)
            self._listed = self._listed or self.uri.name in listed

    @property
    def retried(self) -> int:
        return self._pool.retried if self._pool else 0

    def tell(self, to: Callable[[str], None]) -> None:
        if self._pool:
            self._pool.tell(to)

    def drain(self) -> None:
        if self._pool:
            self._pool.drain()

    async def aclose(self) -> None:
        for server in self._servers:
            await server.aclose()


class OpenAIChat(OpenAIBackend, ChatModel):
    """A `ChatModel` over one or more endpoints that serve the same model."""

    REASONS: ClassVar[bool] = True

    def __init__(self, uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> None:
        super().__init__(uri, models, limits)
        service = service_at(self.address)
        wanted = models.options.get("structured") or (service[1].structured if service else None)
        self._forms = list(FORMS[FORMS.index(_form(wanted)) :])
        self._refused: set[str] = set()
        self._json_only = PromptLibrary(Resources()).get("llm/json_only")
        size = models.options.get("context_tokens")
        self._context = int(size) if isinstance(size, int | str) and str(size).isdigit() else None
        extra = models.options.get("extra_body")
        self._extra_body: dict[str, Any] = dict(extra) if isinstance(extra, dict) else {}
        hosted = uri.scheme == "azure" or not uri.urls or any("api.openai.com" in u for u in uri.urls)
        self._max_tokens_field = str(
            models.options.get("max_tokens_field", "max_completion_tokens" if hosted else "max_tokens")
        )

    @property
    def address(self) -> str:
        return (self.uri.urls or (address_without_url(self.uri),))[0]

    async def start(self) -> None:
        """Check key and address, and get the model's window if the server's list of models gives it.

        Raises:
            ConfigError: ``models.reasoning`` is set, and the service ignores it.
        """
        service = service_at(self.address)
        if self.models.reasoning and service and not service[1].reasoning:
            raise ConfigError(
                f"models.reasoning: {service[0]} ignores it on this interface ({service[1].page})",
                hint="Remove the setting.",
            )
        await self._read_lists(self._open())

    async def check(self) -> None:
        """Request one token if the list of models lacks the model (it may be an alias), or comes from a service, which
        may show its list to anybody. Only an unknown model or a refused key is an error here; the run meets the others.
        """
        if self._listed and service_at(self.address) is None:
            return
        body = {"model": self.uri.name, "messages": [{"role": "user", "content": "Hi"}], self._max_tokens_field: 1}
        for server in self._servers:
            try:
                async with asyncio.timeout(_CHECK_S):
                    await server.post("/chat/completions", body | self._extra_body)
            except ModelAccessError:
                raise
            except (ModelError, TimeoutError):
                continue

    @property
    def identity(self) -> ModelIdentity:
        """The server's name for the model, with the effort of its reasoning; servers state no revision that stays the
        same between calls."""
        effort = f"reasoning-{self.models.reasoning}" if self.models.reasoning else ""
        return ModelIdentity("azure" if self.uri.scheme == "azure" else "openai", self.uri.name, effort)

    @property
    def capabilities(self) -> Capabilities:
        """Structured output, in any way that the server supports."""
        size = parameters_in_name(self.uri.name)
        return Capabilities(
            structured=True,
            context_tokens=self._context,
            pack="small" if size is not None and size < _SMALL else "standard",
            parameters=size,
        )

    async def chat(self, request: ChatRequest) -> ChatReply:
        assert self._pool is not None, "call start() first"
        return await self._pool.run(
            lambda server: self._chat_in_some_form(server, request),
            tokens=lambda: estimated_tokens(request),
            used=lambda reply: (reply.usage.prompt_tokens or 0) + (reply.usage.completion_tokens or 0) or None,
        )

    async def _chat_in_some_form(self, server: OpenAIServer, request: ChatRequest) -> ChatReply:
        if request.schema is None:
            return await self._chat_once(server, request, "prompt")
        refused: ModelError | None = None
        for form in tuple(self._forms):
            try:
                reply = await self._chat_once(server, request, form)
            except RefusedRequestError as error:
                refused = refused or error
                continue
            # The server will refuse again what it refused before this form worked.
            self._forms = self._forms[self._forms.index(form) :] if form in self._forms else self._forms
            return reply
        assert refused is not None
        raise refused

    async def _chat_once(self, server: OpenAIServer, request: ChatRequest, form: Form) -> ChatReply:
        body = self._body(request, form)
        while True:
            try:
                return reply_of(await server.post("/chat/completions", body), request, str(self.uri))
            except RefusedRequestError as error:
                # Reasoning models refuse a temperature, Mistral a seed: what a server names is left out from then on.
                field = next(
                    (f for f in _OPTIONAL if f in body and re.search(rf"['\"`]{f}['\"`]", error.message)), None
                )
                if field is None:
                    raise
                self._refused.add(field)
                del body[field]
                if self._pool:
                    self._pool.note(f"{self.uri}: the server refuses {field!r}; requests go without it")

    def _body(self, request: ChatRequest, form: Form) -> dict[str, Any]:
        sampling = request.sampling
        messages = [{"role": m.role, "content": m.content} for m in request.messages]
        body: dict[str, Any] = {
            "model": self.uri.name,
            "messages": messages,
            "temperature": sampling.temperature,
            # A choice is wrapped in an object here, while prompts leave room only for the words themselves.
            self._max_tokens_field: sampling.max_tokens + (_WRAPPING_TOKENS if is_choice(request.schema) else 0),
        }
        if sampling.top_p < 1:
            body["top_p"] = sampling.top_p
        if sampling.seed is not None:
            body["seed"] = sampling.seed
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if self.models.reasoning:
            body["reasoning_effort"] = self.models.reasoning
            body[self._max_tokens_field] += THINKING_TOKENS[self.models.reasoning]
        for field in self._refused:
            body.pop(field, None)
        body |= self._extra_body
        if request.schema is None:
            return body
        schema = wrapped(request.schema)
        if form == "json_schema":
            name = re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title", "reply")))[:64]
            body["response_format"] = {
                "type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True},
            }  # fmt: skip
            return body
        if form == "json_object":
            body["response_format"] = {"type": "json_object"}
        turn = self._json_only.render(schema=json.dumps(schema, ensure_ascii=False)).messages[-1][1]
        messages[-1] = {**messages[-1], "content": f"{messages[-1]['content']}\n\n{turn}"}
        return body


THINKING_TOKENS: Final[Mapping[str, int]] = {"low": 2_048, "medium": 8_192, "high": 24_576}
"""Room for the model's thinking, which servers count as a part of the reply. An upper limit, not an expectation."""

_CHECK_S: Final = 30.0
"""Time in seconds for the token that `OpenAIChat.check` requests; a server may have to load the model first."""

_OPTIONAL: Final = ("temperature", "top_p", "seed", "stop")

_WRAPPING_TOKENS = 24
"""Extra tokens for ``{"choice": "..."}`` around a choice, with any line breaks."""


def estimated_tokens(request: ChatRequest) -> float:
    """Return a rough estimate of a request's tokens, for caps on tokens per minute: four characters per token, and
    half of the allowed reply."""
    return sum(len(m.content) for m in request.messages) / 4 + request.sampling.max_tokens / 2


def reply_of(completion: object, request: ChatRequest, where: str) -> ChatReply:
    """Convert the JSON of a chat completion to a reply.

    Raises:
        ReplyRefusedError: the model declined, or its provider filtered the reply.
        ServerUnavailableError: an answer without a choice.
    """
    try:
        answer = _Completion.model_validate(completion)
        choice = answer.choices[0]
    except (ValidationError, IndexError):
        raise ServerUnavailableError(
            f"{where}: the server's answer contains no reply", hint="Run again to retry it."
        ) from None
    finish, text = whole_characters(choice.finish_reason or "stop")[:40], choice.message.content or ""
    if choice.message.refusal or finish == "content_filter":
        filtered = finish == "content_filter"
        why = "its provider filtered the reply" if filtered else f"the model declined: {choice.message.refusal}"
        raise ReplyRefusedError(f"{where}: {why[:300]}", hint="Reword the prompt, or leave this item out.")
    if request.schema is not None and is_choice(request.schema):
        text = unwrapped(text)
    return ChatReply(text, finish, answer.usage.counts() if answer.usage else Usage())


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _PromptDetails(BaseModel):
    cached_tokens: int | None = None


class _ReplyDetails(BaseModel):
    reasoning_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _ReplyDetails | None = None

    def counts(self) -> Usage:
        prompt, reply = self.prompt_tokens_details, self.completion_tokens_details
        return Usage(
            self.prompt_tokens,
            self.completion_tokens,
            prompt.cached_tokens if prompt else None,
            reply.reasoning_tokens if reply else None,
        )


class _Completion(BaseModel):
    """The fields that are read from a server's answer; others are ignored."""

    choices: list[_Choice]
    usage: _Usage | None = None


def is_choice(schema: Schema | None) -> bool:
    """Check whether it is a plain choice (see `ChatRequest`)."""
    return schema is not None and schema.get("type") == "string" and isinstance(schema.get("enum"), list)


def wrapped(schema: Schema) -> Schema:
    """Return a plain choice as an object with one property, since servers accept only objects at the root."""
    if not is_choice(schema):
        return schema
    return {
        "type": "object",
        "title": "choice",
        "properties": {"choice": schema},
        "required": ["choice"],
        "additionalProperties": False,
    }


def unwrapped(text: str) -> str:
    """Return the choice inside the object of `wrapped`, or the unchanged text if there is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return str(value["choice"]) if isinstance(value, dict) and "choice" in value else text


def _form(value: object) -> Form:
    for form in FORMS:
        if value in (None, form):
            return form
    raise ConfigError(f"models.options.structured: {value!r} is unknown", hint=OPTIONS["structured"])
