from __future__ import annotations

import pytest

from scirgen.claims.support import support
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies

ENGLISH = Taxonomies(Resources()).wording.of("en")
EVIDENCE = ["The mixed stands recovered within two years, but the monocultures did not regain their growth."]


@pytest.mark.parametrize(
    ("answer", "denied"),
    [
        ("The mixed stands did not recover within two years.", True),
        ("The mixed stands recovered within two years.", False),
        ("The monocultures did not regain their growth.", False),  # the evidence says so
        ("The mixed stands recovered, and it did not take longer than two years.", False),  # another clause
        ("The mixed stands did not suffer from beetles.", False),  # the evidence says nothing of beetles
    ],
)
def test_support_finds_what_an_answer_denies_and_its_evidence_states(answer: str, denied: bool) -> None:
    assert bool(support(answer, "How did the stands fare?", EVIDENCE, ENGLISH).denied) is denied


@pytest.mark.parametrize(
    ("answer", "evidence", "denied"),
    [
        ("Pressure did not fall.", "Pressure fell by 6 mmHg.", ("fall", "pressur")),
        ("Pressure didn't fall.", "Pressure fell by 6 mmHg.", ("fall", "pressur")),
        ("They do not end in a particle.", "Yes-no questions end in a particle.", ("end", "particl")),
        ("The plots did not store carbon.", "No-till plots stored carbon.", ("carbon", "stor")),
        ("The plots did not store carbon.", "No plots stored carbon.", ()),
    ],
)
def test_did_not_fall_denies_fell_and_no_till_negates_nothing(
    answer: str, evidence: str, denied: tuple[str, ...]
) -> None:
    assert set(support(answer, "", [evidence], ENGLISH).denied) <= set(denied)
    assert bool(support(answer, "", [evidence], ENGLISH).denied) is bool(denied)


@pytest.mark.parametrize(
    ("answer", "text", "found"),
    [
        ("Both datasets are filtered.", "Six datasets are filtered.", []),
        ("It spans 65 years.", "A series of more than 70 years (1951-2015).", []),
        ("Both ends were cut.", "One of the ends was cut.", ["both"]),
        ("Five plots were cut.", "Three mosquito plots were cut.", ["five"]),
    ],
)
def test_a_count_is_missing_where_the_text_counts_otherwise(answer: str, text: str, found: list[str]) -> None:
    assert [q.text for q in support(answer, "", [text], ENGLISH).numbers] == found
