"""Stage `tag` for small models: one choice per question."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from scirgen import QAPair, StageContext
from scirgen.stages.tag.stage import TagStage, render, tagged


class SmallTagStage(TagStage):
    """Chooses between the levels that are typical of a question's type."""

    async def levels(self, pairs: Sequence[QAPair], ctx: StageContext) -> list[QAPair]:
        """Return the pairs with their levels; a call for each pair whose type has several."""
        return list(await asyncio.gather(*(_choose(p, ctx) for p in pairs)))


async def _choose(pair: QAPair, ctx: StageContext) -> QAPair:
    # With all six options, a model of 0.1B parameters always names the same level; it can choose between the typical
    # ones.
    typical = ctx.taxonomies.question_type(pair.question_type).levels
    if len(typical) == 1:
        return pair.model_copy(update={"bloom": typical[0], "provenance": ctx.provenance()})
    prompt = render([pair], ctx, typical)
    names = {level.name: level.id for level in ctx.taxonomies.bloom.levels if level.id in typical or not typical}
    reply = await ctx.chat.choose(prompt, list(names), seed=ctx.seed(pair.id))
    return tagged(pair, names[reply.text], prompt, reply.reply_key, ctx)
