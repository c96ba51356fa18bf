"""Somebody who has not read a text cannot have its numbers, coined names, authors or turns of phrase."""

from __future__ import annotations

import pytest

from scirgen.claims.borrowed import borrowed, coined

SHOWN = "TPHiPr: precipitation over the Third Pole. It merges gauges with a regional model at 3 km."
NAMES = coined([SHOWN])


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("Which rain data have 3 km cells?", "number"),
        ("Is TPHiPr good for river models?", "coins"),
        ("What did Mori et al. find on lake ice?", "authors"),
        ("Who needs precipitation over the third pole today?", "words"),
        ("Where can I get rainfall grids for high mountains in Asia?", ""),
        ("How well do NDVI series follow drought?", ""),
    ],
)
def test_what_only_a_reader_knows_is_named(question: str, why: str) -> None:
    found = borrowed(question, SHOWN, NAMES)
    assert why in found if why else not found


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Omniglot: handwritten characters", {"omniglot"}),
        ("CIFAR-10 images", {"cifar-10"}),
        ("ImageNet (ILSVRC)", {"imagenet", "ilsvrc"}),
        ("Daily snow depth at a station", set()),
    ],
)
def test_names_that_titles_coin(title: str, names: set[str]) -> None:
    assert coined([title]) == names


@pytest.mark.parametrize(
    "question", ["I want 3D models.", "CO2 above cities", "PM2.5 in 2-D maps", "6d pose of objects"]
)
def test_dimensions_and_formulas_are_no_numbers(question: str) -> None:
    assert not borrowed(question, "", frozenset())


@pytest.mark.parametrize("question", ["in 1981", "more than 5%", "a 0.5 degree grid", "x =3"])
def test_numbers_are_found(question: str) -> None:
    assert "number" in borrowed(question, "", frozenset())


def test_a_name_that_is_a_common_word_in_the_text_may_be_used_as_one() -> None:
    names = coined(["PROTEINS"])
    assert not borrowed("I want to tell enzymes from other proteins.", "A dataset of proteins and enzymes.", names)
    assert borrowed("Where is PROTEINS used?", "A dataset of proteins and enzymes.", names)
