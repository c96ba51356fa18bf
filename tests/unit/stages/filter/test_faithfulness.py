from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scirgen.core.errors import ConfigError, ContextTooLongError, ModelError
from scirgen.core.prompts import RenderedPrompt
from scirgen.core.records import Aspect, AspectCategory, Dataset, Score, Span
from scirgen.llm.base import Capabilities, ModelIdentity, ScoreReply, ScoreRequest
from scirgen.llm.encoders.entailment import open_entailment
from scirgen.llm.session import Answer
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.deciding import decide, outcome, score_all, sentence
from scirgen.stages.filter.faithfulness.judged import EntailmentScorer, JudgeReply, JudgeScorer
from scirgen.stages.filter.faithfulness.shift import FORMS, ShiftScorer
from scirgen.stages.filter.faithfulness.windows import evidence_window, passages, rank
from scirgen.stages.filter.gates.reference import AsksBackGate
from scirgen.stages.filter.stage import FilterStage
from tests.support.filtering import DATASET, DESCRIPTION, MATERIAL, ScriptedScorer, pair, span

MakeCtx = Callable[..., StageContext]
LONG = "\n".join(
    f"Line {i}: the weather of station {i} was dry and the instruments of group {i} rested." for i in range(60)
)


def text_of(request: ScoreRequest) -> str:
    return request.prompt if isinstance(request.prompt, str) else request.prompt[-1].content


def believes_the_context(request: ScoreRequest) -> ScoreReply:
    """-1 a word with a context that holds the answer, -2 with another, -3 without."""
    answer, prompt = request.continuation, text_of(request)
    with_context = "Context:" in prompt
    value = -1.0 if with_context and answer.strip(" .") in prompt else -2.0 if with_context else -3.0
    return ScoreReply(tuple(answer.split()), (value,) * len(answer.split()), 5)


def only(scores: Sequence[Score | Exception]) -> Score:
    assert len(scores) == 1 and isinstance(scores[0], Score), scores
    return scores[0]


@pytest.mark.parametrize(
    ("form", "expected"),
    [("mean", 1.0), ("relative", 1 / 3)],
)
async def test_shift_follows_its_formula(make_ctx: MakeCtx, form: str, expected: float) -> None:
    one = pair(answer="because of the wind")
    score = only(
        await ShiftScorer().score([one], MATERIAL, make_ctx(believes_the_context, shift_form=form, window="full"))
    )
    assert score.value == pytest.approx(expected)
    assert score.logprobs_with == (-2.0,) * 4 and score.logprobs_without == (-3.0,) * 4 and len(score.tokens) == 4
    assert score.model == "scripted:scorer@1" and score.prompt_hash and form in score.detail


@settings(deadline=None)
@given(st.lists(st.floats(-20, -0.01), min_size=1, max_size=12), st.floats(0.01, 5))
def test_every_form_is_zero_without_a_change_and_grows_with_belief(alone: list[float], gain: float) -> None:
    better = [min(v + gain, -0.001) for v in alone]
    for form in FORMS.values():
        assert form(alone, alone) == pytest.approx(0.0, abs=1e-9)
        assert form(better, alone) > 0 > form(alone, better) - 1e-12


async def test_contexts_are_asked_together_to_compute_what_they_share_once(make_ctx: MakeCtx) -> None:
    ctx = make_ctx(believes_the_context)
    await ShiftScorer().score([pair(), pair(answer="No idea at all.")], MATERIAL, ctx)
    assert isinstance(ctx.scorer, ScriptedScorer) and [len(c) for c in ctx.scorer.calls] == [4]


async def test_what_cannot_be_scored_is_an_error_in_its_place_never_a_default(make_ctx: MakeCtx) -> None:
    def refuses(request: ScoreRequest) -> ScoreReply | ModelError:
        if "Context:" in text_of(request) and "good" in request.continuation:
            return ContextTooLongError("too long")
        if "nan" in request.continuation:
            return ScoreReply(("nan",), (math.nan,))
        return believes_the_context(request)

    pairs = [pair(answer="a good one"), pair(answer="nan"), pair(answer="miss snowfall")]
    scores = await ShiftScorer().score(pairs, MATERIAL, make_ctx(refuses, shift_form="mean"))
    assert isinstance(scores[0], ContextTooLongError) and isinstance(scores[1], ModelError)
    assert isinstance(scores[2], Score) and scores[2].value == 2.0


