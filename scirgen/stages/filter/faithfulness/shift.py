"""The perplexity shift of ScIRGen's SePer filter: how much the context raises the mean log-probability of the answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from scirgen.core.errors import ModelError
from scirgen.core.prompts import Prompt
from scirgen.core.records import QAPair, Score
from scirgen.llm.base import Message, ScoreReply, ScoreRequest
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material


class ShiftScorer:
    """``mean log p(a | q, c) - mean log p(a | q)`` over the answer's tokens, in nats a token (ScIRGen, equations 1-2).

    The answer owns the space before it in plain framing; in chat framing it follows the generation prompt directly.
    """

    name: ClassVar[str] = "shift"
    needs_logprobs: ClassVar[bool] = True
    prompts: ClassVar[tuple[str, ...]] = ("shift",)
    version: ClassVar[int] = 1

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        prompt = ctx.prompt("shift")
        chat = ctx.config.filter.framing == "chat"
        requests = [_request(prompt, pair, material.context, chat) for pair in pairs]
        requests += [_request(prompt, pair, "", chat) for pair in pairs]
        replies = await ctx.scorer.score(requests)
        model = str(ctx.scorer.identity)
        given, alone = replies[: len(pairs)], replies[len(pairs) :]
        return [_shift(w, o, model, prompt.hash) for w, o in zip(given, alone, strict=True)]


def _request(prompt: Prompt, pair: QAPair, context: str, chat: bool) -> ScoreRequest:
    rendered = prompt.render(question=pair.question, context=context)
    if chat:
        return ScoreRequest(tuple(Message(role, text) for role, text in rendered.messages), pair.answer.strip())
    return ScoreRequest("\n\n".join(text for _, text in rendered.messages), " " + pair.answer.strip())


def _shift(
    given: ScoreReply | Exception, alone: ScoreReply | Exception, model: str, prompt_hash: str
) -> Score | Exception:
    if isinstance(given, Exception):
        return given
    if isinstance(alone, Exception):
        return alone
    measured = (*given.logprobs, *alone.logprobs)
    if not given.logprobs or not alone.logprobs or not all(map(math.isfinite, measured)):
        return ModelError("the scorer gave no finite log-probabilities for the answer", code="no_logprobs")
    return Score(
        name="shift",
        value=given.mean - alone.mean,
        model=model,
        prompt_hash=prompt_hash,
        truncated=given.truncated or alone.truncated,
        tokens=given.tokens,
        logprobs_with=given.logprobs,
        logprobs_without=alone.logprobs,
    )
