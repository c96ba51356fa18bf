"""Faithfulness without a shift: an entailment model (``nli``) and a model asked to judge (``llm_judge``)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from scirgen.core.errors import ModelError, ScirgenError
from scirgen.core.records import QAPair, Score
from scirgen.llm.encoders.entailment import Entailment, open_entailment
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material, Need
from scirgen.stages.filter.faithfulness.batches import Batch, batches
from scirgen.stages.filter.faithfulness.windows import evidence_window, max_windows

_NOT_SCORING = frozenset({"hf", "lexical"})


class EntailmentScorer:
    """The probability that the context entails question and answer, the largest over the best passages; in [0, 1].

    Entailment models read a few hundred tokens, so the context comes in passages, or as the evidence in window
    ``evidence``; ``filter.entailment`` names the model.
    """

    name: ClassVar[str] = "nli"
    needs: ClassVar[tuple[Need, ...]] = ("entailment",)
    only_passed: ClassVar[bool] = True
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


class JudgedPair(BaseModel):
    """The verdict on one pair."""

    model_config = ConfigDict(extra="forbid")
    number: int = Field(description="the pair's number")
    verdict: Literal["supported", "contradicted", "not_stated", "unclear", "ill_posed"]
    claim: str = Field(default="", description='the claim that fails, or what the question lacks; "" where supported')


class JudgeReply(BaseModel):
    """The verdicts on all pairs of a call."""

    model_config = ConfigDict(extra="forbid")
    verdicts: list[JudgedPair]


class JudgeScorer:
    """1 where a model says that the evidence supports every claim of the answer, else 0; ``detail`` has the claim that fails.

    The same call judges the questions of supported answers: part ``question`` is 1 or 0, and the gate ``poor_question`` decides by it.
    Asks ``models.judge``, or the generator, about up to ``filter.judge_batch`` pairs a call. With ``combine: all`` only pairs that passed the scorers
    before it are judged.
    """

    name: ClassVar[str] = "llm_judge"
    needs: ClassVar[tuple[Need, ...]] = ("judge",)
    only_passed: ClassVar[bool] = True
    default_threshold: ClassVar[float] = 0.5
    prompts: ClassVar[tuple[str, ...]] = ("judge",)
    version: ClassVar[int] = 4

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        found: dict[str, Score | Exception] = {}
        groups = batches(pairs, material, ctx.config.filter.judge_batch)
        for part in await asyncio.gather(*(self._judge(batch, ctx) for batch in groups)):
            found.update(part)
        return [found[pair.id] for pair in pairs]

    async def _judge(self, batch: Batch, ctx: StageContext) -> dict[str, Score | Exception]:
        judge = ctx.judge
        listed = [
            {"number": n, "question": pair.question, "answer": pair.answer, "evidence": list(cited)}
            for n, (pair, cited) in enumerate(zip(batch.pairs, batch.cited, strict=True), 1)
        ]
        prompt = ctx.prompt("judge").render(evidence=batch.lines, pairs=listed)
        try:
            reply = await judge.ask(prompt, JudgeReply, seed=ctx.seed("judge", *(p.id for p in batch.pairs)))
        except ScirgenError as error:
            if error.fatal:
                raise
            return {pair.id: error for pair in batch.pairs}
        given = {v.number: v for v in reply.value.verdicts}
        return {
            pair.id: Score(
                name=self.name,
                value=float(given[n].verdict not in _UNSUPPORTED),
                model=str(judge.identity),
                prompt_hash=prompt.hash,
                detail=_said(given[n]),
                parts=_question(given[n]),
            )
            if n in given
            else ModelError(f"the judge said nothing of pair {n}", code="no_verdict")
            for n, pair in enumerate(batch.pairs, 1)
        }


_UNSUPPORTED = {"contradicted": "contradicted by the evidence", "not_stated": "not stated in the evidence"}
_POOR = {"unclear": "the question does not say what it means", "ill_posed": "the question is ill-posed"}


def _said(verdict: JudgedPair) -> str:
    what = {**_UNSUPPORTED, **_POOR}.get(verdict.verdict, "")
    if not what:
        return "every claim is supported"
    claim = " ".join(verdict.claim.split())[:200]
    return f"{what}: {claim}" if claim else what


def _question(verdict: JudgedPair) -> tuple[tuple[str, float], ...]:
    return () if verdict.verdict in _UNSUPPORTED else (("question", float(verdict.verdict not in _POOR)),)