def test_a_cited_line_of_a_record_brings_that_line_only() -> None:
    table = ("Time resolution", "lat Latitude of the centre per hour", "lon Longitude of the centre per hour")
    dataset = Dataset(id="d", title="Cyclone tracks", description="\n".join(table), fields=(("Authors", "WU"),))
    for line in ("Title: Cyclone tracks", table[1]):
        start = dataset.text.index(line)
        span = Span(document_id="d", start=start, end=start + len(line), text=line)
        found = evidence_window(pair(evidence=(span,)), Material(dataset, (), dataset.text, {"d": dataset.text}))
        assert found == line


def test_evidence_window_is_the_sentences_of_the_spans() -> None:
    text = "First sentence here. Second one is evidence. Third follows it. Fourth is far away."
    one = pair(evidence=(span(DESCRIPTION).model_copy(update={"document_id": "d", "start": 21, "end": 44}),))
    window = evidence_window(one, Material(DATASET, (), "whole context", {"d": text}))
    assert window == "Second one is evidence."


def test_quotes_of_no_known_document_are_their_own_window() -> None:
    assert evidence_window(pair(), Material(DATASET, (), "whole context", {})) == DESCRIPTION


async def test_a_pair_without_spans_is_scored_against_the_whole_context(make_ctx: MakeCtx) -> None:
    ctx = make_ctx(believes_the_context)
    await ShiftScorer().score([pair(evidence=())], Material(DATASET, (), LONG, {}), ctx)
    assert isinstance(ctx.scorer, ScriptedScorer) and LONG in text_of(ctx.scorer.calls[0][0])


def test_without_usable_spans_the_window_is_searched_for() -> None:
    one = pair(evidence=())
    window = evidence_window(one, Material(DATASET, (), LONG + "\n" + DESCRIPTION, {}))
    assert "satellites miss snowfall" in window
    assert len(window) < len(LONG) / 2


def test_a_short_context_is_its_own_window() -> None:
    window = evidence_window(pair(evidence=()), Material(DATASET, (), DESCRIPTION, {}))
    assert window == DESCRIPTION


@settings(deadline=None)
@given(st.text(alphabet="ab c.\n0", max_size=400))
def test_passages_lose_no_word(text: str) -> None:
    assert " ".join(passages(text)).split() == text.split()


def test_passages_end_between_sentences_and_keep_their_length() -> None:
    line = " ".join(f"Sensor {n} measured the depth of snow in the valley." for n in range(12))
    made = passages(f"{line}\n\n{line}", 40)
    assert all(len(passage.split()) <= 40 and passage.endswith(".") for passage in made)
    assert len(made) == 6


def test_rank_puts_the_passage_with_the_rare_words_first() -> None:
    assert rank("snowfall in winter", ["rain in summer", "the snowfall of winter", "in in in"])[0] == 1


async def test_nli_reads_the_nearest_passages_without_evidence_and_names_its_model(make_ctx: MakeCtx) -> None:
    material = Material(DATASET, (), LONG + "\n" + DESCRIPTION, {})
    ctx = make_ctx(None, entailment="lexical:words")
    answers = ("satellites miss snowfall", "volcanoes explode")
    right, wrong = await EntailmentScorer().score([pair(answer=a, evidence=()) for a in answers], material, ctx)
    assert isinstance(right, Score) and isinstance(wrong, Score)
    assert right.value > wrong.value and right.model == "lexical:words"


async def test_nli_without_a_configured_model_is_refused_before_anything_is_judged(make_ctx: MakeCtx) -> None:
    with pytest.raises(ConfigError, match="entailment model"):
        FilterStage().check(make_ctx(None, faithfulness=["nli"]))


class Judge:
    """A judge that finds snowfall supported and everything else contradicted; remembers what it was asked."""

    identity = ModelIdentity("scripted", "judge", "1")
    capabilities = Capabilities()
    pack = "standard"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def ask(self, prompt: RenderedPrompt, reply: type[JudgeReply], **_: object) -> Answer[JudgeReply]:
        self.asked.append(prompt.messages[-1][1])
        parts = dict(enumerate(re.split(r"^p\d+ ", self.asked[-1], flags=re.M)[1:], 1))
        wrong = [n for n, part in parts.items() if "snowfall" not in part.partition("Answer:")[2]]
        said = {f"p{n}": "contradicted" if n in wrong else "supported" for n in parts}
        faults = [{"number": n, "fault": "because of volcanoes"} for n in wrong]
        return Answer(reply.model_validate({**said, "faults": faults}), "", "key")


