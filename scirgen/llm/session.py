"""What stages hold of a model: `ChatSession` asks with a rendered prompt, `ScoreSession` measures log-probabilities.

Both go through the reply cache, count usage and obey the limits; stages never see a backend.
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
    """A parsed reply, its raw text and the key it is cached under (for provenance)."""

    value: T
    text: str
    reply_key: str
    finish_reason: str = "stop"


@dataclass(frozen=True)
class TextAnswer:
    """A plain-text reply and the key it is cached under."""

    text: str
    reply_key: str
    finish_reason: str = "stop"


class Asking(TypedDict, total=False):
    """How a question is put: a sample's number, and what takes the place of the prompt's own sampling."""

    sample: int
    temperature: float | None
    max_tokens: int | None


class ChatSession(Protocol):
    """Asking the run's generator."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def pack(self) -> str:
        """The prompt pack in force: "standard" or "small"."""
        ...

    async def ask(self, prompt: RenderedPrompt, reply: type[T], *, seed: int, **how: Unpack[Asking]) -> Answer[T]:
        """Structured output: the reply parsed into ``reply``, fixed by a bounded number of repair turns.

        Raises:
            ModelError: and its subclasses; `ReplyInvalidError` when the repairs did not help.
        """
        ...

    async def ask_text(self, prompt: RenderedPrompt, *, seed: int, **how: Unpack[Asking]) -> TextAnswer:
        """Plain text. A reply cut at max_tokens comes back with ``finish_reason == "length"``; it is not an error here."""
        ...

    async def choose(self, prompt: RenderedPrompt, options: Sequence[str], *, seed: int) -> TextAnswer:
        """One of ``options``, by constrained decoding (or an enum schema); works with the smallest models."""
        ...


class ScoreSession(Protocol):
    """Measuring with the run's scorer."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | ModelError]:
        """One result a request, in order. Pass requests that share a prompt prefix together."""
        ...
