"""Stage 6, the second pass: selects the statements of a paper that are kept for a dataset, each with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scirgen.core.config import Config
from scirgen.core.records import OWN, Aspect, Dataset, Document, Link, Rejection
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.verify.judging import judge_aspects
from scirgen.stages.verify.rules import Verdict, screen


class VerifyStage(Stage):
    """One item is a dataset and a linked paper. Kept and rejected aspects together are the paper's extracted ones."""

    name = "verify"
    version = 6

    def uses(self, config: Config) -> Uses:
        """Its prompt, the aspects' definitions and cues, and the model."""
        return Uses(config=("verify",), prompts=("verify/keep",), taxonomies=("aspects",), roles=("generator",))

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """One item for each linked paper with extracted statements."""
        aspects = scope.outputs("extract", Aspect)
        for link in scope.outputs("match", Link):
            of_paper = tuple(a for a in aspects if a.paper_id == link.paper_id)
            if link.used and of_paper:
                documents = [d for d in scope.outputs("parse", Document) if d.paper_id == link.paper_id]
                yield WorkItem(link.id, (scope.dataset, link, *documents[:1], *of_paper))

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Apply the rules, then judge the other statements."""
        dataset = item.one(Dataset)
        left, verdicts = screen(item.of(Aspect))
        if item.one(Link).found_by == OWN:
            verdicts = [*verdicts, *(Verdict(a, True, "The record is made from this paper.") for a in left)]
        elif left:
            verdicts = [*verdicts, *await self.judge(item, left, ctx)]
        kept = sorted((v for v in verdicts if v.keep), key=lambda v: (v.aspect.span.start, v.aspect.category))
        gone = sorted((v for v in verdicts if not v.keep), key=lambda v: (v.aspect.span.start, v.aspect.category))
        return StageResult(tuple(_kept(v, dataset, ctx) for v in kept), tuple(_rejected(v, dataset, ctx) for v in gone))

    async def judge(self, item: WorkItem, aspects: Sequence[Aspect], ctx: StageContext) -> list[Verdict]:
        """Decide about the aspects that the rules leave open."""
        return await judge_aspects(item.one(Dataset), aspects, ctx)


def _kept(verdict: Verdict, dataset: Dataset, ctx: StageContext) -> Aspect:
    provenance = ctx.provenance(replies=verdict.replies)
    if verdict.prompt:
        provenance = provenance.model_copy(update={"prompt": verdict.prompt, "model": str(ctx.chat.identity)})
    update = {"dataset_id": dataset.id, "reason": verdict.reason, "provenance": provenance}
    return verdict.aspect.model_copy(update=update)


def _rejected(verdict: Verdict, dataset: Dataset, ctx: StageContext) -> Rejection:
    judged = _kept(verdict, dataset, ctx)
    return ctx.reject(verdict.code, verdict.reason, judged, provenance=judged.provenance)
