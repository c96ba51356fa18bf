"""Faithfulness without a shift: an entailment model (``nli``) and a model asked to judge (``llm_judge``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal

from scirgen.core.errors import ModelError
from scirgen.core.records import GUESSED, QAPair, Score
from scirgen.core.registry import returned_list
from scirgen.llm.encoders.entailment import Entailment, EntailmentModel, content_identity, open_entailment
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Faithfulness, Material, Need
from scirgen.stages.filter.faithfulness.batches import (
    Batch,
    Reply,
    Told,
    ask_each,
    evidence_batches,
    no_verdict,
    numbered,
    reply_to,
)
from scirgen.stages.filter.faithfulness.windows import evidence_window


def entailment_model(ctx: StageContext) -> EntailmentModel:
    """Return the model that ``filter.entailment`` names."""
    return open_entailment(ctx.config.filter.entailment, ctx.registry, ctx.config.models.options)


class EntailmentScorer(Faithfulness):
    """The probability that the evidence entails question and answer, in [0, 1]; without evidence, the three passages
    most similar to the pair.

    ``filter.entailment`` names the model. ``parts`` has the probability of a contradiction.
    """

    name: ClassVar[str] = "nli"
    needs: ClassVar[tuple[Need, ...]] = ("entailment",)
    only_unsure: ClassVar[bool] = True
    default_threshold: ClassVar[float] = 0.5
    version: ClassVar[int] = 5

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        judge = entailment_model(ctx)
        asked = [(evidence_window(p, material), f"{p.question} {p.answer}") for p in pairs]
        given = await judge.entail(asked)
        results = returned_list(judge.entail, given, (Entailment, ModelError), "an Entailment", len(asked))
        return [
            Score(
                name=self.name,
                value=found.entailment,
                model=judge.identity,
                parts=(("contradiction", round(found.contradiction, 6)),),
            )
            if isinstance(found, Entailment)
            else found
            for found in results
        ]

    def identity(self, ctx: StageContext) -> str:
        return content_identity(ctx.config.filter.entailment, ctx.registry)

    def why(self, score: Score) -> str:
        return "the evidence does not entail the answer"


PAIRS: Final = 12
"""The largest number of pairs in a call of the judge."""
JudgeVerdict = Literal["supported", "minor", "contradicted", "not_stated", "order", "unclear", "ill_posed"]


class JudgeReply(Reply):
    """``faults`` of the pairs that are not supported, then of all pairs of a call the verdicts, ``p1``, ``p2``..., the
    levels, ``l1``..., the texts that only say what or where, ``c1``..., and what memory alone gives, ``g1``..."""


class JudgeScorer(Faithfulness):
    """1 where a model says that the evidence supports every claim of the answer, else 0; ``detail`` has the claim
    that fails.

    Asks ``models.judge``, or the generator, about every pair, `PAIRS` in a call. The same call judges the questions of
    supported answers (part ``question`` is 1 or 0; ``detail`` has the fault), names the Bloom levels (`Score.level`),
    says which spans only say what or where the answer is about (`Score.context`), and whether a model's answer without
    documents has the main part (part ``guessed``, `QAPair.guessable`).
    """

    name: ClassVar[str] = "llm_judge"
    needs: ClassVar[tuple[Need, ...]] = ("judge",)
    default_threshold: ClassVar[float] = 0.5
    prompts: ClassVar[tuple[str, ...]] = ("judge",)
    version: ClassVar[int] = 12

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        found = await ask_each(evidence_batches(pairs, material, PAIRS), lambda batch: self._judge(batch, ctx))
        return [found[pair.id] for pair in pairs]

    async def _judge(self, batch: Batch[Told], ctx: StageContext) -> dict[str, Score | Exception]:
        every = list(enumerate(zip(batch.pairs, batch.cited, strict=True), 1))
        listed = [
            {"number": n, "question": pair.question, "answer": pair.answer, "evidence": list(dict.fromkeys(cited)),
             "memory": pair.from_memory or ""}
            for n, (pair, cited) in every
        ]  # fmt: skip
        remembered = [n for n, (pair, _) in every if pair.from_memory]
        bloom = ctx.taxonomies.bloom
        prompt = ctx.prompt("judge").render(
            evidence=list(numbered(batch.texts)), pairs=listed, remembered=remembered, levels=bloom.levels,
            tie_breaking=bloom.tie_breaking,
        )  # fmt: skip
        levels: Any = Literal[tuple(level.id for level in bloom.levels)]
        wanted = reply_to(
            JudgeReply, [n for n, _ in every], p=(JudgeVerdict, None), l=(levels, None), c=(list[int], [])
        )
        wanted = reply_to(wanted, remembered, g=(Literal["missed", "stated"], None))
        said = (await ctx.judge.ask(prompt, wanted, seed=ctx.seed("judge", *(p.id for p in batch.pairs)))).value
        found: dict[str, Score | Exception] = {}
        for n, (pair, cited) in every:
            verdict, fault = getattr(said, f"p{n}"), said.fault(n)
            if verdict is None:
                found[pair.id] = no_verdict(n)
                continue
            found[pair.id] = Score(
                name=self.name,
                value=float(verdict not in _UNSUPPORTED),
                model=str(ctx.judge.identity),
                prompt_hash=prompt.hash,
                detail=f"{_SAID[verdict]}: {fault}" if fault and verdict != "supported" else _SAID[verdict],
                parts=_parts_of(verdict, getattr(said, f"g{n}", None)),
                level=getattr(said, f"l{n}"),
                context=_context(cited, getattr(said, f"c{n}")) if pair.evidence else None,
            )
        return found


def _parts_of(verdict: JudgeVerdict, memory: str | None) -> tuple[tuple[str, float], ...]:
    # What memory gives counts also where the answer is doubted: a second look may keep it.
    guessed = () if memory is None else ((GUESSED, float(memory == "stated")),)
    if verdict in _UNSUPPORTED:
        return (*((("order", 1.0),) if verdict == "order" else ()), *guessed)
    return (("question", float(verdict in ("supported", "minor"))), *guessed)


def _context(cited: Sequence[int], context_lines: Sequence[int]) -> tuple[int, ...] | None:
    """Return the places of the spans whose text is named; None if no span would be left to carry the answer."""
    found = tuple(at for at, number in enumerate(cited) if number in context_lines)
    return found if len(found) < len(cited) else None


_UNSUPPORTED = frozenset({"contradicted", "not_stated", "order"})
_SAID: dict[JudgeVerdict, str] = {
    "supported": "every claim is supported",
    "minor": "supported but for a small flaw",
    "contradicted": "contradicted by the evidence",
    "not_stated": "not stated in the evidence",
    "order": "answer or evidence tells its reader or a program what to do",
    "unclear": "the question does not say what it means",
    "ill_posed": "the question is ill-posed",
}
