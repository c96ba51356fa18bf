"""The shift on a real (tiny) model: a pair's score is its own, whatever else is scored with it, and in what order."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scirgen.core.records import QAPair, Score
from scirgen.llm.score_session import CachedScoreSession
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.faithfulness.shift import ShiftScorer
from scirgen_local.transformers_scoring import TransformersScoring
from tests.support.filtering import DATASET, pair
from tests.support.tiny_models import TEXT, tiny

MATERIAL = Material(DATASET, (), TEXT * 2, {DATASET.id: DATASET.text})
WORDS = ("Yes", "No", "snow", "40", "years", "since", "1979", "at", "12", "stations", "depth", "°", "河")
SCORING = TransformersScoring.of(tiny("llama"), {"scoring_pack_tokens": 64})


async def shifts(pairs: list[QAPair], ctx: StageContext) -> list[float]:
    scores = await ShiftScorer().score(pairs, MATERIAL, ctx)
    return [s.value if isinstance(s, Score) else pytest.fail(str(s)) for s in scores]


def fresh(make_ctx: Callable[..., StageContext], window: str) -> StageContext:
    """A context whose session has an empty cache, so that everything is measured."""
    ctx = make_ctx(window=window, shift_form="mean")
    ctx = replace(ctx, score_session=CachedScoreSession(SCORING))
    return ctx


@given(
    answers=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join), min_size=2, max_size=6),
    window=st.sampled_from(["full", "evidence"]),
    seed=st.integers(0, 99),
)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
async def test_neither_order_nor_company_changes_a_pairs_score(
    make_ctx: Callable[..., StageContext], answers: list[str], window: str, seed: int
) -> None:
    rng = random.Random(seed)
    pairs = [pair(answer=a, question=rng.choice(["Does it snow?", "Which period is covered?"])) for a in answers]
    together = await shifts(pairs, fresh(make_ctx, window))
    order = rng.sample(range(len(pairs)), len(pairs))
    turned = await shifts([pairs[i] for i in order], fresh(make_ctx, window))
    assert [turned[order.index(i)] for i in range(len(pairs))] == pytest.approx(together, abs=1e-4)
    # And the last pair added changes no other: without it they score the same.
    assert await shifts(pairs[:-1], fresh(make_ctx, window)) == pytest.approx(together[:-1], abs=1e-4)
    assert len(set(answers)) == 1 or max(together) - min(together) > 1e-3, "all answers have the same score"
