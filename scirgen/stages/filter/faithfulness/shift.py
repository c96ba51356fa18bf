"""SePer's log-probability shift: how much more the scorer believes an answer once it has seen the context."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import ClassVar, Final

from scirgen.core.config import Config
from scirgen.core.errors import ModelError
from scirgen.core.prompts import Prompt
from scirgen.core.records import QAPair, Score
from scirgen.llm.base import ScoreReply, ScoreRequest
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Faithfulness, Material, Need
from scirgen.stages.filter.faithfulness.windows import chosen_window

Form = Callable[[Sequence[float], Sequence[float]], float]


def mean_shift(given: Sequence[float], alone: Sequence[float]) -> float:
    """Return ``mean log p(a | q, c) - mean log p(a | q)``, in nats per token: ScIRGen, section 2.3, equations 1-2."""
    return sum(given) / len(given) - sum(alone) / len(alone)


def relative_shift(given: Sequence[float], alone: Sequence[float]) -> float:
    """Return the share of the answer's surprisal that the context removes: ``1 - S(a | q, c) / S(a | q)``, S = -sum log
    p.

    1: the context says all of it; 0: the context changes nothing; below 0: the context makes it less likely. Unlike the
    mean shift it does not grow with how surprising an answer is in itself.
    """
    before = -sum(alone)
    return 1.0 - (-sum(given) / before) if before > 0 else 0.0


FORMS: Final[Mapping[str, Form]] = {"mean": mean_shift, "relative": relative_shift}
"""``config.filter.shift_form`` -> formula; above 0 if the context makes the answer more likely."""


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
    """Return the reply, or an error if it holds no finite log-probabilities."""
    if isinstance(reply, Exception):
        return reply
    if not reply.logprobs or not all(map(math.isfinite, reply.logprobs)):
        return ModelError("the scorer gave no finite log-probabilities for the answer", code="no_logprobs")
    return reply


class ShiftScorer(Faithfulness):
    """The shift, in the configured form and window.

    In window ``evidence`` it is measured on the sentences of the pair's spans, and its ``detail`` says so. A text that
    does not fit the scorer's window is an error.
    """

    name: ClassVar[str] = "shift"
    needs: ClassVar[tuple[Need, ...]] = ("scorer",)
    prompts: ClassVar[tuple[str, ...]] = ("shift",)
    version: ClassVar[int] = 3

    def edges(self, config: Config) -> tuple[float, float]:
        """Return the edges: the relative shift rejects at its natural zero, sure of nothing; the paper's form cuts at
        0.

        At 0.1, 66 of 100 true answers in other words are rejected; above no value are 98 % of the answers true
        (docs/benchmarks/faithfulness.md).
        """
        return (0.0, 1.0) if config.filter.shift_form == "relative" else (0.0, 0.0)

    def why(self, score: Score) -> str:
        least = _least_helped(score)
        return "the evidence barely raises the answer's probability" + (f", least of all {least!r}" if least else "")

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        framing, kind = Framing(ctx), ctx.config.filter.window
        requests = [framing.request(p.question, p.answer, chosen_window(kind, p, material)) for p in pairs]
        requests += [framing.request(p.question, p.answer, "") for p in pairs]
        replies = [measured(r) for r in await ctx.scorer.score(requests)]
        every = zip(replies[: len(pairs)], replies[len(pairs) :], strict=True)
        return [self._score(given, alone, ctx, framing) for given, alone in every]

    def _score(
        self,
        given: ScoreReply | Exception,
        alone: ScoreReply | Exception,
        ctx: StageContext,
        framing: Framing,
    ) -> Score | Exception:
        if isinstance(given, Exception):
            return given
        if isinstance(alone, Exception):
            return alone
        config = ctx.config.filter
        return Score(
            name=self.name,
            value=FORMS[config.shift_form](given.logprobs, alone.logprobs),
            model=str(ctx.scorer.identity),
            prompt_hash=framing.prompt.hash,
            truncated=given.truncated or alone.truncated,
            tokens=given.tokens,
            logprobs_with=given.logprobs,
            logprobs_without=alone.logprobs,
            detail=f"{config.shift_form} shift, window {config.window}",
        )


_WORD = re.compile(r"[^\W_][\w.-]{2,30}(?<![.-])")


def _least_helped(score: Score) -> str:
    """Find the word of the answer whose likelihood the evidence raises least; "" if tokens do not show it."""
    if not len(score.tokens) == len(score.logprobs_with) == len(score.logprobs_without):
        return ""
    ends = list(accumulate(map(len, score.tokens)))
    gains = [given - alone for given, alone in zip(score.logprobs_with, score.logprobs_without, strict=True)]
    words = {}
    for match in _WORD.finditer("".join(score.tokens)):
        inside = [
            gain
            for gain, end, token in zip(gains, ends, score.tokens, strict=True)
            if end - len(token) < match.end() and match.start() < end
        ]
        words[match.group()] = sum(inside) / len(inside)
    return min(words, key=lambda w: words[w], default="")
