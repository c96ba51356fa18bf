"""SePer as published (Dai et al., ICLR 2025): belief in an answer's meaning, over sampled responses and entailment."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import ClassVar, Final

from scirgen import (
    ConfigError,
    Entailment,
    Faithfulness,
    Material,
    ModelError,
    QAPair,
    ScirgenError,
    Score,
    ScoreReply,
    ScoreRequest,
    StageContext,
)
from scirgen.llm.encoders.entailment import EntailmentModel, content_identity
from scirgen.plugin import Message, RenderedPrompt
from scirgen.stages.filter.base import Need
from scirgen.stages.filter.faithfulness.judged import entailment_model
from scirgen.stages.filter.faithfulness.shift import measured
from scirgen.stages.filter.faithfulness.windows import evidence_window
from scirgen_bench.answer_metrics import entailments
from scirgen_bench.settings import SemanticConfig

BOUND: Final = 0.5
"""Threshold of Algorithm 1: from this probability on a text entails, or contradicts, another."""


def weights(means: Sequence[float]) -> list[float]:
    """Return the responses' length-normalised likelihoods ``exp(mean log p)``, normalised to sum to 1."""
    top = max(means)
    found = [math.exp(m - top) for m in means]
    return [w / sum(found) for w in found]


def belief(means: Sequence[float], agreement: Sequence[float]) -> float:
    """Return soft SePer: ``sum_i w_i k(r_i, a)`` with the `weights` w and k in [0, 1], the larger of the two
    directions' entailment probabilities.

    Args:
        means: mean log-probability per token of each sampled response.
        agreement: k of each response with the answer.
    """
    return sum(w * k for w, k in zip(weights(means), agreement, strict=True))


def clusters(texts: Sequence[str], entailed: Mapping[tuple[str, str], Entailment]) -> list[int]:
    """Return the cluster of each response, numbered from 0: it means the same as the first one, its representative.

    Two responses mean the same if each entails the other (Kuhn et al., ICLR 2023, Algorithm 1). A response joins the
    first cluster that fits; the authors' code takes the last, which differs only where entailment is not transitive.

    Args:
        texts: the sampled responses; equal texts mean the same.
        entailed: of each ordered pair of different texts.
    """

    def same(one: str, other: str) -> bool:
        return one == other or min(entailed[one, other].entailment, entailed[other, one].entailment) >= BOUND

    representatives: list[str] = []
    found = []
    for text in texts:
        number = next((n for n, first in enumerate(representatives) if same(first, text)), len(representatives))
        if number == len(representatives):
            representatives.append(text)
        found.append(number)
    return found


def means_answer(forth: Entailment, back: Entailment) -> bool:
    """Return hard SePer: whether a representative means the answer: it entails the answer or is entailed, and neither
    contradicts the other."""
    against = max(forth.contradiction, back.contradiction) >= BOUND
    return max(forth.entailment, back.entailment) >= BOUND and not against


