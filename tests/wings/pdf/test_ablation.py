"""The benchmark that switches the rules of the layout off."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import layout_ablation

pymupdf = pytest.importorskip("pymupdf")


def test_a_rule_that_makes_a_title_changes_the_paper_and_one_that_never_speaks_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.pdf"
    lines: list[str] = []
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        page.insert_text((60, 80), "Snow of the upper valley", fontsize=18)
        for row in range(12):
            page.insert_text((60, 120 + 14 * row), f"{row} Snow fell in the upper valley and melted late.", fontsize=10)
        page.insert_text((60, 320), "Figure 1. Snow.", fontsize=8)
        pdf.save(path)
    wanted = ("classify._is_caption", "page.order._is_box")
    chosen = [rule for rule in layout_ablation.rules() if rule.name in wanted]
    monkeypatch.setattr(layout_ablation, "rules", lambda: chosen)
    layout_ablation.ablate([path], "auto", lines.append)
    assert [line.split()[0] for line in lines] == ["1", "0"] and "['p']" in lines[0]
