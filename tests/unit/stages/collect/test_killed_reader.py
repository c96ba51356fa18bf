"""A process that reads a file of records or a paper's text, and is killed from outside."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from scirgen.stages.collect.files.child import ChildKilledError, printed_lines
from scirgen.stages.collect.files.paperfolder import paper_texts
from tests.support.waiting import wait_until

READERS: dict[str, Callable[[Path], object]] = {
    "records": lambda file: list(printed_lines("text", [file], 300)),
    "papers": lambda file: paper_texts([file]),
}


def _kill_readers_of(file: Path) -> None:
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if str(file) in child.cmdline():
                child.kill()


@pytest.mark.parametrize("name", READERS)
def test_a_reader_killed_from_outside_ends_the_run_and_loses_no_record(name: str, tmp_path: Path) -> None:
    os.mkfifo(file := tmp_path / "waits.txt")  # nobody writes into it
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(READERS[name], file)
        wait_until(lambda: reading.done() or _kill_readers_of(file), 300)
        with pytest.raises(ChildKilledError, match=r"reads waits\.txt was killed from outside"):
            reading.result()
