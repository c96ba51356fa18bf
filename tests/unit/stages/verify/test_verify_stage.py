"""The second pass: what is kept for a dataset, and why the rest is not."""

from __future__ import annotations

import pytest

from scirgen.core.prompts import RenderedPrompt
from scirgen.core.records import Aspect, AspectCategory, Dataset, Link, SectionClass
from scirgen.stages.base import StageResult, WorkItem
from scirgen.stages.verify.rules import incomplete
from scirgen.stages.verify.stage import VerifyStage
from tests.support.papers import aspect, make_paper
from tests.support.questioning import make_context
from tests.support.scripted_chat import Rule

DATASET = Dataset(id="flow", title="Daily streamflow and snow depth of the Arvel headwaters", keywords=("streamflow",))
FLOW = "Summer streamflow decreased by 18 % because snow melted earlier in the year."
SAME = "Summer streamflow decreased by 18 %, because snow melted earlier in the year."
SHEEP = "Sheep of the northern villages were shorn twice as often in the later years."
CUT = "decreased by 18 % because of the earlier snow and the (unknown"
GAUGES = "Streamflow was derived from water level by rating curves of the four stations."
LEANING = "They were checked with salt dilution in every second summer."
DOCUMENT, _ = make_paper(
    [
        ("Results", SectionClass.EXPERIMENT, [FLOW, SHEEP, CUT, GAUGES, LEANING]),
        ("Conclusion", SectionClass.CONCLUSION, [SAME]),
    ]
)
FINDINGS, METHODS = AspectCategory.FINDINGS, AspectCategory.METHODS


async def run(rule: Rule, *aspects: Aspect, pack: str = "standard", **settings: object) -> StageResult:
    link = Link(dataset_id="flow", paper_id=DOCUMENT.paper_id, found_by="doi", used=True)
    ctx, _ = make_context(rule, pack=pack, stage="verify", key=link.id, **settings)
    return await VerifyStage().process(WorkItem(link.id, (DATASET, link, *aspects)), ctx)


def remove(**faults: str) -> dict[str, object]:
    return {"remove": [{"number": int(n[1:]), "fault": fault} for n, fault in faults.items()]}


async def test_process_when_not_removed_then_aspect_of_the_dataset() -> None:
    result = await run(lambda p, n: remove(), aspect(DOCUMENT, FINDINGS, FLOW))
    [kept] = result.outputs
    assert isinstance(kept, Aspect)
    assert (kept.dataset_id, kept.span.text) == ("flow", FLOW) and kept.reason


async def test_process_when_any_reply_then_kept_plus_rejected_are_all() -> None:
    aspects = [aspect(DOCUMENT, FINDINGS, t) for t in (FLOW, SHEEP, CUT, SAME)] + [aspect(DOCUMENT, METHODS, FLOW)]
    aspects.append(aspect(DOCUMENT, METHODS, GAUGES))
    asked: list[str] = []

    def rule(prompt: RenderedPrompt, number: int) -> dict[str, object]:
        asked.append(prompt.messages[-1][1])
        return remove(n2="irrelevant", n77="redundant")

    result = await run(rule, *aspects)
    codes = sorted(r.code for r in result.rejections)
    assert len(result.outputs) + len(codes) == len(aspects)
    assert codes == ["incomplete", "irrelevant", "redundant"]
    # A sentence may be of two kinds; it is shown once, in one call for all kinds.
    assert [(a.category, a.span.text) for a in result.outputs if isinstance(a, Aspect)] == [
        (FINDINGS, FLOW), (METHODS, FLOW), (METHODS, GAUGES)
    ]  # fmt: skip
    assert len(asked) == 1 and f"[1] (findings, methods) {FLOW}" in asked[0]
    assert all(r.dataset_id == "flow" and r.reason and r.record for r in result.rejections)


