"""How a question, a context and an answer become score requests: plain text or a chat message."""

from __future__ import annotations

import math

from scirgen.core.errors import ModelError
from scirgen.core.prompts import Prompt
from scirgen.llm.base import Message, ScoreReply, ScoreRequest
from scirgen.stages.base import StageContext

PROMPTS = ("shift", "shift_chat")


class Framing:
    """The configured framing of the answer's score.

    In plain framing the answer owns the space before it; in chat framing it follows the generation prompt directly.
    """

    def __init__(self, ctx: StageContext) -> None:
        self.chat = ctx.config.filter.framing == "chat"
        self.prompt: Prompt = ctx.prompt("shift_chat" if self.chat else "shift")

    def request(self, question: str, answer: str, context: str) -> ScoreRequest:
        """Measure log p(answer | question, context); ``context`` "" for the measurement without it."""
        rendered = self.prompt.render(question=question, context=context)
        if self.chat:
            return ScoreRequest(tuple(Message(role, text) for role, text in rendered.messages), answer.strip())
        return ScoreRequest("\n\n".join(text for _, text in rendered.messages), " " + answer.strip())


def measured(reply: ScoreReply | Exception) -> ScoreReply | Exception:
    """The reply, or an error where it holds no finite log-probabilities."""
    if isinstance(reply, Exception):
        return reply
    if not reply.logprobs or not all(map(math.isfinite, reply.logprobs)):
        return ModelError("the scorer gave no finite log-probabilities for the answer", code="no_logprobs")
    return reply
