"""Stage 9: assigns the level of revised Bloom to each accepted pair, in batches.

The pair stays the same, with its id; only ``bloom`` is set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import create_model

from scirgen.core.config import Config
from scirgen.core.fingerprint import digest
from scirgen.core.prompts import RenderedPrompt
from scirgen.core.records import QAPair
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem


class TagStage(Stage):
    """Assigns C1..C6 by structured output in batches.

    Where the generator also judged a pair, it named the level in that call (`Score.level`), and is not asked again,
    unless a domain has its own prompt ``tag/bloom``.
    """

    name = "tag"
    version = 8

    def uses(self, config: Config) -> Uses:
        """Return the prompt, the levels and the model."""
        return Uses(
            config=("tag", "seed"), prompts=("tag/bloom",), taxonomies=("bloom", "graesser"), roles=("generator",)
        )

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Yield the batches of this round's accepted pairs, in the order of ids."""
        pairs = sorted((p for p in scope.outputs("filter", QAPair) if p.round == scope.round), key=lambda p: p.id)
        size = ctx.config.tag.batch_size
        for start in range(0, len(pairs), size):
            batch = tuple(pairs[start : start + size])
            yield WorkItem(f"{scope.dataset.id}|{digest([p.id for p in batch])[:12]}", batch)

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Return the same pairs with ``bloom`` set.

        Raises:
            ModelError: the model gave no usable level; the batch is tried again on the next run.
        """
        return StageResult(tuple(await self.levels(item.of(QAPair), ctx)))

    async def levels(self, pairs: Sequence[QAPair], ctx: StageContext) -> list[QAPair]:
        """Return the pairs with the levels that the model assigns: the judge's, the others in one call."""
        judged = {p.id: level for p in pairs if (level := next((s.level for s in p.scores if s.level), None))}
        untagged = [p for p in pairs if p.id not in judged or ctx.prompt("bloom").origin != "scirgen"]
        found = {p.id: p.model_copy(update={"bloom": judged.get(p.id)}) for p in pairs}
        if untagged:
            prompt = render(untagged, ctx)
            ids = tuple(level.id for level in ctx.taxonomies.bloom.levels)
            # One field a question, q1, q2..., so that a reply that leaves one out is invalid.
            fields: dict[str, Any] = {f"q{n}": (Literal[ids], ...) for n, _ in enumerate(untagged, 1)}
            answer = await ctx.chat.ask(prompt, create_model("Levels", **fields), seed=ctx.seed())
            levels = answer.value.model_dump().values()
            for p, level in zip(untagged, levels, strict=True):
                found[p.id] = tagged(p, level, prompt, answer.reply_key, ctx)
        return [found[p.id] for p in pairs]


def render(pairs: Sequence[QAPair], ctx: StageContext, only: Sequence[str] = ()) -> RenderedPrompt:
    """Return the prompt about some pairs, with the levels to choose from: ``only``, or all if it is empty."""
    bloom = ctx.taxonomies.bloom
    levels = [level for level in bloom.levels if level.id in only or not only]
    questions = [{"question": p.question, "shown": _shown(n, p, ctx)} for n, p in enumerate(pairs, 1)]
    return ctx.prompt("bloom").render(levels=levels, tie_breaking=bloom.tie_breaking, questions=questions)


def _shown(number: int, pair: QAPair, ctx: StageContext) -> str:
    """Format a pair for the standard prompt with every cited line, because the question alone does not tell whether the
    answer is stated or inferred."""
    evidence = " ".join(dict.fromkeys(" ".join(s.text.split()) for s in pair.evidence))
    kind = ctx.taxonomies.question_type(pair.question_type).name
    return f"q{number} ({kind}) {pair.question}\nAnswer: {pair.answer}\nEvidence: {evidence}"


def tagged(pair: QAPair, level: str, prompt: RenderedPrompt, reply: str, ctx: StageContext) -> QAPair:
    """Return a pair with its level and the level's origin."""
    return pair.model_copy(update={"bloom": level, "provenance": ctx.provenance(prompt, (reply,))})
