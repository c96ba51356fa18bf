"""The second pass: what is kept for a dataset, and why the rest is not."""

from __future__ import annotations

import pytest

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
DOCUMENT, _ = make_paper(
    [("Results", SectionClass.EXPERIMENT, [FLOW, SHEEP, CUT, GAUGES]), ("Conclusion", SectionClass.CONCLUSION, [SAME])]
)
FINDINGS, METHODS = AspectCategory.FINDINGS, AspectCategory.METHODS


async def run(rule: Rule, *aspects: Aspect, pack: str = "standard", **settings: object) -> StageResult:
    link = Link(dataset_id="flow", paper_id=DOCUMENT.paper_id, found_by="doi", used=True)
    ctx, _ = make_context(rule, pack=pack, stage="verify", key=link.id, **settings)
    return await VerifyStage().process(WorkItem(link.id, (DATASET, link, *aspects)), ctx)


def keep(*numbers: int) -> dict[str, object]:
    return {"keep": [{"number": n, "reason": "it is about flow"} for n in numbers], "remove": []}


async def test_process_when_kept_then_aspect_of_the_dataset_with_the_reason() -> None:
    result = await run(lambda p, n: keep(1), aspect(DOCUMENT, FINDINGS, FLOW))
    [kept] = result.outputs
    assert isinstance(kept, Aspect)
    assert (kept.dataset_id, kept.reason, kept.span.text) == ("flow", "it is about flow", FLOW)


async def test_process_when_any_reply_then_kept_plus_rejected_are_all() -> None:
    aspects = [aspect(DOCUMENT, FINDINGS, t) for t in (FLOW, SHEEP, CUT, SAME)] + [aspect(DOCUMENT, METHODS, FLOW)]
    aspects.append(aspect(DOCUMENT, METHODS, GAUGES))
    reply = {
        "keep": [{"number": 1, "reason": "r"}, {"number": 77, "reason": "r"}],
        "remove": [{"number": 2, "fault": "irrelevant", "reason": "sheep"}],
    }
    result = await run(lambda p, n: reply, *aspects)
    codes = sorted(r.code for r in result.rejections)
    assert len(result.outputs) + len(codes) == len(aspects)
    assert codes == ["incomplete", "irrelevant", "redundant", "wrong_category"]
    assert {a.span.text for a in result.outputs if isinstance(a, Aspect)} == {FLOW, GAUGES}
    assert all(r.dataset_id == "flow" and r.reason and r.record for r in result.rejections)


async def test_process_when_reply_names_a_number_twice_then_removed() -> None:
    reply = {**keep(1), "remove": [{"number": 1, "fault": "redundant", "reason": "x"}]}
    result = await run(lambda p, n: reply, aspect(DOCUMENT, FINDINGS, FLOW))
    assert [r.code for r in result.rejections] == ["redundant"]


async def test_process_when_reply_is_empty_then_nothing_is_kept() -> None:
    result = await run(lambda p, n: keep(), aspect(DOCUMENT, FINDINGS, FLOW))
    assert [r.code for r in result.rejections] == ["irrelevant"]


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
    ],
)
def test_incomplete_when_part_is_missing_or_it_points_elsewhere_then_says_why(text: str) -> None:
    assert incomplete(text)
