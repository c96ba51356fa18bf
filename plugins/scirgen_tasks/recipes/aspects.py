"""``aspects``: needs of many parts, in the first person, that are divided into requirements (DORIS-MAE, NeurIPS 2023).

According to DORIS-MAE, needs written by a model are unreliable, so a need is a draft until a person keeps it
(``query.require_review``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict

from scirgen import Rejection, Scope, StageContext, StageResult, WorkItem
from scirgen.core.text.textmatch import words
from scirgen.plugin import AspectCategory
from scirgen_bench.tasks.records import Query
from scirgen_bench.tasks.taxonomies import needs_of
from scirgen_tasks.recipes.base import PaperMaterial, QueryRecipe, paper_materials, rejected
from scirgen_tasks.recipes.checks import coined_names, shares_run
from scirgen_tasks.recipes.decompose import (
    DecomposeReply,
    aspect_queries,
    fault_of,
    same_cover,
    sentences_of,
    sub_queries,
)
from scirgen_tasks.settings import settings

_TITLE_RUN, _ABSTRACT_RUN = 5, 8
_LEAST_WORDS, _MAX_WORDS = 95, 226
_DRAFTS = 2
_COMPOSITE = 3
_DECOMPOSITIONS = 2
_MATERIAL = (AspectCategory.OBJECTIVE, AspectCategory.METHODS, AspectCategory.CHALLENGES)


class ComplexReply(BaseModel):
    """The drafted need."""

    model_config = ConfigDict(extra="forbid")
    text: str


class AspectsRecipe(QueryRecipe):
    """One or two calls for the need and two for its aspects. One item for each paper, and one for papers that share a
    dataset."""

    name = "aspects"
    prompts = ("complex", "decompose")
    taxonomies = ("needs",)

    def items(self, papers: Sequence[PaperMaterial], scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Yield each paper, and the dataset's first two or three together."""
        yield from super().items(papers, scope, ctx)
        together = papers[:_COMPOSITE]
        if settings(ctx.config).composite and len(together) > 1:
            yield self.item(together, scope, ctx)

    async def write(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Return the need, its aspects, sub-aspects and sub-queries."""
        papers = paper_materials(item)
        if bare := [p.paper_id for p in papers if not p.abstract]:
            return StageResult(rejections=(rejected(ctx, "no_abstract", f"{bare[0]} has no abstract", "paper"),))
        need, rejections = await self._need(papers, ctx)
        if need is None:
            return StageResult(rejections=tuple(rejections))
        found, more = await self._parts(need, ctx)
        return StageResult(tuple(found), (*rejections, *more))

    async def _need(self, papers: Sequence[PaperMaterial], ctx: StageContext) -> tuple[Query | None, list[Rejection]]:
        """Return the first draft that passes its checks."""
        prompt = ctx.prompt("complex").render(
            papers=[(p.document.title, p.abstract, p.statements(*_MATERIAL)) for p in papers],
            least=_LEAST_WORDS,
            most=_MAX_WORDS,
            language=ctx.config.language,
        )
        rejections: list[Rejection] = []
        for attempt in range(_DRAFTS):
            reply = await ctx.chat.ask(prompt, ComplexReply, seed=ctx.seed("need", attempt), sample=attempt)
            text = " ".join(reply.value.text.split())
            wrong = _wrong(text, papers, needs_of(ctx.taxonomies).first_person.get(ctx.config.language, ()))
            if wrong is None:
                ids = [p.paper_id for p in papers]
                years = [p.year for p in papers if p.year is not None]
                return (
                    Query(
                        id=Query.make_id(self.name, "complex", "+".join(ids), text),
                        recipe=self.name,
                        form="complex",
                        text=text,
                        paper_id=ids[0],
                        sources=tuple(ids) if len(ids) > 1 else (),
                        year=max(years, default=None),
                        provenance=ctx.provenance(prompt, (reply.reply_key,)),
                    ),
                    rejections,
                )
            rejections.append(rejected(ctx, wrong[0], wrong[1], f"draft {attempt + 1}", text))
        return None, rejections

    async def _parts(self, need: Query, ctx: StageContext) -> tuple[list[Query], list[Rejection]]:
        """Divide the need twice. The first usable division is kept; the reviewer sees how well the other agrees."""
        sentences = sentences_of(need.text, ctx.config.language)
        prompt = ctx.prompt("decompose").render(
            sentences=[f"[{n}] {need.text[s:e]}" for n, (s, e) in enumerate(sentences, 1)]
        )
        stop = ctx.taxonomies.wording.of(ctx.config.language).stop
        usable: list[DecomposeReply] = []
        rejections: list[Rejection] = []
        keys: list[str] = []
        replies = await asyncio.gather(
            *(
                ctx.chat.ask(prompt, DecomposeReply, seed=ctx.seed("parts", number), sample=number)
                for number in range(_DECOMPOSITIONS)
            )
        )
        for number, reply in enumerate(replies):
            keys.append(reply.reply_key)
            fault = fault_of(reply.value, len(sentences), stop)
            if fault is None:
                usable.append(reply.value)
            else:
                about = f"division {number + 1}"
                rejections.append(rejected(ctx, fault.code, fault.reason, about, fault.text or reply.text))
        if not usable:
            rejections.append(rejected(ctx, "not_divided", "no division into aspects is usable", "need", need.text))
            return [], rejections
        if len(usable) > 1:
            alike = f"{same_cover(*usable[:2]):.2f}"
            need = need.model_copy(update={"fields": (("divisions agree", alike),)})
        need, parts, faults = aspect_queries(need, usable[0], sentences, stop)
        origin = ctx.provenance(prompt, keys)
        parts = [p.model_copy(update={"provenance": origin, "fields": ()}) for p in parts]
        rejections += [rejected(ctx, f.code, f.reason, f"sub-aspect {n}", f.text) for n, f in enumerate(faults, 1)]
        aspects = [p for p in parts if p.form == "aspect"]
        joined = [q.model_copy(update={"provenance": origin, "fields": ()}) for q in sub_queries(need, aspects)]
        return [need, *parts, *joined], rejections


def _wrong(text: str, papers: Sequence[PaperMaterial], first_person: Sequence[str]) -> tuple[str, str] | None:
    """Return (code, reason) of the first check that a draft fails; None if it passes all."""
    count = len(text.split())
    if not _LEAST_WORDS <= count <= _MAX_WORDS:
        return "length", f"{count} words instead of {_LEAST_WORDS} to {_MAX_WORDS}"
    if first_person and not {w for w in words(text) if w in first_person}:
        return "not_first_person", "the text is not in the first person"
    for paper in papers:
        title = paper.document.title
        if shares_run(text, title, _TITLE_RUN):
            return "copies_title", f"{_TITLE_RUN} consecutive words are from a title: {title}"
        if shares_run(text, paper.abstract, _ABSTRACT_RUN):
            return "copies_abstract", f"{_ABSTRACT_RUN} consecutive words are from the abstract of {paper.paper_id}"
        if named := [n for n in coined_names(title) if n in text]:
            return "names_method", f"the text contains the name {named[0]} from the title"
    return None
