from __future__ import annotations

import pytest

from scirgen.core.records import QAPair
from scirgen.stages.base import WorkItem
from scirgen.stages.generate.stage import GenerateStage
from tests.support.questioning import ASPECTS, SOURCES, FakeScope, make_context

STAGE = GenerateStage()


def items(round=0, wanted=(), aspects=ASPECTS, **config):
    ctx, _ = make_context(**config)
    return list(STAGE.items(FakeScope({"verify": aspects}, round, wanted), ctx))


async def run(item: WorkItem, rule, *, pack="standard", **config):
    ctx, chat = make_context(rule, pack=pack, key=item.key, **config)
    return await STAGE.process(item, ctx), chat


def one(type_id: str, **config) -> WorkItem:
    return next(i for i in items(**config) if i.key == f"ds-1|{type_id}")


def test_items_of_a_dataset_with_papers_are_one_a_type():
    made = items()
    assert len(made) == 18
    assert {i.parameters["count"] for i in made} == {3}
    assert len({i.salt for i in made}) == 18


def test_items_of_a_dataset_without_papers_are_a_single_adaptive_one():
    (made,) = items(aspects=())
    assert made.key == "ds-1|adaptive"
    assert made.parameters["count"] == 8


def test_items_of_a_later_round_are_only_the_cells_still_wanted():
    wanted = ({"question_type": "verification", "polarity": "no", "bloom": "C1", "count": 2},)
    (made,) = items(round=2, wanted=wanted)
    assert made.key == "ds-1|verification#2"
    assert made.parameters["round"] == 2


def test_the_salt_changes_with_the_domains_examples_of_that_type_alone():
    before = {i.key: i.salt for i in items()}
    ctx, _ = make_context()
    kinds = list(ctx.taxonomies.graesser.types)
    edited = kinds[0].model_copy(update={"definition": "Another one."})
    ctx.taxonomies.__dict__["graesser"] = ctx.taxonomies.graesser.model_copy(update={"types": (edited, *kinds[1:])})
    after = {i.key: i.salt for i in STAGE.items(FakeScope({"verify": ASPECTS}), ctx)}
    assert {k for k in before if before[k] != after[k]} == {"ds-1|verification"}


async def test_joint_keeps_pairs_whose_quotes_are_verbatim_and_rejects_the_others():
    good = {"evidence": ["gauges are sparse above 5,000 m"], "question": "Why are  gauges sparse?", "answer": "Access."}
    made_up = {"evidence": ["gauges are plenty above 5,000 m"], "question": "Why?", "answer": "Because."}
    result, chat = await run(one("causal_antecedent"), lambda p, n: {"pairs": [good, made_up]})
    (kept,) = result.outputs
    assert isinstance(kept, QAPair)
    assert kept.strategy == "joint"
    assert kept.question == "Why are gauges sparse?"
    span = kept.evidence[0]
    assert SOURCES[span.document_id][span.start : span.end] == span.text == "gauges are sparse above 5,000 m"
    assert sorted(r.code for r in result.rejections) == ["not_verbatim", "too_few"]
    assert all(r.question_type == "causal_antecedent" and r.provenance for r in result.rejections)
    assert len(chat.prompts) == 1


async def test_joint_reply_without_a_pair_fails_each_wanted_pair():
    result, _ = await run(one("definition"), lambda p, n: "I cannot do that.")
    assert result.outputs == ()
    assert not result.rejections
    assert [f.code for f in result.failures] == ["reply_invalid"] * 3


async def test_the_same_pair_written_twice_is_kept_once():
    pair = {"evidence": ["gauges are sparse above 5,000 m"], "question": "Why are gauges sparse?", "answer": "Access."}
    result, _ = await run(one("causal_antecedent"), lambda p, n: {"pairs": [pair, pair, pair]})
    assert len(result.outputs) == 1
    assert [r.code for r in result.rejections] == ["repeated", "repeated"]


