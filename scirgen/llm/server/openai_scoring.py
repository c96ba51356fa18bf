"""Log-probabilities from an OpenAI-compatible server: ``echo`` with ``logprobs``.

For a vLLM server that also takes token ids, it uses `vllm_server`. `first_of_answer` finds the start of the answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from scirgen.core.config import LimitsConfig, ModelsConfig
from scirgen.core.errors import CannotScoreError, ModelError
from scirgen.llm.base import Capabilities, ModelIdentity, ScoreReply, ScoreRequest, ScoringModel
from scirgen.llm.server.endpoints import EndpointPool, ask_each
from scirgen.llm.server.openai_client import OpenAIServer
from scirgen.llm.server.openai_compat import OpenAIBackend, parameters_in_name
from scirgen.llm.server.server_errors import (
    NotFoundError,
    RefusedRequestError,
    ServerErrorStatus,
    SlowServerError,
    reading,
)
from scirgen.llm.server.vllm_server import VLLMServer
from scirgen.llm.uri import ModelURI

Rows = list[tuple[str, float | None]]
"""A prompt's tokens as text with their log-probabilities; None for the first token."""


R = TypeVar("R")


class OpenAIScoring(OpenAIBackend, ScoringModel):
    """A `ScoringModel` over a server that gives a prompt's log-probabilities (vLLM and llama-cpp-python do, hosted APIs
    don't).

    A vLLM server started with ``--enable-scale-out --enable-prompt-tokens-details`` takes and returns token ids: then
    shared prefixes are read from its cache, and chat messages can be the prompt. Other servers compute each request in
    full and refuse chat messages, since the server's chat template cannot be applied to a completion.
    """

    def __init__(self, uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> None:
        super().__init__(uri, models, limits)
        self._tokens: VLLMServer | None = None
        self._slots = asyncio.Semaphore(limits.concurrency)

    async def start(self) -> None:
        """Find out, with tiny requests, whether and how the server gives log-probabilities of a prompt.

        Raises:
            CannotScoreError: it gives none, or has no completions (as hosted services that only chat).
            NotFoundError: it does not know the model.
            ServerUnavailableError: every attempt fails.
        """
        pool = self._open()
        with reading(str(self.uri)):
            await self._try(pool)

    async def _try(self, pool: EndpointPool[OpenAIServer]) -> None:
        await self._read_lists(pool)
        tokens = VLLMServer(self.uri, self._context)
        try:
            with reading(str(self.uri)):
                tokens.reads_cache = all(await ask_each(pool, self.limits, tokens.answers))
            self._tokens = tokens
            return
        except SlowServerError:
            raise
        except ModelError:  # it is not such a vLLM server
            pass
        probe = ScoreRequest("The sky is", " blue")
        try:
            await ask_each(pool, self.limits, partial(self._score_one, request=probe))
            return
        except CannotScoreError:
            pass
        except (NotFoundError, ServerErrorStatus) as error:  # llama.cpp's server answers echo with HTTP 500
            # The name may be wrong, the server down, or it is a service that only chats.
            if not self._listed or isinstance(error, ServerErrorStatus):
                await ask_each(pool, self.limits, self._chat_once)
        raise CannotScoreError(
            f"{self.uri} gives no log-probabilities of a prompt, and filtering needs them",
            hint="Pass --scorer with a model that does: vllm:..., hf:..., bundled:smollm2-135m, or a vLLM server.",
        )

    async def _chat_once(self, server: OpenAIServer) -> None:
        """Raise an error if the server is down, or has no such model for chats either."""
        message = {"role": "user", "content": "Say yes."}
        with suppress(RefusedRequestError):  # a service that dislikes max_tokens knows the model
            await server.post("/chat/completions", {"model": self.uri.name, "messages": [message], "max_tokens": 1})

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("openai", self.uri.name)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            logprobs=True,
            context_tokens=self._context,
            parameters=parameters_in_name(self.uri.name),
            separate_scores=self._tokens is None,
        )

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
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
        body = {"model": self.uri.name, "prompt": text, "temperature": 0.0}
        body |= {"max_tokens": 1, "echo": True, "logprobs": 1}
        try:
            completion = await server.post("/completions", body)
        except RefusedRequestError as error:
            raise CannotScoreError(error.message, hint=error.hint) from None
        rows = _from_echo(completion)
        first = first_of_answer([piece for piece, _ in rows], text, len(request.prompt))
        if first is None:
            raise ModelError(
                f"{self.uri}: the server's tokens do not match the text, so the start of the answer cannot be found",
                hint="Score with vllm:..., hf:... or bundled:..., or start vLLM with --enable-scale-out.",
                code="no_alignment",
            )
        answer = [(piece, value) for piece, value in rows[first:] if value is not None]
        if not answer or len(answer) < len(rows) - first:
            raise CannotScoreError("the server gives no log-probability for a token of the continuation")
        return ScoreReply(tuple(piece for piece, _ in answer), tuple(value for _, value in answer), first)


