from __future__ import annotations

import pytest

from scirgen.core.errors import ResourceError
from scirgen.core.files.yamlfile import load_model
from scirgen.core.resources import Domain, Resources, builtin_root
from scirgen.core.taxonomy import Taxonomies

BUILT_IN = Taxonomies(Resources())


def layered(tmp_path, text):
    (tmp_path / "taxonomies").mkdir()
    (tmp_path / "taxonomies" / "graesser.yaml").write_text(text)
    return Taxonomies(Resources(Domain("mine", "Mine", tmp_path)))


def test_a_domain_s_examples_are_merged_by_id_and_leave_the_rest_alone(tmp_path):
    mine = layered(
        tmp_path,
        (
            "types:\n- id: definition\n  examples:\n    mine:\n"
            "    - {question: What is a quark?, answer: A particle it is.}\n"
        ),
    )
    kind = mine.question_type("definition")
    assert [e.question for e in kind.examples_for("mine")] == ["What is a quark?"]
    assert kind.examples["general"] == BUILT_IN.question_type("definition").examples["general"]
    assert kind.hash != BUILT_IN.question_type("definition").hash
    others = [t for t in mine.graesser.types if t.id != "definition"]
    assert others == [t for t in BUILT_IN.graesser.types if t.id != "definition"]


def test_a_new_id_is_a_new_type_after_the_others(tmp_path):
    mine = layered(
        tmp_path, "types:\n- {id: limits, name: Limits, definition: What it cannot do., answer_form: long}\n"
    )
    assert [t.id for t in mine.graesser.types][-1] == "limits"
    assert len(mine.graesser.types) == 19


def test_an_unknown_key_in_a_domain_s_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(ResourceError, match="definitoin") as caught:
        layered(tmp_path, "types:\n- {id: definition, definitoin: x}\n").graesser  # noqa: B018
    assert "graesser.yaml" in caught.value.message


@pytest.mark.parametrize("name", ["graesser", "bloom", "aspects", "sections", "wording"])
def test_the_patterns_we_ship_are_regular_expressions(name):
    path = builtin_root() / "taxonomies" / f"{name}.yaml"
    load_model(path, type(getattr(BUILT_IN, name)))  # not as shipped: each pattern is tried


def test_a_pattern_that_is_none_is_an_error_that_names_it_and_where(tmp_path):
    with pytest.raises(ResourceError, match=r"wording.yaml.*'\(unclosed' is not a regular expression"):
        (tmp_path / "taxonomies").mkdir()
        (tmp_path / "taxonomies" / "wording.yaml").write_text("languages: {en: {pointing_answers: ['(unclosed']}}\n")
        Taxonomies(Resources(Domain("mine", "Mine", tmp_path))).wording  # noqa: B018
