"""The variants of stages that models under 1.5B parameters get: what they ask, and what they decide without a call."""

from __future__ import annotations

import pytest

from scirgen.core.errors import ConfigError, ReplyInvalidError
from scirgen.core.records import Aspect, AspectCategory, Dataset, Link, SectionClass
from scirgen.stages.base import StageResult, WorkItem, made_stage, suited
from scirgen_embedded.stages.extract import CALLS_PER_SECTION
from tests.support.papers import aspect, make_paper
from tests.support.questioning import ASPECTS, FakeScope, make_context, pair
from tests.support.scripted_chat import Rule, ScriptedChat

DATASET = Dataset(id="flow", title="Daily streamflow and snow depth of the Arvel headwaters", keywords=("streamflow",))
FLOW = "Summer streamflow decreased by 18 % because snow melted earlier in the year."
SHEEP = "Sheep of the northern villages were shorn twice as often in the later years."
GAUGES = "Streamflow was derived from water level by rating curves of the four stations."
UNSURE = "However, few gauges are available above the tree line, and snowfall remains uncertain."
TRENDS = "Trends were tested with the Mann-Kendall test at a level of 5 %."
DOCUMENT, LABELS = make_paper([("Methods", SectionClass.METHOD, [FLOW, SHEEP, GAUGES, UNSURE, TRENDS])])
FINDINGS, METHODS = AspectCategory.FINDINGS, AspectCategory.METHODS


async def small(
    stage: str, rule: Rule, inputs: tuple[object, ...], key: str = "k", **settings: object
) -> tuple[StageResult, ScriptedChat]:
    """One item of a stage's variant."""
    ctx, chat = make_context(rule, pack="small", stage=stage, key=key, **settings)
    item = WorkItem(key, inputs, {"section": "method"})  # type: ignore[arg-type]
    return await suited(made_stage(ctx.registry, stage), ctx).process(item, ctx), chat


async def extract(answer: str) -> tuple[StageResult, ScriptedChat]:
    return await small("extract", lambda p, n: answer, (DOCUMENT, *LABELS))


async def verify(rule: Rule, *aspects: Aspect, **settings: object) -> StageResult:
    link = Link(dataset_id="flow", paper_id=DOCUMENT.paper_id, found_by="doi", used=True)
    return (await small("verify", rule, (DATASET, link, *aspects), **settings))[0]


async def test_extract_asks_only_where_cues_are_unclear() -> None:
    result, chat = await extract("none")
    kept = {a.category: a.span.text for a in result.outputs if isinstance(a, Aspect)}
    assert kept[METHODS].startswith(("Streamflow was", "Trends were"))
    assert len(chat.prompts) <= CALLS_PER_SECTION


async def test_extract_takes_no_choice_of_the_model_without_a_cue() -> None:
    result, _ = await extract("research objective")
    assert all(a.category is not AspectCategory.OBJECTIVE for a in result.outputs if isinstance(a, Aspect))


async def test_verify_keeps_shared_words_by_rule_and_others_not() -> None:
    def never(prompt: object, number: int) -> str:
        raise AssertionError("the rules decide both")

    result = await verify(never, aspect(DOCUMENT, FINDINGS, FLOW), aspect(DOCUMENT, FINDINGS, SHEEP))
    assert [a.span.text for a in result.outputs if isinstance(a, Aspect)] == [FLOW]
    assert [r.code for r in result.rejections] == ["irrelevant"]


@pytest.mark.parametrize(("answer", "kept"), [("yes", 1), ("no", 0)])
async def test_verify_asks_where_one_word_is_shared(answer: str, kept: int) -> None:
    result = await verify(lambda p, n: answer, aspect(DOCUMENT, METHODS, GAUGES))
    assert len(result.outputs) == kept and len(result.rejections) == 1 - kept


async def test_verify_rejects_more_than_wanted_as_surplus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scirgen_embedded.stages.verify.ASPECTS_PER_CATEGORY", 1)
    aspects = aspect(DOCUMENT, FINDINGS, FLOW), aspect(DOCUMENT, FINDINGS, GAUGES)
    result = await verify(lambda p, n: "yes", *aspects)
    assert len(result.outputs) == 1 and [r.code for r in result.rejections] == ["surplus"]


async def test_tag_chooses_one_of_the_levels_typical_of_the_type() -> None:
    asked = tuple(pair(f"I'm unsure what term {n} is.", "assertion") for n in range(5))
    result, chat = await small("tag", lambda p, n: "Understanding", asked)
    assert {p.bloom for p in result.outputs} == {"C2"} and len(chat.prompts) == 5  # type: ignore[union-attr]
    with pytest.raises(ReplyInvalidError, match=r"none of .*Understanding.*Analyzing"):
        await small("tag", lambda p, n: "Creating", asked)
    # A type with a single level leaves nothing to choose.
    result, chat = await small("tag", lambda p, n: "", (pair("What is firn?"),))
    assert {p.bloom for p in result.outputs} == {"C2"} and not chat.prompts  # type: ignore[union-attr]


def test_generate_asks_one_type_at_a_time_for_those_that_small_models_can_do() -> None:
    def keys(**config: object) -> list[str]:
        ctx, _ = make_context(pack="small", **config)
        stage = suited(made_stage(ctx.registry, "generate"), ctx)
        return [i.key for i in stage.items(FakeScope({"verify": ASPECTS}), ctx)]

    assert keys() == [f"ds-1|{t}" for t in ("verification", "disjunctive", "concept_completion", "quantification")]
    assert len(keys(generate={"types": ("all",)})) == 18


def test_without_a_plugin_for_its_pack_a_small_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ctx, _ = make_context(pack="small")
    stage = made_stage(ctx.registry, "tag")
    monkeypatch.setattr(ctx.registry, "names", lambda kind: ["tag", "generate"])
    with pytest.raises(ConfigError) as caught:
        suited(stage, ctx)
    assert "scirgen[local]" in caught.value.hint


def test_a_model_of_the_standard_pack_gets_the_stages_themselves() -> None:
    ctx, _ = make_context()
    stage = made_stage(ctx.registry, "tag")
    assert suited(stage, ctx) is stage
