"""Wrong input and settings: one clear message with a hint and a non-zero exit, before any work, and no half-written
release."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import ScirgenError
from scirgen.core.registry import load_registry


def refused(out: Path, *arguments: str) -> ScirgenError:
    """The error that ``scirgen generate`` ends with."""
    result = CliRunner().invoke(cli, ["generate", "--domain", "geo", "--quiet", "--out", str(out), *arguments])
    assert isinstance(result.exception, ScirgenError), result.output
    assert not (out / "release").exists()
    assert result.exception.exit_status != 0
    return result.exception


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("arguments", "says", "hints"),
    [
        (("--domain", "goe"), "unknown domain 'goe'", "geo"),
        (("--set", "generate.pairs_per_typ=1"), "unknown key", "pairs_per_type"),
        (("--set", "generate.evidence=quotes"), "unknown key 'generate.evidence'", "CHANGELOG.md"),
        (("--set", "query.attempts=3"), "unknown key 'query.attempts'", "CHANGELOG.md"),
        (("--set", "generate.pairs_per_type=none"), "pairs_per_type", ""),
        (("--model", "opnai:x"), "unknown backend", "openai"),
        (("--language", "english"), "'english' is not a language code; write en, zh", ""),
        (("--model", "hf:/no/such/folder"), "/no/such/folder", ""),
        (("--input", "/no/such/folder"), "/no/such/folder", ""),
        (("--papers", "/no/such/folder"), "/no/such/folder", ""),
        (("--engine", "slurm"), "unknown engine", "local"),
        (("--model", "openai:x@http://127.0.0.1:9"), "127.0.0.1:9", ""),
        (("--source", "nosuch"), "unknown source", "local"),
        (("--set", "release.formats=[bier]"), "unknown release_format 'bier'", "'beir'"),
        (("--set", "generate.mix={seeking: 2}"), "shares from 0 to 1 that sum to 1, such as {seeking: 0.7", ""),
        (("--set", "generate.mix={seek: 1}"), "generate.mix.seek: Input should be 'seeking' or 'known_item'", ""),
        (("--set", "generate.mix=0.7"), "generate.mix: must have the form {key: value}", ""),
        (("--licences", "foo"), "first reason: licence 'cc0-1.0' is not among foo; scirgen knows no licence 'foo'", ""),
        (("--set", "search.corpus=/no/such", "--set", "generate.off=true"), "/no/such has no corpus", "--corpus"),
    ],
)
def test_wrong_setting_is_named_with_a_hint(tmp_path: Path, arguments: tuple[str, ...], says: str, hints: str) -> None:
    error = refused(tmp_path / "run", *arguments)
    assert says in error.message and hints in error.hint


@pytest.mark.parametrize(
    ("format_", "package", "extra"), [("parquet", "pyarrow", "release"), ("triples", "scipy", "benchmark")]
)
def test_a_format_without_its_packages_is_refused_before_any_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str, package: str, extra: str
) -> None:
    writer = load_registry().entries()["release_format", format_][1].target.partition(":")[0]
    monkeypatch.delitem(sys.modules, writer, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    error = refused(tmp_path / "run", "--set", f"release.formats=[jsonl,{format_}]")
    assert package in error.message and f"scirgen[{extra}]" in error.hint and not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", ["--input", "--papers"])
def test_out_must_not_be_the_folder_that_is_read(tmp_path: Path, option: str) -> None:
    write(tmp_path / "r.json", json.dumps([{"id": "a", "title": "Ice"}]))
    error = refused(tmp_path, option, str(tmp_path / "." / ""))
    assert "is also the input folder" in error.message and "another folder" in error.hint
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json"]


@pytest.mark.parametrize("given", [(), ("/no/such/folder",)])
def test_input_is_checked_before_anything_is_said_about_the_model(tmp_path: Path, given: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, ["generate", "--out", str(tmp_path / "run"), *given])
    assert isinstance(result.exception, ScirgenError)
    assert "model" not in result.output and not (tmp_path / "run").exists()
    if not given:
        assert result.exception.message == "no input is given"
        assert "scirgen generate pdfs/" in result.exception.hint and "--domain geo" in result.exception.hint


def test_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    error = refused(tmp_path / "run", "--input", str(tmp_path / "empty"))
    assert "empty" in error.message and error.hint


def test_config_file_with_an_unknown_key_names_file_line_and_the_near_one(tmp_path: Path) -> None:
    file = write(tmp_path / "c.yaml", "seed: 1\nmodels:\n  generater: x\n")
    error = refused(tmp_path / "run", "--config", str(file))
    assert f"{file}:3" in error.message and "'generator'" in error.hint


def test_undefined_prompt_variable_names_file_line_and_the_near_one(tmp_path: Path) -> None:
    text = "version: 1\ndescription: d\nvariables:\n  question: q\nuser: |\n  One.\n  {{ qestion }}\n"
    file = write(tmp_path / "mine" / "prompts" / "tag" / "bloom.yaml", text)
    write(tmp_path / "mine" / "prompts" / "tag" / "bloom.small.yaml", text)
    error = refused(
        tmp_path / "run", "--set", f"overrides={tmp_path / 'mine'}", "--model", "openai:x@http://127.0.0.1:9"
    )
    assert "127.0.0.1:9" in error.message or (f"{file.parent}" in error.message and "'question'" in error.hint)


def test_folder_that_cannot_be_written_is_refused() -> None:
    error = refused(Path("/proc/scirgen"), "--model", "openai:x@http://127.0.0.1:9")
    assert "cannot be written" in error.message and error.hint


async def test_bad_records_are_set_aside_by_file_and_line_and_the_others_go_on(tmp_path: Path) -> None:
    from scirgen.core.config import load_config
    from scirgen.core.registry import load_registry
    from scirgen.stages.collect.open import open_source
    from scirgen.stages.collect.pages import iterate

    good = {"id": "a", "title": "Snow depth", "description": "Depth of snow."}
    surrogate = json.dumps({**good, "id": "c", "title": "half a character: \ud800"})
    lines = [json.dumps(good), "{broken", json.dumps({"id": "b"}), json.dumps(good), surrogate]
    write(tmp_path / "in" / "records.jsonl", "\n".join(lines))
    config = load_config(flags={"input": str(tmp_path / "in")}).config
    source = open_source(config, load_registry(), None, tmp_path)
    entries = [e async for e in iterate(source.datasets, None)]
    assert [getattr(e, "title", "") for e in entries].count("Snow depth") >= 1
    reasons = " ".join(getattr(e, "reason", "") for e in entries)
    assert "records.jsonl:2" in reasons and "title" in reasons
    assert re.search(r"records\.jsonl:5: ValidationError.*Dataset\.title", reasons)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no file names that are not Unicode")
@pytest.mark.parametrize("name", [b"records/caf\xe9.json", b"records/papers/caf\xe9.pdf"])
def test_a_file_name_that_is_no_text_is_refused_with_its_name(tmp_path: Path, name: bytes) -> None:
    record = json.dumps({"id": "a", "title": "Snow depth", "description": "Depth of snow."})
    write(tmp_path / "records" / "r.json", record)
    (tmp_path / "records" / "papers").mkdir()
    with open(os.fsencode(tmp_path) + b"/" + name, "w") as file:
        file.write(record)
    error = refused(tmp_path / "run", "--input", str(tmp_path / "records"), "--model", "openai:x@http://127.0.0.1:9")
    assert error.error_code == "bad_file_name" and r"caf\xe9" in error.message and error.hint == "Rename it."
