"""The taxonomy's patterns against the questions that researchers' catalogue data were published with."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from scirgen.core.conformance import question_problem
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies

RECORDS = Path(os.environ.get("SCIRGEN_REALDATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
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
