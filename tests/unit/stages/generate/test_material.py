from __future__ import annotations

import pytest

from scirgen.core.records import AspectCategory, Dataset, Span
from scirgen.stages.generate.material import material
from scirgen.stages.generate.strategy import Passage, SourcePaper, Task, Wish


@pytest.mark.parametrize("wishes", [3, 9])
def test_a_whole_caption_that_moves_to_another_line_keeps_the_room(wishes: int) -> None:
    def place(start: int, text: str, medium: str) -> Span:
        fields = {"document_id": "d", "start": start, "end": start + len(text), "text": text, "medium": medium}
        return Span.model_validate(fields)

    captions = [f"Table {n}. " + "Depths of the lakes of the north. " * 16 for n in range(6)]
    statements = tuple(
        Passage(
            place(10_000 * table + 1000 * n, f"Lake {n} is {n} m deep in the middle of the winter.", "text"),
            AspectCategory.FINDINGS, "p", context=f"Table {table}",
            context_span=place(10_000 * table, caption, "caption"),
        )
        for table, caption in enumerate(captions) for n in range(1, 6)
    )  # fmt: skip
    task = Task(Dataset(id="r", title="Ice"), statements, (), (Wish(None),) * wishes, papers=(SourcePaper("p"),))
    for room in range(400, 3000, 50):
        shown = material(task, room)
        assert all(sum(len(line.text) for line in part.lines.values()) <= room for part in shown.parts), room
        kept = sum(len(p.lines) for part in shown.parts for p in part.papers)
        assert wishes == 3 or kept + len(shown.left_out) == len(statements)
