"""The usage of a run: calls, tokens, cost and cache hits, and the budgets that stop it.

To keep a cap, each call is booked before it is made, with the usage of similar calls. Calls in flight count too, so
many simultaneous calls (or a batch of thousands) cannot exceed the cap together.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scirgen.core.config import LimitsConfig
from scirgen.core.errors import BudgetReachedError
from scirgen.llm.base import Usage
from scirgen.llm.cache import Spent
from scirgen.llm.services import Price


@dataclass
class RoleUsage:
    """Counts of one role ("generator", "scorer").

    ``uncounted`` is the number of replies for which the backend gave no token counts; token sums are then lower bounds,
    and budgets use ``guessed_...``, the booked usage of those replies. ``booked_...`` is for the calls in flight,
    ``characters`` counts those of the prompts whose tokens are known, ``longest`` is the longest reply's tokens; all of
    these are kept only with a cap. ``reasoning_tokens`` are part of the completion tokens.
    """

    calls: int = 0
    cache_hits: int = 0
    shared: int = 0
    failures: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    cached_tokens: int = 0
    price: Price | None = None
    characters: int = 0
    longest: int = 0
    reasoning_tokens: int = 0
    booked_prompt: float = 0.0
    booked_completion: float = 0.0
    guessed_prompt: float = 0.0
    guessed_completion: float = 0.0

    @property
    def prompt(self) -> float:
        """Prompt tokens spent, guessed and booked."""
        return self.prompt_tokens + self.guessed_prompt + self.booked_prompt

    @property
    def completion(self) -> float:
        """Completion tokens spent, guessed and booked."""
        return self.completion_tokens + self.guessed_completion + self.booked_completion

    @property
    def cost(self) -> float | None:
        """Money spent, in the unit of the configured prices; None if a price or a count is unknown."""
        if self.price is None or self.uncounted:
            return None
        return _price(self.price, self.prompt_tokens, self.completion_tokens, self.cached_tokens)

    def row(self) -> dict[str, object]:
        """Return the counts for the manifest."""
        return {
            "calls": self.calls,
            "cache_hits": self.cache_hits,
            "shared_in_flight": self.shared,
            "failed_calls": self.failures,
            "retries": self.retries,
            "prompt_tokens": None if self.uncounted and not self.prompt_tokens else self.prompt_tokens,
            "completion_tokens": None if self.uncounted and not self.completion_tokens else self.completion_tokens,
            "cached_prompt_tokens": self.cached_tokens,
            **({"reasoning_tokens": self.reasoning_tokens} if self.reasoning_tokens else {}),
            "replies_without_token_counts": self.uncounted,
            "cost": self.cost,
        }


@dataclass(frozen=True)
class Booking:
    """The expected usage of one call, in tokens."""

    role: str
    characters: int
    prompt: float
    completion: float


_FREE = Booking("", 0, 0.0, 0.0)

_CHARACTERS_A_TOKEN = 4
"""Estimate until the first reply arrives."""

_WORTH_A_BATCH = 0.25
"""Share of a cap that must be in flight before a call waits for it, if that may take a day."""

_DENSER = 1.2
"""Tables and numbers take more tokens per character than average text."""


@dataclass
class UsageMeter:
    """Usage of all roles of a run, and its budgets. Cached replies cost nothing and never count against a budget.

    ``slow``: replies take very long (a batch), so waiting for them is rarely worthwhile.
    """

    limits: LimitsConfig = field(default_factory=LimitsConfig)
    roles: dict[str, RoleUsage] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    slow: bool = False
    _in_flight: int = 0
    _landing: asyncio.Future[None] | None = None

    def role(self, name: str, price: Price | None = None) -> RoleUsage:
        """Return the counts of a role, made on first use."""
        usage = self.roles.setdefault(name, RoleUsage())
        if price is not None:
            usage.price = price
        return usage

    async def book(self, role: str, characters: int, most: float) -> Booking:
        """Book a paid call before it is made, with its prompt's characters and the largest number of reply tokens;
        `add` or `unbook` follows.

        The estimate for the reply is the role's longest reply so far, or half of ``most`` before the first one. A high
        estimate costs little: a call without room waits until the calls in flight have finished. If that takes up to a
        day (``slow``), it waits only while they hold a large part of the cap.

        Raises:
            BudgetReachedError: the call would exceed one of the user's caps; the message says which.
        """
        if self.limits.max_minutes is not None:
            self.check()
        if self.limits.max_tokens is None and self.limits.max_cost is None:
            return _FREE
        while True:
            booking = self._expected(role, characters, most)
            cap = self._passed(booking)
            if cap is None:
                break
            if not self._in_flight or (self.slow and self._share_booked() < _WORTH_A_BATCH):
                raise _reached(cap)
            self._landing = self._landing or asyncio.get_running_loop().create_future()
            await asyncio.shield(self._landing)
        counts = self.role(role)
        counts.booked_prompt += booking.prompt
        counts.booked_completion += booking.completion
        self._in_flight += 1
        return booking

    def _expected(self, role: str, characters: int, most: float) -> Booking:
        counts = self.role(role)
        completion = min(most, counts.longest) if counts.longest else most / 2
        rate = counts.prompt_tokens / counts.characters if counts.characters else 1 / _CHARACTERS_A_TOKEN
        return Booking(role, characters, characters * rate * _DENSER, completion)

    def unbook(self, booking: Booking) -> None:
        """Remove a booking, because the call failed or its usage is about to be added."""
        if booking is _FREE:
            return
        counts = self.role(booking.role)
        counts.booked_prompt -= booking.prompt
        counts.booked_completion -= booking.completion
        self._in_flight -= 1
        if self._landing is not None:
            self._landing.set_result(None)
            self._landing = None

    def add(self, role: str, usage: Usage, booking: Booking = _FREE, *, characters: int = 0) -> None:
        """Count one paid reply; ``characters`` are those of its prompt, if the booking does not have them."""
        self.unbook(booking)
        counts = self.role(role)
        counts.calls += 1
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            counts.uncounted += 1
            counts.guessed_prompt += booking.prompt if usage.prompt_tokens is None else 0.0
            counts.guessed_completion += booking.completion if usage.completion_tokens is None else 0.0
        else:
            counts.characters += booking.characters or characters
        counts.prompt_tokens += usage.prompt_tokens or 0
        counts.completion_tokens += usage.completion_tokens or 0
        counts.cached_tokens += usage.cached_tokens or 0
        counts.reasoning_tokens += usage.reasoning_tokens or 0
        counts.longest = max(counts.longest, usage.completion_tokens or 0)

    @property
    def tokens(self) -> int:
        """All tokens paid for so far."""
        return sum(r.prompt_tokens + r.completion_tokens for r in self.roles.values())

    @property
    def cost(self) -> float | None:
        """Total cost; None if the cost of any role with calls is unknown."""
        costs = [r.cost for r in self.roles.values() if r.calls]
        return None if any(c is None for c in costs) else sum(c or 0.0 for c in costs)

    def check(self) -> None:
        """Check the caps against past usage, for callers that cannot book single calls.

        Raises:
            BudgetReachedError: a cap is reached.
        """
        minutes = self.limits.max_minutes
        if minutes is not None and (time.monotonic() - self.started) / 60 >= minutes:
            raise _reached(f"{minutes:g} minutes")
        if cap := self._passed(_FREE):
            raise _reached(cap)

    def _passed(self, booking: Booking) -> str | None:
        """Return the cap that is reached, or that a call would exceed."""
        limits = self.limits
        if limits.max_tokens is not None:
            spent = sum(r.prompt + r.completion for r in self.roles.values())
            if spent >= limits.max_tokens or spent + booking.prompt + booking.completion > limits.max_tokens:
                return f"{limits.max_tokens:,} tokens"
        if limits.max_cost is not None:
            money = sum(_price(r.price, r.prompt, r.completion, r.cached_tokens) for r in self.roles.values())
            price = self.role(booking.role).price if booking is not _FREE else None
            if money >= limits.max_cost or money + _price(price, booking.prompt, booking.completion) > limits.max_cost:
                return f"a cost of {limits.max_cost:g}"
        return None

    def _share_booked(self) -> float:
        limits, roles = self.limits, self.roles.values()
        tokens = sum(r.booked_prompt + r.booked_completion for r in roles)
        money = sum(_price(r.price, r.booked_prompt, r.booked_completion) for r in roles)
        return max(tokens / (limits.max_tokens or math.inf), money / (limits.max_cost or math.inf))

    def used(self) -> str:
        """Return a text that describes the usage so far."""
        calls = sum(r.calls for r in self.roles.values())
        uncounted = sum(r.uncounted for r in self.roles.values())
        said = f"{calls:,} model calls, {self.tokens:,} tokens"
        said += f" ({uncounted:,} replies without token counts)" if uncounted else ""
        cost = self.cost
        return said + (f", cost {cost:.4f}" if cost is not None and calls else "")

    def summary(self) -> Mapping[str, object]:
        """Return the usage for the manifest and the progress display, without estimates; unknown values are None."""
        return {
            **{name: usage.row() for name, usage in sorted(self.roles.items())},
            "total_tokens": self.tokens,
            "total_cost": self.cost,
        }


def whole_usage(spent: Sequence[Spent], meter: UsageMeter, models: Mapping[str, str]) -> dict[str, object]:
    """Return the usage of a run over all invocations, in the shape of `UsageMeter.summary`; costs by the prices now
    configured.

    Args:
        spent: usage by kind of reply and model.
        meter: the roles' prices.
        models: role -> model. Replies of a model that has no role any more count as the generator's.
    """
    chats = {model: role for role, model in reversed(list(models.items())) if role != "scorer"}
    roles: dict[str, RoleUsage] = {}
    for one in spent:
        role = "scorer" if one.kind == "score" else chats.get(one.model, "generator")
        row = roles.setdefault(role, RoleUsage(price=meter.role(role).price))
        row.calls += one.calls
        row.prompt_tokens += one.prompt_tokens
        row.completion_tokens += one.completion_tokens
        row.cached_tokens += one.cached_tokens
        row.uncounted += one.uncounted
    shown = {
        "calls", "prompt_tokens", "completion_tokens", "cached_prompt_tokens", "replies_without_token_counts", "cost",
    }  # fmt: skip
    rows = {role: {k: v for k, v in row.row().items() if k in shown} for role, row in roles.items()}
    known = [row.cost for row in roles.values() if row.cost is not None]
    total = sum(known) if len(known) == len(roles) else None
    tokens = sum(row.prompt_tokens + row.completion_tokens for row in roles.values())
    return {**rows, "total_tokens": tokens, "total_cost": total}


def _price(price: Price | None, prompt: float, completion: float, cached: float = 0.0) -> float:
    if price is None:
        return 0.0
    for_cached = price[2] if len(price) == 3 else price[0]
    return ((prompt - cached) * price[0] + cached * for_cached + completion * price[1]) / 1e6


def _reached(what: str) -> BudgetReachedError:
    return BudgetReachedError(
        f"budget reached: {what}",
        hint="Run the same command again to continue; a cap counts the usage of one invocation.",
    )
