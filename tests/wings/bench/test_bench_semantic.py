"""SePer as published: sampled responses, their weights, clusters and agreement with the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scirgen.core.errors import ConfigError, ModelError
from scirgen.core.prompts import RenderedPrompt
from scirgen.core.records import Score
from scirgen.llm.base import ModelIdentity, ScoreReply, ScoreRequest
from scirgen.llm.encoders.entailment import Entailment
from scirgen.llm.session import TextAnswer
from scirgen.llm.uri import ModelURI
from scirgen.stages.base import StageContext
from scirgen.stages.filter.stage import FilterStage
from scirgen_bench.semantic import HardSemanticScorer, SemanticScorer, belief, clusters, means_answer, weights
from scirgen_bench.shared_words import SharedWords
from tests.support.filtering import MATERIAL, pair

MakeCtx = Callable[..., StageContext]


class Speaker:
    """A chat session that says one thing with the context and others without."""

    identity = ModelIdentity("scripted", "scorer", "1")
    pack = "standard"

    def __init__(self, given: Sequence[str], alone: Sequence[str]) -> None:
        self.given, self.alone, self.seeds = given, alone, set[int]()

    async def ask_text(self, prompt: RenderedPrompt, *, seed: int, sample: int = 0, **_: object) -> TextAnswer:
        self.seeds.add(seed)
        texts = self.given if "Context:" in prompt.messages[-1][1] else self.alone
        return TextAnswer(texts[sample % len(texts)], f"k{sample}")

    async def choose(self, prompt: RenderedPrompt, options: Sequence[str], *, seed: int) -> TextAnswer:
        return TextAnswer("yes" if "snowfall" in prompt.messages[-1][1].split("Answer:")[1] else "no", "k")


def flat(request: ScoreRequest) -> ScoreReply:
    return ScoreReply(("x",), (-1.0,))


async def test_semantic_seper_is_the_gain_in_belief_over_sampled_responses(make_ctx: MakeCtx) -> None:
    ctx = make_ctx(flat, semantic={"samples": 4}, entailment="lexical:words")
    ctx = replace(
        ctx, chat_session=Speaker(["satellites miss snowfall"], ["satellites miss snowfall", "the moon did it"])
    )
    for scorer in (SemanticScorer(), HardSemanticScorer()):
        (score,) = await scorer.score([pair(answer="satellites miss snowfall")], MATERIAL, ctx)
        assert isinstance(score, Score)
        assert dict(score.parts) == {"with": pytest.approx(1.0), "without": pytest.approx(0.5)}
        assert score.name == scorer.name and score.value == pytest.approx(0.5)
    assert "1 of 2 clusters of 4 responses" in score.detail
    assert len(ctx.chat.seeds) == 8 and scorer.edges(ctx.config) == (0.0, 0.0)


def test_number_of_samples_is_part_of_the_scorers_identity(make_ctx: MakeCtx) -> None:
    few, more = (make_ctx(flat, semantic={"samples": n}, entailment="lexical:words") for n in (2, 3))
    assert SemanticScorer().identity(few) != SemanticScorer().identity(more)


async def test_semantic_seper_without_responses_is_an_error(make_ctx: MakeCtx) -> None:
    ctx = make_ctx(flat, semantic={"samples": 2}, entailment="lexical:words")
    ctx = replace(ctx, chat_session=Speaker([" "], [" "]))
    scores = await SemanticScorer().score([pair()], MATERIAL, ctx)
    assert isinstance(scores[0], ModelError) and scores[0].error_code == "no_responses"


async def test_semantic_seper_refuses_to_weigh_another_models_responses(make_ctx: MakeCtx) -> None:
    ctx = make_ctx(flat, entailment="lexical:words", faithfulness=["semantic_hard"])
    other = Speaker(["a"], ["b"])
    other.identity = ModelIdentity("scripted", "another")
    ctx = replace(ctx, chat_session=other)
    with pytest.raises(ConfigError, match="weigh them; the generator is scripted:another"):
        await SemanticScorer().score([pair()], MATERIAL, ctx)
    with pytest.raises(ConfigError, match="needs one model"):
        FilterStage().check(ctx)  # before anything is judged


def both(one: str, other: str, forth: float, back: float, against: float = 0.0) -> dict[tuple[str, str], Entailment]:
    return {
        (one, other): Entailment(forth, 1 - forth - against, against),
        (other, one): Entailment(back, 1 - back - against, against),
    }


def test_responses_that_entail_each_other_form_one_cluster() -> None:
    found = both("it rains", "rain falls", 0.9, 0.5) | both("it rains", "it pours", 0.49, 0.9)
    found |= both("rain falls", "it pours", 0.3, 0.9)
    assert clusters(["it rains", "rain falls", "it pours", "it rains"], found) == [0, 0, 1, 0]


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=8), st.floats(0, 1))
def test_clusters_are_numbered_by_first_response_and_equal_texts_agree(texts: list[str], k: float) -> None:
    found = {(a, b): Entailment(k, 1 - k) for a in "abcd" for b in "abcd"}
    numbers = clusters(texts, found)
    assert sorted(set(numbers)) == list(range(max(numbers) + 1)) and numbers[0] == 0
    assert len(set(numbers)) == (1 if k >= 0.5 else len(set(texts)))
    assert all(numbers[i] == numbers[texts.index(t)] for i, t in enumerate(texts))


def test_a_representative_means_the_answer_from_one_half_on() -> None:
    yes, no = Entailment(0.5, 0.5), Entailment(0.2, 0.8)
    assert means_answer(yes, no) and means_answer(no, yes) and not means_answer(no, no)
    assert not means_answer(Entailment(0.9, 0.1), Entailment(0.1, 0.4, 0.5))


def test_the_notebooks_responses_have_the_notebooks_weights() -> None:
    # The ten of github.com/sepermetric/seper, example.ipynb: six "Yes.", three "Yes", a sentence; mean
    # log-probabilities.
    shares = weights([-0.119981] * 6 + [-0.011683] * 3 + [-0.222539])
    assert sum(shares) == pytest.approx(1.0) and shares[0] == pytest.approx(0.0976, abs=1e-4)
    assert shares[6] == pytest.approx(0.1088, abs=1e-4) and shares[9] == pytest.approx(0.0881, abs=1e-4)


def test_belief_weighs_responses_by_their_likelihood() -> None:
    assert belief([0.0, log(1 / 3)], [1.0, 0.0]) == pytest.approx(0.75)
    assert belief([-900.0, -900.0], [1.0, 0.5]) == pytest.approx(0.75)


async def test_lexical_entailment_is_the_share_of_words_held() -> None:
    model = SharedWords(ModelURI("lexical", "words"), {}, None, None)
    result = (await model.entail([("rain fell in 1979", "the rain of 1980 fell")]))[0]
    assert isinstance(result, Entailment) and result.entailment == pytest.approx(2 / 3)
