"""What gates and faithfulness scorers are; both are plugins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from scirgen.core.records import Aspect, Dataset, QAPair, Score
from scirgen.stages.base import StageContext


@dataclass(frozen=True)
class Material:
    """What the pairs of one dataset are judged against. ``sources`` maps document id (or dataset id) to its text."""

    dataset: Dataset | None
    aspects: tuple[Aspect, ...] = ()
    context: str = ""
    sources: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """Accept or reject, with the reason and the measured score. ``error`` set: no verdict; the pair is tried again later."""

    accept: bool
    reason: str = ""
    score: float | None = None
    error: Exception | None = None


class Gate(Protocol):
    """A gate: one reason code, one explanation, one threshold (or none) from ``config.filter.gate_options[code]``.

    Gates see the pairs that survived the gates before them, of one dataset, together and in the order of ids.
    """

    code: ClassVar[str]
    explanation: ClassVar[str]
    needs_model: ClassVar[bool]

    async def check(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Verdict]:
        """One verdict a pair, in order."""
        ...


class Faithfulness(Protocol):
    """Measures how much the context supports an answer (SePer shift, semantic SePer, NLI, LLM judge)."""

    name: ClassVar[str]
    needs_logprobs: ClassVar[bool]

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        """One score a pair, in order, higher is more faithful; an exception where none could be had, never a default."""
        ...
