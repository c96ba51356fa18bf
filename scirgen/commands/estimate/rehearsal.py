"""Backends that give stand-in replies and record each call, so an estimate can count a run's requests without a
model."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Literal

from scirgen.commands.estimate.stand_in import Lean, Plausible, word_logprobs
from scirgen.core.fingerprint import digest
from scirgen.llm.base import (
    Backend,
    Capabilities,
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    ModelIdentity,
    Schema,
    ScoreReply,
    ScoreRequest,
    ScoringModel,
    Usage,
)

AT: ContextVar[tuple[str, str]] = ContextVar("scirgen_rehearsal_at", default=("", ""))
"""(stage, key) of the current work item of the rehearsal."""

CHARACTERS_A_TOKEN: Final = 4.2
"""Characters per token of English text with numbers and JSON; an earlier run gives a better value (`Shape`)."""

PREFILL_SHARE: Final = 0.1
"""Time to read a token, relative to writing one."""

_TURN: Final = 5  # tokens a chat template puts around a message


@dataclass(frozen=True)
class Call:
    """One request that a run would pay for.

    ``shape`` identifies similar requests (same kind, same schema except its options, same cap on new tokens), whose
    replies have similar lengths. ``characters`` are the prompt's.
    """

    stage: str
    key: str
    kind: Literal["chat", "score"]
    shape: str
    characters: int
    prompt_tokens: int
    completion_tokens: int
    most_tokens: int
    request: ChatRequest | ScoreRequest


@dataclass
class CallLog:
    """The calls of one rehearsal, in order."""

    calls: list[Call] = field(default_factory=list)


def rough_tokens(text: str) -> int:
    """Estimated number of tokens of a text: 4.2 characters each, or 1.4 in scripts without spaces."""
    wide = sum(1 for c in text if c >= "\u2e80")
    return max(1, round((len(text) - wide) / CHARACTERS_A_TOKEN + wide / 1.4))


def chat_shape(schema: Schema | None, max_tokens: int) -> str:
    """See `Call.shape`; from a request, or from one stored in a reply cache."""
    return f"{digest('chat', _skeleton(schema))[:12]}@{max_tokens}"


def alike(shape: str) -> str:
    """A coarser shape, shared by all requests with the same cap on new tokens."""
    return shape[shape.rfind("@") :] if "@" in shape else shape


SCORE_SHAPE: Final = "score"


def _skeleton(node: object) -> object:
    """A schema without the parts that differ between items: options, counts, names and texts."""
    if isinstance(node, dict):
        varying = {"enum", "const", "title", "description", "minItems", "maxItems", "minimum", "maximum"}
        return {k: _skeleton(v) for k, v in node.items() if k not in varying}
    return [_skeleton(v) for v in node] if isinstance(node, list) else node


class _StandIn(Backend):
    """Has the identity of the model that it replaces, marked, and records calls."""

    def __init__(self, identity: ModelIdentity, capabilities: Capabilities, mark: str, log: CallLog) -> None:
        self._identity = ModelIdentity(identity.backend, identity.name, mark)
        self._capabilities = capabilities
        self._log = log

    @property
    def identity(self) -> ModelIdentity:
        """The identity of the replaced model, marked as a stand-in."""
        return self._identity

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the replaced model."""
        return self._capabilities


class StandInChat(_StandIn, ChatModel):
    """A `ChatModel` that makes replies up."""

    def __init__(self, identity: ModelIdentity, capabilities: Capabilities, lean: Lean, log: CallLog) -> None:
        super().__init__(identity, capabilities, f"stand-in-{lean}", log)
        self._lean: Lean = lean

    async def chat(self, request: ChatRequest) -> ChatReply:
        """A plausible reply, recorded under the current item."""
        prompt = "\n".join(m.content for m in request.messages)
        plausible = Plausible(
            _asked(request.messages), random.Random(digest(prompt, request.sampling.seed)), self._lean
        )
        schema = request.schema
        if schema is None:
            text = plausible.plain()
        elif schema.get("type") == "string" and isinstance(options := schema.get("enum"), list):
            text = str(plausible.choice(options))
        else:
            text = json.dumps(plausible.instance(schema, schema, "reply"), ensure_ascii=False)
        most = request.sampling.max_tokens
        usage = Usage(message_tokens(request.messages), min(most, rough_tokens(text)))
        stage, key = AT.get()
        shape = chat_shape(schema, most)
        self._log.calls.append(
            Call(
                stage, key, "chat", shape, len(prompt), usage.prompt_tokens or 0, usage.completion_tokens or 0, most,
                request,
            )
        )  # fmt: skip
        return ChatReply(text, usage=usage)


def _asked(messages: Sequence[Message]) -> str:
    """The text that the reply is about: the last turn with data. Earlier turns are worked examples."""
    with_data = [n for n, m in enumerate(messages) if m.role == "user" and "<data-" in m.content]
    first = with_data[-1] if with_data else 0
    return "\n".join(m.content for n, m in enumerate(messages) if n >= first or m.role == "system")


class StandInScoring(_StandIn, ScoringModel):
    """A `ScoringModel` that counts words."""

    def __init__(self, identity: ModelIdentity, capabilities: Capabilities, log: CallLog) -> None:
        super().__init__(identity, capabilities, "stand-in", log)

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
        """Scores that rise if the prompt contains the words; recorded under the current item."""
        return [self._one(request) for request in requests]

    def _one(self, request: ScoreRequest) -> ScoreReply:
        prompt = prompt_text(request)
        tokens, logprobs, offsets = word_logprobs(prompt + request.continuation)
        first = next((n for n, at in enumerate(offsets) if at >= len(prompt)), len(offsets) - 1)
        stage, key = AT.get()
        before, after = rough_tokens(prompt), rough_tokens(request.continuation)
        self._log.calls.append(Call(stage, key, "score", SCORE_SHAPE, len(prompt), before, after, after, request))
        return ScoreReply(tuple(tokens[first:]), tuple(logprobs[first:]), before)


def message_tokens(messages: Sequence[Message]) -> int:
    """Estimated number of tokens of a chat's messages."""
    return sum(rough_tokens(m.content) + _TURN for m in messages)


def prompt_text(request: ScoreRequest) -> str:
    """The text before the continuation."""
    return request.prompt if isinstance(request.prompt, str) else "\n".join(m.content for m in request.prompt)