async def test_a_pair_can_rest_on_two_spans():
    pair = {
        "evidence": ["gauges are sparse above 5,000 m", "covers the years from 1979 to 2020"],
        "question": "How do gauges and records compare?",
        "answer": "Both are sparse.",
    }
    result, _ = await run(one("comparison"), lambda p, n: {"pairs": [pair]})
    assert result.outputs[0].hops == 2
    assert {s.document_id for s in result.outputs[0].evidence} == {"doc-1", "ds-1"}


@pytest.mark.parametrize("pairs", [3, 4])
async def test_yes_and_no_are_asked_for_in_turn(pairs):
    _, chat = await run(
        one("verification", generate={"pairs_per_type": pairs}),
        lambda p, n: {"pairs": []},
        generate={"pairs_per_type": pairs},
    )
    text = chat.prompts[0].messages[-1][1]
    assert abs(text.count("right answer is No") - text.count("right answer is Yes")) <= 1
    assert text.count("right answer is") == pairs


async def test_evidence_strategy_ties_each_pair_to_another_span():
    config = {"generate": {"strategy": "evidence"}}
    result, chat = await run(
        one("quantification", **config), lambda p, n: {"question": f"How many {n}?", "answer": f"{n} mm"}, **config
    )
    assert {p.strategy for p in result.outputs} == {"evidence"}
    places = [(s.document_id, s.start) for p in result.outputs for s in p.evidence]
    assert len(places) == len(set(places))
    for made in result.outputs:
        (span,) = made.evidence
        assert SOURCES[span.document_id][span.start : span.end] == span.text
        assert any(c.isdigit() for c in span.text)
        assert span.text in next(m for p in chat.prompts for m in [p.messages[-1][1]] if span.text in m)


async def test_evidence_strategy_says_no_evidence_when_nothing_suits():
    config = {"generate": {"strategy": "evidence", "pairs_per_type": 40}}
    result, _ = await run(
        one("quantification", **config), lambda p, n: {"question": f"How many {n}?", "answer": f"{n} mm"}, **config
    )
    assert {r.code for r in result.rejections} == {"no_evidence"}
    assert len(result.outputs) + len(result.rejections) == 40


async def test_adaptive_writes_one_pair_for_each_type_the_model_picks():
    def rule(prompt, n):
        if prompt.id == "generate/types":
            return {"types": ["quantification", "comparison"]}
        return {"pairs": [{"evidence": ["at a resolution of 3 km"], "question": f"What is it {n}?", "answer": "3 km"}]}

    (item,) = items(aspects=(), generate={"types_without_paper": 2})
    result, _ = await run(item, rule, generate={"types_without_paper": 2})
    assert [p.question_type for p in result.outputs] == ["quantification", "comparison"]
    assert {p.strategy for p in result.outputs} == {"adaptive+joint"}


async def test_adaptive_asks_for_polarity_only_where_the_type_has_one():
    def rule(prompt, n):
        if prompt.id == "generate/types":
            return {"types": ["quantification", "comparison"]}
        return {"pairs": []}

    (item,) = items(aspects=(), generate={"types_without_paper": 2})
    _, chat = await run(item, rule, generate={"types_without_paper": 2})
    assert not any("right answer is" in p.messages[-1][1] for p in chat.prompts)


async def test_the_same_item_gives_the_same_prompts_each_time():
    first = await run(one("definition"), lambda p, n: {"pairs": []})
    again = await run(one("definition"), lambda p, n: {"pairs": []})
    assert [p.messages for p in first[1].prompts] == [p.messages for p in again[1].prompts]


class Louder:
    """A plugin's strategy."""

    name = "louder"
    version = 1
    prompts = ("joint",)

    async def generate(self, task, ctx):
        return []


def test_raising_a_strategy_s_version_or_editing_its_prompts_redoes_its_items(monkeypatch):
    def salts():
        ctx, _ = make_context(generate={"strategy": "louder", "types": ("definition",)})
        monkeypatch.setattr(ctx.registry, "get", lambda kind, name: Louder)
        return [i.salt for i in GenerateStage().items(FakeScope({"verify": ASPECTS}), ctx)]

    first = salts()
    assert salts() == first
    monkeypatch.setattr(Louder, "version", 2)
    second = salts()
    assert second != first
    monkeypatch.setattr(Louder, "prompts", ("joint", "answer"))
    assert salts() not in (first, second)
