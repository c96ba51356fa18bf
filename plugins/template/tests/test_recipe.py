"""Tests of `recipe.py`: change them together with the recipe."""

from __future__ import annotations

from pathlib import Path

import scirgen
from scirgen.testing import serving

PAPER = """# Shade and the temperature of garden ponds

## Abstract

Shaded ponds were 3.1 degrees cooler at noon in July than open ponds of the same depth, since trees keep the sun away.

## Methods

We measured the water temperature of twelve garden ponds every hour from 2019 to 2021 at a depth of 20 cm.
"""


def test_the_recipe_asks_with_the_title_of_a_paper(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "ponds.md").write_text(PAPER, encoding="utf-8")
    wanted = {"query.recipes": ["template_recipe"], "generate.off": True}
    with serving() as model:
        run = scirgen.generate(tmp_path / "run", papers=tmp_path / "papers", model=model, settings=wanted)
    assert run.queries() == {"template_recipe": 1}
