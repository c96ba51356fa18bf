"""Answers that rest on cells of a table: what code can recompute passes, the rest does not."""

from __future__ import annotations

import pytest

from scirgen.core.records import QAPair, Span
from scirgen.stages.base import StageContext
from scirgen.stages.filter.gates.cells import NotComputedGate
from scirgen.stages.filter.gates.evidence import NotSupportedGate
from tests.support.filtering import pair, verdict


def cell(text: str, *headers: str) -> Span:
    return Span(document_id="ds-1", start=0, end=len(text), text=text, medium="table", headers=headers)


CELLS = (cell("84.5", "Alpine meadow", "Yield (t)"), cell("30.1", "Alpine steppe", "Yield (t)"))


def on_cells(question: str, answer: str, *cells: Span) -> QAPair:
    return pair(question, answer, "comparison").model_copy(update={"evidence": cells or CELLS})


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How much larger is the yield of alpine meadow than that of alpine steppe?", "It is 54.4 t larger."),
        ("What is the mean yield of alpine meadow and alpine steppe?", "57.3 t"),
        ("How many times the yield of alpine steppe is that of alpine meadow?", "2.81 times"),
        ("Which alpine type has the largest yield?", "Alpine meadow, with 84.5 t."),
        ("Which alpine type has the lowest yield?", "Alpine steppe."),
    ],
)
async def test_what_follows_from_the_cells_passes(ctx: StageContext, question: str, answer: str) -> None:
    for gate in (NotComputedGate, NotSupportedGate):
        found = await verdict(gate, on_cells(question, answer), ctx)
        assert found.accept, (gate.code, found.reason)


@pytest.mark.parametrize(
    ("question", "answer", "why"),
    [
        ("How much larger is the yield of alpine meadow?", "It is 55.9 t larger.", "does not follow"),
        ("What is the yield of alpine meadow?", "84.5 %", "is in t in its cell"),
        ("Which alpine type has the lowest yield?", "Alpine meadow, with 84.5 t.", "not the smallest"),
    ],
)
async def test_what_does_not_follow_is_rejected(ctx: StageContext, question: str, answer: str, why: str) -> None:
    found = await verdict(NotComputedGate, on_cells(question, answer), ctx)
    assert not found.accept and why in found.reason


async def test_an_extreme_of_one_cell_is_rejected_and_prose_is_left_alone(ctx: StageContext) -> None:
    alone = on_cells("Which alpine type has the largest yield?", "Alpine meadow, with 84.5 t.", CELLS[0])
    assert not (await verdict(NotComputedGate, alone, ctx)).accept
    assert (await verdict(NotComputedGate, pair(answer="It is 99.9 t."), ctx)).accept
