"""Copying built-in files to edit them, and what lint says of the slips people make."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError, ResourceError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen_adapt.prompt_lint import lint
from scirgen_adapt.scaffold import place, scaffold


def run(*command: str) -> tuple[int, str]:
    found = CliRunner().invoke(cli, list(command))
    return found.exit_code, found.output + str(found.exception or "")


def test_prompt_copied_by_its_listed_id_is_in_force_when_edited(tmp_path: Path) -> None:
    assert run("prompts", "copy", "generate/joint", "--into", str(tmp_path))[0] == 0
    file = tmp_path / "prompts" / "generate" / "joint.yaml"
    file.write_text(file.read_text().replace("description:", "description: MINE"), encoding="utf-8")
    assert "MINE" in run("prompts", "list", "--overrides", str(tmp_path))[1]
    with pytest.raises(InputError, match="exists already"):
        CliRunner().invoke(
            cli,
            ["prompts", "copy", "generate/joint", "--into", str(tmp_path)],
            catch_exceptions=False,
            standalone_mode=False,
        )


def test_taxonomy_is_listed_shown_and_copied(tmp_path: Path) -> None:
    listed = run("prompts", "list")[1]
    assert "graesser" in listed and "wording" in listed
    assert "id: verification" in run("prompts", "show", "graesser")[1]
    assert run("prompts", "copy", "wording", "--into", str(tmp_path))[0] == 0
    assert (tmp_path / "taxonomies" / "wording.yaml").is_file()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("generate/joint", ("prompts", "generate/joint")),
        ("prompts/generate/joint", ("prompts", "generate/joint")),
        ("graesser", ("taxonomies", "graesser")),
        ("taxonomies/graesser", ("taxonomies", "graesser")),
    ],
)
def test_file_is_named_as_the_lists_print_it(given: str, wanted: tuple[str, str]) -> None:
    assert place(given) == wanted
    assert Resources().get(*wanted).path.is_file()


def test_domain_shows_taxonomies_as_merged_and_prompts_as_replaced() -> None:
    told = json.loads(run("domains", "show", "geo", "--json")[1].removesuffix("None"))
    effects = {f["id"].partition("/")[0]: f["effect"] for f in told["files"]}
    assert effects["taxonomies"] == "is merged into the built-in file"


def test_lint_says_once_that_a_new_domain_has_no_examples() -> None:
    found = lint(PromptLibrary(Resources()), Taxonomies(Resources()), domain="tides")
    assert [f.message.partition(":")[0] for f in found] == ["no examples of 'tides', the general ones are shown"]


def test_init_copies_the_chosen_files(tmp_path: Path) -> None:
    made = scaffold("tides", tmp_path, load_registry())
    assert (made / "scirgen_tides" / "prompts" / "generate" / "joint.yaml").is_file()
    code, said = run("init", "dunes", "--into", str(tmp_path), "--override", "generate/question")
    assert code == 0, said
    package = tmp_path / "scirgen-dunes" / "scirgen_dunes"
    assert (package / "prompts" / "generate" / "question.yaml").is_file()
    assert not (package / "prompts" / "generate" / "joint.yaml").exists()


def edited(folder: Path, old: str, new: str) -> str:
    run("prompts", "copy", "generate/joint", "--into", str(folder))
    file = folder / "prompts" / "generate" / "joint.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    code, said = run("prompts", "lint", "--overrides", str(folder))
    assert code != 0
    return said


def test_attribute_that_does_not_exist_has_place_and_suggestion(tmp_path: Path) -> None:
    said = edited(tmp_path, "kind.reply", "kind.replay")
    assert "joint.yaml:" in said and "'kind.replay' does not exist" in said and "Did you mean 'reply'?" in said


def test_missing_output_is_an_error_with_what_to_write(tmp_path: Path) -> None:
    assert "write 'output: json'" in edited(tmp_path, "output: json\n", "")


def test_temperature_outside_of_0_to_2_is_an_error(tmp_path: Path) -> None:
    run("prompts", "copy", "generate/joint", "--into", str(tmp_path))
    file = tmp_path / "prompts" / "generate" / "joint.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r"temperature: [\d.]+", "temperature: 7", text), encoding="utf-8")
    assert "temperature" in run("prompts", "lint", "--overrides", str(tmp_path))[1]
    with pytest.raises(ResourceError, match="less than or equal to 2"):
        from scirgen.core.prompts import PromptLibrary

        PromptLibrary(Resources(overrides=tmp_path)).get("generate/joint")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("  - type\n", "  - Typ\n", "does not name type as the built-in prompt does"),
        ("{{ record | join", "{{ papers | join", "declares 'record' but does not use it"),
    ],
)
def test_translated_reply_key_or_lost_record_is_a_warning(tmp_path: Path, old: str, new: str, says: str) -> None:
    run("prompts", "copy", "generate/joint", "--into", str(tmp_path))
    file = tmp_path / "prompts" / "generate" / "joint.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    code, said = run("prompts", "lint", "--overrides", str(tmp_path))
    assert code == 0 and says in said, said


def test_text_from_outside_without_a_fence_is_an_error(tmp_path: Path) -> None:
    run("prompts", "copy", "match/judge", "--into", str(tmp_path))
    file = tmp_path / "prompts" / "match" / "judge.yaml"
    text = file.read_text(encoding="utf-8")
    assert "| fence" in text
    file.write_text(text.replace(" | fence", "", 1), encoding="utf-8")
    code, said = run("prompts", "lint", "--overrides", str(tmp_path))
    assert code != 0 and "| fence" in said


def test_prompt_that_reads_papers_cannot_be_tried_without_a_run(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('[{"id": "ice-1", "title": "Ice thickness"}]')
    where = ["--input", str(tmp_path / "r.json"), "--model", "openai:m@http://127.0.0.1:9/v1"]
    code, said = run("prompts", "try", "match/judge", "--dataset", "ice-1", *where)
    assert code != 0
    assert "needs papers, and" in said


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("prompts", "render", "graesser"), "graesser is a taxonomy: scirgen prompts show graesser"),
        (("prompts", "try", "generate/joint", "--dataset", "x"), "domain general has no sample: pass --input or --run"),
        (("plugins", "list", "--kind", "sources"), "there is no kind 'sources'. Did you mean 'source'?"),
    ],
)
def test_wrong_command_says_what_to_give(command: tuple[str, ...], says: str) -> None:
    code, said = run(*command)
    assert code == 2 and says in said


def test_what_nothing_may_override_is_not_copied(tmp_path: Path) -> None:
    code, said = run("prompts", "copy", "untrusted", "--into", str(tmp_path))
    assert code and "cannot be overridden" in said and not list(tmp_path.iterdir())
