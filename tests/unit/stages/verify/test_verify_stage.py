"""The second pass: what is kept for a dataset, and why the rest is not."""

from __future__ import annotations

import pytest

from scirgen.core.prompts import RenderedPrompt
from scirgen.core.records import Aspect, AspectCategory, Dataset, Link, SectionClass, Span
from scirgen.stages.base import StageResult, WorkItem
from scirgen.stages.verify.stage import VerifyStage, incomplete, screen
from tests.support.papers import aspect, make_paper
from tests.support.questioning import FakeScope, make_context
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


async def run(rule: Rule, *aspects: Aspect, **settings: object) -> StageResult:
    link = Link(dataset_id="flow", paper_id=DOCUMENT.paper_id, found_by="doi", used=True)
    ctx, _ = make_context(rule, stage="verify", key=link.id, **settings)
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


def test_a_statement_that_two_sections_found_is_read_once() -> None:
    found = aspect(DOCUMENT, METHODS, GAUGES), aspect(DOCUMENT, FINDINGS, FLOW), aspect(DOCUMENT, METHODS, GAUGES)
    link = Link(dataset_id="ds-1", paper_id=DOCUMENT.paper_id, found_by="doi", used=True)
    ctx, _ = make_context(lambda p, n: remove(), stage="verify", key=link.id)
    [item] = VerifyStage().items(FakeScope({"extract": found, "match": (link,)}), ctx)
    assert [a.span.text for a in item.of(Aspect)] == [GAUGES, FLOW]


async def test_a_leaning_sentence_is_kept_if_its_context_is_known() -> None:
    alone = aspect(DOCUMENT, METHODS, LEANING)
    result = await run(lambda p, n: remove(), alone)
    assert [r.code for r in result.rejections] == ["incomplete"]
    told = alone.model_copy(update={"context": "the rating curves"})
    result = await run(lambda p, n: remove(), told)
    assert [a.context for a in result.outputs if isinstance(a, Aspect)] == ["the rating curves"]


async def test_a_sentence_is_shown_with_what_it_is_about() -> None:
    told = aspect(DOCUMENT, METHODS, LEANING).model_copy(update={"context": "the rating curves"})
    asked: list[str] = []

    def rule(prompt: RenderedPrompt, number: int) -> dict[str, object]:
        asked.append(prompt.messages[-1][1])
        return remove()

    await run(rule, told)
    assert f"[1] (methods; about the rating curves) {LEANING}" in asked[0]


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
        "• enables joint analysis of fourteen validated scales and of their use",
        "a. The Adverse Childhood Experiences Scale (ACES) - a 10-item tool for early adversity",
        "The share of the variance that a factor explains is calculated as follows:",
        "∆Eprog tells how far an energy component lies from the average of the programs.",
        "pH was measured in all lakes in the summer of 2019.",
        "It is difficult to choose settings that agree among all engines.",
        "It has also been shown that grazed slopes lose water earlier.",
        "It is well established in alpine valleys that snow feeds streams.",
        "CC: largest cyclomatic complexity of a function WCC: that of the program",
        "Similarly, the variation of the bond terms is due to the molecules.",
        "As shown in a previous study, synchronised events reveal abrupt shifts.",
        "Table 5: Differences between the precisions are as large as those between programs.",
        "These shares were published for all counties [Reference-1].",
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
        "– GROMACS: Energies were calculated originally and here with GRO-",
        "terraenovae and 22.8 years through tag-recapture data.",
        "Streamflow decreased by 18 % (p < 0.05 in the summer months.",
        "Fig. 3 shows the streamflow of the four stations in summer.",
        "The mean values of all stations are given in Table 2.",
        "It was also found in the second of the two valleys.",
        "It has been sampled in winter.",
        "It was slower than all of the others that froze in winter.",
        "It is an old gauge at a lake of the valley that froze.",
        "Studying their flow is vital for the villages downstream.",
        "The depth of their lakes, which freeze in winter, was 5 m.",
    ],
)
def test_incomplete_or_pointing_sentence_is_rejected_with_why(text: str) -> None:
    assert incomplete(text)


SEVEN = SAME.replace("18", "21")


def cells(*values: str) -> Aspect:
    at = sum(map(ord, "".join(values)))
    headers = ("Collinder 121", "Light curves in the sectors of the second year, of all stars that were seen")
    spans = tuple(
        Span(document_id=DOCUMENT.id, start=at + n, end=at + n + 1, text=value, headers=(*headers, f"Sector {n}"))
        for n, value in enumerate(values)
    )
    return Aspect(paper_id=DOCUMENT.paper_id, category=FINDINGS, span=spans[0], cells=spans, context="Table 1. Snow")


def moved(aspect: Aspect, context: str) -> Aspect:
    spans = tuple(s.model_copy(update={"start": s.start + 9, "end": s.end + 9}) for s in aspect.cells)
    return aspect.model_copy(update={"span": spans[0], "cells": spans, "context": context})


@pytest.mark.parametrize(
    ("one", "other", "codes"),
    [
        (cells("986", "976"), cells("986", "977"), []),
        (cells("986", "976"), cells("976", "986"), []),
        (cells("986"), moved(cells("986"), "Table 2. Ice"), []),
        (cells("986"), moved(cells("986"), "Table 1. Snow"), ["redundant"]),
        (aspect(DOCUMENT, FINDINGS, FLOW), aspect(DOCUMENT, FINDINGS, SAME), ["redundant"]),
        (
            aspect(DOCUMENT, FINDINGS, FLOW),
            aspect(make_paper([("Discussion", SectionClass.CONCLUSION, [SEVEN])])[0], FINDINGS, SEVEN),
            [],
        ),
    ],
)
def test_statements_repeat_each_other_with_the_same_cells_or_numbers_only(
    one: Aspect, other: Aspect, codes: list[str]
) -> None:
    undecided, out = screen([one, other])
    assert [v.code for v in out] == codes and len(undecided) == 2 - len(codes)
