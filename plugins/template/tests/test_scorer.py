"""Tests of `scorer.py`: change them together with the scorer."""

from __future__ import annotations

from scirgen_template.scorer import TemplateScorer

from scirgen.testing import check_scorer


def test_the_scorer_keeps_the_contract() -> None:
    scores = check_scorer(TemplateScorer)
    assert scores[0].value == 1.0, "each word of '24 holes' stands in the evidence"
