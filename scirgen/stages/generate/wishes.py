"""What each pair of an item should be like: type, level, polarity, place of the right option, and what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

from scirgen.core.fingerprint import derived_seed
from scirgen.core.records import Dataset
from scirgen.core.taxonomy import QuestionType
from scirgen.stages.base import StageContext, WorkItem
from scirgen.stages.generate.strategy import About, Polarity, Wish

_POLARITIES: tuple[Polarity, Polarity] = ("yes", "no")


def wishes(item: WorkItem, kinds: Sequence[QuestionType], ctx: StageContext) -> tuple[Wish, ...]:
    """The wishes of an item: a quota's cells, so many pairs of each type, or (adaptive) so many of any type."""
    cells = cast("list[dict[str, object]] | None", item.parameters.get("cells"))
    if cells is not None:
        return _of_cells(cells, kinds[0], item, ctx)
    count = cast("int", item.parameters["count"])
    if item.parameters.get("adaptive"):
        draw = _Draw(item, "", ctx)
        return tuple(Wish(None, None, draw.polarity(n), draw.position(n), "dataset") for n in range(count))
    about_data = cast("int | None", item.parameters.get("about_data"))
    abouts: list[About | None] = [None] * count
    if about_data is not None:
        data, paper = get_args(About)
        abouts = [data] * about_data + [paper] * count
    made: list[Wish] = []
    for kind in kinds:
        draw = _Draw(item, kind.id, ctx)
        for n, about in enumerate(abouts):
            level = kind.levels[n % len(kind.levels)] if kind.levels else None
            made.append(Wish(kind, level, draw.polarity(n) if kind.polar else None, draw.position(n), about))
    return tuple(made)


def _of_cells(
    cells: Sequence[dict[str, object]], kind: QuestionType, item: WorkItem, ctx: StageContext
) -> tuple[Wish, ...]:
    draw = _Draw(item, kind.id, ctx)
    made: list[Wish] = []
    for cell in cells:
        for _ in range(cast("int", cell.get("count", 1))):
            n = len(made)
            level = cast("str | None", cell.get("bloom")) or next(iter(kind.levels), None)
            said = cast("Polarity | None", cell.get("polarity"))
            made.append(Wish(kind, level, (said or draw.polarity(n)) if kind.polar else None, draw.position(n)))
    return tuple(made)


class _Draw:
    """Yes or No, first or last: drawn evenly over a run's datasets from its seed, and in turn within one."""

    def __init__(self, item: WorkItem, kind: str, ctx: StageContext) -> None:
        self._start = derived_seed(ctx.config.seed, "wishes", item.one(Dataset).id, kind, item.parameters.get("round"))

    def polarity(self, number: int) -> Polarity:
        return _POLARITIES[(self._start + number) % 2]

    def position(self, number: int) -> int:
        return (self._start // 2 + number) % 2
