"""What a prompt's author breaks, and the message for it: file, line, and what to do. Nothing that is wrong passes in
silence."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.api import resolve_config, run_pipeline
from scirgen.cli.main import cli
from scirgen.core.errors import ConfigError, ResourceError
from scirgen.core.files.yamlfile import load_yaml
from scirgen.core.prompts import PromptLibrary
from scirgen.core.resources import Domain, Resources, builtin_root
from scirgen.core.taxonomy import Taxonomies
from scirgen.pipeline.observer import Observer
from scirgen.testing.server import FakeServer
from scirgen_adapt.prompt_lint import lint
from tests.support.small_runs import answered, run_small, write_records

JOINT = (builtin_root() / "prompts" / "generate" / "joint.yaml").read_text(encoding="utf-8")


TYPE = (
    "types:\n  - {{id: {}, name: {}, definition: d, answer_form: long, ask: a, reply: r, stems: [x],"
    " examples: {{general: [{{question: What is x?, answer: It is y.}}]}}}}\n"
)


def findings(folder: Path) -> list[str]:
    resources = Resources(None, folder)
    found = lint(PromptLibrary(resources), Taxonomies(resources))
    return [f"{f.where}: {f.message}" for f in found if f.level == "error"]


def written(folder: Path, path: str, content: str | bytes) -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda t: "\tx: y\n" + t,
            "joint.yaml:1: not valid YAML: found character that cannot start any token. The line starts with a tab",
        ),
        (lambda t: t + "version: 2\n", "key 'version' is given twice"),
        (lambda t: t + "foo: bar\n", "unknown key 'foo'"),
        (
            lambda t: re.sub(r"version: \d+", "version: one", t, count=1),
            "joint.yaml:1: version: Input should be a valid integer",
        ),
        (lambda t: t.replace("in tasks", "in taks"), "undefined variable 'taks'. Did you mean 'tasks'?"),
        (lambda t: t.replace("user: |\n", "user: |\n    Deeper.\n"), "Check the indentation of this line"),
        (
            lambda t: "version: 1\nturns:\n  each: x\n    user: y\n",
            "joint.yaml:4: not valid YAML: mapping values are not allowed in this context. Check the indentation",
        ),
        (lambda t: "", "expected 'key: value' lines, found nothing"),
        (lambda t: t.encode("utf-16"), "not UTF-8 text (byte 0xff at 0). Save it as UTF-8."),
        (lambda t: "description: {{ x }} and: y\n", "Write templates as a block"),
        (lambda t: re.sub(r"version: \d+", "version: 2024-13-45", t, count=1), "month must be in 1..12"),
    ],
)
def test_prompt_when_broken_then_the_finding_names_file_and_fault(
    tmp_path: Path, change: Callable[[str], str | bytes], says: str
) -> None:
    (found,) = findings(written(tmp_path, "prompts/generate/joint.yaml", change(JOINT)))
    assert found.startswith("prompts/generate/joint: ") and says in found


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("types:\n  - id: definition\n  - id: definiton\n    name: X\n",
         "graesser.yaml:3: types[definiton].definition: Field required"),
        ("types:\n  - id: definiton\n    name: X\n", "The id 'definiton' is new here. Did you mean 'definition'?"),
        ("types:\n  - id: definition\n    examples: {geo: [{question: What is x?}]}\n",
         "graesser.yaml:3: types[definition].examples.geo.0.answer: Field required"),
        ("typs: []\n", "unknown key 'typs'. Did you mean 'types'?"),
        (TYPE.format("limits", "A") + TYPE.format("limits", "B").removeprefix("types:\n"), "has the id 'limits' twice"),
        (TYPE.format("'my limits'", "A"), "graesser.yaml:2: types[my limits].id: String should match pattern"),
        (TYPE.format("limits", "Verification"), "has the name of 'verification'"),
        ("types: {definition: {name: X}}\n", "types: must be a list"),
        ("", "expected 'key: value' lines, found nothing"),
    ],
)  # fmt: skip
def test_broken_taxonomy_is_reported_once_with_the_entrys_line(tmp_path: Path, content: str, says: str) -> None:
    (found,) = findings(written(tmp_path, "taxonomies/graesser.yaml", content))
    assert found.startswith("taxonomies/graesser: ") and says in found


def test_wording_of_an_unknown_type_or_language_and_an_example_without_evidence_are_found(tmp_path: Path) -> None:
    written(tmp_path, "taxonomies/graesser.yaml", TYPE.format("limits", "Limits"))
    text = "languages:\n  german: {affirmative: [ja]}\n  en: {types: {definiton: {stems: [x]}}}\n"
    resources = Resources(None, written(tmp_path, "taxonomies/wording.yaml", text))
    said = [f"{f.where}: {f.message}" for f in lint(PromptLibrary(resources), Taxonomies(resources))]
    assert "taxonomies/wording: 'german' is not the code of a language, such as 'it'" in said
    assert "taxonomies/wording: en: unknown question type 'definiton'. Did you mean 'definition'?" in [
        s.partition(" Known")[0] for s in said
    ]
    assert any(s.startswith("taxonomies/graesser: limits: example 1 of 'general': has no 'evidence'") for s in said)


def test_hint_does_not_name_a_type_that_only_sounds_alike(tmp_path: Path) -> None:
    bad = "types:\n  - {id: limitation, name: L, definition: d, answer_form: medium}\n"
    (found,) = findings(written(tmp_path, "taxonomies/graesser.yaml", bad))
    assert found.endswith("types[limitation].answer_form: Input should be 'short' or 'long'")


@pytest.mark.parametrize(
    ("path", "says", "hint"),
    [
        ("prompts/generate/jont.yaml", "overrides nothing: there is no prompts/generate/jont", "'generate/joint'"),
        ("prompts/joint.yaml", "overrides nothing", "generate/joint"),
        ("prompts/generate/joint.yml", "would be ignored", "joint.yaml"),
        ("promts/generate/joint.yaml", "would be ignored", "prompts/generate/joint.yaml"),
        ("joint.yaml", "would be ignored", "prompts/generate/joint.yaml"),
        ("taxonomies/untrusted.yaml", "would be ignored", "guards every run"),
        ("taxonomies/grasser.yaml", "overrides nothing: there is no taxonomies/grasser", "'graesser'"),
    ],
)
def test_override_when_nothing_would_read_it_then_it_is_refused(
    tmp_path: Path, path: str, says: str, hint: str
) -> None:
    (tmp_path / "prompts").mkdir()
    with pytest.raises(ResourceError) as caught:
        Resources(None, written(tmp_path, path, JOINT))
    assert says in caught.value.message and hint in caught.value.hint


def test_folder_of_overrides_that_does_not_exist_is_named_and_other_yaml_beside_prompts_is_left(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="nosuch is not a folder"):
        Resources(None, tmp_path / "nosuch")
    written(written(tmp_path, "prompts/generate/joint.yaml", JOINT), "config.yaml", "seed: 1\n")
    assert "generate/joint" in Resources(None, tmp_path).find("prompts")


def test_domain_prompt_that_replaces_none_names_the_near_one(tmp_path: Path) -> None:
    """A domain may bring prompts for a stage of its own, so that this is a warning."""
    resources = Resources(Domain("mine", "Mine", written(tmp_path, "prompts/generate/jont.yaml", JOINT)))
    found = [f for f in lint(PromptLibrary(resources), Taxonomies(resources)) if f.where == "prompts/generate/jont"]
    assert [(f.level, f.message) for f in found] == [
        ("warning", "replaces no built-in prompt. Did you mean 'generate/joint'?")
    ]


def test_an_override_with_windows_line_ends_and_a_mark_is_read(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + JOINT.replace("\n", "\r\n").encode()
    assert findings(written(tmp_path, "prompts/generate/joint.yaml", content)) == []


@pytest.mark.parametrize("content", ["a: &a [*a]\n", "a: \x00\n", "? [a, b]\n: c\n"])
def test_yaml_when_hostile_then_it_is_read_or_refused_and_never_crashes(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(content, encoding="utf-8")
    try:
        load_yaml(path)
    except ResourceError as error:
        assert str(path) in error.message


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("filter.gate_options.vague.treshold=10", "Did you mean 'threshold'?"),
        ("a=[1", "not a YAML value"),
        ("release.formats=beir", "such as [beir]"),
        ("seed=2020-13-45", "month"),
    ],
)
def test_set_when_no_value_then_one_error(value: str, says: str) -> None:
    error = CliRunner().invoke(cli, ["generate", "--set", value]).exception
    assert isinstance(error, ConfigError) and says in error.in_full


class Stopping(Observer):
    def note(self, message: str) -> None:
        if message.startswith("prompt "):
            raise RuntimeError(message)


async def test_run_notes_at_its_start_that_an_overridden_prompt_lost_its_record(tmp_path: Path) -> None:
    text = JOINT.replace("{{ record | join", "{{ papers | join")
    folder = written(tmp_path / "mine", "prompts/generate/joint.yaml", text)
    records = write_records(tmp_path / "r.jsonl", 1)
    loaded, domain = resolve_config(flags={"input": str(records), "overrides": str(folder)})
    with pytest.raises(RuntimeError, match="prompt generate/joint declares 'record' but does not use it"):
        await run_pipeline(tmp_path / "run", loaded.config, domain, observer=Stopping())


async def test_run_when_a_prompt_is_broken_then_it_is_refused_before_any_call(tmp_path: Path) -> None:
    folder = written(tmp_path / "mine", "prompts/tag/bloom.yaml", "\tx\n")
    async with FakeServer() as server:
        with pytest.raises(ResourceError, match=r"bloom\.yaml:1"):
            await run_small(server, write_records(tmp_path / "r.jsonl", 1), tmp_path / "run", overrides=str(folder))
        assert not answered(server)
