"""Questions turned out of plain sentences by rule, and what a small model's own wording is checked for."""

from __future__ import annotations

import pytest

from scirgen.stages.generate.naming import short_name
from scirgen_embedded.writer.facts import exact_numbers
from scirgen_embedded.writer.wording import asked_for, broken, names_subject, placed, stranger, turned

KNOWN = "averaged The Catches in the eastern Pacific Ocean. Mosquitoes bite, and the mosquitoes are small."


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("Mosquitoes were collected with light traps.", "Were mosquitoes collected with light traps?"),
        ("Pacific tuna was caught in nets.", "Was Pacific tuna caught in nets?"),
        ("TPHiPr is more accurate than other products.", "Is TPHiPr more accurate than other products?"),
        ("Empty traps were kept, because they show the effort.", "Were empty traps kept?"),
        ("The altitude is 350 m.", "Is the altitude 350 m?"),
        ("The latitude is 40 N, and the altitude is 350 m.", None),
        ("The name is that of the county, ID is the number.", None),
        ("Each grid contained 100 traps.", None),
        ("We were told that rain is rare.", None),
        ("Then, the series of the lake was built for 2009.", None),
        ("In winter the lake was frozen for weeks.", None),
        ("Tuna was caught in sets on neither dolphins nor objects.", None),
        ("The site that was burnt is dry today.", None),
    ],
)
def test_a_plain_sentence_becomes_a_question_and_no_other(sentence: str, question: str | None) -> None:
    assert turned(sentence, KNOWN) == question


@pytest.mark.parametrize(
    ("sentence", "number", "counted", "question"),
    [
        ("Birds were counted for 6 minutes at each point.", "6 minutes", True,
         "For how many minutes were birds counted at each point?"),
        ("Wind speed is given for a height of 10 m.", "10 m", False, "For what height is wind speed given?"),
        ("Beetles were caught with 40 traps until 2018 and with 30 since then.", "40 traps", True, None),
        ("Cover was estimated in a plot of 10 m.", "10 m", False, None),
        ("Records of 9000 gauges were merged.", "9000 gauges", True, None),
    ],
)  # fmt: skip
def test_a_number_behind_the_verb_is_asked_for(sentence: str, number: str, counted: bool, question: str | None) -> None:
    assert asked_for(sentence, number, counted, "") == question


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("The rain was merged with the records of more than 9000 gauges.", []),
        ("Catches were summed for squares of 1 degree by 1 degree.", []),
        ("Fish were 125 to 188 cm long.", []),
        ("Each grid contained 100 traps.", ["100 traps"]),
    ],
)
def test_a_bound_or_a_side_is_no_exact_number(sentence: str, found: list[str]) -> None:
    assert [fact.text for fact in exact_numbers(sentence)] == found


def test_a_question_says_which_dataset_it_is_about() -> None:
    title = "TPMFD: near-surface forcing data for the Third Pole"
    within = "In the {name} data, "
    assert placed("Is wind given?", title, within) == "In the TPMFD data, is wind given?"
    assert placed("ERA5 or WRF?", title, within) == "In the TPMFD data, ERA5 or WRF?"
    assert placed("Is TPMFD fine?", title, within) == "Is TPMFD fine?"
    assert placed("Is wind given?", "Forcing data", within) == "Is wind given?"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Tidy NEON organismal data (neonDivData): birds", "NEON"),
        ("A precipitation dataset for the Third Polar region（TPHiPr）", "TPHiPr"),
        ("Catch data of the Tuna Commission (IATTC) for the Pacific", "IATTC"),
        ("Landsat normalized water index (NDWI) products", None),
        ("MODIS-based snow cover dataset", None),
        ("HiWATER: Dataset of flux observations (2012)", None),
    ],
)
def test_a_dataset_is_called_by_the_name_its_title_gives(title: str, name: str | None) -> None:
    assert short_name(title) == name


def test_a_word_that_no_source_has_is_found() -> None:
    told = "Wind speed is given for a height of 10 m. TPMFD data"
    assert stranger("What is the height of the wind speed?", told) is None
    assert stranger("What is the height of a wind speed of 900 km/h?", told) == "900"
    assert stranger("What is the height since the wind speed?", told) == "since"
    assert stranger("What is the purpose of the wind speed?", told) == "purpose"


def test_a_yes_or_no_question_keeps_the_verb_and_most_words() -> None:
    sentence = "The monthly values were averaged from daily values."
    assert broken("Were the monthly values averaged from daily values?", sentence) is None
    assert broken("Did the monthly values average from daily values?", sentence)
    assert broken("Were the values averaged?", sentence)


def test_a_question_about_a_paper_shares_its_subject() -> None:
    topic = "No evidence of Pacific bluefin tuna reproduction in the California Current"
    assert names_subject("Is bluefin tuna caught in the California Current?", topic)
    assert not names_subject("Were all larvae found south of 26 degrees?", topic)
