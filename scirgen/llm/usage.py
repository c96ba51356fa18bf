"""What a run spent: calls, tokens, cost and cache hits, and the budgets that stop it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from scirgen.core.config import LimitsConfig
from scirgen.core.errors import BudgetReachedError
from scirgen.llm.base import Usage


@dataclass
class RoleUsage:
    """Counts of one role ("generator", "scorer").

    ``uncounted`` is the number of replies for which the backend gave no token counts; token sums are then lower bounds.
    """

    calls: int = 0
    cache_hits: int = 0
    shared: int = 0
    failures: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    price: tuple[float, float] | None = None

    @property
    def cost(self) -> float | None:
        """Money spent, in the unit of the configured prices; None where no price is known or a count is missing."""
        if self.price is None or self.uncounted:
            return None
        return (self.prompt_tokens * self.price[0] + self.completion_tokens * self.price[1]) / 1e6

    def row(self) -> dict[str, object]:
        """For the manifest."""
        return {
            "calls": self.calls,
            "cache_hits": self.cache_hits,
            "shared_in_flight": self.shared,
            "failed_calls": self.failures,
            "retries": self.retries,
            "prompt_tokens": None if self.uncounted and not self.prompt_tokens else self.prompt_tokens,
            "completion_tokens": None if self.uncounted and not self.completion_tokens else self.completion_tokens,
            "replies_without_token_counts": self.uncounted,
            "cost": self.cost,
        }


@dataclass
class UsageMeter:
    """Usage of all roles of a run, and its budgets. Cached replies cost nothing and never count against a budget."""

    limits: LimitsConfig = field(default_factory=LimitsConfig)
    roles: dict[str, RoleUsage] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def role(self, name: str, price: tuple[float, float] | None = None) -> RoleUsage:
        """The counts of a role, made on first use."""
        usage = self.roles.setdefault(name, RoleUsage())
        if price is not None:
            usage.price = price
        return usage

    def add(self, role: str, usage: Usage) -> None:
        """Count one reply that was paid for."""
        counts = self.role(role)
        counts.calls += 1
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            counts.uncounted += 1
        counts.prompt_tokens += usage.prompt_tokens or 0
        counts.completion_tokens += usage.completion_tokens or 0

    @property
    def tokens(self) -> int:
        """All tokens paid for so far."""
        return sum(r.prompt_tokens + r.completion_tokens for r in self.roles.values())

    @property
    def cost(self) -> float | None:
        """Total cost; None where any role with calls has no known cost."""
        costs = [r.cost for r in self.roles.values() if r.calls]
        return None if any(c is None for c in costs) else sum(c or 0.0 for c in costs)

    def check(self) -> None:
        """Called before each paid call.

        Raises:
            BudgetReachedError: a cap of the user's is reached; it says which, and what the run has bought.
        """
        limits, minutes = self.limits, (time.monotonic() - self.started) / 60
        spent = sum(r.cost or 0.0 for r in self.roles.values())
        reached = None
        if limits.max_tokens is not None and self.tokens >= limits.max_tokens:
            reached = f"{self.tokens:,} of {limits.max_tokens:,} tokens"
        elif limits.max_cost is not None and spent >= limits.max_cost:
            reached = f"a cost of {spent:.4f} of {limits.max_cost:.4f}"
        elif limits.max_minutes is not None and minutes >= limits.max_minutes:
            reached = f"{minutes:.1f} of {limits.max_minutes:g} minutes"
        if reached:
            calls = sum(r.calls for r in self.roles.values())
            raise BudgetReachedError(
                f"budget reached: {reached} ({calls:,} model calls, {self.tokens:,} tokens)",
                hint="Raise the cap and run the same command again; it goes on from here.",
            )

    def summary(self) -> Mapping[str, object]:
        """For the manifest and the progress display. Nothing in it is estimated: unknown is None."""
        return {
            **{name: usage.row() for name, usage in sorted(self.roles.items())},
            "total_tokens": self.tokens,
            "total_cost": self.cost,
        }
