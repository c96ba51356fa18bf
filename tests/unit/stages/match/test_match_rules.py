"""The match strategies that need no model."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from scirgen.core.errors import RunStoppingError
from scirgen.core.records import Dataset, SectionClass
from scirgen.core.runtime import allow_waits, end_waits
from scirgen.stages.match import mention
from scirgen.stages.match.base import Judgement, Pair
from scirgen.stages.match.names import DatasetNames
from scirgen.stages.match.stage import strategy
from tests.support.papers import make_paper
from tests.support.questioning import make_context

INTRO, RELATED, METHOD, NONE = (
    SectionClass.INTRODUCTION,
    SectionClass.RELATED_WORK,
    SectionClass.METHOD,
    SectionClass.NONE,
)
RAIN = Dataset(
    id="rain",
    title="A long-term (1979-2020) high-resolution precipitation dataset for the Third Polar region（TPHiPr）",
    doi="10.11888/Atmos.tpdc.272763",
    keywords=("precipitation", "rain gauge"),
    fields=(("Places", "Third Pole; Tibetan Plateau"),),
    related=("Jiang, Y. (2023). TPHiPr: a high-accuracy dataset. ESSD 15. https://doi.org/10.5194/essd-15-621-2023",),
)
STATION = Dataset(
    id="station",
    title="HiWATER: Dataset of hydrometeorological observation network (eddy covariance system of Sidaoqiao, 2015)",
    fields=(("Places", "Heihe River Basin"),),
)
OWN_REFERENCE = "3. Jiang Y, Yang K. TPHiPr: a long-term (1979–2020) high-accuracy precipitation dataset. 2023."


async def judge(
    name: str, dataset: Dataset, *parts: object, references: tuple[str, ...] = (), by: str = "folder"
) -> Judgement:
    document, labels = make_paper(list(parts), references)
    ctx, _ = make_context(stage="match")
    return await strategy(name, ctx.registry).judge(Pair(dataset, document, labels, (by,)), ctx)


@pytest.mark.parametrize(
    "sentence",
    [
        "Precipitation was taken from https://doi.org/10.11888/Atmos.tpdc.272763 for all years.",
        "We used https://doi.org/10.11888/\natmos.tpdc.272763 for rain.",
        "The TPHiPr precipitation dataset of 1979 to 2020 was averaged over the catchment.",
        "We used a long-term (1979–2020) high-resolution precipitation dataset for the Third Polar region (TPHiPr).",
    ],
)
async def test_mention_when_named_in_methods_then_used_with_that_sentence(sentence: str) -> None:
    said = await judge("mention", RAIN, ("Data", METHOD, ["Some words come before it here.", sentence]))
    assert said.used and any(p.what != "similar words" for p in said.places)


async def test_mention_when_reference_is_cited_by_number_in_methods_then_used() -> None:
    methods = (
        "Data",
        METHOD,
        ["Maps come from [1]. Monthly rain was derived from published rasters [2-4]. Soil is from [5]."],
    )
    said = await judge("mention", RAIN, methods, references=("1. A. One.", "2. B. Two.", OWN_REFERENCE))
    assert said.used
    assert [p.in_references for p in said.places] == [False, True]


async def test_mention_when_cited_by_author_and_year_then_used() -> None:
    reference = OWN_REFERENCE.removeprefix("3. ")
    methods = ("Data", METHOD, ["Rain is that of Jiang et al. (2023), summed over months."])
    said = await judge("mention", RAIN, methods, references=(reference,))
    assert said.used


async def test_mention_when_only_in_related_work_then_mentioned_only() -> None:
    related = ("Related work", RELATED, ["The TPHiPr precipitation dataset of 1979 to 2020 has been used elsewhere."])
    said = await judge("mention", RAIN, related)
    assert (said.used, said.code) == (False, "mentioned_only")


async def test_dataset_named_in_the_introduction_is_mentioned_only() -> None:
    intro = ("Introduction", INTRO, ["Several precipitation products such as TPHiPr (1979 to 2020) exist."])
    assert (await judge("mention", RAIN, intro)).code == "mentioned_only"
    intro = ("Abstract", INTRO, ["Here the TPHiPr precipitation product (1979 to 2020) is used to force a model."])
    assert (await judge("mention", RAIN, intro)).used


@pytest.mark.parametrize("name", ["mention", "auto"])
async def test_strategies_when_only_the_place_is_shared_then_not_used(name: str) -> None:
    text = [
        (
            "We used data of yaks on the Tibetan Plateau in the Third Pole region, collected "
            "from herders of the Third Pole."
        )
    ]
    said = await judge(name, RAIN, ("Data", METHOD, text))
    assert not said.used


async def test_mention_when_other_doi_begins_alike_then_not_used() -> None:
    dataset = RAIN.model_copy(update={"doi": "10.11888/Atmos.tpdc.27276"})
    text = ["We used https://doi.org/10.11888/Atmos.tpdc.272763 and https://doi.org/10.11888/Atmos.tpdc.27276.2 here."]
    assert not (await judge("mention", dataset, ("Data", METHOD, text))).used


async def test_mention_of_a_shared_programme_name_needs_the_rest_of_the_title() -> None:
    sibling = ["HiWATER data of the large aperture scintillometer at Arou in 2014 were used for the fluxes."]
    assert not (await judge("mention", STATION, ("Data", METHOD, sibling))).used
    own = [
        (
            "From the HiWATER hydrometeorological observation network the eddy covariance "
            "system of Sidaoqiao in 2015 was used."
        )
    ]
    assert (await judge("mention", STATION, ("Data", METHOD, own))).used


async def test_mention_when_same_acronym_means_something_else_then_not_used() -> None:
    text = ["The TPHiPr committee of the university met twice and used a room for it."]
    assert not (await judge("mention", RAIN, ("Methods", METHOD, text))).used


@pytest.mark.parametrize("by", ["column", "related_doi", "related_identifier", "file_name"])
async def test_auto_without_a_model_trusts_a_stated_relation_alone(by: str) -> None:
    text = ["We used daily precipitation records of rain gauges from 1979 to 2020, obtained as gridded data."]
    document, labels = make_paper([("Data", METHOD, text)])
    ctx = replace(make_context(stage="match")[0], chat_session=None)
    for way, used in ((by, True), ("folder", False)):
        assert (await strategy("auto", ctx.registry).judge(Pair(RAIN, document, labels, (way,)), ctx)).used is used


CREMMA = Dataset(id="c", title="CREMMA Medii Aevi", description="Transcribed pages of Latin manuscripts.")


@pytest.mark.parametrize("title", ["CREMMA Medii Aevi", "CREMMA Medii Aevi: Latin manuscripts – a ground truth"])
async def test_auto_when_the_paper_bears_the_datasets_title_then_used(title: str) -> None:
    document, labels = make_paper([("Aims", METHOD, ["Pages were transcribed by three people."])])
    ctx, _ = make_context(stage="match")
    for named, used in ((title, True), ("CREMMA Medii: Latin manuscripts", False)):
        paper = document.model_copy(update={"title": named})
        assert (await strategy("auto", ctx.registry).judge(Pair(CREMMA, paper, labels, ("folder",)), ctx)).used is used


async def test_a_short_title_with_an_acronym_is_a_name_and_a_plain_one_is_not() -> None:
    said = ("Corpus", METHOD, ["The model was trained on CREMMA Medii Aevi.", "Lake water quality was good."])
    assert (await judge("mention", CREMMA, said)).used
    assert not (await judge("mention", Dataset(id="q", title="Lake water quality"), said)).used


def test_names_when_title_has_concept_acronym_then_it_is_no_name() -> None:
    water = Dataset(id="w", title="Landsat normalized difference water index (NDWI) products over the plateau (2022)")
    assert DatasetNames(water).names == ()
    assert [n.text for n in DatasetNames(RAIN).names] == ["TPHiPr"]
    assert [(n.text, n.programme) for n in DatasetNames(STATION).names] == [("HiWATER", True)]
    pollen = Dataset(id="p", title="Eurasian Modern Pollen Database (EMPD)")
    assert [n.text for n in DatasetNames(pollen).names] == ["EMPD"]
    package = Dataset(id="n", title="Tidy organismal data (neonDivData): birds and beetles")
    assert [n.text for n in DatasetNames(package).names] == ["neonDivData"]


async def test_decimals_and_units_are_not_taken_for_citations() -> None:
    text = ["Rain fell on 8.3 days over 214 km3 at a rate of 1.3, and the level3 product was drawn."]
    related = ("Related work", RELATED, ["Others used [1], [2] and [4]."])
    said = await judge("mention", RAIN, ("Data", METHOD, text), related, references=(OWN_REFERENCE,))
    assert [p for p in said.places if not p.in_references] == []


async def test_mention_when_citation_numbers_are_raised_then_found() -> None:
    text = ["Rain was taken from a gridded product3,4 and summed.", "Snow was measured by hand.9"]
    said = await judge("mention", RAIN, ("Data", METHOD, text), references=("2. B. Two.", OWN_REFERENCE))
    assert [p.in_references for p in said.places] == [False, True]


DATA_REFERENCE = "3. National Data Center. Precipitation of the Third Pole. 2023. doi:10.11888/Atmos.tpdc.272763"


@pytest.mark.parametrize(("section", "used"), [(INTRO, True), (RELATED, False)])
async def test_dataset_cited_by_its_own_doi_is_used_unless_in_related_work(section: SectionClass, used: bool) -> None:
    parts = ("Part", section, ["Rain gauges are rare [1]. Several products exist [2-4]. Most are coarse [5]."])
    said = await judge("mention", RAIN, parts, references=("1. A. One.", "2. B. Two.", DATA_REFERENCE))
    assert said.used is used and any(p.in_references for p in said.places)


async def test_doi_that_the_parser_read_in_a_reference_links_it() -> None:
    parts = [("Introduction", INTRO, ["Maps come from [1]. Several products exist [2-4]. Soil is from [5]."])]
    document, labels = make_paper(parts, ("1. A. One.", "2. B. Two.", "3. National Data Center. Rain. 10.11888/Atmos"))
    entry = document.blocks[-1].model_copy(update={"doi": "10.11888/atmos.tpdc.272763"})
    document = document.model_copy(update={"blocks": (*document.blocks[:-1], entry)})
    ctx, _ = make_context(stage="match")
    assert (await strategy("mention", ctx.registry).judge(Pair(RAIN, document, labels, ("folder",)), ctx)).used


NAMED_EVERYWHERE = {
    "identifier": ["Data are at 10.11888/Atmos.tpdc.272763 for all. " * 100] * 300,
    "title": [f"{RAIN.title} is used. " * 100] * 100,
}


@pytest.mark.parametrize("what", NAMED_EVERYWHERE)
async def test_paper_that_names_the_dataset_everywhere_is_judged_soon_and_beside_other_work(what: str) -> None:
    ticks, judging = 0, asyncio.ensure_future(judge("mention", RAIN, ("Data", METHOD, NAMED_EVERYWHERE[what])))
    began = time.monotonic()
    while not judging.done():
        await asyncio.wait([judging], timeout=0.01)
        ticks += 1
    assert (await judging).used and ticks > 5
    assert time.monotonic() - began < 25, "quadratic: a minute or more"


async def test_judging_a_paper_ends_with_the_run() -> None:
    end_waits()
    try:
        with pytest.raises(RunStoppingError):
            await judge("mention", RAIN, ("Data", METHOD, NAMED_EVERYWHERE["identifier"]))
    finally:
        allow_waits()


async def test_citations_are_looked_for_of_some_references_to_a_dataset_only(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []
    monkeypatch.setattr(mention, "citing_offsets", lambda d, r, e: searched.append(e.number) or [])
    references = tuple(f"{n}. Data of rain. doi:10.11888/Atmos.tpdc.272763" for n in range(1, 200))
    said = await judge("mention", RAIN, ("Data", METHOD, ["We used it."]), references=references)
    assert said.used and len(searched) == mention.MOST_CITED
