"""The worker processes: what they survive, and that none outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from scirgen.core.errors import (
    MissingExtraError,
    PaperError,
    ParserKilledError,
    PluginError,
    ScirgenError,
    ServerUnavailableError,
)
from scirgen.core.registry import Provided
from scirgen.stages.parse.base import ParserOptions
from scirgen.stages.parse.process.pool import ParserPool

PARSERS = textwrap.dedent(
    """
    import os, signal, sys
    from scirgen.core.errors import ServerUnavailableError
    from scirgen.core.records import BlockKind
    from scirgen.stages.parse.base import ParsedBlock, ParsedPaper

    class Good:
        def parse(self, path, options):
            print("noise on standard output")
            return ParsedPaper(parser="good", title=str(os.getpid()), blocks=(ParsedBlock(kind=BlockKind.PARAGRAPH, \
text="x"),))

    class Hangs:
        def parse(self, path, options):
            while True:
                pass

    class Hungry:
        def parse(self, path, options):
            return [bytearray(50_000_000) for _ in range(100)]

    class Crashes:
        def parse(self, path, options):
            os.kill(os.getpid(), 11)

    class DiesOnce:
        # of the signal that the file's name says; the file says who did before
        def parse(self, path, options):
            first = not path.exists()
            with path.open("a") as by:
                by.write(f"{os.getpid()} ")
            if first or path.name.startswith("always"):
                number = int(path.suffix[1:])
                if number == signal.SIGQUIT:  # a shell's background jobs ignore it
                    signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
                signal.pause()
            with (path.parent / "log").open("a") as log:
                print("again", path.name, file=log, flush=True)
                sum(range(10**6))  # others would write in between
                print("ended", path.name, file=log)
            return Good().parse(path, options)

    class Down:
        def parse(self, path, options):
            raise ServerUnavailableError("no answer", hint="start it")
    """
)


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "odd_parsers.py").write_text(PARSERS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    made = ParserPool(size=1, memory_mb=256)
    yield made
    made.close()


def ask(pool: ParserPool, name: str, timeout_s: float = 30.0, path: Path = Path("x")):
    plugin = Provided("parser", name.lower(), f"odd_parsers:{name}", extra="pdf")
    return pool.parse_blocking(plugin, path, ParserOptions(timeout_s=timeout_s))


def test_worker_when_it_parsed_a_file_then_it_is_used_again(pool: ParserPool) -> None:
    assert ask(pool, "Good").title == ask(pool, "Good").title


def test_hanging_worker_is_killed_and_the_next_file_is_parsed(pool: ParserPool) -> None:
    ask(pool, "Good")
    worker = pool.pids()[0]
    with pytest.raises(PaperError) as raised:
        ask(pool, "Hangs", timeout_s=0.3)
    assert raised.value.error_code == "timeout"
    assert not psutil.pid_exists(worker)
    assert ask(pool, "Good").parser == "good"


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is enforced on Linux only")
def test_worker_when_a_file_takes_too_much_memory_then_memory(pool: ParserPool) -> None:
    with pytest.raises(PaperError) as raised:
        ask(pool, "Hungry")
    assert raised.value.error_code == "memory"
    assert ask(pool, "Good").parser == "good"


def test_worker_when_native_code_crashes_then_damaged(pool: ParserPool) -> None:
    with pytest.raises(PaperError) as raised:
        ask(pool, "Crashes")
    assert raised.value.error_code == "damaged"
    assert ask(pool, "Good").parser == "good"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGQUIT])
def test_a_file_whose_worker_dies_is_tried_once_more_in_another(pool: ParserPool, tmp_path: Path, number: int) -> None:
    assert ask(pool, "DiesOnce", path=tmp_path / f"once.{number}").parser == "good"
    assert len(set((tmp_path / f"once.{number}").read_text().split())) == 2


def test_file_whose_worker_is_killed_twice_is_not_judged(pool: ParserPool, tmp_path: Path) -> None:
    with pytest.raises(ParserKilledError, match="signal 9") as raised:
        ask(pool, "DiesOnce", path=tmp_path / "always.9")
    assert raised.value.retryable and len((tmp_path / "always.9").read_text().split()) == 2


def test_file_that_outlasts_the_workers_own_clock_is_a_timeout(pool: ParserPool, tmp_path: Path) -> None:
    with pytest.raises(PaperError) as raised:
        ask(pool, "DiesOnce", path=tmp_path / f"always.{signal.SIGALRM:d}")
    assert raised.value.error_code == "timeout"


def test_worker_ignores_what_asks_the_run_to_stop(pool: ParserPool) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        worker = ask(pool, "Good").title
        os.kill(int(worker), number)
        assert ask(pool, "Good").title == worker


def test_worker_is_not_in_the_terminals_group(pool: ParserPool) -> None:
    ask(pool, "Good")
    assert os.getpgid(pool.pids()[0]) != os.getpgrp()


def test_file_is_tried_again_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd_parsers.py").write_text(PARSERS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    pool, log = ParserPool(size=2, memory_mb=256), tmp_path / "log"
    with ThreadPoolExecutor(4) as several:
        asked = [several.submit(ask, pool, "DiesOnce", path=tmp_path / f"{n}.{signal.SIGSEGV:d}") for n in range(4)]
        assert {a.result().parser for a in asked} == {"good"}
    pool.close()
    lines = log.read_text().split("\n")[:-1]
    second = [n for n, line in enumerate(lines) if line.startswith("again")]
    assert len(second) == 4 and all(lines[n + 1] == lines[n].replace("again", "ended") for n in second)


def test_error_when_it_is_retryable_then_it_keeps_its_class_and_hint(pool: ParserPool) -> None:
    with pytest.raises(ServerUnavailableError) as raised:
        ask(pool, "Down")
    assert raised.value.retryable and raised.value.hint == "start it"


def test_parser_when_its_package_is_missing_then_the_extra_is_named(pool: ParserPool) -> None:
    with pytest.raises(MissingExtraError, match="not installed") as raised:
        pool.parse_blocking(Provided("parser", "x", "no_such_package:X", extra="pdf"), Path("x"), ParserOptions())
    assert "scirgen[pdf]" in raised.value.hint
    with pytest.raises(PluginError):
        pool.parse_blocking(Provided("parser", "x", "odd_parsers:Nothing"), Path("x"), ParserOptions())


def test_bug_of_a_parser_plugin_fails_the_paper_and_names_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "buggy.py").write_text(
        "from scirgen import Plugin, Provided as P\n"
        "PLUGIN = Plugin('mine', '1', (P('parser', 'buggy', 'buggy:Buggy'),))\n"
        "class Buggy:\n    def parse(self, path, options):\n        return 1 / 0\n"
    )
    (tmp_path / "buggy-1.dist-info").mkdir()
    (tmp_path / "buggy-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: buggy\nVersion: 1\n")
    (tmp_path / "buggy-1.dist-info" / "entry_points.txt").write_text("[scirgen.plugins]\nmine = buggy:PLUGIN\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:" + ":".join(sys.path))
    pool = ParserPool(size=1, memory_mb=256)
    with pytest.raises(ScirgenError) as raised:
        pool.parse_blocking(Provided("parser", "buggy", "buggy:Buggy"), Path("x"), ParserOptions())
    pool.close()
    assert not isinstance(raised.value, PaperError) and raised.value.error_code == "plugin_fault"
    assert "ZeroDivisionError" in raised.value.message
    assert "plugin 'mine': Buggy.parse() in buggy.py, line 5" in raised.value.message


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux's")
def test_worker_when_the_parent_is_killed_then_it_dies_too(tmp_path: Path) -> None:
    (tmp_path / "odd_parsers.py").write_text(PARSERS)
    script = textwrap.dedent(
        """
        import signal, threading
        from pathlib import Path
        from scirgen.core.registry import Provided
        from scirgen.stages.parse.base import ParserOptions
        from scirgen.stages.parse.process.pool import ParserPool
        pool = ParserPool(size=1, memory_mb=256)
        plugin = lambda n: Provided("parser", n, f"odd_parsers:{n}")
        pool.parse_blocking(plugin("Good"), Path("x"), ParserOptions())
        threading.Thread(target=pool.parse_blocking, args=(plugin("Hangs"), Path("x"), \
ParserOptions(timeout_s=60))).start()
        print(pool.pids()[0], flush=True)
        signal.pause()  # whoever leaves Python ends its threads, and with them the workers
        """
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        assert worker.is_running()
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        deadline = time.monotonic() + 10
        while worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
            os.sched_yield()
        assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE
