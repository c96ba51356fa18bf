"""Opens files from outside in a separate process, which is killed when it takes too long or the run ends.

A hostile file can neither hang nor crash the run. `probe` is the program that runs there.
"""

from __future__ import annotations

import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from scirgen.core.errors import SourceError
from scirgen.core.runtime import is_stopping, stopped
from scirgen.stages.collect.files import probe

_SLICE_S = 0.5


class ChildError(Exception):
    """The process printed nothing for too long, or ended before it was done."""


class ChildKilledError(SourceError):
    """The process was killed from outside, which says nothing about the file."""


def printed_lines(job: str, files: list[Path], quiet_s: float) -> Iterator[bytes]:
    """Yield the lines that ``probe JOB FILE...`` prints, as they come.

    Args:
        job: ``text`` or ``parquet``.
        files: the files to open.
        quiet_s: longest time between two lines.

    Raises:
        ChildError: the process was too slow or crashed.
        ChildKilledError: it was killed from outside.
        RunStoppingError: the run ends.
    """
    command = [sys.executable, "-I", str(Path(probe.__file__)), job, *(str(f.resolve()) for f in files)]
    with (
        # In a group of its own, so that the terminal's Ctrl-C does not reach it.
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, process_group=0
        ) as process,
        selectors.DefaultSelector() as poll,
    ):
        assert process.stdout is not None
        poll.register(process.stdout, selectors.EVENT_READ)
        pending: list[bytes] = []
        deadline = time.monotonic() + quiet_s
        try:
            while True:
                if is_stopping():
                    raise stopped()
                if time.monotonic() > deadline:
                    raise ChildError(f"opening it took longer than {quiet_s:g} s")
                if not poll.select(_SLICE_S):
                    continue
                chunk = process.stdout.read(1 << 20)
                if not chunk:
                    break
                *lines, rest = chunk.split(b"\n")
                for line in lines:
                    yield b"".join((*pending, line))
                    pending.clear()
                    deadline = time.monotonic() + quiet_s
                pending.append(rest)
        finally:
            process.kill()
    if process.returncode == -signal.SIGKILL:
        raise ChildKilledError(
            f"the process that reads {files[0].name} was killed from outside",
            hint="Run the same command again; if it is killed again, memory is short.",
        )
    if process.returncode != 0:
        raise ChildError("opening the file crashed its worker or needed more than 1 GB of memory")
