"""A generation strategy: one `Draft` or `Discard` for each wanted pair. This one needs no model."""

import re
from collections.abc import Sequence

from scirgen import Discard, Draft, GenerationTask, StageContext

_READING = re.compile(r"(\d[\d.]*) ?(m|mm|minutes)\b")


class Readings:
    """Asks how much, where a passage states a number with its unit."""

    name = "readings"
    prompts: tuple[str, ...] = ()
    writes_together = False

    async def generate(self, task: GenerationTask, ctx: StageContext) -> Sequence[Draft | Discard]:
        found = [(p, m) for p in task.passages for m in _READING.finditer(p.text)]
        drafts: list[Draft | Discard] = []
        for number, wish in enumerate(task.wishes):
            kind = wish.kind or task.kinds[0]
            if kind.id != "quantification" or number >= len(found):
                drafts.append(Discard(kind, "no_reading", "no number with a unit is left"))
                continue
            passage, reading = found[number]
            question = f"How many {reading[2]} are stated for {task.dataset.title} (reading {number + 1})?"
            drafts.append(Draft(kind, question, reading[0] + " " + reading[2], evidence=(passage.span,)))
        return drafts
