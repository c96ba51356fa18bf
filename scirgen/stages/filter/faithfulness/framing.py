"""Makes score requests from a question, a context and an answer."""

from __future__ import annotations

import math

from scirgen.core.errors import ModelError
from scirgen.core.prompts import Prompt
from scirgen.llm.base import ScoreReply, ScoreRequest
from scirgen.stages.base import StageContext

PROMPTS = ("shift",)


class Framing:
    """The prompt is plain text, and the answer owns the space before it.

    With the model's chat template, the scores separate answers worse in every respect
    (docs/benchmarks/faithfulness.md).
    """

    def __init__(self, ctx: StageContext) -> None:
        self.prompt: Prompt = ctx.prompt("shift")

    def request(self, question: str, answer: str, context: str) -> ScoreRequest:
        """Measure log p(answer | question, context); ``context`` is "" for the measurement without it."""
        rendered = self.prompt.render(question=question, context=context)
        return ScoreRequest("\n\n".join(text for _, text in rendered.messages), " " + answer.strip())


def measured(reply: ScoreReply | Exception) -> ScoreReply | Exception:
    """The reply, or an error if it holds no finite log-probabilities."""
    if isinstance(reply, Exception):
        return reply
    if not reply.logprobs or not all(map(math.isfinite, reply.logprobs)):
        return ModelError("the scorer gave no finite log-probabilities for the answer", code="no_logprobs")
    return reply
