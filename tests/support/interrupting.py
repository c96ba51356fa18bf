"""Interrupts ``scirgen generate`` at random moments of one stage, as a terminal or the system's memory watchdog does.

As a program it is a fork server: each line of its standard input is an `Order`, which a forked copy of the interpreter
carries out with the command's own ``main``. So a run starts in a tenth of a second, and hundreds are cheap.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

ENDS = {"SIGINT": (130, 0), "SIGKILL": (-9,), "worker": (0, 3)}
"""Ctrl-C to the process group, ``kill -9`` of the main process, ``kill -9`` of its child processes -> exit statuses: a
run may be over when a Ctrl-C arrives, and one whose parsers died twice is partial."""
STOPS_WITHIN_S = 120
"""Calls in flight have 20 s to finish, and the server answers within a second: more means that a stop was not obeyed,
unless the machine is very busy."""


@dataclass(frozen=True)
class Order:
    """One run: its arguments, and the stage in which it is interrupted (none: it is not).

    Attributes:
        seed: of the moment.
        spans: how long an item of the stage takes, in seconds: the moment is drawn from a little more than that.
        first: interrupt in the stage's first item; else in any of them.
    """

    arguments: list[str]
    stage: str = ""
    how: str = ""
    seed: int = 0
    spans: float = 0.0
    first: bool = False


@dataclass(frozen=True)
class Ended:
    """How a run ended: its exit status (negative: the signal), whether it was interrupted and how long it then took."""

    status: int
    interrupted: bool
    seconds: float
    said: str


# -- in the forked process ---------------------------------------------------------------------------------------------


class _Interrupter:
    def __init__(self, order: Order, note: Path) -> None:
        self._order, self._note, self._draw = order, note, random.Random(order.seed)
        self._armed = False

    def begun(self) -> None:
        """An item of the stage begins: arm the signal at one of three, for a moment of its work."""
        if self._armed or not (self._order.first or self._draw.random() < 1 / 3):
            return
        self._armed = True
        timer = threading.Timer(self._draw.uniform(0, 1.2 * self._order.spans), self._fire)
        timer.daemon = True
        timer.start()

    def _fire(self) -> None:
        children = []
        while self._order.how == "worker" and not (children := psutil.Process().children()):
            threading.Event().wait(0.01)
        self._note.write_text(repr(time.time()))
        for child in children:
            with contextlib.suppress(psutil.Error):
                child.kill()
        if self._order.how == "SIGINT":
            os.killpg(os.getpgid(0), signal.SIGINT)
            if self._draw.random() < 0.25:  # impatient
                threading.Event().wait(self._draw.uniform(0, 0.3))
                os.killpg(os.getpgid(0), signal.SIGINT)
        elif self._order.how == "SIGKILL":
            os.kill(os.getpid(), signal.SIGKILL)


def _watched(method: Callable[..., Any], begun: Callable[[], None]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **more: Any) -> Any:
        begun()
        return method(*args, **more)

    return call


def _watch(order: Order, note: Path) -> None:
    """Have the runner tell when an item of the stage begins."""
    from scirgen.pipeline import run

    begun = _Interrupter(order, note).begun

    class Watched(run.Runner):
        def __init__(self, store: Any, ctx: Any, stages: Any, engine: Any, source: Any, *more: Any) -> None:
            super().__init__(store, ctx, stages, engine, source, *more)
            if order.stage == "collect":
                for name in ("datasets", "papers"):
                    setattr(source, name, _watched(getattr(source, name), begun))
            else:
                stages[order.stage].process = _watched(stages[order.stage].process, begun)

    run.Runner = Watched  # type: ignore[misc]


def _child(order: Order, folder: Path) -> None:
    os.setsid()
    output = os.open(folder / "said", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    null = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, null), (1, output), (2, output)):
        os.dup2(source, target)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if order.stage:
        _watch(order, folder / "interrupted")
    sys.argv = ["scirgen", *order.arguments]
    from scirgen.cli.main import main

    try:
        main()
    finally:
        (folder / "modules").write_text("\n".join(sorted(sys.modules)))


def _carried_out(order: Order, folder: Path) -> dict[str, Any]:
    note = folder / "interrupted"
    note.unlink(missing_ok=True)
    if not (pid := os.fork()):
        try:
            _child(order, folder)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except BaseException:
            import traceback

            traceback.print_exc()
            status = 70
        else:
            status = 0
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    _, status = os.waitpid(pid, 0)
    ended = time.time()
    since = float(note.read_text()) if note.is_file() else ended
    said = (folder / "said").read_text(errors="replace")
    return asdict(Ended(os.waitstatus_to_exitcode(status), note.is_file(), ended - since, said))


def serve(folder: Path) -> None:
    """Carry out the orders on the standard input; what a first run imports, later ones have."""
    from scirgen.core.text.language import detect_language

    detect_language("This reads the model of languages once for all runs.")
    for line in sys.stdin:
        print(json.dumps(_carried_out(Order(**json.loads(line)), folder)), flush=True)
        for name in (folder / "modules").read_text().split() if (folder / "modules").is_file() else ():
            if not name.startswith("_"):  # packages import their private parts in the right order
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)


# -- in the test -------------------------------------------------------------------------------------------------------


class Commands:
    """Runs commands through a fork server."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.interrupting", str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip

    def run(self, order: Order) -> Ended:
        """Carry out an order to its end."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(order)) + "\n")
        self._process.stdin.flush()
        return Ended(**json.loads(self._process.stdout.readline()))

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # the end of its input ends it


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
