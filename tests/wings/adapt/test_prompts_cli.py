from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.api import resolve_config
from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources, builtin_root
from scirgen.core.taxonomy import Taxonomies
from scirgen.testing.server import FakeServer
from scirgen.testing.serving import serving
from scirgen_adapt import prompt_tryout as tryout
from scirgen_adapt.prompt_lint import lint

RECORD = {
    "id": "ds-1",
    "title": "Daily precipitation over the Third Pole",
    "description": (
        "The product merges 2,400 rain gauges with a regional model at a resolution of 3 km. "
        "It covers the years from 1979 to 2020 because earlier records are sparse."
    ),
}


def scirgen(*args: str):
    return CliRunner().invoke(cli, list(args), catch_exceptions=False)


def overridden(tmp_path: Path, id: str, old: str, new: str) -> Path:
    target = tmp_path / "mine" / "prompts" / f"{id}.yaml"
    target.parent.mkdir(parents=True)
    text = Resources().get("prompts", id).path.read_text()
    assert old in text
    target.write_text(text.replace(old, new, 1))
    return tmp_path / "mine"


def findings(overrides: Path | None = None, **more):
    resources = Resources(load_registry().get("domain", "geo"), overrides)
    return lint(PromptLibrary(resources), Taxonomies(resources), domain="geo", **more)


def test_the_shipped_prompts_and_types_have_no_faults():
    assert [f for f in findings() if f.level == "error"] == []


def test_an_undefined_variable_is_an_error_with_its_line_and_a_suggestion(tmp_path):
    mine = overridden(tmp_path, "generate/name", "{{ title | fence }}", "{{ titel | fence }}")
    (error,) = [f for f in findings(mine) if f.level == "error"]
    assert error.where == "prompts/generate/name"
    assert "titel" in error.message
    assert "Did you mean 'title'?" in error.message


def test_a_declared_variable_that_is_not_used_is_a_warning(tmp_path):
    mine = overridden(tmp_path, "generate/name", "{{ title | fence }}", "")
    assert "declares 'title' but does not use it" in [f.message for f in findings(mine)]


@pytest.mark.parametrize(
    ("field", "text", "says"),
    [("question", "Why is it cold?", "has none of the forms"), ("answer", "Perhaps.", "says neither yes nor no")],
)
def test_an_example_that_breaks_its_own_type_is_an_error(tmp_path, field, text, says):
    example = {"question": "Is snow cold?", "answer": "Yes", field: text}
    folder = tmp_path / "taxonomies"
    folder.mkdir()
    (folder / "graesser.yaml").write_text(
        json.dumps({"types": [{"id": "verification", "examples": {"geo": [example]}}]})
    )
    (error,) = [f for f in findings(tmp_path) if f.level == "error"]
    assert "verification: example 1 of 'geo'" in error.where
    assert says in error.message


def test_a_type_without_examples_is_an_error(tmp_path):
    folder = tmp_path / "taxonomies"
    folder.mkdir()
    (folder / "graesser.yaml").write_text("types:\n- {id: limits, name: Limits, definition: x, answer_form: long}\n")
    assert [f.message for f in findings(tmp_path) if f.level == "error"] == [
        "has no examples for 'geo', and no general ones"
    ]


@pytest.mark.parametrize("name", ["aspects", "bloom", "facets", "graesser", "needs", "sections", "seekers", "wording"])
@pytest.mark.parametrize(
    ("broken", "says"), [("version: soon", "version"), ("sorces: [a book]", "sorces"), ("a: [", "YAML")]
)
def test_a_taxonomy_that_does_not_load_is_one_error(tmp_path, name, broken, says):
    (tmp_path / "taxonomies").mkdir()
    (tmp_path / "taxonomies" / f"{name}.yaml").write_text(broken)
    (error,) = [f for f in findings(tmp_path) if f.level == "error"]
    assert error.where == f"taxonomies/{name}" and says in error.message and f"{name}.yaml" in error.message


def test_a_prompt_too_long_for_the_context_is_an_error():
    assert any("do not fit a context of 300" in f.message for f in findings(context_tokens=300))


def test_lint_exits_with_2_on_an_error_and_with_0_otherwise(tmp_path):
    assert scirgen("prompts", "lint").exit_code == 0
    mine = overridden(tmp_path, "tag/bloom", "{{ tie_breaking }}", "{{ tie_braking }}")
    result = scirgen("prompts", "lint", "--overrides", str(mine), "--json")
    assert result.exit_code == 2
    assert json.loads(result.output)[0]["level"] == "error"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("each: shots", "each: shot", "undefined variable 'shot'"),
        ("{{ item.question }}", "{{ itm.question }}", "undefined variable 'itm'"),
    ],
)
def test_a_fault_in_the_worked_examples_is_an_error(tmp_path, old, new, message):
    mine = overridden(tmp_path, "generate/question", old, new)
    (error,) = [f for f in findings(mine) if f.level == "error"]
    assert message in error.message


def test_list_show_and_render(tmp_path):
    assert "generate/joint" in scirgen("prompts", "list").output
    assert "The Bloom level of each" in scirgen("prompts", "show", "tag/bloom").output
    rendered = scirgen("prompts", "render", "generate/question", "--type", "definition",
        "--var", "fact=Snow is cold.", "--var", "options=", "--var", "answer=",
    )  # fmt: skip
    assert "Snow is cold." in rendered.output
    assert "write one Definition question" in rendered.output
    assert "[assistant]" in rendered.output


