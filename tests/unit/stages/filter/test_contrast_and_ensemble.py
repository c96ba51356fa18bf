"""Contrast, rival and ensemble with a scorer that believes what its evidence says word by word."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from scirgen.core.errors import ConfigError
from scirgen.core.records import QAPair, Score
from scirgen.llm.base import ModelIdentity, ScoreReply, ScoreRequest
from scirgen.llm.encoders.entailment import Entailment
from scirgen.llm.session import Answer
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.deciding import score_all, scorer_names
from scirgen.stages.filter.faithfulness import judged
from scirgen.stages.filter.faithfulness.contrast import ContrastScorer, differing
from scirgen.stages.filter.faithfulness.ensemble import (
    EnsembleFile,
    EnsembleScorer,
    Labels,
    Logistic,
    ensemble_for,
)
from scirgen.stages.filter.faithfulness.judged import EntailmentScorer, second_text
from scirgen.stages.filter.faithfulness.rival import RivalReply, RivalScorer
from tests.support.filtering import DATASET, MATERIAL, pair

MakeCtx = Callable[..., StageContext]


def reads(request: ScoreRequest) -> ScoreReply:
    """-1 for a word that the context has, -6 for another, -4 without a context."""
    prompt = request.prompt if isinstance(request.prompt, str) else request.prompt[-1].content
    words = tuple(request.continuation.split())
    if "Context:" not in prompt:
        return ScoreReply(words, (-4.0,) * len(words), 3)
    context = prompt.partition("Question:")[0]
    return ScoreReply(words, tuple(-1.0 if w.strip(".,") in context else -6.0 for w in words), 9)


def only(scores: list[Score | Exception]) -> Score:
    assert len(scores) == 1 and isinstance(scores[0], Score), scores
    return scores[0]


async def test_contrast_prefers_what_the_evidence_says_and_names_what_won(make_ctx: MakeCtx) -> None:
    ctx = make_ctx(reads)
    right = only(await ContrastScorer().score([pair("How many gauges are merged?", "2,400 gauges")], MATERIAL, ctx))
    wrong = only(await ContrastScorer().score([pair("How many gauges are merged?", "3,700 gauges")], MATERIAL, ctx))
    assert right.value >= 0 > wrong.value  # the evidence has another number, too: none is preferred to the right one
    assert "prefers" in wrong.detail and "'3,700'" in wrong.detail
    assert wrong.alternatives[0].margin == pytest.approx(wrong.value, abs=1e-3) and len(wrong.alternatives) <= 8


@pytest.mark.parametrize("answer", ["Yes", "No"])
async def test_contrast_abstains_on_yes_and_no_and_measures_the_answer_alone(make_ctx: MakeCtx, answer: str) -> None:
    ctx = make_ctx(reads)
    score = only(
        await ContrastScorer().score([pair("Are 2,400 gauges merged?", answer, "verification")], MATERIAL, ctx)
    )
    assert score.abstained and score.detail == "Yes and No are not compared"
    assert [len(call) for call in ctx.scorer.calls] == [2], "with the evidence and without, as the shift does"


async def test_contrast_abstains_where_nothing_can_be_altered(make_ctx: MakeCtx) -> None:
    score = only(await ContrastScorer().score([pair(answer="snowfall")], MATERIAL, make_ctx(reads)))
    assert score.abstained and not score.alternatives


def test_differing_counts_tokens_between_shared_ends() -> None:
    assert differing(("a", "b", "c"), ("a", "x", "c")) == 1
    assert differing(("a", "c"), ("a", "x", "y", "c")) == 2
    assert differing(("a",), ("a",)) == 1


class Answers:
    """A generator whose second answers are given."""

    identity = ModelIdentity("scripted", "writer", "1")
    pack = "small"

    def __init__(self, *texts: str) -> None:
        self.texts, self.calls = texts, 0

    async def ask(self, prompt: object, reply: type[RivalReply], **_: object) -> Answer[RivalReply]:
        self.calls += 1
        rows = [{"number": n, "answer": text} for n, text in enumerate(self.texts, 1)]
        return Answer(reply.model_validate({"answers": rows}), "", f"key{self.calls}")


async def test_rival_compares_with_a_second_answer_in_one_call(make_ctx: MakeCtx) -> None:
    ctx = make_ctx(reads)
    ctx.chat_session = writer = Answers("Because satellites miss snowfall.", "satellites miss snowfall", "")
    pairs = [pair(), pair(answer="Because volcanoes hide ice caps."), pair(answer="Nobody knows why it is so.")]
    scores = await RivalScorer().score(pairs, MATERIAL, ctx)
    assert writer.calls == 1
    same, other, none = (s for s in scores if isinstance(s, Score))
    assert same.value == pytest.approx(0.0) and dict(same.parts)["agrees"] == 1.0
    assert other.value < -0.3 and dict(other.parts)["agrees"] == 0.0 and "satellites miss" in other.detail
    assert none.value == -1.0


async def test_a_pair_that_was_answered_twice_alike_says_so(make_ctx: MakeCtx) -> None:
    ctx = make_ctx(reads, faithfulness=["rival"])
    ctx.chat_session = Answers("Satellites miss snowfall.")
    one = pair()
    (found,) = (await score_all([one], MATERIAL, ctx)).values()
    assert found[0].answered_twice is True
    assert QAPair.model_validate_json(one.model_dump_json()).answered_twice is None


def fitted(scorer: str = "scripted:scorer") -> EnsembleFile:
    model = Logistic(
        features=("known", "number"), mean=(0.5, 1.0), scale=(0.5, 1.0), coefficients=(2.0, 1.0), intercept=0.0, threshold=0.6
    )  # fmt: skip
    labels = Labels(sha256="0" * 64, rows=20, faithful=10, description="made up")
    return EnsembleFile(scorer=scorer, revision="1", labels=labels, groups={"text": model, "polar": model})


async def test_ensemble_gives_a_probability_and_says_what_speaks_against(make_ctx: MakeCtx, tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text(fitted().model_dump_json(), encoding="utf-8")
    ctx = make_ctx(reads, ensemble=str(path))
    assert scorer_names(ctx) == ("ensemble", "contrast")
    good, bad = pair(answer="Because satellites miss snowfall."), pair(answer="Volcanoes blocked infrared radiometers.")
    scores = await EnsembleScorer().score([good, bad], MATERIAL, ctx)
    assert isinstance(scores[0], Score) and isinstance(scores[1], Score)
    assert 1 > scores[0].value > 0.6 > scores[1].value > 0 and scores[0].threshold == 0.6
    assert "'volcanoes'" in scores[1].detail and dict(scores[1].parts)["known"] < 0.3
    found = await score_all([good, bad], MATERIAL, ctx)
    assert [p.scores[0].passed for p, _ in found.values()] == [True, False]


async def test_contrast_abstains_without_evidence_unless_given_a_threshold(make_ctx: MakeCtx) -> None:
    one = pair(answer="Because 2,400 gauges are merged.", evidence=())
    for settings, abstained in (({}, True), ({"thresholds": {"contrast": {"*": 0.0}}}, False)):
        ctx = make_ctx(reads, faithfulness=["contrast"], **settings)
        ((scored, error),) = (await score_all([one], MATERIAL, ctx)).values()
        assert error is None and scored.scores[0].abstained is abstained
        assert (scored.scores[0].passed is None) is abstained
        assert bool(ctx.scorer.calls) is not abstained


async def test_ensemble_abstains_where_it_was_not_fitted(make_ctx: MakeCtx, tmp_path: Path) -> None:
    path = tmp_path / "text.json"
    made = fitted()
    path.write_text(
        made.model_copy(update={"groups": {"text": made.groups["text"]}}).model_dump_json(), encoding="utf-8"
    )
    ctx = make_ctx(reads, ensemble=str(path), faithfulness=["ensemble"])
    score = only(await EnsembleScorer().score([pair("Are 2,400 gauges merged?", "Yes", "verification")], MATERIAL, ctx))
    assert score.abstained and score.detail == "it was not fitted on answers by yes or no"


def test_an_ensemble_is_refused_for_another_scorer_or_setting(make_ctx: MakeCtx, tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text(fitted("bundled:other").model_dump_json(), encoding="utf-8")
    with pytest.raises(ConfigError, match="fitted for bundled:other"):
        ensemble_for(make_ctx(reads, ensemble=str(path)).config, ModelIdentity("scripted", "scorer", "1"))
    with pytest.raises(ConfigError, match="contrast_prior"):
        own = tmp_path / "own.json"
        own.write_text(json.dumps(fitted().model_dump()), encoding="utf-8")
        ensemble_for(
            make_ctx(reads, ensemble=str(own), contrast_prior=0.2).config, ModelIdentity("scripted", "scorer", "1")
        )
    with pytest.raises(ConfigError, match="not an ensemble"):
        wrong = tmp_path / "wrong.json"
        wrong.write_text("{}", encoding="utf-8")
        ensemble_for(make_ctx(reads, ensemble=str(wrong)).config, ModelIdentity("scripted", "scorer", "1"))


def with_nli(path: Path) -> EnsembleFile:
    """An ensemble that believes an entailment model, and nothing else; one without it that believes everything."""
    plain = Logistic(
        features=("known",), mean=(0.0,), scale=(1.0,), coefficients=(0.0,), intercept=2.0, threshold=0.5
    )  # fmt: skip
    told = ("entailed", "second_entailed")
    asked = Logistic(features=told, mean=(0.0, 0.0), scale=(1.0, 1.0), coefficients=(1.0, 1.0), intercept=0.0, threshold=0.5)  # fmt: skip
    made = fitted().model_copy(
        update={"groups": {"text": plain, "text+nli": asked}, "entailment": "lexical:words", "format": 2}
    )
    path.write_text(made.model_dump_json(), encoding="utf-8")
    return made


async def test_an_entailment_model_before_the_ensemble_decides_with_it(make_ctx: MakeCtx, tmp_path: Path) -> None:
    with_nli(path := tmp_path / "e.json")
    asked = {"ensemble": str(path), "entailment": "lexical:words", "thresholds": {"nli": {"*": -1.0}}}
    bad = pair(answer="Volcanoes blocked infrared radiometers.")
    for names, passes in ((["nli", "ensemble"], False), (["ensemble", "nli"], True), (["ensemble"], True)):
        found = await score_all([bad], MATERIAL, make_ctx(reads, faithfulness=names, **asked))
        (score,) = [s for s in found[bad.id][0].scores if s.name == "ensemble"]
        assert score.passed is passes, names
        assert ("not entailed by the evidence" in score.detail) is not passes


async def test_an_ensemble_is_refused_for_another_entailment_model_that_it_would_use(
    make_ctx: MakeCtx, tmp_path: Path
) -> None:
    with_nli(path := tmp_path / "e.json")
    scorer = ModelIdentity("scripted", "scorer", "1")
    settings = {"ensemble": str(path), "entailment": "score:yes-no"}
    with pytest.raises(ConfigError, match=r"with the entailment model lexical:words, and filter\.entailment is score"):
        ensemble_for(make_ctx(reads, faithfulness=["nli", "ensemble"], **settings).config, scorer)
    assert ensemble_for(make_ctx(reads, faithfulness=["ensemble"], **settings).config, scorer)


async def test_nli_asks_the_answer_alone_or_the_other_one_of_yes_and_no(make_ctx: MakeCtx) -> None:
    ctx = make_ctx(reads, faithfulness=["nli", "ensemble"])
    polar = pair("Are 2,400 gauges merged?", "Yes.", "verification")
    assert (
        second_text(pair(answer="Snow."), ctx) == "Snow." and second_text(polar, ctx) == "Are 2,400 gauges merged? No."
    )


async def test_a_contradiction_in_one_passage_is_not_hidden_by_the_others(
    make_ctx: MakeCtx, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Contradicts:
        identity = "given"

        async def entail(self, asked: Sequence[tuple[str, str]]) -> list[Entailment]:
            return [Entailment(0.0, 0.05, 0.95, "contradiction") if "denied" in text else Entailment(0.0, 1.0, 0.0, "contradiction") for text, _ in asked]  # fmt: skip

    monkeypatch.setattr(judged, "open_entailment", lambda *_: Contradicts())
    long = "\n".join(
        [" ".join(["Gauges stand in valleys of the plateau."] * 20), "It was denied that gauges are merged."]
    )
    material = Material(DATASET, (), long, {})
    (score,) = await EntailmentScorer().score([pair(evidence=())], material, make_ctx(reads, window="max"))
    assert isinstance(score, Score) and score.value == pytest.approx(0.05) and "smallest of" in score.detail


async def test_the_judge_is_spared_what_failed_before(make_ctx: MakeCtx) -> None:
    class Never:
        identity, pack = ModelIdentity("scripted", "judge", "1"), "standard"

        async def ask(self, *_: object, **__: object) -> object:
            raise AssertionError("asked about a pair that the shift had rejected")

    ctx = make_ctx(reads, faithfulness=["shift", "llm_judge"])
    ctx.judge_session = Never()
    bad = pair(answer="Volcanoes blocked infrared radiometers.")
    ((scored, error),) = (await score_all([bad], Material(DATASET, (), DATASET.text, {}), ctx)).values()
    assert error is None and [s.name for s in scored.scores] == ["shift"]
