"""Stage 6, the second pass: selects the statements of a paper that are kept for a dataset, each with a reason."""

from __future__ import annotations

from collections.abc import Iterable

from scirgen.core.config import Config
from scirgen.core.records import Aspect, Dataset, Document, Link, Rejection
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.verify.judging import judge_aspects
from scirgen.stages.verify.one_sentence_at_a_time import judge_singly
from scirgen.stages.verify.rules import Verdict, screen


class VerifyStage(Stage):
    """One item is a dataset and a paper that it is linked to. Kept and rejected aspects together are the paper's extracted ones."""

    name = "verify"
    version = 5

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
        if left:
            if ctx.chat.pack == "small":
                judged = await judge_singly(dataset, item.one(Link), _title(item), left, ctx)
            else:
                judged = await judge_aspects(dataset, left, ctx)
            verdicts = [*verdicts, *judged]
        kept = sorted((v for v in verdicts if v.keep), key=lambda v: (v.aspect.span.start, v.aspect.category))
        gone = sorted((v for v in verdicts if not v.keep), key=lambda v: (v.aspect.span.start, v.aspect.category))
        return StageResult(tuple(_kept(v, dataset, ctx) for v in kept), tuple(_rejected(v, dataset, ctx) for v in gone))


def _title(item: WorkItem) -> str:
    return next((d.title for d in item.of(Document)), "")


def _kept(verdict: Verdict, dataset: Dataset, ctx: StageContext) -> Aspect:
    provenance = ctx.provenance(replies=verdict.replies)
    if verdict.prompt:
        provenance = provenance.model_copy(update={"prompt": verdict.prompt, "model": str(ctx.chat.identity)})
    update = {"dataset_id": dataset.id, "reason": verdict.reason, "provenance": provenance}
    return verdict.aspect.model_copy(update=update)


def _rejected(verdict: Verdict, dataset: Dataset, ctx: StageContext) -> Rejection:
    judged = _kept(verdict, dataset, ctx)
    return ctx.reject(verdict.code, verdict.reason, judged, provenance=judged.provenance)
