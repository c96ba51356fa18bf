"""Languages of texts are detected; names and codes of languages are understood."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen.core.text.language import TELLABLE, detect_language, language_code, language_name
from tests.support.realdata import REALDATA

PAIRS = Path("tests/unit/stages/filter/language_pairs")


@pytest.mark.parametrize("language", sorted(TELLABLE))
def test_shipped_language_is_told_from_a_paragraph_and_kept_for_a_question(language: str) -> None:
    rows = [line.split("\t") for line in (PAIRS / f"{language}.tsv").read_text(encoding="utf-8").splitlines()]
    paragraphs = [" ".join(row[3] for row in rows[i : i + 10]) for i in range(0, len(rows), 10)]
    assert {detect_language(text) for text in paragraphs} == {language}
    assert [row[1] for row in rows if detect_language(row[1], language) != language] == []


@pytest.mark.parametrize(("code", "name"), [("de", "German"), ("zh-CN", "Chinese"), ("el", "Greek"), ("xx", "xx")])
def test_codes_have_plain_english_names(code: str, name: str) -> None:
    assert language_name(code) == name


@pytest.mark.parametrize(("said", "code"), [("und", "en"), ("mul", "en"), ("en_US", "en"), ("Min Nan Chinese", "nan")])
def test_special_codes_mean_the_default_language(said: str, code: str) -> None:
    assert language_code(said) == code


def test_too_little_text_has_the_default_language() -> None:
    assert detect_language("Figure 3", "pt") == "pt"


@pytest.mark.realdata
@pytest.mark.skipif(not REALDATA.is_dir(), reason=f"REAL DATA MISSING: {REALDATA} (set SCIRGEN_REALDATA)")
@pytest.mark.parametrize(("language", "suffix"), [("en", ""), ("zh", "Cn")])
def test_both_languages_of_real_records_are_detected(language: str, suffix: str) -> None:
    records = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted((REALDATA / "geo/released").glob("*.json"))
    ]
    texts = [text for r in records if (text := r["context"]["metadata"]["description" + suffix])]
    assert texts and {detect_language(text) for text in texts} == {language}
