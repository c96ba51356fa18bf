"""Stage 6, the second pass: selects the statements of a paper that are kept for a dataset, each with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from rapidfuzz import fuzz

from scirgen.core.config import Config
from scirgen.core.grouped import grouped
from scirgen.core.records import OWN, Aspect, Dataset, Document, Link, Rejection, Span, abouts
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem

_SAME = 93.0
_LEAST_WORDS = 4
_NUMBERS = re.compile(r"\d+")
_HAN = re.compile(r"[一-鿿]")
_ITEM = re.compile(r"^(?:[•‣◦▪●■*–—-]|\(?(?:[a-z]|[ivx]{1,4}|\d{1,2})[.)])\s+")
_BEGINS = re.compile(r"[\"'“‘«(\[]?[^\s,;:.)\]}!?]")
_LOWER = re.compile(r"[a-zà-ÿ]+(?![\w-]*[A-Z\d])\b")
"""A first word in lower case without a capital or a digit: the rest of a sentence, not a name such as "pH"."""
_ENDS = re.compile(
    r"[.!?:;。！？：；][\"'”’»)\]]*(?:\s?\[[^\]]{1,40}\])?(?:\s?\([^)]{1,60}\)\.?)?(?:\d{1,3}(?:[,–-]\d{1,3})*)?$"
)
_CUT = re.compile(r"(?:[-–,(\[]|\b(?:and|or|the|an?|of|to|with|in|by|for|from|at|on|as|than|that|which))$")
_EXPLAINS = re.compile(r"[^\W\d_][\w/-]{0,14}: [a-z]")
"""A note that explains a table's codes ("CC: maximum cyclomatic complexity"): it seldom ends with a stop."""
_FLOAT = r"(?:figs?\.?|figures?|tabs?\.?|tables?|eqs?\.?|equations?|appendix)"
_POINTS = re.compile(
    rf"^(?:see |as (?:shown|listed|given) in (?:the )?{_FLOAT}\b[^,]*\.?$"
    rf"|{_FLOAT}\s?\S{{1,6}} (?:shows?|lists?|gives?|presents?|summari[sz]es?|illustrates?|depicts?|displays?"
    r"|contains?)\b(?! that)"
    r"|.{0,60}\b(?:is|are) (?:shown|listed|given|presented|summari[sz]ed|depicted|illustrated) in (?:the )?"
    r"(?:fig|tab|supp|appendix)\S*(?: \S+)?\.?$)",
    re.I,
)
_LEANS = re.compile(
    r"^(?:among them|of these|for this reason)\b"
    r"|\b(?:the above|aforementioned|above-mentioned)\b"
    r"|^(?!during|following)(?:\w+ing (?:their|its|them|it)\b[^,]*$|the \w+ of (?:their|its|them|it)\b)"
    r"|^(?!it (?:is|was|(?:has|had|may|can|could) (?:\w+ )?be(?:en)?) (?:(?:not )?(?:[\w-]+ ){1,3}"
    r"(?:to|that|whether|why|how)|(?!an? |[^.]*\bthan\b)(?:[\w-]+ ){4,6}that)\b)"
    r"(?:it|they|he|she|its|their|this|these|those|that|such|the (?:former|latter|other)) "
    r"(?:is|are|was|were|has|have|had|can|may|could|did|does)\b",
    re.I,
)


@dataclass(frozen=True)
class Verdict:
    """The decision to keep an aspect or not, with the reason; with the rejection code if not."""

    aspect: Aspect
    keep: bool
    reason: str
    code: str = ""
    prompt: str = ""
    replies: tuple[str, ...] = ()


def incomplete(text: str, *, alone: bool = True) -> str:
    """Return why a text is a fragment or cannot be understood; "" if it can. ``alone``: nothing states its subject."""
    line = " ".join(text.split())
    item = _ITEM.match(line)
    words = line[item.end() :] if item else line
    if not _HAN.search(words):
        if not _BEGINS.match(words) or (not item and _LOWER.match(words)):
            return "it does not begin like a sentence"
        if len(words.split()) < _LEAST_WORDS:
            return "it is too short to be understood alone"
    if _CUT.search(words) or not (item or _EXPLAINS.match(words) or _ENDS.search(words)):
        return "it does not end like a sentence"
    if words.count("(") != words.count(")") or words.count("[") != words.count("]"):
        return "a bracket is open: part of it is missing"
    if _POINTS.match(words):
        return "it only points at a figure, table or equation"
    if alone and _LEANS.search(words):
        return "it does not say what it is about"
    return ""


def screen(aspects: Sequence[Aspect]) -> tuple[list[Aspect], list[Verdict]]:
    """Return the aspects that the rules leave open, in order, and verdicts on the others."""
    undecided: list[Aspect] = []
    out: list[Verdict] = []
    for aspect in sorted(aspects, key=lambda a: (a.span.start, a.span.end, a.category)):
        why = "" if aspect.cells else incomplete(aspect.span.text, alone=not aspect.context)
        if why:
            out.append(Verdict(aspect, False, why, "incomplete"))
        elif (same := _repeated(aspect, undecided)) is not None:
            why = f"it says the same as a sentence on page {same.span.page or '?'} that is kept"
            out.append(Verdict(aspect, False, why, "redundant"))
        else:
            undecided.append(aspect)
    return undecided, out


