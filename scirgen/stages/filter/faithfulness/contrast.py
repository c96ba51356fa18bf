"""Contrast: measures whether the scorer, given the evidence, prefers the answer to alternatives.

Alternatives come from `scirgen.qa.claims.alternatives`. An answer and its alternatives share their prompt, so each
prompt goes through the model once. Yes and No have no alternatives: altered forms of the question's claim separated
right from wrong answers no better than chance (docs/benchmarks/faithfulness.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from scirgen.core.errors import ResourceError
from scirgen.core.records import QAPair, Score, ScoredAlternative
from scirgen.core.taxonomy import QuestionType
from scirgen.llm.base import ScoreReply, ScoreRequest
from scirgen.qa.claims.alternatives import Alternative, alternatives
from scirgen.qa.conformance import polarity
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Faithfulness, Material, Need
from scirgen.stages.filter.faithfulness.framing import PROMPTS, Framing, measured
from scirgen.stages.filter.faithfulness.windows import Window, chosen_window

LIMIT = 10.0
"""Margins beyond this many nats per token count as this many."""


@dataclass(frozen=True)
class Contrast:
    """A scorer's measurements of an answer and of its alternatives.

    Attributes:
        window: the text against which it was measured.
        given, alone: log-probabilities of the answer with the evidence and without it.
        margins: each alternative with its margin, in nats per differing token; below 0 the evidence prefers the alternative.
        claim: for an answer by yes or no, whether it says that its question's claim holds (+1) or not (-1); 0 for other answers.
    """

    window: Window
    given: ScoreReply
    alone: ScoreReply
    margins: tuple[tuple[Alternative, float], ...]
    claim: int = 0

    @property
    def value(self) -> float | None:
        """The margin to the best alternative; None if there is none."""
        return min((margin for _, margin in self.margins), default=None)

    @property
    def best(self) -> Alternative | None:
        """The alternative with the smallest margin."""
        return min(self.margins, key=lambda m: m[1])[0] if self.margins else None

    def least(self, *kinds: str) -> float:
        """The smallest margin among alternatives of these kinds; `LIMIT` if there is none."""
        return min((margin for one, margin in self.margins if one.kind in kinds), default=LIMIT)

    @property
    def records(self) -> tuple[ScoredAlternative, ...]:
        """The alternatives as stored with a score, best first."""
        return tuple(
            ScoredAlternative(kind=one.kind, said=one.said, instead=one.instead, margin=round(margin, 4))
            for one, margin in sorted(self.margins, key=lambda m: m[1])
        )

    @property
    def sentence(self) -> str:
        """The alternative that decides, in words."""
        best = self.best
        if best is None:
            return "Yes and No are not compared" if self.claim else "no alternative could be made"
        won = min(m for _, m in self.margins) < 0
        return best.sentence if won else f"nearest: {best.instead!r} for {best.said!r}"


class ContrastScorer(Faithfulness):
    """The margin of an answer to its best alternative, in nats per differing token: min over x of (f(a) - f(x)) / n.

    f = log p(. | q, evidence) - ``filter.contrast_prior`` log p(. | q), summed over tokens; n counts the tokens that differ.
    Above 0, the evidence prefers the answer. It abstains if no alternative can be made, and on Yes and No.
    """

    name: ClassVar[str] = "contrast"
    needs: ClassVar[tuple[Need, ...]] = ("scorer",)
    # The ensemble uses the margins too, so beside it, this scorer rejects only clear cases (docs/benchmarks/faithfulness.md).
    default_threshold: ClassVar[float] = -2.0
    prompts: ClassVar[tuple[str, ...]] = PROMPTS
    version: ClassVar[int] = 6
    only_cited: ClassVar[bool] = True

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        return [
            found if isinstance(found, Exception) else self._score(found, ctx)
            for found in await contrasts(pairs, material, ctx)
        ]

    def _score(self, found: Contrast, ctx: StageContext) -> Score:
        value = found.value
        return Score(
            name=self.name,
            value=0.0 if value is None else value,
            model=str(ctx.scorer.identity),
            prompt_hash=ctx.prompt("shift").hash,
            abstained=value is None,
            detail=found.sentence,
            alternatives=found.records,
        )


async def contrasts(pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Contrast | Exception]:
    """Measure answers and their alternatives in one pass over shared prefixes. A failed measurement gives an error in its place."""
    plans = [_planned(pair, material, ctx) for pair in pairs]
    replies = [measured(r) for r in await ctx.scorer.score([r for plan in plans for r in plan.requests])]
    found: list[Contrast | Exception] = []
    at = 0
    for plan in plans:
        mine = replies[at : at + len(plan.requests)]
        at += len(plan.requests)
        failed = next((r for r in mine if isinstance(r, Exception)), None)
        rows = [r for r in mine if isinstance(r, ScoreReply)]
        found.append(failed or plan.contrast(rows, ctx.config.filter.contrast_prior))
    return found


@dataclass(frozen=True)
class _Plan:
    """The measurements of one pair: the answer, then the alternatives, each with the evidence and without."""

    window: Window
    forms: tuple[Alternative, ...]
    requests: tuple[ScoreRequest, ...]
    claim: int

    def contrast(self, rows: Sequence[ScoreReply], prior: float) -> Contrast:
        mine = rows[:2]
        margins = tuple((form, _margin(mine, rows[2 * i : 2 * i + 2], prior)) for i, form in enumerate(self.forms, 1))
        return Contrast(self.window, rows[0], rows[1], margins, self.claim)


def _planned(pair: QAPair, material: Material, ctx: StageContext) -> _Plan:
    framing, window = Framing(ctx), contrast_window(pair, material, ctx)
    wording = ctx.taxonomies.wording.of(pair.language)
    kind, most = type_of(pair, ctx), ctx.config.filter.contrast_most
    said = polarity(pair.answer, wording) if kind is not None and kind.polar else None
    forms: tuple[Alternative, ...] = ()
    if said is None:
        forms = alternatives(
            pair.question, pair.answer, window.text, wording, context=material.context, kind=kind, most=most
        )
    texts = (pair.answer, *(f.text for f in forms))
    requests = tuple(framing.request(pair.question, text, c) for text in texts for c in (window.text, ""))
    return _Plan(window, forms, requests, {"yes": 1, "no": -1}.get(said or "", 0))


def contrast_window(pair: QAPair, material: Material, ctx: StageContext) -> Window:
    """The evidence, or the whole context; this score does not compare several passages."""
    kind = ctx.config.filter.window
    return chosen_window("evidence" if kind == "max" else kind, pair, material)


def type_of(pair: QAPair, ctx: StageContext) -> QuestionType | None:
    """The pair's type; None if the taxonomy does not have it."""
    try:
        return ctx.taxonomies.question_type(pair.question_type)
    except ResourceError:
        return None


def _margin(mine: Sequence[ScoreReply], other: Sequence[ScoreReply], prior: float) -> float:
    """(f(answer) - f(alternative)) per differing token, within `LIMIT`."""

    def weight(rows: Sequence[ScoreReply]) -> float:
        return sum(rows[0].logprobs) - prior * sum(rows[1].logprobs)

    value = (weight(mine) - weight(other)) / differing(mine[0].tokens, other[0].tokens)
    return max(-LIMIT, min(LIMIT, value))


def differing(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of tokens between the common beginning and the common end of two sequences; at least 1."""
    short = min(len(one), len(other))
    head = next((i for i in range(short) if one[i] != other[i]), short)
    tail = next((i for i in range(short - head) if one[-1 - i] != other[-1 - i]), short - head)
    return max(1, len(one) - head - tail, len(other) - head - tail)