class SemanticScorer(Faithfulness):
    """``SePer(with the context) - SePer(without)``, in [-1, 1].

    Samples ``semantic.samples`` responses each way, weighs them by their likelihood, and asks the entailment
    model ``filter.entailment`` in both directions. One model samples and weighs, so the generator must be the scorer.
    It takes dozens of calls per pair, so it suits studies and small sets. ``parts`` has both beliefs.
    """

    name: ClassVar[str] = "semantic"
    needs: ClassVar[tuple[Need, ...]] = ("generator", "scorer", "entailment")
    prompts: ClassVar[tuple[str, ...]] = ("respond",)

    def check(self, ctx: StageContext) -> None:
        """Refuse a generator that is not the scorer.

        Raises:
            ConfigError: responses of one model would be weighed by another's likelihoods.
        """
        writer, scorer = ctx.chat.identity, ctx.scorer.identity
        if (writer.backend, writer.name) != (scorer.backend, scorer.name):
            raise ConfigError(
                f"{self.name} needs one model to sample responses and to weigh them; "
                f"the generator is {writer}, the scorer {scorer}",
                hint="Leave out --scorer if the generator gives log-probabilities, or use another score: shift, nli.",
            )

    def identity(self, ctx: StageContext) -> str:
        return f"{content_identity(ctx.config.filter.entailment, ctx.registry)} {_settings(ctx).model_dump_json()}"

    def why(self, score: Score) -> str:
        return (
            "answers sampled with the evidence agree with this one barely more often than those without it: "
            + score.detail
        )

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        self.check(ctx)
        judge = entailment_model(ctx)
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
        context = material.context if kind == "full" else evidence_window(pair, material)
        given, with_said = await self._seper(pair, context, ctx, judge)
        alone, without_said = await self._seper(pair, "", ctx, judge)
        return Score(
            name=self.name,
            value=given - alone,
            model=f"{ctx.scorer.identity}, {judge.identity}",
            prompt_hash=ctx.prompt("respond").hash,
            parts=(("with", given), ("without", alone)),
            detail=f"with {given:.4f} over {with_said}, without {alone:.4f} over {without_said}",
        )

    async def _seper(self, pair: QAPair, context: str, ctx: StageContext, judge: EntailmentModel) -> tuple[float, str]:
        """Belief in the answer, and the window over which it was measured."""
        prompt = ctx.prompt("respond").render(question=pair.question, context=context)
        texts = await self._sampled(pair, prompt, "with" if context else "without", ctx)
        messages = tuple(Message(role, text) for role, text in prompt.messages)
        replies = [measured(r) for r in await ctx.scorer.score([ScoreRequest(messages, t) for t in texts])]
        for failed in replies:
            if isinstance(failed, Exception):
                raise failed
        means = [r.mean for r in replies if isinstance(r, ScoreReply)]
        return await self._belief(pair, texts, means, judge)

    async def _belief(
        self, pair: QAPair, texts: Sequence[str], means: Sequence[float], judge: EntailmentModel
    ) -> tuple[float, str]:
        distinct = list(dict.fromkeys(texts))
        found = await self._entailed(pair, [w for t in distinct for w in ((t, pair.answer), (pair.answer, t))], judge)
        agreement = [max(found[t, pair.answer].entailment, found[pair.answer, t].entailment) for t in texts]
        return belief(means, agreement), f"{len(distinct)} different responses"

    async def _sampled(self, pair: QAPair, prompt: RenderedPrompt, way: str, ctx: StageContext) -> list[str]:
        settings = _settings(ctx)
        answers = await asyncio.gather(
            *(
                ctx.chat.ask_text(
                    prompt,
                    seed=ctx.seed("semantic", pair.id, way, sample),
                    sample=sample,
                    temperature=1.0,
                    max_tokens=settings.tokens,
                )
                for sample in range(settings.samples)
            )
        )
        texts = [text for answer in answers if (text := answer.text.strip())]
        if not texts:
            raise ModelError("all sampled responses are empty", code="no_responses")
        return texts

    async def _entailed(
        self, pair: QAPair, wanted: Sequence[tuple[str, str]], judge: EntailmentModel
    ) -> dict[tuple[str, str], Entailment]:
        """Entailment of pairs of answers, each after its question, as in the authors' code."""
        before = "" if judge.counts_words else f"{pair.question} "
        asked = [(before + one, before + other) for one, other in wanted]
        found: dict[tuple[str, str], Entailment] = {}
        for ways, result in zip(wanted, await entailments(asked, judge), strict=True):
            if isinstance(result, Exception):
                raise result
            found[ways] = result
        return found


def _settings(ctx: StageContext) -> SemanticConfig:
    return ctx.config.part("semantic", SemanticConfig)


class HardSemanticScorer(SemanticScorer):
    """Hard SePer: responses form semantic clusters; the belief is the weight of those whose representative means the
    answer."""

    name: ClassVar[str] = "semantic_hard"

    async def _belief(
        self, pair: QAPair, texts: Sequence[str], means: Sequence[float], judge: EntailmentModel
    ) -> tuple[float, str]:
        distinct = list(dict.fromkeys(texts))
        numbers = clusters(texts, await self._entailed(pair, list(permutations(distinct, 2)), judge))
        first = dict(zip(reversed(numbers), reversed(texts), strict=True))
        ways = [w for t in first.values() for w in ((t, pair.answer), (pair.answer, t))]
        found = await self._entailed(pair, ways, judge)
        right = {n for n, t in first.items() if means_answer(found[t, pair.answer], found[pair.answer, t])}
        mass = sum(w for w, n in zip(weights(means), numbers, strict=True) if n in right)
        return mass, f"{len(right)} of {len(first)} clusters of {len(texts)} responses"
