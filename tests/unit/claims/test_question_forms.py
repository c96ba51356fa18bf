"""Question forms that real runs of small models gave and no published question of the type has (but two of 4,209)."""

from __future__ import annotations

import pytest

from scirgen.claims.conformance import question_problem
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
