"""A question about something else than its evidence is found: the reply of a writer to another prompt."""

from __future__ import annotations

import json
import random

import pytest

from scirgen.core.records import Dataset, QAPair, Span
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.gates.evidence import OtherQuestionGate
from tests.support.filtering import MATERIAL, pair, verdict
from tests.support.realdata import REALDATA


def _cites(question: str, *lines: str, answer: str = "Because of snow.") -> QAPair:
    spans = tuple(Span(document_id="ds-1", start=0, end=len(line), text=line) for line in lines)
    return pair(question, answer).model_copy(update={"evidence": spans})


@pytest.mark.parametrize(
    ("question", "line", "accepted"),
    [
        (
            "How densely are the grey seals of the Isle of May grouped?",
            "Merged from 2,400 gauges of 30 networks.",
            False,
        ),
        ("Why do satellites miss snowfall over cold mountains?", "Satellites do not see snow over mountains.", True),
        ("Why are the grey seals of May grouped?", "雪深由每天早晨的测杆读取。", True),  # in another script
        ("Why is that so?", "Merged from 2,400 gauges.", True),  # too short to say
        ("What years does the Third Pole precipitation product cover?", "1979 to 2020", True),  # its title names it
    ],
)
async def test_a_question_without_a_word_of_its_evidence_is_found(
    question: str, line: str, accepted: bool, ctx: StageContext
) -> None:
    assert (await verdict(OtherQuestionGate, _cites(question, line), ctx, MATERIAL)).accept is accepted


async def test_a_pair_without_evidence_is_not_judged(ctx: StageContext) -> None:
    given = pair("How densely are the grey seals of May grouped?").model_copy(update={"evidence": ()})
    assert (await verdict(OtherQuestionGate, given, ctx, MATERIAL)).accept


@pytest.mark.realdata
@pytest.mark.skipif(not (REALDATA / "desk2").is_dir(), reason=f"REAL DATA MISSING: {REALDATA} (set SCIRGEN_REALDATA)")
async def test_swapped_replies_of_a_strong_writer_are_found_and_its_own_pairs_stay(ctx: StageContext) -> None:
    files = [REALDATA / name / "rows.jsonl" for name in ("desk2", "desk")]
    rows = [row for file in files for row in map(json.loads, file.read_text().splitlines()) if row["evidence"]]
    draw = random.Random(3)
    found = {"own": 0, "swapped": 0}
    for row in rows:
        other = draw.choice([o for o in rows if o["dataset"] != row["dataset"]])
        material = Material(Dataset(id=row["dataset"], title=row["dataset"]))
        for kind, asked in (("own", row), ("swapped", other)):
            given = _cites(asked["question"], *row["evidence"], answer=asked["answer"])
            (said,) = await OtherQuestionGate().check([given], material, ctx)
            found[kind] += not said.accept
    assert len(rows) == 583
    assert found["own"] <= 0.01 * len(rows) and found["swapped"] >= 0.8 * len(rows), found
