"""SePer as published (Dai et al., ICLR 2025): belief in an answer's meaning, over sampled responses and entailment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from scirgen.core.errors import ModelError, ScirgenError
from scirgen.core.records import QAPair, Score
from scirgen.llm.base import Message, ScoreReply, ScoreRequest
from scirgen.llm.encoders.entailment import Entailment, EntailmentModel, open_entailment
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material, Need
from scirgen.stages.filter.faithfulness.framing import measured
from scirgen.stages.filter.faithfulness.windows import evidence_window


def belief(means: Sequence[float], agreement: Sequence[float]) -> float:
    """``sum_i w_i k(r_i, a)`` with ``w_i`` the responses' length-normalised likelihoods, normalised to sum to 1.

    Args:
        means: mean log-probability a token of each sampled response.
        agreement: k of each response with the answer, in [0, 1]: for soft SePer the larger of the two directions'
            entailment probability, for hard SePer 1 where entailment is the most probable relation in either direction.
    """
    top = max(means)
    weights = [math.exp(m - top) for m in means]
    return sum(w * k for w, k in zip(weights, agreement, strict=True)) / sum(weights)


class SemanticScorer:
    """``SePer(with the context) - SePer(without)``, in [-1, 1].

    Samples ``filter.semantic_samples`` responses of the generator each way, weighs them by the scorer's likelihood, and
    asks the entailment model ``filter.entailment`` in both directions. Dozens of calls a pair: for studies and small sets.
    """

    name: ClassVar[str] = "semantic"
    hard: ClassVar[bool] = False
    needs: ClassVar[tuple[Need, ...]] = ("generator", "scorer", "entailment")
    prompts: ClassVar[tuple[str, ...]] = ("respond", "entail")
    version: ClassVar[int] = 2

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        judge = open_entailment(
            ctx.config.filter.entailment, ctx.registry, ctx.config.models.options, ctx.scorer, ctx.prompt("entail")
        )
        scores: list[Score | Exception] = []
        for pair in pairs:
            try:
                scores.append(await self._one(pair, material, ctx, judge))
            except ScirgenError as error:
                if error.fatal:
                    raise
                scores.append(error)
        return scores

    async def _one(self, pair: QAPair, material: Material, ctx: StageContext, judge: EntailmentModel) -> Score:
        kind = ctx.config.filter.window
        context = material.context if kind == "full" else evidence_window(pair, material).text
        given, with_texts = await self._seper(pair, context, ctx, judge)
        alone, without_texts = await self._seper(pair, "", ctx, judge)
        return Score(
            name=self.name,
            value=given - alone,
            model=f"{ctx.chat.identity} weighed by {ctx.scorer.identity}, {judge.identity}",
            prompt_hash=ctx.prompt("respond").hash,
            detail=f"with {given:.4f} over {with_texts} responses, without {alone:.4f} over {without_texts}",
        )

    async def _seper(self, pair: QAPair, context: str, ctx: StageContext, judge: EntailmentModel) -> tuple[float, int]:
        """Belief in the answer, and over how many distinct responses."""
        prompt = ctx.prompt("respond").render(question=pair.question, context=context)
        way = "with" if context else "without"
        texts: list[str] = []
        for sample in range(ctx.config.filter.semantic_samples):
            answer = await ctx.chat.ask_text(
                prompt,
                seed=ctx.seed("semantic", pair.id, way, sample),
                sample=sample,
                temperature=1.0,
                max_tokens=ctx.config.filter.semantic_tokens,
            )
            if answer.text.strip():
                texts.append(answer.text.strip())
        if not texts:
            raise ModelError("no sampled response holds any text", code="no_responses")
        messages = tuple(Message(role, text) for role, text in prompt.messages)
        replies = [measured(r) for r in await ctx.scorer.score([ScoreRequest(messages, t) for t in texts])]
        statement = f"{pair.question} {pair.answer}"
        claims = [f"{pair.question} {t}" for t in texts]
        directions = await judge.entail([(c, statement) for c in claims] + [(statement, c) for c in claims])
        for failed in (*replies, *directions):
            if isinstance(failed, Exception):
                raise failed
        means = [r.mean for r in replies if isinstance(r, ScoreReply)]
        sure = [d for d in directions if isinstance(d, Entailment)]
        agreement = [self._agreement(sure[i], sure[i + len(texts)]) for i in range(len(texts))]
        return belief(means, agreement), len(set(texts))

    def _agreement(self, one: Entailment, other: Entailment) -> float:
        if self.hard:
            return float(one.entails or other.entails)
        return max(one.entailment, other.entailment)


class HardSemanticScorer(SemanticScorer):
    """The same with 0 or 1 for whether a response means the answer."""

    name: ClassVar[str] = "semantic_hard"
    hard: ClassVar[bool] = True
