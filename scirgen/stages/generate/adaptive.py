"""The strategy for datasets without papers: the model chooses the types that the metadata can answer best, then one
pair of each is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from scirgen.core.errors import ReplyInvalidError, ReplyRefusedError, ReplyTruncatedError
from scirgen.core.taxonomy import QuestionType
from scirgen.stages.base import StageContext
from scirgen.stages.generate.evidence import EvidenceStrategy
from scirgen.stages.generate.material import record_pieces
from scirgen.stages.generate.passages import fitness
from scirgen.stages.generate.replies import type_choice
from scirgen.stages.generate.strategy import Discard, Draft, GenerationStrategy, Task, Wish


class AdaptiveStrategy:
    """Chooses a type for each wish that has none; another strategy writes (ScIRGen, section 2.2).

    A strong model may choose fewer types than there are wishes. It is not asked if there is nothing to choose. A small
    model is offered only types for which a passage of the metadata holds evidence.
    """

    name: ClassVar[str] = "adaptive"
    version: ClassVar[int] = 2
    prompts: ClassVar[tuple[str, ...]] = ("types", *EvidenceStrategy.prompts)
    writes_together: ClassVar[bool] = False

    def __init__(self, writer: GenerationStrategy | None = None) -> None:
        self._writer = writer or EvidenceStrategy()

    async def generate(self, task: Task, ctx: StageContext) -> Sequence[Draft | Discard]:
        """One draft or discard for each wish."""
        small = ctx.chat.pack == "small"
        offered = tuple(k for k in task.kinds if not small or any(fitness(p, k) > 0 for p in task.passages))
        count = min(len(task.wishes), len(offered))
        chosen = await self._choose(task, offered, count, ctx) if count else []
        paired = zip(task.wishes, chosen, strict=False)
        wishes = tuple(_fitted(wish, kind) for wish, kind in paired)
        unmet = len(task.wishes) - len(wishes)
        code = "no_evidence" if small else "declined"
        missing = [Discard(None, code, "the metadata holds no evidence for a further type")] * unmet
        written = await self._writer.generate(replace(task, wishes=wishes), ctx)
        return [*written, *missing]

    async def _choose(
        self, task: Task, offered: tuple[QuestionType, ...], count: int, ctx: StageContext
    ) -> list[QuestionType]:
        if len(offered) <= count:
            return list(offered)
        if ctx.chat.pack == "small":
            return await self._one_by_one(task, offered, count, ctx)
        record = "\n".join(text for text, _ in record_pieces(task.dataset))
        prompt = ctx.prompt("types").render(metadata=record, kinds=list(offered), count=count)
        by_id = {k.id: k for k in offered}
        try:
            answer = await ctx.chat.ask(prompt, type_choice(tuple(by_id), count), seed=ctx.seed("types"))
            named = answer.value.types
        except (ReplyInvalidError, ReplyTruncatedError, ReplyRefusedError):
            # Without a usable choice, the types with the most evidence are taken.
            return sorted(offered, key=lambda k: -_support(task, k))[:count]
        return [by_id[n] for n in dict.fromkeys(named) if n in by_id][:count]

    async def _one_by_one(
        self, task: Task, offered: tuple[QuestionType, ...], count: int, ctx: StageContext
    ) -> list[QuestionType]:
        left = list(offered)
        picked: list[QuestionType] = []
        for step in range(count):
            if len(left) <= count - step:
                return [*picked, *left]
            prompt = ctx.prompt("types").render(metadata=task.dataset.text, kinds=left, count=1)
            try:
                reply = await ctx.chat.choose(prompt, [k.name for k in left], seed=ctx.seed("types", step))
                kind = next(k for k in left if k.name == reply.text)
            except ReplyInvalidError:
                kind = max(left, key=lambda k: _support(task, k))
            picked.append(kind)
            left.remove(kind)
        return picked


def _fitted(wish: Wish, kind: QuestionType) -> Wish:
    polarity = wish.polarity if kind.polar else None
    return replace(wish, kind=kind, bloom=wish.bloom or next(iter(kind.levels), None), polarity=polarity)


def _support(task: Task, kind: QuestionType) -> float:
    return sum(fitness(p, kind) for p in task.passages)
