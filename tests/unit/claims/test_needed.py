"""Evidence that an answer needs is told by the words that it adds to its question."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from scirgen.claims.needed import needed_evidence
from scirgen.core.records import QAPair, Span


def pair(question: str, answer: str, *texts: str, contexts: tuple[str, ...] = ()) -> QAPair:
    roles = [*((t, "answer") for t in texts), *((t, "context") for t in contexts)]
    spans = tuple(
        Span.model_validate({"document_id": f"d{n}", "start": n, "end": n + len(t), "text": t, "role": role})
        for n, (t, role) in enumerate(roles)
    )
    return QAPair(id="q", dataset_id="d0", question=question, answer=answer, question_type="definition", evidence=spans)


def needed(*given: str, contexts: tuple[str, ...] = ()) -> list[str]:
    return [s.text for s in needed_evidence(pair(*given, contexts=contexts))]


ICE = "Snow insulates the ice of the lake."
THICK = "In March the ice was 40 cm thick."


def test_a_line_that_adds_nothing_to_the_answer_is_not_needed():
    where = "The lake Inari lies in Finland."
    assert needed("Why does the ice of lake Inari melt late?", "Snow insulates it.", where, ICE) == [ICE]


def test_both_halves_of_an_answer_are_needed_in_their_order():
    answer = "Snow insulates it, and it was 40 cm thick in March."
    assert needed("Why does lake ice melt late, and how thick was it?", answer, THICK, ICE) == [THICK, ICE]


def test_one_of_two_documents_that_say_the_same_is_enough():
    again = "Ice lies below snow, which insulates it."
    assert needed("Why does the ice of the lake melt late?", "Snow insulates it.", ICE, again) == [ICE]


def test_an_answer_without_words_of_its_own_needs_one_line():
    assert needed("Does snow insulate ice?", "Yes", ICE, THICK) == [ICE]
    assert needed("Does snow insulate ice?", "Yes", contexts=(ICE,)) == []


@pytest.mark.realdata
def test_readers_need_the_same_lines_and_count_the_same_facts(realdata: Path) -> None:
    lines = (realdata / "desk2" / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["released"]]
    right = spans = counted = found = 0
    for row in rows:
        chosen = needed_evidence(pair(row["question"], row["answer"], *row["evidence"]))
        starts = {s.start for s in chosen}
        for n in range(len(row["evidence"])):
            letters = Counter(v["spans"][n] for v in row["verdicts"] if len(v["spans"]) > n)
            wanted = letters.most_common(1)[0][0] == "n"
            right += wanted and n in starts
            found += n in starts
            spans += 1
        counted += sorted(v["joins"] for v in row["verdicts"])[1] == len(chosen)
    assert spans == 686 and right / found > 0.93
    assert counted / len(rows) > 0.92