def _place(aspect: Aspect) -> tuple[str, int, int, tuple[Span, ...]]:
    return aspect.span.document_id, aspect.span.start, aspect.span.end, aspect.cells


def _repeated(aspect: Aspect, kept: Sequence[Aspect]) -> Aspect | None:
    """Return a kept statement of any aspect that says the same: equal cells below one caption, or nearly the same
    words and the same numbers; papers often repeat their abstract."""
    others = (k for k in kept if _place(k) != _place(aspect))
    if aspect.cells:
        return next((k for k in others if (k.text, k.context) == (aspect.text, aspect.context)), None)
    return next((k for k in others if _near(k.text, aspect.text)), None)


def _near(one: str, other: str) -> bool:
    return fuzz.token_sort_ratio(one, other) >= _SAME and _NUMBERS.findall(one) == _NUMBERS.findall(other)


class VerifyStage(Stage):
    """One item is a dataset and a linked paper. Kept and rejected aspects together are the paper's extracted ones."""

    name = "verify"
    version = 8

    def uses(self, config: Config) -> Uses:
        """Return its prompt, the aspects' definitions and cues, and the model."""
        return Uses(prompts=("verify/keep",), taxonomies=("aspects",), roles=("generator",))

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Yield one item for each linked paper with extracted statements."""
        aspects = scope.outputs("extract", Aspect)
        for link in scope.outputs("match", Link):
            of_paper = {a.id: a for a in aspects if a.paper_id == link.paper_id}  # two sections may find the same note
            if link.used and of_paper:
                documents = [d for d in scope.outputs("parse", Document) if d.paper_id == link.paper_id]
                yield WorkItem(link.id, (scope.dataset, link, *documents[:1], *of_paper.values()))

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        dataset = item.one(Dataset)
        undecided, verdicts = screen(item.of(Aspect))
        if item.one(Link).found_by == OWN:
            verdicts = [*verdicts, *(Verdict(a, True, "The record is made from this paper.") for a in undecided)]
        elif undecided:
            verdicts = [*verdicts, *await self.judge(item, undecided, ctx)]
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


_BATCH = 80
_WHY = {
    "irrelevant": "of no use to somebody who wants to understand or use the dataset",
    "redundant": "another sentence says the same",
    "incomplete": "it cannot be understood alone",
    "wrong_category": "it is not of the kind it was given for",
}


class Removed(BaseModel):
    """A sentence to remove."""

    model_config = ConfigDict(extra="forbid")
    number: int
    fault: Literal["irrelevant", "redundant", "incomplete", "wrong_category"]


class VerifyReply(BaseModel):
    """The sentences that are not kept; all others are."""

    model_config = ConfigDict(extra="forbid")
    remove: list[Removed] = Field(description="empty where every sentence is worth keeping")


async def judge_aspects(dataset: Dataset, aspects: Sequence[Aspect], ctx: StageContext) -> list[Verdict]:
    """Ask about all aspects of a paper, eighty sentences per call. A removal needs one of four codes; others stay."""
    ordered = sorted(aspects, key=lambda a: (a.span.start, a.span.end))
    groups = list(grouped((_place(aspect), aspect) for aspect in ordered).values())
    verdicts: list[Verdict] = []
    for first in range(0, len(groups), _BATCH):
        batch = groups[first : first + _BATCH]
        prompt = ctx.prompt("keep").render(
            metadata=dataset.text,
            aspects=[(a.id.value, a.definition) for a in ctx.taxonomies.aspects.aspects],
            sentences=_shown(batch),
        )
        reply = await ctx.chat.ask(prompt, VerifyReply, seed=ctx.seed(first))
        faults = {r.number: r.fault for r in reply.value.remove}
        for number, group in enumerate(batch, 1):
            fault = faults.get(number, "")
            why = _WHY[fault] if fault else "the second pass kept it"
            verdicts += [Verdict(a, not fault, why, fault, prompt.reference, (reply.reply_key,)) for a in group]
    return verdicts


def _shown(batch: Sequence[Sequence[Aspect]]) -> list[str]:
    """Return the numbered sentences, each with its kinds and, where it does not say so itself, what it is about."""
    lines = []
    told = abouts((group[0].context, group[0].context_span) for group in batch)
    for number, (group, about) in enumerate(zip(batch, told, strict=True), 1):
        kinds = ", ".join(a.category.value.replace("_", " ") for a in group)
        said = f"; about {about}" if about else ""
        lines.append(f"[{number}] ({kinds}{said}) {' '.join(group[0].text.split())}")
    return lines
