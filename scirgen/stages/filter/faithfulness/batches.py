"""Puts several pairs of a dataset into one call of the judge, which sees shared texts once, with numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from scirgen.core.errors import ModelError, ScirgenError
from scirgen.core.records import QAPair
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.faithfulness.windows import chosen_window, span_texts

_CHARACTERS: Final = 24_000
"""Largest number of characters of text in a call."""
T = TypeVar("T")
R = TypeVar("R")
Told = tuple[str, str]
"""A text after the title of its source, which is empty where the text names what it is about."""


@dataclass(frozen=True)
class Batch(Generic[T]):
    """The pairs of one call.

    Attributes:
        pairs: the pairs, numbered from 1 in this order.
        texts: the texts of all pairs, each once, numbered from 1.
        cited: for each pair, the number of each of its texts.
    """

    pairs: tuple[QAPair, ...]
    texts: tuple[T, ...]
    cited: tuple[tuple[int, ...], ...]


def batches(
    pairs: Iterable[QAPair], texts: Callable[[QAPair], Sequence[T]], size: int, length: Callable[[T], int]
) -> Iterator[Batch[T]]:
    """Yield batches of up to ``size`` pairs whose texts have up to `_CHARACTERS` characters, in order.

    Args:
        pairs: the pairs.
        texts: gives the texts that a pair needs.
        size: largest number of pairs in a batch.
        length: counts the characters of a text.
    """
    chosen: list[QAPair] = []
    numbers: dict[T, int] = {}
    cited: list[tuple[int, ...]] = []
    for pair in pairs:
        mine = texts(pair)
        characters = sum(map(length, numbers)) + sum(length(t) for t in mine if t not in numbers)
        if len(chosen) >= size or (chosen and characters > _CHARACTERS):
            yield Batch(tuple(chosen), tuple(numbers), tuple(cited))
            chosen, numbers, cited = [], {}, []
        cited.append(tuple(numbers.setdefault(t, len(numbers) + 1) for t in mine))
        chosen.append(pair)
    if chosen:
        yield Batch(tuple(chosen), tuple(numbers), tuple(cited))


def evidence_batches(pairs: Iterable[QAPair], material: Material, size: int) -> Iterator[Batch[Told]]:
    """Yield batches with the pairs' evidence, one text per span; without spans, the texts found for a pair.

    A statement of a paper comes after its context, as the writer read it, and a sentence that answers what somebody
    asked with the title of its source.
    """
    abouts = {" ".join(a.span.text.split()): a.context for a in material.aspects if a.context}

    def texts(pair: QAPair) -> list[Told]:
        read = span_texts(pair, material) or chosen_window("evidence", pair, material).split("\n")
        shown = [" ".join(t.split()) for t in read if t.strip() or pair.evidence]
        shown = [f"{abouts[t]}: {t}" if t in abouts else t for t in shown]
        if not pair.grades:
            return [("", t) for t in shown]
        # It may cite several records, whose sentences do not name them.
        return [(material.title(s.document_id), t) for s, t in zip(pair.evidence, shown, strict=True)]

    return batches(pairs, texts, size, lambda told: len(told[1]))


def numbered(texts: Iterable[Told]) -> Iterator[str]:
    """Yield the texts, numbered from 1, each on one line; before the first of several from one source, its title."""
    last = ""
    for n, (title, text) in enumerate(texts, 1):
        if title != last:
            yield f"From: {' '.join(title.split()) or '-'}"
            last = title
        yield f"[{n}] {' '.join(text.split())}"


class Fault(BaseModel):
    """What is wrong with one pair."""

    model_config = ConfigDict(extra="forbid")
    number: int = Field(description="the pair's number")
    fault: str = Field(description="the claim that fails, or what the question lacks")


class Reply(BaseModel):
    """A judge's reply about numbered pairs: faults before verdicts, so that it reasons first."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="ignore")
    faults: list[Fault] = []

    def fault(self, number: int) -> str:
        """Return the fault of a pair on one line; "" if it has none."""
        return " ".join(next((f.fault for f in self.faults if f.number == number), "").split())[:200]


def no_verdict(number: int) -> ModelError:
    """Return the error of a pair without a verdict in the reply."""
    return ModelError(f"the judge returned no verdict for pair {number}", code="no_verdict")


def reply_to(base: type[BaseModel], numbers: Sequence[int], **fields: tuple[object, object]) -> type[Any]:
    """Return the class of a reply with one field per number ("p1", "p2"), which takes a third of the tokens of
    objects."""
    wanted: dict[str, Any] = {f"{name}{n}": field for name, field in fields.items() for n in numbers}
    return create_model(base.__name__, __base__=base, **wanted)


async def ask_each(
    groups: Iterable[Batch[T]], ask: Callable[[Batch[T]], Awaitable[dict[str, R | Exception]]]
) -> dict[str, R | Exception]:
    """Ask about all batches; return ``ask``'s result for each pair id, or the error in its place."""

    async def one(batch: Batch[T]) -> dict[str, R | Exception]:
        try:
            return await ask(batch)
        except ScirgenError as error:
            if error.fatal:
                raise
            return dict.fromkeys((p.id for p in batch.pairs), error)

    found: dict[str, R | Exception] = {}
    for part in await asyncio.gather(*map(one, groups)):
        found |= part
    return found
