"""The taxonomy's patterns against the questions that researchers' catalogue data were published with."""

from __future__ import annotations

import gzip
import json

import pytest

from scirgen.claims.conformance import question_problem
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from tests.support.realdata import REALDATA

RECORDS = REALDATA
KINDS = {k.name: k for k in Taxonomies(Resources()).graesser.types}


@pytest.fixture(scope="module")
def questions() -> dict[str, list[str]]:
    path = RECORDS / "geo" / "records.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"REAL DATA MISSING: {path}")
    found: dict[str, list[str]] = {name: [] for name in KINDS}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number % 5:
                continue
            for name, pairs in json.loads(line)["query"].items():
                found[name] += [p["QuestionEn"] for p in pairs]
    return found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Interpretation", "What can the isotopes of a stalagmite tell us about past rainfall?"),
        ("Causal Consequence", "What potential developments could arise from the thaw of permafrost?"),
        ("Example", "Provide an example of a sensor that measures soil moisture."),
        ("Example", "Please give an instance of a lake that dried up."),
    ],
)
def test_phrasings_that_belong_to_the_type_conform(name, text):
    assert question_problem(KINDS[name], text) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Interpretation", "Who is able to tell us about past rainfall?"),
        ("Causal Consequence", "Which developments of permafrost are known?"),
        ("Example", "Permafrost is an example of frozen ground."),
        ("Example", "Provide the temperature of the soil."),
        ("Definition", "Provide an example of a sensor."),
    ],
)
def test_phrasings_of_other_types_still_do_not(name, text):
    assert question_problem(KINDS[name], text) is not None


@pytest.mark.realdata
@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_type_s_own_real_questions_conform(questions, name):
    asked = questions[name]
    assert len(asked) > 100
    problems = [q for q in asked if question_problem(KINDS[name], q)]
    assert len(problems) / len(asked) < 0.1, problems[:5]


@pytest.mark.realdata
@pytest.mark.parametrize(
    "name", ["Verification", "Disjunctive", "Example", "Assertion", "Request/Directive", "Comparison"]
)
def test_types_with_a_form_of_their_own_refuse_most_of_the_others(questions, name):
    others = [q for other, asked in questions.items() if other != name for q in asked[:60]]
    passing = [q for q in others if question_problem(KINDS[name], q) is None]
    assert len(passing) / len(others) < 0.15