def _choice(completion: object) -> dict[str, Any]:
    choices = completion.get("choices") if isinstance(completion, dict) else None
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def _from_echo(completion: object) -> Rows:
    logprobs = _choice(completion).get("logprobs") or {}
    tokens, values = logprobs.get("tokens") or [], logprobs.get("token_logprobs") or []
    if not tokens or len(tokens) != len(values):
        raise CannotScoreError("the server's reply has no log-probabilities of the prompt")
    # The last ones were generated, not read.
    usage = completion.get("usage") if isinstance(completion, dict) else None
    made = int((usage or {}).get("completion_tokens") or 0)
    return list(zip(tokens, values, strict=True))[: len(tokens) - max(0, made)]


LOST: Final = "\ufffd"
"""The text of a piece that is part of a character."""

_LOST_RUN: Final = re.compile(f"{LOST}+")


def first_of_answer(pieces: Sequence[str], text: str, boundary: int) -> int | None:
    """Find the first piece that reaches past ``boundary``; such a piece may begin before it.

    Args:
        pieces: the text of each token, to the text's end.
        text: what was encoded.
        boundary: number of characters before the answer.

    Returns:
        Its index, or None if the pieces do not make up the text.
    """
    at, end = len(pieces), len(text)
    while end > boundary:
        if at == 0:
            return None
        if (start := _spelt(pieces[at - 1], text, end)) is not None:
            at -= 1
            if start < end:
                at -= _halves_before(pieces, at, text[start:end])
            end = start
        elif LOST in pieces[at - 1]:
            run = at - 1
            while run > 0 and LOST in pieces[run - 1]:
                run -= 1
            start = _start_of_run(pieces, run, at, text, end)
            if start is None and text[end - 1].isspace():
                end -= 1  # as below
                continue
            # It is unknown which of its tokens reaches past a boundary inside the run.
            if start is None or (start < boundary and run + 1 < at):
                return None
            at, end = run, start
        elif text[end - 1].isspace():
            end -= 1  # the piece read last owned this space, and its decoder dropped it
        else:
            return None
    return at


def _spelt(piece: str, text: str, end: int) -> int | None:
    """Return where the piece begins if it ends at ``end``."""
    return end - len(piece) if text.endswith(piece, 0, end) and len(piece) <= end else None


def _halves_before(pieces: Sequence[str], at: int, spelt: str) -> int:
    """Return the number of empty pieces before ``at`` that start its first character, decoded as a whole there."""
    letter = spelt.lstrip()[:1]
    if not letter or letter.isascii():
        return 0
    count = 0
    while count < len(letter.encode()) - 1 and at - count > 0 and pieces[at - count - 1] == "":
        count += 1
    return count


def _start_of_run(pieces: Sequence[str], first: int, last: int, text: str, end: int) -> int | None:
    """Return the index where a run of tokens with partial characters begins: the shortest stretch after which the
    piece before it fits."""
    joined = "".join(pieces[first:last])
    pattern, at = "", 0
    for lost in _LOST_RUN.finditer(joined):
        pattern += re.escape(joined[at : lost.start()]) + f"[^\\x00-\\x7f]{{1,{len(lost.group())}}}"
        at = lost.end()
    fits = re.compile(pattern + re.escape(joined[at:]), re.S)
    for start in range(end - 1, max(-1, end - len(joined) - 1), -1):
        if not fits.fullmatch(text, start, end):
            continue
        if start == 0 or first == 0 or _spelt(pieces[first - 1], text, start) is not None or text[start - 1].isspace():
            return start
    return None
