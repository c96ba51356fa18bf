"""Question forms that real runs of small models gave and no published question of the type has (but two of 4,209)."""

from __future__ import annotations

import pytest

from scirgen.claims.conformance import answer_problem, question_problem
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies

TAXONOMIES = Taxonomies(Resources())


@pytest.mark.parametrize(
    ("kind", "question", "good"),
    [
        ("disjunctive", "What was the rate of A, B, and C over the Qinghai Plateau or Tibet Plateau from 2000 to 2022?",
         False),
        ("disjunctive", "How were the rates measured by radar or sonar?", False),
        ("disjunctive", "What is the main sensor for thermal radiation: cameras, radiometers, or satellites?", True),
        ("disjunctive", "What resolution suits glaciers in the Karakoram, 15 m or 30 m?", True),
        ("disjunctive", "Which is used more, TDR or ring knives?", True),
        ("disjunctive", "Were bat calls recorded before dusk or at dawn?", True),
        ("causal_antecedent", "Why are the areas of grasslands that increased due to human activities?", False),
        ("causal_antecedent", "Why did the areas of grasslands increase?", True),
        ("causal_antecedent", "What factors lead to gaps that are due to clouds?", True),
        ("causal_antecedent", "What may have diluted the skill of fire forecasts?", True),
        ("causal_consequence", "What can nonlinear transformations do to errors in the forecast?", True),
        ("definition", "What counts as a 'hit' in the assessment of fire forecasts?", True),
        ("feature_specification", "What first-class categories does the land use dataset have?", True),
    ],
)  # fmt: skip
def test_question_when_it_cannot_be_one_of_its_type_then_it_is_refused(kind: str, question: str, good: bool) -> None:
    assert (question_problem(TAXONOMIES.question_type(kind), question) is None) is good


@pytest.mark.parametrize(
    ("question", "answer", "good"),
    [
        ("What is the percentage change in precipitation between 2006 and 2020?", "1,163 mm", False),
        ("What is the correlation coefficient between thickness and snow?", "11 cm", False),
        ("How many years of rainfall are used?", "30 days", False),
        ("What percentage of gauges lies above 2 km?", "35 % of them lie above 2 km", True),
        ("What proportion of the ice is thicker than 1 m?", "A fraction of 0.3 is thicker than 1 m", True),
        ("How many years of rainfall are used?", "30 years", True),
        ("How many gauges lie above 2 km?", "14", True),
        ("What is the depth of the sensors?", "11 cm", True),
    ],
)
def test_answer_when_its_unit_is_not_what_is_asked_for_then_it_is_refused(
    question: str, answer: str, good: bool
) -> None:
    kind = TAXONOMIES.question_type("quantification")
    assert (answer_problem(kind, question, answer, TAXONOMIES.wording.of("en")) is None) is good
