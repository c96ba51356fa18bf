"""The figures of an estimate: low, usual and high values. `scirgen.commands.estimate.estimate` calculates them."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from scirgen.pipeline.views.dearest import DearPaper


@dataclass(frozen=True)
class Figure:
    """Low, usual, high."""

    low: float = 0.0
    usual: float = 0.0
    high: float = 0.0

    def __add__(self, other: Figure) -> Figure:
        return Figure(self.low + other.low, self.usual + other.usual, self.high + other.high)

    def times(self, factor: float) -> Figure:
        """All three scaled."""
        return Figure(self.low * factor, self.usual * factor, self.high * factor)

    def widened(self, share: float) -> Figure:
        """More uncertain on both sides, by a factor of ``1 + share``."""
        return Figure(self.low / (1 + share), self.usual, self.high * (1 + share))


@dataclass(frozen=True)
class StageEstimate:
    """One stage's share; ``kind`` is "chat" (the generator's) or "score" (the scorer's)."""

    stage: str
    kind: str
    items: Figure
    calls: Figure
    prompt_tokens: Figure
    completion_tokens: Figure


@dataclass(frozen=True)
class Estimate:
    """The whole estimate.

    Attributes:
        ceiling_tokens: if every reply ran to its ``max_tokens`` in the high case.
        cost: by the configured prices; None if one is missing.
        hours: None if the model's speed is unknown.
        dearest: papers of the sample that take most calls.
        own_minutes: time that scirgen itself needs (fetching, parsing, gates, store) on this machine.
    """

    datasets: int
    sampled: int
    stages: tuple[StageEstimate, ...]
    calls: Figure
    prompt_tokens: Figure
    completion_tokens: Figure
    ceiling_tokens: float
    cost: Figure | None
    ceiling_cost: float | None
    hours: Figure | None
    own_minutes: float
    notes: tuple[str, ...] = ()
    dearest: tuple[DearPaper, ...] = ()

    def data(self) -> dict[str, object]:
        """As plain data, numbers rounded."""
        found: dict[str, object] = _rounded(asdict(self))  # type: ignore[assignment]
        return found


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, 4) if abs(value) < 100 else round(value)
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    return [_rounded(v) for v in value] if isinstance(value, list | tuple) else value
