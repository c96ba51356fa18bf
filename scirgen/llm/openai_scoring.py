"""Log-probabilities from an OpenAI-compatible server's completions endpoint: ``echo`` with ``logprobs``, or vLLM's ``prompt_logprobs``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

from scirgen.core.config import LimitsConfig, ModelsConfig
from scirgen.core.errors import CannotScoreError, ModelError
from scirgen.llm.base import Backend, Capabilities, ModelIdentity, ScoreReply, ScoreRequest
from scirgen.llm.endpoints import EndpointPool
from scirgen.llm.openai_compat import OPTIONS, parameters_in_name
from scirgen.llm.openai_http import OpenAIServer, RefusedRequestError, open_servers
from scirgen.llm.uri import ModelURI

Way = Literal["echo", "prompt_logprobs"]
WAYS: Final[tuple[Way, ...]] = ("echo", "prompt_logprobs")


class OpenAIScoring(Backend):
    """A `ScoringModel` over a server that echoes the prompt's log-probabilities (vLLM and llama.cpp's server do, hosted APIs don't).

    Chat messages as a prompt are refused: the server's chat template cannot be applied to a completion. Callers that want one
    render it themselves.
    """

    OPTIONS: ClassVar[Mapping[str, str]] = OPTIONS

    def __init__(self, uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> None:
        super().__init__(uri, models, limits)
        self._servers: list[OpenAIServer] = []
        self._way: Way = "echo"
        self._context: int | None = None
        self._slots = asyncio.Semaphore(limits.concurrency)

    async def start(self) -> None:
        """Find out, with one tiny request, whether and how the server gives log-probabilities of a prompt.

        Raises:
            CannotScoreError: it gives none.
        """
        self._servers = open_servers(self.uri, self.models, self.limits)
        for server in self._servers:
            self._context = self._context or (await server.list_models()).get(self.uri.name)
        self._pool = EndpointPool(self._servers, self.limits, str(self.uri))
        probe = ScoreRequest("The sky is", " blue")
        for way in WAYS:
            self._way = way
            try:
                reply = await self._score_one(self._servers[0], probe)
            except CannotScoreError:
                continue
            if reply.logprobs:
                return
        raise CannotScoreError(
            f"{self.uri} gives no log-probabilities of a prompt, and filtering needs them",
            hint="Pass --scorer with a model that does: vllm:..., hf:..., bundled:smollm2-135m, or a vLLM server.",
        )

    @property
    def identity(self) -> ModelIdentity:
        """The server's name for the model."""
        return ModelIdentity("openai", self.uri.name)

    @property
    def capabilities(self) -> Capabilities:
        """Log-probabilities only."""
        return Capabilities(
            logprobs=True,
            context_tokens=self._context,
            parameters=parameters_in_name(self.uri.name),
            separate_scores=True,
        )

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
        """See `ScoringModel.score`."""
        return list(await asyncio.gather(*(self._guarded(r) for r in requests)))

    async def _guarded(self, request: ScoreRequest) -> ScoreReply | Exception:
        async with self._slots:
            try:
                return await self._pool.run(lambda server: self._score_one(server, request))
            except ModelError as error:
                if error.fatal:
                    raise
                return error

    async def _score_one(self, server: OpenAIServer, request: ScoreRequest) -> ScoreReply:
        if not isinstance(request.prompt, str):
            raise RefusedRequestError(
                "an OpenAI-compatible server cannot score a continuation of chat messages",
                hint="Use the plain framing for scoring with a server.",
            )
        text = request.prompt + request.continuation
        body: dict[str, Any] = {"model": self.uri.name, "prompt": text, "max_tokens": 1, "temperature": 0.0}
        if self._way == "echo":
            body |= {"echo": True, "logprobs": 1}
        else:
            body |= {"prompt_logprobs": 0}
        try:
            completion = await server.post("/completions", body)
        except RefusedRequestError as error:
            raise CannotScoreError(error.message, hint=error.hint) from None
        read = _from_echo if self._way == "echo" else _from_prompt_logprobs
        return read(_choice(completion), len(request.prompt), len(text))

    async def aclose(self) -> None:
        """Close the connections."""
        for server in self._servers:
            await server.aclose()


def _choice(completion: object) -> dict[str, Any]:
    choices = completion.get("choices") if isinstance(completion, dict) else None
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def _from_echo(choice: dict[str, Any], boundary: int, end: int) -> ScoreReply:
    logprobs = choice.get("logprobs") or {}
    if not logprobs.get("token_logprobs") or not logprobs.get("text_offset"):
        raise CannotScoreError("the server answers without log-probabilities of the prompt")
    offsets = list(logprobs["text_offset"])
    stops = [*offsets[1:], end + 1]
    rows = [
        (token, value)
        for token, value, start, stop in zip(
            logprobs["tokens"], logprobs["token_logprobs"], offsets, stops, strict=True
        )
        # A token that overlaps the boundary belongs to the continuation; what lies past the end was generated.
        if start < end and stop > boundary
    ]
    return _reply(rows, len(offsets))


def _from_prompt_logprobs(choice: dict[str, Any], boundary: int, end: int) -> ScoreReply:
    entries = choice.get("prompt_logprobs")
    if not entries:
        raise CannotScoreError("the server answers without log-probabilities of the prompt")
    # The first entry is empty: nothing comes before it. Offsets are counted from the end, where nothing is missing.
    tokens = [next(iter(entry.values())) for entry in entries if entry]
    rows: list[tuple[str, float | None]] = []
    position = end
    for token in reversed(tokens):
        if position <= boundary:
            break
        text = token.get("decoded_token") or ""
        rows.append((text, token.get("logprob")))
        position -= len(text)
    return _reply(rows[::-1], len(entries))


def _reply(rows: Sequence[tuple[str, float | None]], tokens: int) -> ScoreReply:
    if not rows or any(value is None for _, value in rows):
        raise CannotScoreError("the server gives no log-probability for a token of the continuation")
    return ScoreReply(
        tuple(token for token, _ in rows), tuple(float(v) for _, v in rows if v is not None), tokens - len(rows)
    )
