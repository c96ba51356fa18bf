"""The paper's way of generating: one call for all pairs of a type, each with its evidence quoted (ScIRGen, section 2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from scirgen.core.errors import ReplyInvalidError, ReplyRefusedError, ReplyTruncatedError
from scirgen.core.taxonomy import QuestionType
from scirgen.core.text.language import language_name
from scirgen.stages.base import StageContext
from scirgen.stages.generate.passages import choose_evidence
from scirgen.stages.generate.replies import quoted_reply
from scirgen.stages.generate.strategy import Discard, Draft, Passage, Task, Wish

_CHARS_PER_TOKEN = 4
_DEFAULT_CONTEXT = 8192
_MATERIAL_SHARE = 0.45
_MATERIAL_CHARS = 24_000


class JointStrategy:
    """One structured call a type: k pairs, each with quotes that the stage must find verbatim."""

    name: ClassVar[str] = "joint"
    version: ClassVar[int] = 1
    prompts: ClassVar[tuple[str, ...]] = ("joint",)

    async def generate(self, task: Task, ctx: StageContext) -> Sequence[Draft | Discard]:
        """One call for each type among the wishes."""
        results: list[Draft | Discard] = []
        for kind in task.kinds:
            wishes = tuple(w for w in task.wishes if w.kind is not None and w.kind.id == kind.id)
            if wishes:
                results += await self._one_type(task, kind, wishes, ctx)
        return results

    async def _one_type(
        self, task: Task, kind: QuestionType, wishes: tuple[Wish, ...], ctx: StageContext
    ) -> list[Draft | Discard]:
        material = _material(task.passages, kind, ctx.seed(kind.id), ctx.chat.capabilities.context_tokens)
        prompt = ctx.prompt("joint").render(
            kind=kind,
            samples=kind.examples_for(ctx.config.domain),
            passages=[{"label": _label(p), "text": p.text} for p in material],
            wishes=[wish_view(w, ctx) for w in wishes],
            language=language_name(ctx.config.language),
        )
        reply = quoted_reply(kind, ctx.taxonomies.wording.of(ctx.config.language), len(wishes))
        try:
            answer = await ctx.chat.ask(prompt, reply, seed=ctx.seed(kind.id, task.round))
        except (ReplyInvalidError, ReplyTruncatedError, ReplyRefusedError) as error:
            return [Discard(kind, error.error_code, error.message, prompt=prompt) for _ in wishes]
        pairs = answer.value.pairs[: len(wishes)]
        drafts: list[Draft | Discard] = [
            Draft(kind, p.question, p.answer, quotes=tuple(p.evidence), bloom=w.bloom, prompt=prompt, replies=(answer.reply_key,))
            for p, w in zip(pairs, wishes, strict=False)
        ]  # fmt: skip
        missing = len(wishes) - len(pairs)
        return (
            drafts
            + [Discard(kind, "too_few", "the reply holds fewer pairs than asked for", "", prompt, (answer.reply_key,))]
            * missing
        )


def wish_view(wish: Wish, ctx: StageContext) -> dict[str, object]:
    """A wish as prompts see it: the Bloom level spelled out."""
    level = ctx.taxonomies.bloom_level(wish.bloom) if wish.bloom else None
    return {"bloom": level, "polarity": wish.polarity, "position": wish.position}


def _label(passage: Passage) -> str:
    return passage.category.value.replace("_", " ") if passage.category else "catalogue metadata"


def _material(passages: Sequence[Passage], kind: QuestionType, seed: int, context: int | None) -> list[Passage]:
    """The passages that suit the type best, then the others, as far as the model's context allows; in reading order."""
    room = min(_MATERIAL_CHARS, int((context or _DEFAULT_CONTEXT) * _CHARS_PER_TOKEN * _MATERIAL_SHARE))
    suited = choose_evidence(passages, kind, len(passages), seed)
    kept: set[int] = set()
    for passage in [*suited, *passages]:
        index = passages.index(passage)
        if index not in kept and len(passage.text) <= room:
            kept.add(index)
            room -= len(passage.text)
    return [p for i, p in enumerate(passages) if i in kept]