async def test_a_leaning_sentence_is_kept_with_the_one_before_it() -> None:
    alone = aspect(DOCUMENT, METHODS, LEANING)
    result = await run(lambda p, n: remove(), alone)
    assert [r.code for r in result.rejections] == ["incomplete"]
    together = alone.model_copy(update={"context": (aspect(DOCUMENT, METHODS, GAUGES).span,)})
    result = await run(lambda p, n: remove(), together)
    assert [a.context[0].text for a in result.outputs if isinstance(a, Aspect)] == [GAUGES]


async def test_a_sentence_that_goes_on_from_a_listed_one_names_its_number() -> None:
    before = aspect(DOCUMENT, METHODS, GAUGES)
    leaning = aspect(DOCUMENT, METHODS, LEANING).model_copy(update={"context": (before.span,)})
    asked: list[str] = []

    def rule(prompt: RenderedPrompt, number: int) -> dict[str, object]:
        asked.append(prompt.messages[-1][1])
        return remove()

    await run(rule, leaning, before)
    assert asked[0].count(GAUGES) == 1 and f"[2] (methods; goes on from [1]) {LEANING}" in asked[0]
    await run(rule, leaning)
    assert f"[1] (methods) {GAUGES} {LEANING}" in asked[1]


async def test_small_pack_when_words_are_shared_then_kept_by_rule_and_others_not() -> None:
    def never(prompt: object, number: int) -> str:
        raise AssertionError("the rules decide both")

    result = await run(never, aspect(DOCUMENT, FINDINGS, FLOW), aspect(DOCUMENT, FINDINGS, SHEEP), pack="small")
    assert [a.span.text for a in result.outputs if isinstance(a, Aspect)] == [FLOW]
    assert [r.code for r in result.rejections] == ["irrelevant"]


@pytest.mark.parametrize(("answer", "kept"), [("yes", 1), ("no", 0)])
async def test_small_pack_when_one_word_is_shared_then_the_model_decides(answer: str, kept: int) -> None:
    result = await run(lambda p, n: answer, aspect(DOCUMENT, METHODS, GAUGES), pack="small")
    assert len(result.outputs) == kept and len(result.rejections) == 1 - kept


async def test_small_pack_when_more_than_wanted_then_surplus() -> None:
    settings = {"verify": {"aspects_per_category": 1}}
    result = await run(
        lambda p, n: "yes",
        aspect(DOCUMENT, FINDINGS, FLOW),
        aspect(DOCUMENT, FINDINGS, GAUGES),
        pack="small",
        **settings,
    )
    assert len(result.outputs) == 1 and [r.code for r in result.rejections] == ["surplus"]


@pytest.mark.parametrize(
    "text",
    [
        "Mean streamflow was 6.7 m3 s-1 in the first five years.",
        "“Snow is water in waiting,” as the villagers of Arvel say.",
        "In total, 26 stations were used (nine of them grazed) [3,4].",
        "Streamflow rose in all of the four valleys of the range.12,13",
        "河流径流量在过去十年中显著减少。",
        "During its first winter the gauge of Arvel froze twice.",
        "Considering its size, the Aral Sea loses much water each summer.",
        "Using their own radar data, two agencies mapped 4000 lakes.",
    ],
)
def test_incomplete_when_whole_sentence_then_nothing_is_wrong(text: str) -> None:
    assert incomplete(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "and therefore decreased by 18 % in the summer months.",
        "Streamflow decreased by 18 % in the summer and",
        "Flow decreased strongly.",
        "Streamflow decreased by 18 % (p < 0.05 in the summer months.",
        "Fig. 3 shows the streamflow of the four stations in summer.",
        "The mean values of all stations are given in Table 2.",
        "It was also found in the second of the two valleys.",
        "Studying their flow is vital for the villages downstream.",
        "The depth of their lakes, which freeze in winter, was 5 m.",
    ],
)
def test_incomplete_or_pointing_sentence_is_rejected_with_why(text: str) -> None:
    assert incomplete(text)
