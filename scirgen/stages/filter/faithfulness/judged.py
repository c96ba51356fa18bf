"""Faithfulness without a shift: an entailment model (``nli``) and a model asked to judge (``llm_judge``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from scirgen.core.errors import ModelError, ScirgenError
from scirgen.core.records import QAPair, Score
from scirgen.llm.encoders.entailment import Entailment, open_entailment
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.faithfulness.windows import evidence_window, max_windows

_NOT_SCORING = frozenset({"hf", "lexical"})


class EntailmentScorer:
    """The probability that the context entails question and answer, the largest over the best passages; in [0, 1].

    Entailment models read a few hundred tokens, so the context comes in passages, or as the evidence in window
    ``evidence``; ``filter.entailment`` names the model.
    """

    name: ClassVar[str] = "nli"
    needs_logprobs: ClassVar[bool] = False
    default_threshold: ClassVar[float] = 0.5
    prompts: ClassVar[tuple[str, ...]] = ("entail",)
    version: ClassVar[int] = 1

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        config = ctx.config
        uri = config.filter.entailment
        scorer = None if uri.partition(":")[0] in _NOT_SCORING else ctx.score_session
        judge = open_entailment(uri, ctx.registry, config.models.options, scorer, ctx.prompt("entail"))
        windows = [
            [evidence_window(p, material)] if config.filter.window == "evidence" else max_windows(p, material)
            for p in pairs
        ]
        asked = [(w.text, f"{p.question} {p.answer}") for p, ws in zip(pairs, windows, strict=True) for w in ws]
        results = await judge.entail(asked)
        scores: list[Score | Exception] = []
        at = 0
        for ws in windows:
            mine = results[at : at + len(ws)]
            at += len(ws)
            failed = next((r for r in mine if isinstance(r, Exception)), None)
            if failed is not None or not mine:
                scores.append(failed or ModelError("there is no context to judge against", code="no_context"))
                continue
            best = max(r.entailment for r in mine if isinstance(r, Entailment))
            detail = f"largest of {len(mine)} passages"
            scores.append(Score(name=self.name, value=best, model=judge.identity, detail=detail))
        return scores


class JudgeScorer:
    """1 where the run's generator says that the context supports all of the answer, else 0."""

    name: ClassVar[str] = "llm_judge"
    needs_logprobs: ClassVar[bool] = False
    default_threshold: ClassVar[float] = 0.5
    prompts: ClassVar[tuple[str, ...]] = ("judge",)
    version: ClassVar[int] = 1

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        scores: list[Score | Exception] = []
        for pair in pairs:
            whole = ctx.config.filter.window == "full"
            context = material.context if whole else evidence_window(pair, material).text
            prompt = ctx.prompt("judge").render(context=context, question=pair.question, answer=pair.answer)
            try:
                answer = await ctx.chat.choose(prompt, ("yes", "no"), seed=ctx.seed("judge", pair.id))
            except ScirgenError as error:
                if error.fatal:
                    raise
                scores.append(error)
                continue
            scores.append(
                Score(
                    name=self.name,
                    value=1.0 if answer.text.strip().lower() == "yes" else 0.0,
                    model=str(ctx.chat.identity),
                    prompt_hash=prompt.hash,
                    detail=f"reply {answer.reply_key}",
                )
            )
        return scores
