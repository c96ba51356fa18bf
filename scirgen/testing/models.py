"""Fake models in this process: the replies of the fake server without HTTP, and a record of each call."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from scirgen.core.fingerprint import digest
from scirgen.llm.base import (
    Backend,
    Capabilities,
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    ModelIdentity,
    ScoreReply,
    ScoreRequest,
    ScoringModel,
    Usage,
)
from scirgen.testing.plausible import Plausible, word_logprobs

STAGE: ContextVar[str] = ContextVar("scirgen_fake_stage", default="")
"""The stage that calls; set by whoever wants calls by stage."""

CHARACTERS_A_TOKEN: Final = 4.2
"""Characters per token of English text with numbers and JSON."""

_TURN: Final = 5  # tokens a chat template puts around a message


@dataclass(frozen=True)
class Call:
    """One request that a real model would be paid for. A scorer reads its reply tokens instead of writing them."""

    stage: str
    role: str
    prompt_tokens: int
    reply_tokens: int


def rough_tokens(text: str) -> int:
    """Estimated number of tokens of a text: 4.2 characters each, or 1.4 in scripts without spaces."""
    wide = sum(1 for c in text if c >= "\u2e80")
    return max(1, round((len(text) - wide) / CHARACTERS_A_TOKEN + wide / 1.4))


class _Fake(Backend):
    """Has the identity of the model that it stands for, marked as fake, and records calls under its role."""

    def __init__(self, identity: ModelIdentity, capabilities: Capabilities, role: str, calls: list[Call]) -> None:
        self._identity = ModelIdentity(identity.backend, identity.name, "fake")
        self._capabilities, self._role, self._calls = capabilities, role, calls

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    def _note(self, prompt_tokens: int, reply_tokens: int) -> None:
        self._calls.append(Call(STAGE.get(), self._role, prompt_tokens, reply_tokens))


class FakeChat(_Fake, ChatModel):
    """Writes plausible replies."""

    async def chat(self, request: ChatRequest) -> ChatReply:
        """A valid instance of the schema, or a sentence of the prompt's data."""
        prompt = "\n".join(m.content for m in request.messages)
        plausible = Plausible(_asked(request.messages), random.Random(digest(prompt, request.sampling.seed)))
        schema = request.schema
        if schema is None:
            text = plausible.plain()
        elif schema.get("type") == "string" and isinstance(options := schema.get("enum"), list):
            text = str(plausible.choice(options))
        else:
            text = json.dumps(plausible.instance(schema, schema, "reply"), ensure_ascii=False)
        read = sum(rough_tokens(m.content) + _TURN for m in request.messages)
        usage = Usage(read, min(request.sampling.max_tokens, rough_tokens(text)))
        self._note(read, usage.completion_tokens or 0)
        return ChatReply(text, usage=usage)


def _asked(messages: Sequence[Message]) -> str:
    """The text that the reply is about: the last turn with data. Earlier turns are worked examples."""
    with_data = [n for n, m in enumerate(messages) if m.role == "user" and "<data-" in m.content]
    first = with_data[-1] if with_data else 0
    return "\n".join(m.content for n, m in enumerate(messages) if n >= first or m.role == "system")


class FakeScores(_Fake, ScoringModel):
    """Scores a continuation higher the more of its words the prompt has."""

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
        return [self._one(request) for request in requests]

    def _one(self, request: ScoreRequest) -> ScoreReply:
        given = request.prompt
        prompt = given if isinstance(given, str) else "\n".join(m.content for m in given)
        tokens, logprobs, offsets = word_logprobs(prompt + request.continuation)
        first = next((n for n, at in enumerate(offsets) if at >= len(prompt)), len(offsets) - 1)
        read = rough_tokens(prompt)
        self._note(read, rough_tokens(request.continuation))
        return ScoreReply(tuple(tokens[first:]), tuple(logprobs[first:]), read)
