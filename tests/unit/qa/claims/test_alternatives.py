from __future__ import annotations

import pytest

from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.qa.claims.alternatives import alternatives, options

TAXONOMIES = Taxonomies(Resources())
ENGLISH = TAXONOMIES.wording.of("en")
EVIDENCE = "The changes were –1.15% for the whole community, +5.67% for sedges and –2.26% for forbs, by ERA5 and WRF."


def forms(
    answer: str,
    question: str = "What changed?",
    evidence: str = EVIDENCE,
    kind: str = "definition",
    context: str = "",
) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in alternatives(question, answer, evidence, ENGLISH, kind=TAXONOMIES.question_type(kind), context=context):
        assert one.text != answer and one.sentence
        found.setdefault(one.kind, set()).add(one.text)
    return found


def test_a_number_gives_way_to_those_of_the_evidence() -> None:
    assert "The gain was 5.67%." in forms("The gain was 7.37%.")["number"]


def test_two_numbers_change_places() -> None:
    assert forms("5.67% for sedges and 2.26% for forbs")["exchange"] >= {"2.26% for sedges and 5.67% for forbs"}


def test_things_on_both_sides_of_a_comparison_change_places() -> None:
    evidence = "Fluorescence tracked productivity more closely than NDVI did."
    found = forms("Fluorescence follows productivity more closely than NDVI.", evidence=evidence)
    assert "NDVI follows productivity more closely than Fluorescence." in found["exchange"]


@pytest.mark.parametrize(
    ("answer", "evidence", "kind", "altered"),
    [
        ("The gauges are not merged.", "Gauges were merged.", "negation", "The gauges are merged."),
        ("The gauges are merged.", "Gauges were not merged.", "negation", "The gauges are not merged."),
        ("Forbs lose.", "Forbs gained.", "opposite", "Forbs gain."),
        ("low-quality data", "classes of high- and low-quality data", "opposite", "high-quality data"),
        ("It is simulated with WRF.", EVIDENCE, "name", "It is simulated with ERA5."),
        ("It holds for all sites.", "It holds for some sites.", "degree", "It holds for some sites."),
        ("a depth of 5 cm", "at 5 cm", "unit", "a depth of 5 mm"),
    ],
)
def test_each_kind_changes_one_point(answer: str, evidence: str, kind: str, altered: str) -> None:
    assert altered in forms(answer, evidence=evidence).get(kind, set())


@pytest.mark.parametrize("answer", ["The higher share", "The gauges are merged.", "It holds for all sites."])
def test_words_have_no_alternative_that_the_evidence_never_uses(answer: str) -> None:
    assert not forms(answer, evidence="Gauges and sites have a share.").keys() & {"opposite", "negation", "degree"}


def test_a_name_of_the_context_alone_is_compared_with_names_of_the_evidence() -> None:
    claim, context = (
        "In the TPHiPr data, precipitation was merged with records of gauges.",
        "ERA5 and TPHiPr are products.",
    )
    silent, speaking = "Precipitation was merged with records of gauges.", "ERA5 was merged with records of gauges."
    assert "name" not in forms(claim, evidence=silent, context=context)
    assert forms(claim, evidence=speaking, context=context)["name"] == {claim.replace("TPHiPr", "ERA5")}


def test_yes_becomes_no_and_an_option_the_other() -> None:
    assert forms("Yes", kind="verification") == {"polarity": {"No"}}
    question = "Did precipitation or glacier melt contribute more?"
    assert options(question, ENGLISH)[0] == "precipitation"
    assert "precipitation" in forms("glacier melt", question, kind="disjunctive")["option"]


def test_there_are_at_most_eight_and_no_kind_crowds_out_another() -> None:
    answer = "Sedges rose by 5.67%, forbs fell by 2.26% and the community is not higher by 1.15%."
    found = alternatives("What changed?", answer, EVIDENCE + " Sedges fell and forbs are lower.", ENGLISH)
    assert len(found) == 8 and {"number", "exchange", "opposite", "negation"} <= {a.kind for a in found}
