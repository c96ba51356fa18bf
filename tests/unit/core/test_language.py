"""Languages are told apart by their commonest words."""

from __future__ import annotations

from pathlib import Path

import pytest

from scirgen.core.text.language import TELLABLE, detect_language

PAIRS = Path("tests/unit/stages/filter/language_pairs")


@pytest.mark.parametrize("language", sorted(TELLABLE))
def test_shipped_language_is_told_from_a_paragraph_and_kept_for_a_question(language: str) -> None:
    rows = [line.split("\t") for line in (PAIRS / f"{language}.tsv").read_text(encoding="utf-8").splitlines()]
    paragraphs = [" ".join(row[3] for row in rows[i : i + 10]) for i in range(0, len(rows), 10)]
    assert {detect_language(text) for text in paragraphs} == {language}
    assert [row[1] for row in rows if detect_language(row[1], language) != language] == []
