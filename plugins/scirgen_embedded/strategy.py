"""The strategy ``evidence`` for small models: a rule chooses verbatim evidence that suits the type, and the model
writes one pair about it, in two plain-text calls.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import ClassVar, get_args

from scirgen import Discard, Draft, Span, StageContext
from scirgen import GenerationTask as Task
from scirgen.plugin import QuestionType, ReplyInvalidError, derived_seed
from scirgen.stages.generate.passages import fitness
from scirgen.stages.generate.strategy import About, Passage, Wish
from scirgen_embedded.writer.writer import SmallWriter, holds_answer


class EvidenceStrategy:
    """One pair per wish, with the spans from which it was made."""

    name: ClassVar[str] = "evidence"
    prompts: ClassVar[tuple[str, ...]] = ("question", "answer", "types")
    writes_together: ClassVar[bool] = False

    async def generate(self, task: Task, ctx: StageContext) -> Sequence[Draft | Discard]:
        """Return one draft or discard for each wish; the calls of a task run concurrently."""
        wishes, unmet = await _typed(task, ctx)
        work = []
        used: list[Span] = []
        for kind, about in product(task.kinds, (None, *get_args(About))):
            mine = [w for w in wishes if w.kind is not None and w.kind.id == kind.id and w.about == about]
            if not mine:
                continue
            seed = ctx.seed(kind.id, task.round)
            passages = tuple(p for p in task.passages if about is None or p.about == about)
            # The writer takes the answer from the sentence, so the sentence must hold one.
            texts = [p.text for p in passages]
            opposites = ctx.taxonomies.wording.of(ctx.config.language).opposites
            passages = tuple(p for p in passages if holds_answer(p.text, kind, texts, opposites))
            chosen = _choose_evidence(passages, kind, len(mine), seed, used)
            if len(chosen) < len(mine):
                # With little material, the types of a dataset without papers may share a sentence.
                chosen += _choose_evidence(passages, kind, len(mine) - len(chosen), seed, [p.span for p in chosen])
            used += [p.span for p in chosen]
            spare = _further_evidence(passages, kind, seed, used) if kind.polar else []
            for number, wish in enumerate(mine):
                first = chosen[number] if number < len(chosen) else None
                # Each wish begins with passages of its own; the others are tried only if none of these works.
                own = spare[number :: len(mine)]
                work.append(_one(task, wish, first, number, ctx, [*own, *(p for p in spare if p not in own)]))
        return [*await asyncio.gather(*work), *unmet]


async def _one(
    task: Task, wish: Wish, first: Passage | None, number: int, ctx: StageContext, further: Sequence[Passage]
) -> Draft | Discard:
    if first is None:
        return Discard(wish.kind, "no_evidence", "no further passage suits this type of question")
    return await SmallWriter(task, wish, [first], number, ctx, further).write()


async def _typed(task: Task, ctx: StageContext) -> tuple[tuple[Wish, ...], list[Discard]]:
    """Return the wishes, those without a type with one that the model chooses; and those for which no type is left."""
    free = [w for w in task.wishes if w.kind is None]
    offered = [k for k in task.kinds if any(fitness(p, k) > 0 for p in task.passages)]
    count = min(len(free), len(offered))
    chosen = await _choose(task, offered, count, ctx) if count else []
    typed = [w for w in task.wishes if w.kind is not None]
    typed += [_fitted(wish, kind) for wish, kind in zip(free, chosen, strict=False)]
    none_left = Discard(None, "no_evidence", "the metadata holds no evidence for a further type")
    return tuple(typed), [none_left] * (len(free) - len(chosen))


async def _choose(task: Task, offered: Sequence[QuestionType], count: int, ctx: StageContext) -> list[QuestionType]:
    left = list(offered)
    picked: list[QuestionType] = []
    for step in range(count):
        if len(left) <= count - step:
            return [*picked, *left]
        prompt = ctx.prompt("types").render(metadata=task.dataset.text, kinds=left)
        try:
            reply = await ctx.chat.choose(prompt, [k.name for k in left], seed=ctx.seed("types", step))
            kind = next(k for k in left if k.name == reply.text)
        except ReplyInvalidError:
            kind = max(left, key=lambda k: sum(fitness(p, k) for p in task.passages))
        picked.append(kind)
        left.remove(kind)
    return picked


def _fitted(wish: Wish, kind: QuestionType) -> Wish:
    polarity = wish.polarity if kind.polar else None
    return replace(wish, kind=kind, bloom=wish.bloom or next(iter(kind.levels), None), polarity=polarity)


def _choose_evidence(
    candidates: Sequence[Passage], kind: QuestionType, count: int, seed: int, used: Iterable[Span] = ()
) -> list[Passage]:
    """Return the ``count`` passages that suit the type best, spread over papers, sections and aspects.

    It is greedy: each choice lowers the value of passages with the same paper, section or aspect. A hash of the seed
    decides ties, so that the types of one dataset do not all ask about the same sentence. If fewer suit, fewer are
    returned.
    """
    spent = {(s.document_id, s.start, s.end) for s in used}
    worth = {i: fitness(p, kind) for i, p in enumerate(candidates)}
    pool = [
        i
        for i, p in enumerate(candidates)
        if worth[i] > 0 and (p.span.document_id, p.span.start, p.span.end) not in spent
    ]
    jitter = {i: derived_seed(seed, candidates[i].span.document_id, candidates[i].span.start) / 2**31 for i in pool}
    chosen: list[Passage] = []
    places: Counter[object] = Counter()
    while pool and len(chosen) < count:
        crowd = {i: 0.15 * sum(places[p] for p in _places(candidates[i])) for i in pool}
        best = max(pool, key=lambda i: (worth[i] + 0.6 * jitter[i] - crowd[i], -i))
        pool.remove(best)
        chosen.append(candidates[best])
        places.update(_places(candidates[best]))
    return chosen


def _further_evidence(
    candidates: Sequence[Passage], kind: QuestionType, seed: int, used: Iterable[Span]
) -> list[Passage]:
    """Return all other passages that suit the type, in an order that the seed decides."""
    spent = {(s.document_id, s.start, s.end) for s in used}
    fit = [p for p in candidates if fitness(p, kind) > 0]
    left = [p for p in fit if (p.span.document_id, p.span.start, p.span.end) not in spent]
    return sorted(left, key=lambda p: (derived_seed(seed, p.span.document_id, p.span.start), p.span.end))


def _places(passage: Passage) -> list[object]:
    return [("doc", passage.span.document_id), ("section", passage.span.section), ("aspect", passage.category)]
