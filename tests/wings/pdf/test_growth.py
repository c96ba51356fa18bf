"""The work of reading a table grows with its size, counted in calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

from scirgen.core.records import Box
from scirgen_pdf.reading.page import Word
from scirgen_pdf.tablegrid import page_table


def calls(work: Callable[[], object]) -> int:
    """How often Python functions are called, or generators go on, in some work."""
    count = 0

    def note(_frame: FrameType, event: str, _given: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def word(x: float, y: float, text: str) -> Word:
    return Word(text, (x, y, x + 5 * len(text), y + 10))


def test_twice_the_blocks_of_a_labelled_table_are_far_less_than_eight_times_the_work() -> None:
    def read(blocks: int) -> None:
        found = [word(50 + 100 * n, 100, text) for n, text in enumerate(("Label", "Mean", "Max", "Min"))]
        rules: list[Box] = [(50, y, 400, y + 0.5) for y in (95, 113, *range(164, 164 + 49 * blocks, 49))]
        for block in range(blocks):
            lines = [116 + 49 * block + 12 * n for n in range(4)]
            found += [word(50, lines[1], "Group")]
            found += [word(50 + 100 * n, y, f"{n}.{block % 10}") for y in lines for n in (1, 2, 3)]
        table = page_table((50, 80, 300, 90), [], found, rules, 1)
        assert table is not None and len(table.rows) == 1 + 4 * blocks

    assert calls(lambda: read(40)) < 5 * calls(lambda: read(20))