def test_every_prompt_renders_without_its_data():
    for prompt in PromptLibrary(Resources()).ids():
        assert scirgen("prompts", "render", prompt).exit_code == 0, prompt


@pytest.fixture
def records(tmp_path) -> Path:
    folder = tmp_path / "records"
    folder.mkdir()
    (folder / "ds-1.json").write_text(json.dumps(RECORD))
    return folder


@pytest.mark.parametrize("prompt", ["generate/joint", "generate/name", "generate/question", "generate/types"])
async def test_try_accounts_for_every_pair_it_asked_for(records, prompt):
    registry = load_registry()
    async with FakeServer() as server:
        flags = {"input": str(records), "collect.source": "local", "models.generator": f"openai:fake@{server.url}"}
        loaded, domain = resolve_config(domain="geo", flags=flags)
        world = {"config": loaded.config, "registry": registry, "domain": domain}
        dataset, known = await tryout.find_dataset("ds", **world)
        kinds = ("quantification", "definition")
        tried = await tryout.try_prompt(prompt, dataset, known, **world, count=4, types=kinds)
    assert tried.prompts
    assert len(tried.pairs) + len(tried.rejections) == 4
    assert {p.question_type for p in tried.pairs} <= set(kinds)


def test_try_says_that_a_prompt_was_not_used(records):
    with serving() as model:
        shown = scirgen(
            "prompts", "try", "tag/bloom", "--dataset", "ds-1", "--input", str(records), "--model", model
        ).output
    assert "0 pass, 0 do not; 0 calls: rules decided, or nothing was to decide; the prompt was not used" in shown


@pytest.mark.parametrize("mix", [[], ["--set", "generate.mix={known_item: 1}"]])
def test_try_shows_what_people_would_ask_whatever_the_mix(records, mix):
    with serving() as model:
        given = ["prompts", "try", "ask/needs", "--dataset", "ds-1", "--input", str(records), "--model", model, *mix]
        shown = scirgen(*given).output
        found = json.loads(scirgen(*given, "--json").output)[0]
    asked = [*found["accepted"], *(json.loads(r["record"]) for r in found["rejected"])]
    assert found["accepted"] and all(q["text"] in shown for q in asked)
    assert f"{len(found['accepted'])} pass, {len(found['rejected'])} do not; 1 calls" in shown


def test_try_shows_old_and_new_of_several_datasets_side_by_side(tmp_path, records):
    (records / "ds-2.json").write_text(json.dumps({**RECORD, "id": "ds-2"}))
    mine = overridden(tmp_path, "generate/joint", "First read all lines", "FIRST read all lines")
    with serving() as model:
        given = ["prompts", "try", "generate/joint", "--dataset", "ds-1", "--dataset", "ds-2", "--n", "2"]
        given += ["--input", str(records), "--model", model, "--overrides", str(mine)]
        shown = scirgen(*given, "--beside").output
        plain = json.loads(scirgen(*given, "--beside", "--json").output)
        alone = json.loads(scirgen(*given, "--json").output)
    assert shown.count("without overrides") == 2 and "ds-1" in shown and "ds-2" in shown
    assert [one["dataset"] for one in plain] == ["ds-1", "ds-2"]
    for one, new in zip(plain, alone, strict=True):
        before = one.pop("without_overrides")
        assert one == new and len(one["accepted"]) + len(one["rejected"]) == 2
        assert before != one, "another prompt gets other replies"


def test_try_beside_of_a_new_type_shows_the_new_side_alone(tmp_path, records):
    mine = tmp_path / "mine" / "taxonomies"
    mine.mkdir(parents=True)
    builtin = Resources().get("taxonomies", "graesser").path.read_text(encoding="utf-8")
    (mine / "graesser.yaml").write_text(builtin.replace("- id: definition", "- id: limitation"), encoding="utf-8")
    with serving() as model:
        given = ["prompts", "try", "generate/joint", "--dataset", "ds-1", "--n", "2", "--type", "limitation"]
        given += ["--input", str(records), "--model", model, "--overrides", str(mine.parent), "--beside"]
        shown = scirgen(*given)
    assert "there is no type limitation: only the new side is shown" in shown.stderr
    assert "limitation" in shown.stdout and "without overrides" not in shown.stdout


def test_try_of_an_unknown_dataset_says_so(records):
    with pytest.raises(InputError, match="no dataset 'nope'"):
        scirgen(
            "prompts",
            "try",
            "generate/joint",
            "--dataset",
            "nope",
            "--input",
            str(records),
            "--set",
            "collect.source=local",
        )


def test_try_of_a_prompt_that_stands_in_no_stage_of_its_own_says_which_can(records):
    with pytest.raises(InputError) as caught:
        scirgen(
            "prompts",
            "try",
            "llm/repair",
            "--dataset",
            "ds-1",
            "--input",
            str(records),
            "--set",
            "collect.source=local",
        )
    assert "generate/joint" in caught.value.hint


def test_copying_the_prompt_folder_changes_nothing(tmp_path):
    shutil.copytree(builtin_root() / "prompts", tmp_path / "prompts")
    library, copied = PromptLibrary(Resources()), PromptLibrary(Resources(None, tmp_path))
    assert {i: library.get(i).hash for i in library.ids()} == {i: copied.get(i).hash for i in copied.ids()}
