"""A file that a user names is an ordinary one: a device or a pipe may never end, and is refused before it is opened."""

from __future__ import annotations

import multiprocessing
import os
import resource
from collections.abc import Callable, Iterator
from multiprocessing.queues import SimpleQueue
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.config import load_config
from scirgen.core.errors import ScirgenError
from scirgen.core.files.jsonl import read_json, read_objects
from scirgen.core.files.named import ordinary
from scirgen.core.fingerprint import file_sha256
from scirgen.core.resources import Resources
from scirgen.core.safety.files import named_files
from scirgen.llm.server.keys import key_from_file
from scirgen.llm.uri import ModelURI
from scirgen.pipeline.observer import JsonLog
from scirgen.pipeline.store import Store
from scirgen.plugin import open_qa
from scirgen.release_files.release import read_qrels
from scirgen.stages.ask.given import read_questions
from scirgen.stages.collect.files.recordfiles import files_below, kind_of, read_records
from scirgen.stages.parse.sniff import sniff
from scirgen_bench.runfile import RunFile
from scirgen_label.merge import numbered_lines

ENDS_S = 20
MORE_BYTES = 2**30

READERS: dict[str, Callable[[Path], object]] = {
    "generate.questions": lambda p: list(read_questions(p)),
    "named by a setting": lambda p: named_files(str(p), "release.labels"),
    "hashed": file_sha256,
    "api_key_file": lambda p: key_from_file(ModelURI.parse("openai:x"), str(p)),
    "--config": lambda p: load_config(file=p),
    "--qrels": read_qrels,
    "run:FILE": lambda p: RunFile(p).identify(["q"], frozenset("q"), ["d"]),
    "audit FILE": open_qa,
    "label merge": lambda p: list(numbered_lines(p)),
    "JSON": lambda p: read_json(p, hint=""),
    "objects": lambda p: list(read_objects(p, hint="")),
    "records": lambda p: list(read_records(p, p.name)),
    "a paper": sniff,
}
COMMANDS = (
    ("config", "show", "--config"),
    ("audit",),
    ("leaderboard",),
    ("score",),
    ("calibrate", "--model", "openai:x", "--labels"),
    ("generate", "--dry-run"),
)


def _limited(read: Callable[[Path], object], path: Path, said: SimpleQueue[str]) -> None:
    room = psutil.Process().memory_info().vms + MORE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (room, room))  # else zeros fill the machine's memory
    try:
        said.put(f"read: {read(path)!r}"[:500])
    except (ScirgenError, OSError) as error:
        said.put(str(error))
    except BaseException as error:
        said.put(f"failed: {error!r}"[:500])


def told(read: Callable[[Path], object], path: Path) -> str:
    """What reading a file ends with, in a process that is killed if it does not end."""
    context = multiprocessing.get_context("fork")
    said: SimpleQueue[str] = context.SimpleQueue()
    process = context.Process(target=_limited, args=(read, path, said))
    process.start()
    process.join(ENDS_S)
    if process.is_alive():
        process.kill()
        process.join()
        return "never ends"
    return said.get() if not said.empty() else f"died: {process.exitcode}"


@pytest.fixture(params=["device", "pipe"])
def endless(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    path = Path("/dev/zero")
    if request.param == "pipe":
        os.mkfifo(path := tmp_path / "pipe")
    yield path


@pytest.mark.parametrize("name", READERS)
def test_a_device_or_a_pipe_is_refused_by_whoever_reads_it(name: str, endless: Path) -> None:
    assert "not a regular file" in told(READERS[name], endless)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_device_or_a_pipe_is_wrong_input_of_a_command(command: tuple[str, ...], endless: Path) -> None:
    def run(path: Path) -> tuple[int, bool, bool]:
        error = CliRunner().invoke(cli, [*command, str(path)]).exception
        assert isinstance(error, ScirgenError)
        return (
            error.exit_status,
            bool(error.hint),
            f"{path} is not" in error.message or "not a regular file" in error.message,
        )

    assert told(run, endless) == "read: (2, True, True)"


def test_a_pipe_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    for name in ("release.json", "a.xml"):
        os.mkfifo(tmp_path / name)
    assert told(lambda folder: [kind_of(p) for p in files_below(folder)], tmp_path) == "read: [None, 'json']"


def test_a_file_that_is_read_whole_is_bounded(tmp_path: Path) -> None:
    with (large := tmp_path / "large.txt").open("wb") as file:
        file.truncate(5 * 2**30)
    assert ordinary(large, None) == large
    for name in ("generate.questions", "--config", "--qrels", "run:FILE", "api_key_file"):
        assert "larger than" in told(READERS[name], large), name


def test_a_reader_that_never_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ENDS_S", 0.5)
    os.mkfifo(tmp_path / "pipe")
    assert told(Path.read_bytes, tmp_path / "pipe") == "never ends"


@pytest.mark.parametrize("name", ["prompts/tag/bloom.yaml", "taxonomies/untrusted.yaml"])
def test_a_pipe_among_the_overrides_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    os.mkfifo(tmp_path / name)
    assert f"{name}: not a regular file" in told(lambda folder: Resources(overrides=folder), tmp_path)


@pytest.mark.parametrize("name", ["records.jsonl", "papers/b.md", "b.pdf"])
def test_a_dry_run_names_a_pipe_of_the_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "a.md").write_text("# Ice\n\n## Abstract\n\nIce became thinner in the north.")
    (tmp_path / "r.json").write_text('[{"id": "a", "title": "Ice"}]')
    os.mkfifo(tmp_path / name)
    for folder in {tmp_path, (tmp_path / name).parent}:
        run = told(lambda path: CliRunner().invoke(cli, ["generate", "--dry-run", str(path)]).output, folder)
        assert f"not read: {Path(name).name}: not a regular file" in run


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("name", ["run.lock", "log.jsonl"])
def test_a_pipe_in_the_folder_of_a_run_is_refused(name: str, shared: bool, tmp_path: Path) -> None:
    def opened(folder: Path) -> None:
        with Store(folder / "run.db", shared=shared):
            JsonLog(folder / "log.jsonl", shared=shared)

    os.mkfifo(tmp_path / name)
    assert "cannot be written: " in told(opened, tmp_path)
