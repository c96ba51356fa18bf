"""Facets of an abstract's sentences: by rules over the whole abstract, or by the aspects that a model chose."""

from __future__ import annotations

import pytest

from scirgen.core.records import AspectCategory, Provenance, SectionClass
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen_bench.tasks.taxonomies import Facets, facets_of
from scirgen_tasks.abstract_facets import FacetLabels, sentence_facets
from tests.support.papers import aspect, make_paper

ABSTRACT = [
    "Snow cover is an important source of water in the Arvel valley.",
    "However, the trend of its melt has led to debate.",
    "We measured snow depth at forty stations between 2015 and 2019.",
    "Histological sections were examined by hand.",
    "We estimated that the valley has lost 44% of its snow cover.",
    "More stations may be required to confirm the loss.",
]


@pytest.fixture(scope="module")
def facets() -> Facets:
    return facets_of(Taxonomies(Resources()))


def test_neighbours_and_place_decide_where_cues_are_weak(facets: Facets) -> None:
    expected = ["background", "background", "method", "method", "result", "result"]
    assert FacetLabels(facets).label(ABSTRACT) == expected


def test_a_heading_inside_the_abstract_decides_until_the_next_one(facets: Facets) -> None:
    sentences = [
        "Objective: We used surveys before.",
        "They showed an increase of 4%.",
        "Methods: The results of 30 villages were read.",
        "Background noise was removed.",
        "Conclusions We apply this to other valleys.",
    ]
    labels = FacetLabels(facets).label(sentences)
    assert labels == ["background", "background", "method", "method", "result"]


def test_a_facet_that_only_its_place_speaks_for_is_left_out(facets: Facets) -> None:
    assert FacetLabels(facets).label(["Snow fell.", "Rain fell.", "Hail fell."]) == ["background", "", ""]
    assert FacetLabels(facets).label([]) == []


def test_aspects_that_a_model_chose_decide_and_may_be_of_two_facets(facets: Facets) -> None:
    document, _ = make_paper([("Abstract", SectionClass.INTRODUCTION, ABSTRACT)])
    chosen = Provenance(stage="extract", key="k", fingerprint="f", prompt="extract/aspects@1#a")
    given = [
        aspect(document, category, ABSTRACT[4]).model_copy(update={"provenance": chosen})
        for category in (AspectCategory.METHODS, AspectCategory.FINDINGS, AspectCategory.DATASET)
    ]
    found = sentence_facets(ABSTRACT, given, facets, "en")
    assert found == [(), (), (), (), ("method", "result"), ()]


def test_rules_read_english_only(facets: Facets) -> None:
    document, _ = make_paper([("Abstract", SectionClass.INTRODUCTION, ABSTRACT)])
    by_rule = [aspect(document, AspectCategory.BACKGROUND, ABSTRACT[0])]
    assert sentence_facets(ABSTRACT, by_rule, facets, "pt") == [("background",), (), (), (), (), ()]
    assert sentence_facets(ABSTRACT, by_rule, facets, "en")[2] == ("method",)
