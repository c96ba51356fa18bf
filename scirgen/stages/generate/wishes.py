"""The requested properties of each pair: type, level, polarity, position of the right option, and subject."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from pydantic import BaseModel

from scirgen.core.fingerprint import derived_seed
from scirgen.core.records import Dataset
from scirgen.core.taxonomy import QuestionType
from scirgen.stages.base import StageContext
from scirgen.stages.generate.strategy import About, Polarity, Wish

_POLARITIES: tuple[Polarity, Polarity] = ("yes", "no")


class Cell(BaseModel):
    """The pairs of one type that a quota still needs."""

    count: int = 1
    bloom: str | None = None
    polarity: Polarity | None = None


class Asked(BaseModel):
    """The parameters of a generate item.

    Attributes:
        types: ids of the question types.
        count: number of pairs of each type, or (adaptive) in all. If ``about_data`` gives the number about the data,
            this is the number about papers.
        adaptive: whether the writer chooses among the types.
        cells: in a later round, in place of a count.
        titles: paper id -> title.
        starts: paper id -> authors and year, or else the beginning of the text.
        users: paper id -> (id, title) of the datasets that share it.
        levels: question type -> the Bloom levels that a target wants; empty: the type's typical level.
        polarities: of yes-or-no questions, in turn.
    """

    types: tuple[str, ...]
    count: int = 0
    about_data: int | None = None
    adaptive: bool = False
    cells: tuple[Cell, ...] | None = None
    round: int | None = None
    titles: dict[str, str] = {}
    starts: dict[str, str] = {}
    users: dict[str, tuple[tuple[str, str], ...]] = {}
    levels: dict[str, tuple[str, ...]] = {}
    polarities: tuple[Polarity, ...] = _POLARITIES

    def narrowed(self, kind: QuestionType) -> QuestionType:
        """Return the type with only the wanted levels."""
        levels = self.levels.get(kind.id)
        return kind.model_copy(update={"levels": levels}) if levels else kind


def wishes(dataset: Dataset, asked: Asked, kinds: Sequence[QuestionType], ctx: StageContext) -> tuple[Wish, ...]:
    """Return the wishes of an item: a quota's cells, so many pairs of each type, or (adaptive) so many of any type."""
    start = (ctx.config.seed, "wishes", dataset.id)
    if asked.cells is not None:
        return _of_cells(asked.cells, kinds[0], _Draw(asked.polarities, *start, kinds[0].id, asked.round))
    if asked.adaptive:
        draw = _Draw(asked.polarities, *start, "", asked.round)
        return tuple(Wish(None, None, draw.polarity(n), draw.position(n), "dataset") for n in range(asked.count))
    abouts: list[About | None] = [None] * asked.count
    if asked.about_data is not None:
        data, paper = get_args(About)
        abouts = [data] * asked.about_data + [paper] * asked.count
    made: list[Wish] = []
    for kind in kinds:
        draw = _Draw(asked.polarities, *start, kind.id, asked.round)
        levels = kind.levels if kind.id in asked.levels else kind.levels[:1]
        for n, about in enumerate(abouts):
            level = levels[n % len(levels)] if levels else None
            made.append(Wish(kind, level, draw.polarity(n) if kind.polar else None, draw.position(n), about))
    return tuple(made)


def _of_cells(cells: Sequence[Cell], kind: QuestionType, draw: _Draw) -> tuple[Wish, ...]:
    made: list[Wish] = []
    for cell in cells:
        for n in range(len(made), len(made) + cell.count):
            level = cell.bloom or next(iter(kind.levels), None)
            polarity = (cell.polarity or draw.polarity(n)) if kind.polar else None
            made.append(Wish(kind, level, polarity, draw.position(n)))
    return tuple(made)


class _Draw:
    """Yes or No, first or last: spread evenly over a run's datasets by the seed, and alternating within a dataset."""

    def __init__(self, polarities: Sequence[Polarity], seed: int, *parts: object) -> None:
        self._polarities, self._start = polarities, derived_seed(seed, *parts)

    def polarity(self, number: int) -> Polarity:
        return self._polarities[(self._start + number) % len(self._polarities)]

    def position(self, number: int) -> int:
        return (self._start // 2 + number) % 2
