"""DataFinder's rule as a match strategy."""

from __future__ import annotations

import pytest

from scirgen.core.records import Dataset, SectionClass
from scirgen.stages.match.base import Pair
from scirgen.stages.match.stage import strategy
from tests.support.papers import make_paper
from tests.support.questioning import make_context

RELATED, METHOD = SectionClass.RELATED_WORK, SectionClass.METHOD
RAIN = Dataset(
    id="rain",
    title="A long-term (1979-2020) high-resolution precipitation dataset for the Third Polar region（TPHiPr）",
    doi="10.11888/Atmos.tpdc.272763",
    keywords=("precipitation", "rain gauge"),
    related=("Jiang, Y. (2023). TPHiPr: a high-accuracy dataset. ESSD 15. https://doi.org/10.5194/essd-15-621-2023",),
)
CITED = "7. Jiang. Title. https://doi.org/10.5194/essd-15-621-2023"
SUMMED, FILLED = "TPHiPr precipitation from 1979 on was summed.", "Gaps of TPHiPr were filled."


async def used(*parts: tuple[str, SectionClass, list[str]], references: tuple[str, ...] = (CITED,)) -> bool:
    document, labels = make_paper(list(parts), references)
    ctx, _ = make_context(stage="match")
    return (await strategy("datafinder", ctx.registry).judge(Pair(RAIN, document, labels, ("folder",)), ctx)).used


async def test_cited_and_named_in_two_sentences_then_used_else_not() -> None:
    once, twice = ("Experiments", METHOD, [SUMMED]), ("Experiments", METHOD, [SUMMED, FILLED])
    assert await used(twice)
    assert not await used(once)
    assert not await used(twice, references=())
    assert not await used(once, ("Related work", RELATED, ["TPHiPr precipitation from 1979 on was used by others."]))
    within_one = ["TPHiPr precipitation from 1979 on (TPHiPr version 2 of TPHiPr) was summed."]
    assert not await used(("Experiments", METHOD, within_one))
    assert not await used(("Data", METHOD, ["We used data of yaks on the Tibetan Plateau, collected by herders."]))


@pytest.mark.parametrize(
    ("heading", "counts"),
    [("Results", True), ("Site", False), ("Discussion of results", True), ("Conclusions", False)],
)
async def test_the_heading_decides_whether_sentences_count(heading: str, counts: bool) -> None:
    assert await used((heading, METHOD, [SUMMED, FILLED])) is counts


async def test_sentences_about_pretraining_do_not_count() -> None:
    assert not await used(("Results", METHOD, [SUMMED, "The model was pretrained on TPHiPr precipitation."]))
