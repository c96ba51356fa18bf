"""`check_gate` and `check_scorer`: what they accept, and each breach that they name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pytest

from scirgen import ACCEPT, Faithfulness, PairGate, Score, Verdict
from scirgen.core.registry import load_registry
from scirgen.testing import ContractError, check_gate, check_scorer


class NoDaily(PairGate):
    """Rejects questions about days."""

    code: ClassVar[str] = "no_daily"
    explanation: ClassVar[str] = "The question is about days."

    def judge(self, pair, material, ctx):
        return Verdict(False, "it asks about a day") if "day" in pair.question else ACCEPT


class Length(Faithfulness):
    """The length of the answer."""

    name: ClassVar[str] = "length"
    needs: ClassVar[tuple[str, ...]] = ()

    async def score(self, pairs, material, ctx):
        return [Score(name="length", value=float(len(p.answer))) for p in pairs]


def test_a_sound_gate_gives_its_verdicts() -> None:
    assert [v.accept for v in check_gate(NoDaily)] == [True, True, False]


def test_a_sound_scorer_gives_its_scores() -> None:
    assert [s.value for s in check_scorer(Length)] == [8.0, 39.0, 2.0]


def test_built_in_gates_and_the_shift_keep_the_contract() -> None:
    registry = load_registry()
    assert len(check_gate(registry.get("gate", "pointing"))) == 3
    assert len(check_scorer(registry.get("faithfulness", "shift"))) == 3


class Without(NoDaily):
    def judge(self, pair, material, ctx):
        return Verdict(False)


class Moody(NoDaily):
    seen: ClassVar[list[str]] = []

    def judge(self, pair, material, ctx):
        self.seen.append(pair.id)
        return Verdict(len(self.seen) % 2 == 0, "by mood")


class TooFew(NoDaily):
    async def check(self, pairs: Sequence[object], material, ctx):
        return [ACCEPT]


@pytest.mark.parametrize(
    ("gate", "says"),
    [(Without, "needs a reason"), (Moody, "the second time"), (TooFew, "one verdict a pair: 1 for 3, 1 for none")],
)
def test_a_gate_that_breaks_its_contract_is_told_how(gate: type[NoDaily], says: str) -> None:
    with pytest.raises(ContractError, match=says):
        check_gate(gate)


class Nameless(Length):
    async def score(self, pairs, material, ctx):
        return [Score(name="other", value=float("nan")) for p in pairs]


class Failing(Length):
    async def score(self, pairs, material, ctx):
        return [ValueError("no model") for p in pairs]


@pytest.mark.parametrize(("scorer", "says"), [(Nameless, "it must be finite"), (Failing, "ValueError: no model")])
def test_a_scorer_that_breaks_its_contract_is_told_how(scorer: type[Length], says: str) -> None:
    with pytest.raises(ContractError, match=says):
        check_scorer(scorer)
