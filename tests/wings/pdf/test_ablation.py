"""The benchmark that switches the rules of the layout off."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.layout_ablation import ablate, switches
from scirgen import ParsedPaper
from scirgen_pdf.analyse import LAYOUT, TEXT

pymupdf = pytest.importorskip("pymupdf")


def _paper(path: Path) -> None:
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        page.insert_text((60, 80), "Snow of the upper valley", fontsize=18)
        for row in range(12):
            page.insert_text((60, 120 + 14 * row), f"{row} Snow fell in the upper valley and melted late.", fontsize=10)
        page.insert_text((60, 320), "Figure 1. Snow.", fontsize=8)
        pdf.save(path)


def test_a_pass_that_makes_captions_changes_a_row_and_one_without_reviews_does_not(tmp_path: Path) -> None:
    (tmp_path / "pdf").mkdir()
    _paper(tmp_path / "pdf" / "p.pdf")
    lines: list[str] = []

    def captions(_: object, parsed: ParsedPaper) -> dict[str, float | int | None]:
        return {"captions": sum(block.kind == "caption" for block in parsed.blocks)}

    ablate([(tmp_path, SimpleNamespace(name="p"))], "auto", captions, lines.append)
    rows = {line.split(": ")[1].split(" [")[0]: line for line in lines}
    assert rows["kinds"].startswith("1 rows, 1 papers") and "captions 1.000 0.000" in rows["kinds"]
    assert rows["reviews"].startswith("0 rows, 0 papers")
    assert "fails" in rows["lines"]


def test_each_rule_is_switched_off_in_turn() -> None:
    names = [switch.name for switch in switches()]
    rules = {type(one.rules).__name__: one.rules for one in (*LAYOUT, *TEXT) if one.rules is not None}
    wanted = {f"{name}.{field.name}" for name, held in rules.items() for field in fields(held)}
    assert {name.split(" = ")[0] for name in names if " = " in name} == wanted
    assert len(names) == len(set(names)) and names[0] == "line_numbers"
