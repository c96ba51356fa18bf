"""Puts several pairs of a dataset into one prompt, which shows shared evidence once, with numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scirgen.core.records import QAPair
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.faithfulness.windows import chosen_window, span_texts


@dataclass(frozen=True)
class Batch:
    """The pairs of one call.

    Attributes:
        pairs: the pairs, numbered from 1 in this order.
        texts: the evidence of all pairs, each text once, numbered from 1.
        cited: for each pair, the number of each span's text; without spans, of the texts found for it.
    """

    pairs: tuple[QAPair, ...]
    texts: tuple[str, ...]
    cited: tuple[tuple[int, ...], ...]

    @property
    def lines(self) -> list[str]:
        """The numbered evidence, one text per line."""
        return [f"[{n}] {' '.join(text.split())}" for n, text in enumerate(self.texts, 1)]


def batches(pairs: Sequence[QAPair], material: Material, size: int, characters: int = 24_000) -> list[Batch]:
    """Batches of up to ``size`` pairs whose evidence has up to ``characters`` characters, in order.

    A statement of a paper comes after its context, as the writer read it, and a sentence that answers what somebody
    asked after the title of its source.
    """
    abouts = {" ".join(a.span.text.split()): a.context for a in material.aspects if a.context}
    found: list[Batch] = []
    chosen: list[QAPair] = []
    numbers: dict[str, int] = {}
    cited: list[tuple[int, ...]] = []

    def close() -> None:
        if chosen:
            found.append(Batch(tuple(chosen), tuple(numbers), tuple(cited)))
        chosen.clear()
        numbers.clear()
        cited.clear()

    for pair in pairs:
        read = span_texts(pair, material) or chosen_window("evidence", pair, material).split("\n")
        said = [" ".join(t.split()) for t in read if t.strip() or pair.evidence]
        texts = [f"{abouts[t]}: {t}" if t in abouts else t for t in said]
        if pair.grades:  # it may cite several records, whose sentences do not name them
            texts = [f"{material.title(s.document_id)}: {t}" for s, t in zip(pair.evidence, texts, strict=True)]
        length = sum(len(t) for t in numbers) + sum(len(t) for t in texts if t not in numbers)
        if len(chosen) >= size or (chosen and length > characters):
            close()
        cited.append(tuple(numbers.setdefault(t, len(numbers) + 1) for t in texts))
        chosen.append(pair)
    close()
    return found
