"""The work of reading a table grows with its size, counted in calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

from scirgen.core.records import BlockKind, Box
from scirgen_pdf.page.lines import Line, Run, Style
from scirgen_pdf.paragraphs import Group
from scirgen_pdf.reading.page import Marks, Word
from scirgen_pdf.tablegrid import page_table
from scirgen_pdf.tables import with_tables


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


def test_twice_the_rows_of_a_plain_table_are_far_less_than_four_times_the_work() -> None:
    style = Style("Serif", 20, bold=False, italic=False)

    def group(top: float, text: str, kind: BlockKind = BlockKind.PARAGRAPH) -> Group:
        line = Line(1, (50, top, 500, top + 10), [Run(text, style)], 0).settle()
        return Group([line], 0, 50, 500, kind=kind).settle()

    def read(count: int) -> None:
        tops = [100, *range(116, 116 + 12 * count, 12)]
        found = [word(50 + 50 * n, y, f"{n}.{y % 10}" if y > 100 else "Head") for y in tops for n in range(9)]
        rules: list[Box] = [(50, y, 500, y + 0.5) for y in (95, 113, tops[-1] + 13)]
        lines = [group(y, "0.1 1.1 2.1") for y in tops]
        made = with_tables(
            [group(80, "Table 1. Days with snow.", BlockKind.CAPTION), *lines], style, lambda _: Marks(found, rules), 1
        )
        assert [g.made is not None and g.made.table is not None for g in made] == [False, True]

    assert calls(lambda: read(160)) < 2.5 * calls(lambda: read(80))
