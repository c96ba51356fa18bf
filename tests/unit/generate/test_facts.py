from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scirgen.stages.generate import facts
from scirgen.stages.generate.reply_text import one_answer, one_question


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
    change = facts.change(sentence, [], [("higher", "lower")], random.Random(1))
    assert change.old == old
    assert new is None or change.new == new
    assert change.text == sentence.replace(old, change.new)


@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(0, 1000))
def test_other_number_is_never_the_same_number(value, decimals, seed):
    text = f"{value:.{decimals}f} km"
    other = facts.other_number(text, random.Random(seed))
    assert float(other.split()[0]) != float(text.split()[0])
    assert other.endswith(" km")


@given(st.integers(0, 1000), st.sampled_from(["%", " %", " percent", " per cent"]), st.integers(0, 1000))
def test_another_percentage_is_never_above_100(tenths, unit, seed):
    for shown in (f"{tenths / 10:.1f}", f"{tenths // 10}"):
        other = facts.other_number(shown + unit, random.Random(seed))
        value = float(other.removesuffix(unit))
        assert 0 <= value <= 100
        assert value != float(shown)


@pytest.mark.parametrize(
    ("text", "most"), [("38.25° N", 90), ("60 ° S", 90), ("100.3597° E", 180), ("45°", 180), ("95 degrees W", 180)]
)
def test_another_angle_stays_on_the_globe(text, most):
    values = {float(re.match(r"[\d.]+", facts.other_number(text, random.Random(n))).group()) for n in range(20)}
    assert max(values) <= most
    assert float(re.match(r"[\d.]+", text).group()) not in values


def test_a_temperature_has_no_such_limit():
    assert {facts.other_number("60 °C", random.Random(n)) for n in range(40)} >= {"300 °C", "180 °C"}


def test_a_name_is_swapped_for_one_that_looks_like_it():
    others = ["it was measured by MODIS over the Karakoram Range of mountains."]
    for n in range(10):
        made = facts.change("the cover was measured by ERA5L in all.", others, [], random.Random(n))
        assert (made.old, made.new) == ("ERA5L", "MODIS")


@given(st.integers(1900, 2026), st.integers(0, 1000))
def test_another_year_is_a_little_earlier(year, seed):
    assert 3 <= year - int(facts.other_number(f"{year} season", random.Random(seed)).split()[0]) <= 7


def test_a_measured_value_that_looks_like_a_year_is_changed_as_a_value():
    assert facts.other_number("2000 m", random.Random(1)) in {"1000 m", "4000 m", "6000 m", "10000 m"}


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
    made = [facts.change(sentence, [], [], random.Random(n)) for n in range(5)]
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


def test_one_answer_of_a_cut_reply_without_a_whole_sentence_is_none():
    assert one_answer("Because the", cut=True) is None
    assert one_answer("low permeability, slow hardening", cut=False) == "low permeability, slow hardening"
