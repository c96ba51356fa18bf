"""Sorts a section's sentences for small models: cues find candidates, and the model decides only those that the cues
leave open, one sentence at a time, up to a limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from scirgen import Dataset, StageContext
from scirgen.plugin import AspectCategory, Document
from scirgen.stages.extract.reading import Picked, Sentence
from scirgen.stages.extract.stage import ExtractStage
from scirgen_embedded.cues import AspectCues

NONE = "none"
SENTENCES_PER_ASPECT = 10
"""Number of sentences of a section that rules keep for each aspect."""
CALLS_PER_SECTION = 2
"""Largest number of model calls about sentences of one section that the rules leave open."""
_CLEAR_LEAD = 0.4
"""Less than the weight of a typical section (`AspectCues`): if two aspects have equally many cues, the section
decides."""
_CLEAR_LEAST = 1.0


class SmallExtractStage(ExtractStage):
    """Stage `extract` for small models."""

    for_all_users: ClassVar[bool] = False

    async def read(
        self, document: Document, sentences: Sequence[Sentence], datasets: Sequence[Dataset], ctx: StageContext
    ) -> list[Picked]:
        """Sort the section's sentences, whatever the datasets."""
        return await sort_section(sentences, ctx)


async def sort_section(sentences: Sequence[Sentence], ctx: StageContext) -> list[Picked]:
    """Sort clear sentences by rule and open ones by the model, at most `SENTENCES_PER_ASPECT` for each aspect."""
    cues = AspectCues(ctx.taxonomies.aspects.aspects)
    clear: list[tuple[float, Sentence, AspectCategory]] = []
    unclear: list[tuple[float, Sentence, list[AspectCategory]]] = []
    for sentence in (s for s in sentences if not s.cells):  # a small model quotes sentences, not cells
        ranked = cues.ranked(sentence.text, sentence.section)
        if not ranked:
            continue
        lead = ranked[0][1] - (ranked[1][1] if len(ranked) > 1 else 0.0)
        if lead >= _CLEAR_LEAD and ranked[0][1] >= _CLEAR_LEAST:
            clear.append((ranked[0][1], sentence, ranked[0][0]))
        else:
            near = [c for c, score in ranked if ranked[0][1] - score < _CLEAR_LEAD]
            unclear.append((ranked[0][1], sentence, near))
    picked = _best(clear, SENTENCES_PER_ASPECT)
    asked = sorted(unclear, key=lambda x: (-x[0], x[1].number))[:CALLS_PER_SECTION]
    for _, sentence, plausible in asked:
        answer = await _ask(sentence, plausible, ctx)
        if answer is not None:
            picked.append(answer)
    return sorted(picked, key=lambda p: p.sentence.start if p.sentence else 0)


def _best(found: list[tuple[float, Sentence, AspectCategory]], each: int) -> list[Picked]:
    best: list[Picked] = []
    for category in AspectCategory:
        of_it = sorted((x for x in found if x[2] is category), key=lambda x: (-x[0], x[1].number))
        best += [Picked(category, sentence, sentence.text) for _, sentence, _ in of_it[:each]]
    return best


async def _ask(sentence: Sentence, plausible: list[AspectCategory], ctx: StageContext) -> Picked | None:
    """Return the model's choice among all six and none. A choice with fewer cues than another counts as none."""
    prompt = ctx.prompt("aspects").render(heading=sentence.label.heading, sentence=sentence.text)
    names = {a.name.lower(): a.id for a in ctx.taxonomies.aspects.aspects}
    answer = await ctx.chat.choose(prompt, (*names, NONE), seed=ctx.seed(sentence.number))
    chosen = names.get(answer.text)
    if chosen is None or chosen not in plausible:
        return None
    return Picked(chosen, sentence, sentence.text, prompt=prompt.reference, replies=(answer.reply_key,))
