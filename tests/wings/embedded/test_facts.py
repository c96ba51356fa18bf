from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen_embedded.writer import alterations, facts
from scirgen_embedded.writer.reply_text import one_answer, one_question


def test_numbers_come_with_their_unit_or_noun():
    found = [f.text for f in facts.numbers("It has 2,400 rain gauges at 0.25° over 30 km and 5 °C in 2013.")]
    assert found == ["2,400 rain gauges", "0.25°", "30 km", "5 °C"]


def test_names_leave_out_the_sentence_s_first_word():
    assert [f.text for f in facts.names("Snow in the Heihe River Basin was seen by MODIS.")] == [
        "Heihe River Basin",
        "MODIS",
    ]


@pytest.mark.parametrize(
    ("sentence", "old", "new"),
    [("Snowfall is higher in the north.", "higher", "lower"), ("It has 14 sites in all.", "14 sites", None)],
)
def test_change_makes_one_replacement(sentence, old, new):
    change = alterations.change(sentence, [("higher", "lower")], random.Random(1))
    assert change.old == old
    assert new is None or change.new == new
    assert change.text == sentence.replace(old, change.new)


@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(0, 1000))
def test_other_number_is_never_the_same_number(value, decimals, seed):
    text = f"{value:.{decimals}f} km"
    other = alterations.other_number(text, random.Random(seed))
    assert float(other.split()[0]) != float(text.split()[0])
    assert other.endswith(" km")


@given(st.integers(0, 1000), st.sampled_from(["%", " %", " percent", " per cent"]), st.integers(0, 1000))
def test_another_percentage_is_never_above_100(tenths, unit, seed):
    for shown in (f"{tenths / 10:.1f}", f"{tenths // 10}"):
        other = alterations.other_number(shown + unit, random.Random(seed))
        value = float(other.removesuffix(unit))
        assert 0 <= value <= 100
        assert value != float(shown)


@pytest.mark.parametrize(
    ("text", "most"), [("38.25° N", 90), ("60 ° S", 90), ("100.3597° E", 180), ("45°", 180), ("95 degrees W", 180)]
)
def test_another_angle_stays_on_the_globe(text, most):
    values = {float(re.match(r"[\d.]+", alterations.other_number(text, random.Random(n))).group()) for n in range(20)}
    assert max(values) <= most
    assert float(re.match(r"[\d.]+", text).group()) not in values


def test_a_temperature_has_no_such_limit():
    assert {alterations.other_number("60 °C", random.Random(n)) for n in range(40)} >= {"300 °C", "180 °C"}


@pytest.mark.parametrize(
    ("sentence", "other", "swapped"),
    [
        ("the wind of the ERA5 reanalysis was used.", "it is wetter than the JRA55 reanalysis of that year.",
         ("ERA5", "JRA55")),
        ("the cover was measured by ERA5L.", "it was measured by GPM5X.", ("ERA5L", "GPM5X")),
        ("the data is in UTC time.", "the wind of ERAX data is better.", None),
        ("it can be opened with Excel.", "agriculture belongs to Agroecology here.", None),
        ("flow in the Heihe River is low.", "it rains over the Yarlung River.", ("Heihe River", "Yarlung River")),
        ("the flux was measured by MODIS.", "the cover is shown by MODIS.", None),
        ("over the Qinghai-Xizang Plateau it rains.", "over the Qinghai-Tibet Plateau it snows.", None),
        ("the wind of the ERA5 reanalysis was used.", "it is wetter than the ERA5-Land reanalysis of that year.", None),
    ],
)  # fmt: skip
def test_a_name_is_swapped_only_for_one_that_could_stand_in_its_place(sentence, other, swapped):
    made = {(f.text, new) for f in facts.names(sentence) for new in facts.rivals(sentence, f, [other])}
    assert made == ({swapped} if swapped else set())