async def test_the_judge_takes_pairs_together_and_names_the_claim_that_fails(make_ctx: MakeCtx) -> None:
    judge = Judge()
    pairs = [pair(answer="snowfall"), pair(answer="volcanoes"), *(pair(answer=f"snowfall {n}") for n in range(11))]
    scores = await JudgeScorer().score(pairs, MATERIAL, replace(make_ctx(None), judge_session=judge))
    assert [s.value for s in scores if isinstance(s, Score)] == [1.0, 0.0, *[1.0] * 11]
    assert isinstance(scores[1], Score) and scores[1].detail == "contradicted by the evidence: because of volcanoes"
    assert len(judge.asked) == 2 and judge.asked[0].count(DESCRIPTION) == 1  # shared evidence is shown once


async def test_the_judge_reads_what_a_papers_statement_is_about(make_ctx: MakeCtx) -> None:
    said = "Snowfall doubled in  winter."
    told = Aspect(
        paper_id="p-1", category=AspectCategory.FINDINGS, context="the Arvel survey of 2019",
        span=Span(document_id="doc-1", start=0, end=len(said), text=said),
    )  # fmt: skip
    judge = Judge()
    one = pair(answer="snowfall doubled", evidence=(told.span,))
    material = replace(MATERIAL, aspects=(told,), sources={"doc-1": said})
    await JudgeScorer().score([one], material, replace(make_ctx(None), judge_session=judge))
    assert "[1] the Arvel survey of 2019: Snowfall doubled in winter." in judge.asked[0]


async def test_the_judge_also_says_what_a_question_lacks(make_ctx: MakeCtx) -> None:
    class Strict(Judge):
        async def ask(self, prompt: RenderedPrompt, reply: type[JudgeReply], **_: object) -> Answer[JudgeReply]:
            said = {"p1": "unclear", "p2": "ill_posed", "p3": "supported"}
            return Answer(reply.model_validate({**said, "faults": [{"number": 1, "fault": "which years"}]}), "", "key")

    ctx = make_ctx(None)
    ctx = replace(ctx, judge_session=Strict())
    pairs = [pair(answer=a) for a in ("snowfall", "volcanoes", "more snowfall")]
    *rated, left_out = await JudgeScorer().score([*pairs, pair(answer="hail")], MATERIAL, ctx)
    scores = [s for s in rated if isinstance(s, Score)]
    assert isinstance(left_out, ModelError) and left_out.error_code == "no_verdict"
    assert [s.value for s in scores] == [1.0, 1.0, 1.0]  # a poor question's answer is supported all the same
    assert [dict(s.parts)["question"] for s in scores if isinstance(s, Score)] == [0.0, 0.0, 1.0]
    assert isinstance(scores[0], Score) and scores[0].detail == "the question does not say what it means: which years"


async def test_the_judge_names_level_and_roles_in_the_same_call(make_ctx: MakeCtx) -> None:
    class Tags(Judge):
        async def ask(self, prompt: RenderedPrompt, reply: type[JudgeReply], **_: object) -> Answer[JudgeReply]:
            said = {"p1": "minor", "l1": "C4", "c1": [2], "p2": "supported", "c2": [1]}
            return Answer(reply.model_validate(said), "", "key")

    two = tuple(span(text) for text in ("Daily precipitation at 0.25 degrees", "Values are in mm per day."))
    pairs = [pair(answer="snowfall", evidence=two), pair(answer="hail", evidence=two[:1])]
    ctx = replace(make_ctx(None), judge_session=Tags())
    scores = [s for s in await JudgeScorer().score(pairs, MATERIAL, ctx) if isinstance(s, Score)]
    assert (scores[0].value, scores[0].level, scores[0].context) == (1.0, "C4", (1,))
    assert scores[1].context is None, "one span at least carries the answer"


