"""The interface of stages to models: `ChatSession` sends rendered prompts, `ScoreSession` measures log-probabilities.

Both use the reply cache, count usage and obey the limits; stages never see a backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypedDict, TypeVar, Unpack

from pydantic import BaseModel

from scirgen.core.errors import ModelError
from scirgen.core.prompts import RenderedPrompt
from scirgen.llm.base import Capabilities, ModelIdentity, ScoreReply, ScoreRequest

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A parsed reply, its raw text and its cache key (for provenance)."""

    value: T
    text: str
    reply_key: str
    finish_reason: str = "stop"


@dataclass(frozen=True)
class TextAnswer:
    """A plain-text reply and its cache key."""

    text: str
    reply_key: str
    finish_reason: str = "stop"


class Asking(TypedDict, total=False):
    """Options of a request: the sample's number, and values that override the prompt's sampling parameters."""

    sample: int
    temperature: float | None
    max_tokens: int | None


class ChatSession(Protocol):
    """Session with the run's generator."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def pack(self) -> str:
        """The active prompt pack: "standard" or "small"."""

    async def ask(self, prompt: RenderedPrompt, reply: type[T], *, seed: int, **how: Unpack[Asking]) -> Answer[T]:
        """Request structured output: the reply parsed into ``reply``, after a limited number of repair turns if needed.

        Raises:
            ModelError: and its subclasses; `ReplyInvalidError` when the repairs did not help.
        """

    async def ask_text(self, prompt: RenderedPrompt, *, seed: int, **how: Unpack[Asking]) -> TextAnswer:
        """Request plain text. A reply cut at max_tokens has ``finish_reason == "length"``; this is not an error
        here."""

    async def choose(self, prompt: RenderedPrompt, options: Sequence[str], *, seed: int) -> TextAnswer:
        """Request one of ``options`` by constrained decoding (or an enum schema); works with the smallest models."""


class ScoreSession(Protocol):
    """Session with the run's scorer."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | ModelError]:
        """Return one result per request, in order. Pass requests that share a prompt prefix together."""