@pytest.mark.parametrize(
    "sentence",
    [
        "the annual values are averages of the monthly values.",
        "the traps were set in summer in the northern lakes.",
        "the wind of the ERA5 reanalysis was used.",
        "the lakes were sampled in 1995.",
    ],
)
def test_what_a_source_leaves_open_is_not_asked_for_as_false(sentence):
    opposites = Taxonomies(Resources()).wording.of("en").opposites
    assert all(alterations.change(sentence, opposites, random.Random(n)) is None for n in range(10))


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("Fig. 3 shows it and Table 2 lists the rest.", []),
        ("the 10 most important of them, in band 4 covers.", []),
        ("it has 14 sites, 2,400 rain gauges and a 30-year period.", ["14 sites", "2,400 rain gauges", "30-year"]),
        ("a window of 7 contains them.", []),
    ],
)
def test_a_number_counts_only_what_is_named_in_the_plural(sentence, found):
    assert [f.text for f in facts.numbers(sentence)] == found


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("the rate being –1.15% since 1960–2005.", ["–1.15%"]),
        ("soil was measured (10 cm, 20 cm, 40 cm) and air at 2 m.", ["2 m"]),
        ("a resolution of 0.25° (about 25 km) and a span (23 years).", ["0.25°", "23 years"]),
        ("snow between 10–20 cm.", []),
        ("The sensor was buried at 2cm, 4cm, 10cm and 160cm.", []),
        ("Forests cover 39 %, and 12 stations lie below 3 m or 5 m.", ["39 %", "12 stations"]),
    ],
)
def test_a_number_keeps_its_sign_and_is_not_taken_out_of_a_list_or_a_range(sentence, found):
    assert [f.text for f in facts.numbers(sentence)] == found


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("Dry ANPP was studied [3,4] and [17-19].", "Dry ANPP was studied and."),
        (
            "Areas were larger (Fig 3) than those (Table S2) of 1990 (n = 4).",
            "Areas were larger than those of 1990 (n = 4).",
        ),
        ("First, rates were computed. However, they vary.", "Rates were computed. They vary."),
        ("First results vary, however, a lot.", "First results vary, however, a lot."),
    ],
)
def test_marks_that_lead_out_of_a_sentence_are_not_shown(sentence, shown):
    assert facts.readable(sentence) == shown


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("Is the snow cover of 14 sites higher in winter?", ""),
        ("Is the snow cover of 15 sites higher in winter?", "15"),
        ("Is the snow cover of 14 sites not higher in winter?", "not"),
        ("Is the snow cover of 14 sites lower in winter?", "lower"),
    ],
)
def test_question_departs_from_its_sentence_by_number_or_negation(question, why):
    sentence = "In winter the snow cover of 14 sites is higher."
    assert alterations.departure(question, sentence, [("higher", "lower")]) == why


@pytest.mark.parametrize(
    ("sentence", "stem"),
    [
        ("Wind was measured where stations are.", "Was"),
        ("Winds have changed.", ""),
        ("The well-is spring does not flow.", "Does"),
        ("When the plots were burnt, the cover was low.", "Was"),
        ("When the plots were burnt, the cover fell.", ""),
    ],
)
def test_a_question_opens_with_the_main_clause_s_first_auxiliary(sentence, stem):
    assert facts.opening(sentence, ("Is", "Are", "Was", "Does")) == stem


@given(st.integers(1900, 2026), st.integers(0, 1000))
def test_another_year_is_a_little_earlier(year, seed):
    assert 3 <= year - int(alterations.other_number(f"{year} season", random.Random(seed)).split()[0]) <= 7


def test_a_measured_value_that_looks_like_a_year_is_changed_as_a_value():
    assert alterations.other_number("2000 m", random.Random(1)) in {"1000 m", "4000 m", "6000 m", "10000 m"}


