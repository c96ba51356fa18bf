"""The filter stage: order of gates, the faithfulness decision, and that nothing is dropped silently."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scirgen.core.errors import ModelAccessError, PluginError, ResourceError, ScirgenError, ServerUnavailableError
from scirgen.core.records import QAPair
from scirgen.llm.base import ScoreReply, ScoreRequest
from scirgen.stages.base import StageContext, StageResult, WorkItem
from scirgen.stages.filter.stage import FilterStage, check_thresholds, select_gates
from tests.support.filtering import DATASET, ScriptedScorer, pair

Make = Callable[..., StageContext]
WHY = pair()
NUMBER = pair("How many gauges are merged?", "2,400 gauges", "quantification")
POINTS = pair(question="Why were gauges merged in this dataset?")


def believes(more: float) -> Callable[[ScoreRequest], ScoreReply]:
    """A scorer for which the context adds ``more`` nats a token."""
    return lambda r: ScoreReply(("a", "b"), (-2.0 + more, -4.0 + more) if "Context:" in str(r.prompt) else (-2.0, -4.0))


async def run(ctx: StageContext, *pairs: QAPair, round_: int = 0) -> StageResult:
    item = WorkItem("ds-1", (DATASET, *pairs), {"round": round_})
    return await FilterStage().process(item, ctx)


async def test_process_when_context_helps_accepts_with_the_score_on_record(make_ctx: Make) -> None:
    result = await run(make_ctx(believes(0.5), faithfulness=["shift"], shift_form="mean"), WHY)
    (accepted,) = result.outputs
    assert isinstance(accepted, QAPair)
    (score,) = accepted.scores
    assert (score.name, score.threshold, score.passed) == ("shift", 0.0, True)
    assert score.value == pytest.approx(0.5)
    assert score.model == "scripted:scorer@1"
    assert (score.tokens, score.logprobs_with, score.logprobs_without) == (("a", "b"), (-1.5, -3.5), (-2.0, -4.0))
    assert score.prompt_hash


async def test_a_pair_that_two_calls_wrote_word_for_word_stays_once(make_ctx: Make) -> None:
    ctx = make_ctx(believes(0.5), faithfulness=["shift"], shift_form="mean")
    result = await run(ctx, WHY, WHY.model_copy(update={"strategy": "linked"}))
    assert [(p.id, p.strategy) for p in result.outputs if isinstance(p, QAPair)] == [(WHY.id, WHY.strategy)]
    assert [(r.code, r.reason) for r in result.rejections] == [("duplicate", "written before, with the same answer")]
    again = await run(ctx, WHY, WHY.model_copy(update={"round": 1}), round_=1)
    assert not again.outputs and [r.code for r in again.rejections] == ["duplicate"]


@pytest.mark.parametrize("shift", [0.0, -0.3])
async def test_process_when_context_does_not_help_rejects_by_the_score(make_ctx: Make, shift: float) -> None:
    result = await run(make_ctx(believes(shift), shift_form="mean"), WHY)
    assert not result.outputs
    (rejection,) = result.rejections
    assert (rejection.code, rejection.record_id, rejection.question_type) == ("shift", WHY.id, "causal_antecedent")
    assert rejection.score == pytest.approx(shift)
    assert QAPair.model_validate_json(rejection.record).scores[0].value == pytest.approx(shift)


async def test_process_when_a_type_has_its_own_threshold_uses_it(make_ctx: Make) -> None:
    ctx = make_ctx(believes(0.5), thresholds={"shift": {"quantification": 0.6}})
    result = await run(ctx, WHY, NUMBER)
    assert [p.id for p in result.outputs if isinstance(p, QAPair)] == [WHY.id]
    assert [r.record_id for r in result.rejections] == [NUMBER.id]


async def test_the_relative_shift_must_exceed_zero_or_the_threshold_that_is_set(make_ctx: Make) -> None:
    barely = believes(0.2)  # 0.4 of 6 nats: 0.067 of the surprise
    (rejection,) = (await run(make_ctx(barely, thresholds={"shift": {"*": 0.1}}), WHY)).rejections
    assert rejection.score == pytest.approx(0.4 / 6) and "not above 0.1" in rejection.reason
    (kept,) = (await run(make_ctx(barely), WHY)).outputs
    assert isinstance(kept, QAPair) and kept.unsure
    assert (await run(make_ctx(believes(-0.2)), WHY)).rejections


@pytest.mark.parametrize(
    ("thresholds", "error"),
    [({"shfit": {"*": 0.2}}, PluginError), ({"shift": {"verifcation": 0.2}}, ResourceError)],
)
def test_thresholds_that_nobody_would_read_are_refused(
    make_ctx: Make, thresholds: dict[str, dict[str, float]], error: type[ScirgenError]
) -> None:
    with pytest.raises(error) as caught:
        check_thresholds(make_ctx(believes(0.5), thresholds=thresholds))
    assert "shift" in caught.value.hint or "verification" in caught.value.hint
    check_thresholds(make_ctx(believes(0.5), thresholds={"shift": {"verification": 0.2, "*": 0.1}}))


async def test_process_when_a_gate_rejects_never_asks_the_scorer_about_the_pair(make_ctx: Make) -> None:
    ctx = make_ctx(believes(1.0), faithfulness=["shift"])
    result = await run(ctx, WHY, POINTS)
    assert [(r.code, r.record_id) for r in result.rejections] == [("pointing", POINTS.id)]
    scorer = ctx.scorer
    assert isinstance(scorer, ScriptedScorer)
    assert [len(call) for call in scorer.calls] == [2]  # one pair, with and without; one call for the dataset


@pytest.mark.parametrize("worse", ["qa-1", "qa-2"])
async def test_a_pair_stays_where_its_duplicate_is_rejected_by_a_score(make_ctx: Make, worse: str) -> None:
    twins = [pair().model_copy(update={"id": id, "answer": f"{WHY.answer} ({id})"}) for id in ("qa-1", "qa-2")]
    result = await run(
        make_ctx(lambda r: believes(-1.0 if worse in r.continuation else 1.0)(r), gates=["duplicate"]), *twins
    )
    assert [p.id for p in result.outputs if isinstance(p, QAPair)] == [{"qa-1": "qa-2", "qa-2": "qa-1"}[worse]]
    assert [(r.code, r.record_id) for r in result.rejections] == [("shift", worse)]


async def test_process_when_the_scorer_fails_on_one_pair_fails_that_pair_alone(make_ctx: Make) -> None:
    def rule(request: ScoreRequest) -> ScoreReply | ServerUnavailableError:
        if "2,400" in request.continuation:
            return ServerUnavailableError("connection reset", hint="Start the server.")
        return believes(1.0)(request)

    result = await run(make_ctx(rule), WHY, NUMBER)
    assert [p.id for p in result.outputs if isinstance(p, QAPair)] == [WHY.id]
    (failure,) = result.failures
    assert (failure.code, failure.record_id, failure.retryable) == ("server_unavailable", NUMBER.id, True)
    assert not result.rejections


@pytest.mark.parametrize("logprobs", [(), (float("nan"),), (float("-inf"),)])
async def test_process_when_log_probabilities_are_unusable_gives_no_verdict(
    make_ctx: Make, logprobs: tuple[float, ...]
) -> None:
    result = await run(make_ctx(lambda r: ScoreReply(("x",) * len(logprobs), logprobs)), WHY)
    assert not result.outputs and not result.rejections
    assert [f.code for f in result.failures] == ["no_logprobs"]


async def test_process_when_an_error_is_fatal_stops(make_ctx: Make) -> None:
    with pytest.raises(ModelAccessError):
        await run(make_ctx(lambda r: ModelAccessError("wrong key")), WHY)


async def test_process_whatever_the_order_of_candidates_gives_the_same(make_ctx: Make) -> None:
    pairs = [WHY, NUMBER, POINTS, pair(answer="Because satellites miss snowfall there.")]
    one, other = await run(make_ctx(believes(1.0)), *pairs), await run(make_ctx(believes(1.0)), *reversed(pairs))
    assert one == other
    assert len(one.outputs) + len(one.rejections) == len(pairs)


async def test_process_in_a_later_round_judges_only_that_rounds_candidates(make_ctx: Make) -> None:
    fresh = NUMBER.model_copy(update={"round": 1})
    again = WHY.model_copy(update={"round": 1, "id": "qa-again"})
    result = await run(make_ctx(believes(1.0)), WHY, fresh, again, round_=1)
    assert [p.id for p in result.outputs if isinstance(p, QAPair)] == [fresh.id]
    assert [(r.code, r.record_id) for r in result.rejections] == [("duplicate", "qa-again")]


async def test_process_without_a_scorer_accepts_what_the_gates_let_pass(make_ctx: Make) -> None:
    result = await run(make_ctx(faithfulness=[]), WHY)
    assert len(result.outputs) == 1


def test_select_gates_orders_cheap_before_models_and_honours_switches(make_ctx: Make) -> None:
    ctx = make_ctx(gate_options={"pointing": {"enabled": False}})
    gates = select_gates(ctx.config, ctx.registry)
    assert "pointing" not in {g.code for g in gates}
    assert [(g.after_scores, bool(g.models())) for g in gates] == sorted(
        (g.after_scores, bool(g.models())) for g in gates
    )
    assert gates[0].code == "schema"


def test_select_gates_when_a_code_is_misspelt_suggests_the_right_one(make_ctx: Make) -> None:
    ctx = make_ctx(gate_options={"pointin": {"threshold": 1}})
    with pytest.raises(PluginError) as caught:
        select_gates(ctx.config, ctx.registry)
    assert "pointing" in caught.value.hint
