"""A report holds little of each pair, so that a run of a million pairs has one."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

from scirgen.core.records import QAPair, Score, Span
from scirgen.report.counting import Nearest
from scirgen.report.data import NearRow, ScoreRow
from scirgen.report.figures import accepted_pairs

PAIRS = 2000


def _pairs() -> Iterator[QAPair]:
    for n in range(PAIRS):
        text = f"Hourly snow depth was measured at station {n} with ultrasonic sensors from 1990 to 2020. " * 3
        yield QAPair(
            id=f"q{n}", dataset_id=f"d{n // 18}", question=f"How was depth measured at {n}?", answer=text[:90],
            question_type="procedural", evidence=(Span(document_id=f"d{n // 18}", start=0, end=len(text), text=text),),
            scores=tuple(Score(name=name, value=n / PAIRS, threshold=0.5, passed=n > 9) for name in ("shift", "judge")),
        )  # fmt: skip


def test_a_report_holds_about_a_kilobyte_of_a_pair() -> None:
    list(zip(accepted_pairs(_pairs(), [], Nearest()), range(2), strict=False))
    tracemalloc.start()
    try:
        scores: list[ScoreRow] = []
        near = Nearest()
        held = list(accepted_pairs(_pairs(), scores, near))
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(held) == PAIRS and len(scores) == 2 * PAIRS
    assert size / PAIRS < 1200


def test_the_rows_nearest_to_a_threshold_are_kept_whatever_their_order() -> None:
    near = Nearest()
    for n in (*range(0, 50, 2), *range(49, 0, -2)):
        near.add("shift", NearRow(id=f"{n:02}", question="q", answer="a", value=n, threshold=20.5), kept=n > 20)
    near.add("judge", NearRow(id="x", question="q", answer="a", value=1, threshold=0.5), kept=True)
    (found,) = near.sides()
    assert [r.id for r in found.rejected] == ["20", "19", "18", "17", "16"]
    assert [r.id for r in found.kept] == ["21", "22", "23", "24", "25"]
