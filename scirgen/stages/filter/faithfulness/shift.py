"""SePer's log-probability shift: how much more the scorer believes an answer once it has seen the context."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import ClassVar, Final

from scirgen.core.config import Config
from scirgen.core.records import QAPair, Score
from scirgen.llm.base import ScoreReply
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Faithfulness, Material, Need
from scirgen.stages.filter.faithfulness.framing import PROMPTS, Framing, measured
from scirgen.stages.filter.faithfulness.windows import Window, WindowKind, chosen_window, max_windows

Form = Callable[[Sequence[float], Sequence[float]], float]


def mean_shift(given: Sequence[float], alone: Sequence[float]) -> float:
    """``mean log p(a | q, c) - mean log p(a | q)``, in nats a token: ScIRGen, section 2.3, equations 1-2."""
    return sum(given) / len(given) - sum(alone) / len(alone)


def relative_shift(given: Sequence[float], alone: Sequence[float]) -> float:
    """The share of the answer's surprisal that the context takes away: ``1 - S(a | q, c) / S(a | q)``, S = -sum log p.

    1: the context says all of it; 0: the context changes nothing; below 0: the context makes it less likely. Unlike the
    mean shift it does not grow with how surprising an answer is in itself.
    """
    before = -sum(alone)
    return 1.0 - (-sum(given) / before) if before > 0 else 0.0


def discounted_shift(given: Sequence[float], alone: Sequence[float]) -> float:
    """``mean log p(a | q, c) - 0.5 mean log p(a | q)``: between the likelihood of the answer and its shift.

    It separates answers best on the constructed benchmark (docs/benchmarks/faithfulness.md), but has no natural zero,
    so its threshold must be calibrated.
    """
    return sum(given) / len(given) - 0.5 * sum(alone) / len(alone)


FORMS: Final[Mapping[str, Form]] = {
    "mean": mean_shift, "relative": relative_shift, "discounted": discounted_shift,
}  # fmt: skip
"""``config.filter.shift_form`` -> formula. All but the last are above 0 if the context makes the answer more likely."""


class ShiftScorer(Faithfulness):
    """The shift, in the configured form and window.

    In window ``max`` the shift is the largest over several passages; in ``evidence`` it is measured on the sentences
    of the pair's
    spans. Both say so in the score's ``detail``. A text that does not fit the scorer's window is an error.
    """

    name: ClassVar[str] = "shift"
    needs: ClassVar[tuple[Need, ...]] = ("scorer",)
    prompts: ClassVar[tuple[str, ...]] = PROMPTS
    version: ClassVar[int] = 3

    def edges(self, config: Config) -> tuple[float, float]:
        """The relative shift rejects at its natural zero and is sure of nothing; the other forms cut at 0.

        At 0.1, 66 of 100 true answers in other words are rejected; above no value are 98 % of the answers true
        (docs/benchmarks/faithfulness.md).
        """
        return (0.0, 1.0) if config.filter.shift_form == "relative" else (0.0, 0.0)

    def why(self, score: Score) -> str:
        least = _least_helped(score)
        return "the evidence barely raises the answer's probability" + (f", least of all {least!r}" if least else "")

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        framing, kind = Framing(ctx), ctx.config.filter.window
        windows = [_windows(kind, pair, material) for pair in pairs]
        requests = [
            framing.request(p.question, p.answer, w.text) for p, ws in zip(pairs, windows, strict=True) for w in ws
        ]
        first_alone = len(requests)
        requests += [framing.request(p.question, p.answer, "") for p in pairs]
        replies = [measured(r) for r in await ctx.scorer.score(requests)]
        scores: list[Score | Exception] = []
        at = 0
        for alone, ws in zip(replies[first_alone:], windows, strict=True):
            tried = [
                self._score(g, alone, w, ctx, framing) for g, w in zip(replies[at : at + len(ws)], ws, strict=True)
            ]
            at += len(ws)
            failed = next((t for t in tried if isinstance(t, Exception)), None)
            scores.append(failed or max((t for t in tried if isinstance(t, Score)), key=lambda s: s.value))
        return scores

    def _score(
        self,
        given: ScoreReply | Exception,
        alone: ScoreReply | Exception,
        window: Window,
        ctx: StageContext,
        framing: Framing,
    ) -> Score | Exception:
        if isinstance(given, Exception):
            return given
        if isinstance(alone, Exception):
            return alone
        config = ctx.config.filter
        part = f" of the context, by {window.source}" if window.part else ""
        return Score(
            name=self.name,
            value=FORMS[config.shift_form](given.logprobs, alone.logprobs),
            model=str(ctx.scorer.identity),
            prompt_hash=framing.prompt.hash,
            truncated=given.truncated or alone.truncated,
            tokens=given.tokens,
            logprobs_with=given.logprobs,
            logprobs_without=alone.logprobs,
            detail=f"{config.shift_form} shift, window {config.window}{part}",
        )


def _windows(kind: WindowKind, pair: QAPair, material: Material) -> list[Window]:
    if kind == "max":
        return max_windows(pair, material) or [Window(material.context, False)]
    return [chosen_window(kind, pair, material)]


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