async def test_the_judge_says_whether_memory_has_the_answer_where_memory_said_something(make_ctx: MakeCtx) -> None:
    class Compares(Judge):
        async def ask(self, prompt: RenderedPrompt, reply: type[JudgeReply], **_: object) -> Answer[JudgeReply]:
            self.asked.append(prompt.messages[-1][1])
            said = {f"p{n}": "supported" for n in range(1, 5)} | {"p4": "contradicted"}
            told = {f"g{n}": "stated" for n in range(1, 5)} | {"g2": "missed"}
            return Answer(reply.model_validate({**said, **told}), "", "key")

    judge = Compares()
    ctx = replace(make_ctx(None), judge_session=judge)
    memory = ("Snow.", "Hail.", "", "Hail.", None)
    pairs = [pair(answer=f"snowfall {n}", asked="seeking", from_memory=said) for n, said in enumerate(memory)]
    scores = await JudgeScorer().score(pairs[:4], MATERIAL, ctx)
    rated = [p.model_copy(update={"scores": (s,)}) for p, s in zip(pairs, scores, strict=False)]
    assert [p.guessable for p in (*rated, pairs[4])] == [True, False, False, True, None], "also where it is doubted"
    assert judge.asked[0].count("From memory:") == 3
    users = rated[0].model_copy(update={"asked": "user"})
    unclear = [p.model_copy(update={"asks_back": "Which hail?"}) for p in (rated[1], users)]
    assert [v.accept for v in await AsksBackGate().check(unclear, MATERIAL, ctx)] == [False, True]
    await JudgeScorer().score([pairs[4]], MATERIAL, ctx)
    assert "memory" not in judge.asked[1].lower(), "the prompt of other pairs is as it was"


def test_an_unknown_entailment_scheme_is_refused_with_the_known_ones(ctx: StageContext) -> None:
    with pytest.raises(ConfigError, match="magic"):
        open_entailment("magic:x", ctx.registry, {})


def scored(name: str, value: float, threshold: float) -> Score:
    return Score(name=name, value=value, threshold=threshold, passed=value > threshold)


def test_a_rejection_says_why_before_its_figure(ctx: StageContext) -> None:
    shift = Score(
        name="shift", value=0.02, threshold=0.1, tokens=(" Because", " vol", "canoes", " erupt", "."),
        logprobs_with=(-1.0, -3.0, -3.0, -1.0, -0.1), logprobs_without=(-2.0, -2.5, -2.0, -2.0, -0.1),
    )  # fmt: skip
    assert sentence(shift, ctx.registry) == (
        "the evidence barely raises the answer's probability, least of all 'volcanoes' (shift 0.02 is not above 0.1)"
    )
    nli = Score(name="nli", value=0.2, threshold=0.5)
    assert sentence(nli, ctx.registry) == "the evidence does not entail the answer (nli 0.2 is not above 0.5)"


def test_one_failing_score_rejects_and_a_later_one_decides_the_unsure() -> None:
    open_ = Score(name="shift", value=0.4, threshold=0.0, sure=1.0, unsure=True)
    passed, failed = scored("nli", 0.6, 0.5), scored("nli", 0.3, 0.5)
    silent = Score(name="nli", value=0.0, threshold=0.1, abstained=True)
    found = [
        outcome(pair(scores=s)) for s in ((), (open_,), (open_, passed), (open_, failed), (silent,), (passed, open_))
    ]
    assert found == ["kept", "unsure", "kept", "rejected", "unsure", "unsure"]


def test_a_score_is_unsure_of_types_that_its_scorer_cannot_tell(make_ctx: MakeCtx) -> None:
    config = make_ctx(thresholds={"shift": {"*": 0.1, "disjunctive": 0.2}}).config
    unsure = decide(scored("shift", -0.4, 0.0), ShiftScorer(), "verification", config, blind=("verification",))
    assert unsure.unsure and unsure.passed is None
    own = decide(scored("shift", -0.4, 0.0), ShiftScorer(), "disjunctive", config, blind=("disjunctive",))
    assert own.passed is False, "the user set its edges"
    assert decide(scored("shift", -0.4, 0.0), ShiftScorer(), "other", config).passed is False


async def test_edges_are_by_type_then_for_all_then_the_scorers_own(make_ctx: MakeCtx) -> None:
    given = {"shift": {"verification": 0.3, "*": (0.1, 0.5)}}
    ctx = make_ctx(believes_the_context, faithfulness=["shift"], thresholds=given)
    yes, other = pair("Do satellites miss snowfall?", "Yes", "verification"), pair()
    found = await score_all([yes, other], MATERIAL, ctx)
    scores = [found[p.id][0].scores[0] for p in (yes, other)]
    assert [(s.threshold, s.sure) for s in scores] == [(0.3, 0.3), (0.1, 0.5)]
    assert ShiftScorer().edges(ctx.config) == (0.0, 1.0) and EntailmentScorer().edges(ctx.config) == (0.5, 0.5)
    assert ShiftScorer().edges(make_ctx(shift_form="mean").config) == (0.0, 0.0)