@pytest.mark.parametrize(
    ("sentence", "years"),
    [
        ("the record covers all of it since 1979 without a gap.", {"1979"}),
        ("the record was kept from 1979 to 2020.", {"1979"}),
        ("the record was kept until 2020.", set()),
        ("the record was described before (Smith et al., 2019).", set()),
    ],
)
def test_a_year_is_changed_only_where_an_earlier_one_is_false(sentence, years):
    made = [alterations.change(sentence, [], random.Random(n)) for n in range(5)]
    assert {m.old for m in made if m} == years
    for change in filter(None, made):
        assert int(change.new) < int(change.old)


@pytest.mark.parametrize(
    ("reply", "question"),
    [
        ("Question: What is snow?", "What is snow?"),
        ('1. "What is snow?"\n2. Why?', "What is snow?"),
        ("Sure! Here is a question:\nWhat is snow? It is cold.", "What is snow?"),
        ("Snow is white.", None),
        ("", None),
    ],
)
def test_one_question_is_freed_of_labels(reply, question):
    assert one_question(reply) == question


def test_one_answer_is_no_list():
    assert one_answer("The strengths are:\n- 144 data a day\n- every 10 min", cut=False) is None
    assert one_answer("1. Cut it.\n2. Weigh it.", cut=False) is None
    assert one_answer("It has 2 parts. - One is old.", cut=False) == "It has 2 parts. - One is old."


def test_one_answer_of_a_cut_reply_without_a_whole_sentence_is_none():
    assert one_answer("Because the", cut=True) is None
    assert one_answer("low permeability, slow hardening", cut=False) == "low permeability, slow hardening"


VALUES = "Changes were –1.15% for the whole community, 5.67% for sedges, –1.55% for graminoids within 3 years."
SHARES = "The area where all groups grow had the largest share (39.12%), followed by areas dominated by forbs (35.01%)."


@pytest.mark.parametrize(
    ("sentence", "value", "apart"),
    [
        (VALUES, "5.67%", {"sedg"}),
        (VALUES, "–1.55%", {"graminoid", "within", "year"}),
        (VALUES, "3 years", set()),
        (SHARES, "35.01%", {"follow", "dominat", "forb"}),
    ],
)
def test_values_of_one_unit_are_told_apart_by_their_clauses_words(sentence, value, apart):
    found = facts.numbers(sentence)
    (fact,) = [f for f in found if f.text == value]
    got = facts.telling_apart(sentence, fact, found)
    assert apart <= got
    assert bool(apart) == bool(got)


NAMES = st.sampled_from(["ERA5", "JRA55", "MODIS", "AVHRR", "Heihe River", "Yarlung River", "Tibet", "Nepal"])
NOUNS = st.sampled_from(["reanalysis", "data", "basin", "sensor"])
SENTENCES = st.tuples(NAMES, NOUNS, st.sampled_from(["in", "by", "over", "from"])).map(
    lambda t: f"the snow was seen {t[2]} {t[0]} {t[1]} and {t[2]} the {t[0]}."
)


@given(SENTENCES, st.integers(0, 50))
def test_a_sentence_does_not_depart_from_itself_and_a_changed_number_does(sentence, seed):
    assert alterations.departure(sentence, sentence, [("higher", "lower")]) == ""
    counted = sentence.rstrip(".") + " with 14 km of ice."
    changed = alterations.change(counted, [], random.Random(seed))
    assert alterations.departure(changed.text, counted, []) != ""


@pytest.mark.parametrize(
    ("sentence", "name", "alone"),
    [
        ("The tables can be opened by WPS, Excel and other software.", "WPS", False),
        ("The cover was mapped by MODIS and Landsat.", "MODIS", False),
        ("The cover was mapped by MODIS, and the rest by hand.", "MODIS", True),
        ("The cover was mapped by MODIS in 2004.", "MODIS", True),
    ],
)
def test_a_name_in_a_list_is_not_asked_for_alone(sentence, name, alone):
    (fact,) = [n for n in facts.names(sentence) if n.text == name]
    assert facts.stands_alone(sentence, fact) is alone
