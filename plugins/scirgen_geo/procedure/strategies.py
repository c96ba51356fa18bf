"""The parts of ScIRGen's published procedure (KDD 2025) that scirgen does differently: two strategies of the pack
``examples/scirgen-paper``. `docs/method.md` compares the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from scirgen import Discard, Draft, GenerationTask, Judgement, MatchPair, StageContext

_MAX_SHOWN = 24_000
"""Characters of a record that the call for types shows."""


class ChosenTypes(BaseModel):
    """The model's choice of question types (table 13)."""

    model_config = ConfigDict(extra="forbid")
    types: list[str] = Field(description="ids of the chosen types, the most fitting first")


class PublishedQuestions:
    """``scirgen-paper``: pairs as ``joint`` writes them; without a paper, a call first chooses the types that suit the
    metadata (section 2.2, table 13), one pair of each. Each dataset's questions are written from all its papers."""

    name: ClassVar[str] = "scirgen-paper"
    prompts: ClassVar[tuple[str, ...]] = ("published_types", "joint", "name")
    writes_together: ClassVar[bool] = True
    asks_each_dataset: ClassVar[bool] = True

    async def generate(self, task: GenerationTask, ctx: StageContext) -> Sequence[Draft | Discard]:
        """Choose types where there is no paper, then have `joint` write."""
        free = [wish for wish in task.wishes if wish.kind is None]
        if free:
            task = await self._chosen(task, len(free), ctx)
        joint: Any = ctx.registry.get("generation_strategy", "joint")
        written: Sequence[Draft | Discard] = await joint().generate(task, ctx)
        return written

    async def _chosen(self, task: GenerationTask, count: int, ctx: StageContext) -> GenerationTask:
        """Give each wish without a type one of those that the model chooses, each type once."""
        prompt = ctx.prompt("published_types").render(
            record=task.dataset.text[:_MAX_SHOWN], types=task.kinds, count=count
        )
        answer = await ctx.chat.ask(prompt, ChosenTypes, seed=ctx.seed("types"))
        known = {kind.id: kind for kind in task.kinds}
        named = dict.fromkeys(id for id in answer.value.types if id in known)
        chosen = [known[id] for id in (*named, *(id for id in known if id not in named))][:count]
        wishes = [
            replace(wish, kind=kind, bloom=wish.bloom or next(iter(kind.levels), None),
                    polarity=wish.polarity if kind.polar else None)
            for wish, kind in zip([w for w in task.wishes if w.kind is None], chosen, strict=False)
        ]  # fmt: skip
        kept = tuple(wish for wish in task.wishes if wish.kind is not None)
        return replace(task, kinds=tuple(chosen), wishes=(*kept, *wishes))


class PublishedMatch:
    """``scirgen-paper``: the model's verdict on each candidate (section 2.1, table 9); a yes must cite a sentence."""

    name: ClassVar[str] = "scirgen-paper"
    needs: ClassVar[tuple[str, ...]] = ("generator",)

    async def judge(self, pair: MatchPair, ctx: StageContext) -> Judgement:
        """Ask as ``model`` does. Its guard drops a yes whose sentences share only a place with the dataset; here the
        yes counts."""
        model: Any = ctx.registry.get("match_strategy", "model")
        said: Judgement = await model().judge(pair, ctx)
        return replace(said, used=True) if said.code == "place_only" else said
