"""Log-probabilities from an OpenAI-compatible server: ``echo`` with ``logprobs``, or vLLM's ``prompt_logprobs``.

For a vLLM server that also takes token ids, it uses `vllm_server`. `piece_alignment` finds the start of the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Final, Literal, TypeVar

from scirgen.core.config import LimitsConfig, ModelsConfig
from scirgen.core.errors import CannotScoreError, ModelError, ScirgenError
from scirgen.llm.base import Capabilities, ModelIdentity, ScoreReply, ScoreRequest, ScoringModel
from scirgen.llm.server.endpoints import EndpointPool, ask_each
from scirgen.llm.server.openai_client import OpenAIServer, open_servers
from scirgen.llm.server.openai_compat import OPTIONS, parameters_in_name
from scirgen.llm.server.server_errors import RefusedRequestError, ServerErrorStatus, reading
from scirgen.llm.server.vllm_server import VLLMServer
from scirgen.llm.tokens.piece_alignment import first_of_answer
from scirgen.llm.uri import ModelURI

Way = Literal["echo", "prompt_logprobs"]
WAYS: Final[tuple[Way, ...]] = ("echo", "prompt_logprobs")

Rows = list[tuple[str, float | None]]
"""A prompt's tokens as text with their log-probabilities; None for the first token."""


R = TypeVar("R")


class OpenAIScoring(ScoringModel):
    """A `ScoringModel` over a server that gives a prompt's log-probabilities (vLLM and llama-cpp-python do, hosted APIs
    don't).

    A vLLM server started with ``--enable-scale-out --enable-prompt-tokens-details`` takes and returns token ids: then
    shared prefixes are read from its cache, and chat messages can be the prompt. Other servers compute each request in
    full and refuse chat messages, since the server's chat template cannot be applied to a completion.
    """

    OPTIONS: ClassVar[Mapping[str, str]] = OPTIONS
    PAID: ClassVar[bool] = True

    def __init__(self, uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> None:
        super().__init__(uri, models, limits)
        self._servers: list[OpenAIServer] = []
        self._way: Way = "echo"
        self._tokens: VLLMServer | None = None
        self._context: int | None = None
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._pool: EndpointPool[OpenAIServer] | None = None

    async def start(self) -> None:
        """Find out, with tiny requests, whether and how the server gives log-probabilities of a prompt.

        Raises:
            CannotScoreError: it gives none.
            ServerUnavailableError: every attempt fails.
        """
        self._servers = open_servers(self.uri, self.models, self.limits)
        self._pool = EndpointPool(self._servers, self.limits, str(self.uri))
        with reading(str(self.uri)):
            await self._find_a_way(self._pool)

    async def _find_a_way(self, pool: EndpointPool[OpenAIServer]) -> None:
        for listed in await ask_each(pool, self.limits, OpenAIServer.list_models):
            self._context = self._context or listed.get(self.uri.name)
        tokens = VLLMServer(self.uri, self._context)
        with suppress(ModelError), reading(str(self.uri)):
            tokens.reads_cache = all(await ask_each(pool, self.limits, tokens.answers))
            self._tokens = tokens
            return
        probe = ScoreRequest("The sky is", " blue")
        failed: list[ScirgenError] = []
        for way in WAYS:
            self._way = way
            try:
                await ask_each(pool, self.limits, partial(self._score_one, request=probe))
            except (CannotScoreError, ServerErrorStatus) as error:
                failed.append(error)  # llama.cpp's server answers a request for echo with HTTP 500
                continue
            return
        if all(isinstance(error, ServerErrorStatus) for error in failed):
            raise failed[0]
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
            separate_scores=self._tokens is None,
        )

    @property
    def retried(self) -> int:
        """Number of calls repeated after a transport error."""
        return self._pool.retried if self._pool else 0

    def tell(self, to: Callable[[str], None]) -> None:
        """Set the callback for messages about servers that stop responding or answer again."""
        if self._pool:
            self._pool.tell(to)

    def drain(self) -> None:
        """Stop retrying."""
        if self._pool:
            self._pool.drain()

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
        """See `ScoringModel.score`."""
        if self._tokens is not None:
            return await self._tokens.score(requests, self._guarded, len(self._servers))
        return list(await asyncio.gather(*(self._guarded(partial(self._score_one, request=r)) for r in requests)))

    async def _guarded(self, call: Callable[[OpenAIServer], Awaitable[R]]) -> R | ModelError:
        """Run ``call`` on a server when its turn comes; an error that concerns only this request is returned."""
        assert self._pool is not None, "call start() first"
        async with self._slots:
            try:
                with reading(str(self.uri)):
                    return await self._pool.run(call)
            except ModelError as error:
                if error.fatal:
                    raise
                return error
            except CannotScoreError as error:
                # The server passed the check at the start, so one odd answer or refused text does not stop the run.
                return ModelError(error.message, hint="Run again to retry it.", code="no_scores")

    async def _score_one(self, server: OpenAIServer, request: ScoreRequest) -> ScoreReply:
        if not isinstance(request.prompt, str):
            raise RefusedRequestError(
                "an OpenAI-compatible server cannot score a continuation of chat messages",
                hint="Start vLLM with --enable-scale-out, or use a scorer in process (hf:).",
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
        rows = _from_echo(completion) if self._way == "echo" else _from_prompt_logprobs(completion)
        first = first_of_answer([piece for piece, _ in rows], text, len(request.prompt))
        if first is None:
            raise ModelError(
                f"{self.uri}: the server's tokens do not spell the text, so where the answer begins is unknown",
                hint="Score with vllm:..., hf:... or bundled:..., or start vLLM with --enable-scale-out.",
                code="no_alignment",
            )
        answer = [(piece, value) for piece, value in rows[first:] if value is not None]
        if not answer or len(answer) < len(rows) - first:
            raise CannotScoreError("the server gives no log-probability for a token of the continuation")
        return ScoreReply(tuple(piece for piece, _ in answer), tuple(value for _, value in answer), first)

    async def aclose(self) -> None:
        """Close the connections."""
        for server in self._servers:
            await server.aclose()


def _choice(completion: object) -> dict[str, Any]:
    choices = completion.get("choices") if isinstance(completion, dict) else None
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def _from_echo(completion: object) -> Rows:
    logprobs = _choice(completion).get("logprobs") or {}
    tokens, values = logprobs.get("tokens") or [], logprobs.get("token_logprobs") or []
    if not tokens or len(tokens) != len(values):
        raise CannotScoreError("the server answers without log-probabilities of the prompt")
    # The last ones were generated, not read.
    usage = completion.get("usage") if isinstance(completion, dict) else None
    made = int((usage or {}).get("completion_tokens") or 0)
    return list(zip(tokens, values, strict=True))[: len(tokens) - max(0, made)]


def _from_prompt_logprobs(completion: object) -> Rows:
    entries = _choice(completion).get("prompt_logprobs")
    if not entries:
        raise CannotScoreError("the server answers without log-probabilities of the prompt")
    # The first entry is empty; in the others the token itself comes first.
    found = [next(iter(entry.values())) if entry else {} for entry in entries]
    return [(token.get("decoded_token") or "", token.get("logprob")) for token in found]
