"""A user's file of questions is read whole or refused with its line; new datasets move few of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from scirgen.core.errors import InputError
from scirgen.stages.ask.given import Given, hosted, read_questions


def read(tmp_path: Path, text: str) -> list[Given]:
    (tmp_path / "q").write_text(text, "utf-8")
    return list(read_questions(tmp_path / "q"))


def test_lines_and_json_lines_are_read_and_repeats_are_left_out(tmp_path: Path) -> None:
    plain = read(tmp_path, "\ufeffWhy is ice thin?\n\n  snow   depth  \nWhy is ice thin?\n")
    assert [(g.question, g.id, g.wants) for g in plain] == [
        ("Why is ice thin?", "", "answer"),
        ("snow depth", "", "answer"),
    ]
    lines = read(tmp_path, '{"question": "ice data", "wants": "data", "id": "a"}\n{"question": "Why?"}')
    assert [(g.question, g.id, g.wants) for g in lines] == [("ice data", "a", "data"), ("Why?", "", "answer")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n \n", "has no questions"),
        ('{"question": "a"}\n{"question": 3}', ":2: question"),
        ('{"question": "a"}\nWhy?', ":2: not valid JSON"),
        ('{"question": "a", "wants": "love"}', ":1: wants"),
        ('{"question": "a", "id": "1"}\n{"question": "b", "id": "1"}', ":2: line 1 already has the id '1'"),
        ('{"question": "a"}\n{"question": "a", "id": "1"}', ":2: line 1 already asks this, without the id '1'"),
        ("x" * 2001, "1 to 2,000 characters"),
    ],
)
def test_what_is_no_file_of_questions_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(tmp_path, text)


def test_a_new_dataset_takes_few_questions_from_the_others() -> None:
    given = [Given(question=f"Question {n}?") for n in range(400)]
    hosts = [f"d{n}" for n in range(20)]
    before = {q.text: d for d, found in hosted(given, hosts).items() for q in found}
    after = {q.text: d for d, found in hosted(given, [*hosts, "new"]).items() for q in found}
    assert len(before) == 400 and {before[t] for t in before} == set(hosts)
    moved = [t for t in before if before[t] != after[t]]
    assert {after[t] for t in moved} == {"new"} and len(moved) < 50
