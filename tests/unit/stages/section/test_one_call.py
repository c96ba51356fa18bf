"""Sections that the rules leave open are asked in one call."""

from scirgen.core.records import SectionClass
from scirgen.stages.section.stage import batched, classes_reply


def test_all_open_sections_of_a_paper_go_into_one_call() -> None:
    assert batched(list(range(20))) == [list(range(20))]
    assert [len(part) for part in batched(list(range(60)))] == [24, 24, 12]


def test_reply_must_name_a_class_for_every_section() -> None:
    shape = classes_reply(2, ("method", "none"))
    assert shape.model_validate({"s1": "none", "s2": "method"}).of(2) is SectionClass.METHOD
    assert shape.model_json_schema()["required"] == ["s1", "s2"]
