"""Stage 9: assigns the level of revised Bloom to each accepted pair, in batches, and translates pairs if wanted.

The pair stays the same, with its id; only ``bloom`` and ``translations`` are set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from scirgen.core.config import Config
from scirgen.core.errors import ConfigError
from scirgen.core.fingerprint import digest
from scirgen.core.prompts import RenderedPrompt
from scirgen.core.records import QAPair
from scirgen.core.text.textmatch import content_words
from scirgen.qa.question_tagger import Labelled, QuestionTagger
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.tag.replies import levels_reply
from scirgen.stages.tag.translation import translate

_EVIDENCE = 180
"""Number of characters of evidence in the prompt."""


class TagStage(Stage):
    """Assigns C1..C6 by structured output in batches; with the small pack, one choice per question."""

    name = "tag"
    version = 6

    def uses(self, config: Config) -> Uses:
        """The prompt, the levels and the model, or the local tagger's content; and, if set, the translator."""
        to = config.tag.translate_to
        more = ("translate_to", *to) if to else ()
        translate: tuple[str, ...] = ("tag/translate",) if to else ()
        if config.tag.tagger is not None:
            known = ("tagger", _tagger(config.tag.tagger).revision, *more)
            return Uses(config=("tag",), prompts=translate, roles=("generator",) if to else (), extra=known)
        return Uses(
            config=("tag", "seed"),
            prompts=("tag/bloom", *translate),
            taxonomies=("bloom", "graesser"),
            roles=("generator",),
            extra=more,
        )

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Batches of this round's accepted pairs, in the order of ids."""
        pairs = sorted((p for p in scope.outputs("filter", QAPair) if p.round == scope.round), key=lambda p: p.id)
        size = ctx.config.tag.batch_size
        for start in range(0, len(pairs), size):
            batch = tuple(pairs[start : start + size])
            yield WorkItem(f"{scope.dataset.id}|{digest([p.id for p in batch])[:12]}", batch)

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """The same pairs with ``bloom`` set, and translated where ``tag.translate_to`` says so.

        A translation that failed is a failure of the result; its pair is produced without it.

        Raises:
            ModelError: the model gave no usable level; the batch is tried again on the next run.
        """
        tagged = await self._levels(item.of(QAPair), ctx)
        if not ctx.config.tag.translate_to:
            return StageResult(tuple(tagged))
        made = await translate(tagged, ctx)
        return StageResult(tuple(m.pair for m in made), failures=tuple(f for m in made for f in m.failures))

    async def _levels(self, pairs: Sequence[QAPair], ctx: StageContext) -> list[QAPair]:
        if ctx.config.tag.tagger is not None:
            return _tag_locally(pairs, _tagger(ctx.config.tag.tagger), ctx)
        if ctx.chat.pack == "small":
            return list(await asyncio.gather(*(self._choose(p, ctx) for p in pairs)))
        return await self._batch(pairs, ctx)

    async def _batch(self, pairs: Sequence[QAPair], ctx: StageContext) -> list[QAPair]:
        prompt = _render(pairs, ctx)
        ids = tuple(level.id for level in ctx.taxonomies.bloom.levels)
        answer = await ctx.chat.ask(prompt, levels_reply(len(pairs), ids), seed=ctx.seed())
        return [_tagged(p, answer.value.of(n), prompt, answer.reply_key, ctx) for n, p in enumerate(pairs, 1)]

    async def _choose(self, pair: QAPair, ctx: StageContext) -> QAPair:
        # With all six options, a model of 0.1B parameters always names the same level; it can choose between the typical ones.
        typical = ctx.taxonomies.question_type(pair.question_type).levels
        if len(typical) == 1:
            return pair.model_copy(update={"bloom": typical[0], "provenance": ctx.provenance()})
        prompt = _render([pair], ctx, typical)
        names = {level.name: level.id for level in ctx.taxonomies.bloom.levels if level.id in typical or not typical}
        reply = await ctx.chat.choose(prompt, list(names), seed=ctx.seed(pair.id))
        return _tagged(pair, names[reply.text], prompt, reply.reply_key, ctx)


@cache
def _tagger(folder: str) -> QuestionTagger:
    made = QuestionTagger.load(Path(folder))
    if made.target != "level":
        raise ConfigError(
            f"{folder} has a tagger of {made.target}, not of levels", hint="Train one: scirgen tagger train."
        )
    return made


def _tag_locally(pairs: Sequence[QAPair], tagger: QuestionTagger, ctx: StageContext) -> list[QAPair]:
    levels = tagger.predict([Labelled(p.question, p.question_type) for p in pairs])
    origin = ctx.provenance().model_copy(update={"model": f"tagger:{tagger.target}@{tagger.revision[:12]}"})
    return [p.model_copy(update={"bloom": level, "provenance": origin}) for p, level in zip(pairs, levels, strict=True)]


def _render(pairs: Sequence[QAPair], ctx: StageContext, only: Sequence[str] = ()) -> RenderedPrompt:
    bloom = ctx.taxonomies.bloom
    levels = [level for level in bloom.levels if level.id in only or not only]
    questions = [{"question": p.question, "shown": _shown(n, p, ctx)} for n, p in enumerate(pairs, 1)]
    return ctx.prompt("bloom").render(levels=levels, tie_breaking=bloom.tie_breaking, questions=questions)


def _shown(number: int, pair: QAPair, ctx: StageContext) -> str:
    """A pair as the standard prompt shows it, with evidence, since the question does not show whether the answer is
    stated or inferred: the beginning of the span with most of the answer's words.
    """
    answer, question = set(content_words(pair.answer)), set(content_words(pair.question))
    spans = [(set(content_words(s.text)), " ".join(s.text.split())) for s in pair.evidence]
    evidence = max(spans, key=lambda s: (len(answer & s[0]), len(question & s[0])), default=(set(), ""))[1]
    kind = ctx.taxonomies.question_type(pair.question_type).name
    return f"q{number} ({kind}) {pair.question}\nAnswer: {pair.answer}\nEvidence: {evidence[:_EVIDENCE]}"


def _tagged(pair: QAPair, level: str, prompt: RenderedPrompt, reply: str, ctx: StageContext) -> QAPair:
    return pair.model_copy(update={"bloom": level, "provenance": ctx.provenance(prompt, (reply,))})
