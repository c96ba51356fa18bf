"""The strategy ``evidence``: a rule chooses verbatim evidence that suits the type, and the model writes one pair about it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import product
from typing import ClassVar, get_args

from scirgen.core.errors import ReplyInvalidError, ReplyRefusedError, ReplyTruncatedError
from scirgen.core.records import Span
from scirgen.core.text.language import language_name
from scirgen.stages.base import StageContext
from scirgen.stages.generate.joint import wish_view
from scirgen.stages.generate.passages import choose_evidence, further_evidence, partner
from scirgen.stages.generate.replies import pair_reply
from scirgen.stages.generate.small.writer import SmallWriter, holds_answer
from scirgen.stages.generate.strategy import About, Discard, Draft, Passage, Task, Wish


class EvidenceStrategy:
    """One pair per call (two plain-text calls with the small pack), with the spans from which it was made."""

    name: ClassVar[str] = "evidence"
    version: ClassVar[int] = 8
    prompts: ClassVar[tuple[str, ...]] = ("evidence", "question", "answer")
    writes_together: ClassVar[bool] = False

    async def generate(self, task: Task, ctx: StageContext) -> Sequence[Draft | Discard]:
        """One draft or discard for each wish; the calls of a task run concurrently."""
        work = []
        used: list[Span] = []
        for kind, about in product(task.kinds, (None, *get_args(About))):
            wishes = [w for w in task.wishes if w.kind is not None and w.kind.id == kind.id and w.about == about]
            if not wishes:
                continue
            seed = ctx.seed(kind.id, task.round)
            passages = tuple(p for p in task.passages if about is None or p.about == about)
            if ctx.chat.pack == "small":
                # The small writer takes the answer from the sentence, so the sentence must hold one.
                texts = [p.text for p in passages]
                opposites = ctx.taxonomies.wording.of(ctx.config.language).opposites
                passages = tuple(p for p in passages if holds_answer(p.text, kind, texts, opposites))
            chosen = choose_evidence(passages, kind, len(wishes), seed, used)
            if len(chosen) < len(wishes):
                # With little material, the types of an adaptive task may share a sentence.
                chosen += choose_evidence(passages, kind, len(wishes) - len(chosen), seed, [p.span for p in chosen])
            used += [p.span for p in chosen]
            spare = further_evidence(passages, kind, seed, used) if kind.polar else []
            for number, wish in enumerate(wishes):
                first = chosen[number] if number < len(chosen) else None
                # Each wish begins with passages of its own; the others are tried only if none of these works.
                mine = spare[number :: len(wishes)]
                work.append(self._one(task, wish, first, number, ctx, [*mine, *(p for p in spare if p not in mine)]))
        return await asyncio.gather(*work)

    async def _one(
        self,
        task: Task,
        wish: Wish,
        first: Passage | None,
        number: int,
        ctx: StageContext,
        further: Sequence[Passage],
    ) -> Draft | Discard:
        kind = wish.kind
        assert kind is not None
        if first is None:
            return Discard(kind, "no_evidence", "no further passage suits this type of question")
        second = partner(first, task.passages, kind, ctx.seed(kind.id, number)) if kind.hops > 1 else None
        evidence = [first, *([second] if second else [])]
        if ctx.chat.pack == "small":
            return await SmallWriter(task, wish, evidence, number, ctx, further).write()
        prompt = ctx.prompt("evidence").render(
            kind=kind,
            samples=kind.examples_for(ctx.config.domain),
            topic=first.topic or task.dataset.title,
            evidence=[" ".join((*(s.text for s in p.context), p.text)) for p in evidence],
            wish=wish_view(wish, ctx),
            language=language_name(ctx.config.language),
        )
        reply = pair_reply(kind, ctx.taxonomies.wording.of(ctx.config.language))
        try:
            answer = await ctx.chat.ask(prompt, reply, seed=ctx.seed(kind.id, task.round, number), sample=number)
        except (ReplyInvalidError, ReplyTruncatedError, ReplyRefusedError) as error:
            return Discard(kind, error.error_code, error.message, prompt=prompt)
        pair = answer.value
        spans = tuple(s for p in evidence for s in (*p.context, p.span))
        return Draft(
            kind, pair.question, pair.answer, spans, bloom=wish.bloom, prompt=prompt, replies=(answer.reply_key,)
        )
