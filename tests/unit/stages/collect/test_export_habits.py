"""Habits of real exports: headings in other languages, languages in three letters, DOIs inside citations, GeoJSON
extras."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen.core.records import Dataset, Rejection
from scirgen.core.text.language import language_code
from scirgen.stages.collect.files.folder import FolderSource
from scirgen.stages.collect.files.mapping import RecordMapping
from scirgen.stages.collect.source import SourceSetup


@pytest.mark.parametrize(
    ("title", "description"),
    [("Titel", "Beschreibung"), ("Titre", "Résumé"), ("Título", "Descripción"), ("标题", "摘要")],
)
def test_table_with_headings_in_another_language_is_read(title: str, description: str) -> None:
    found = RecordMapping().dataset({title: "Kattegat", description: "ADCP"}, "t.csv:2")
    assert isinstance(found, Dataset)
    assert (found.title, found.description) == ("Kattegat", "ADCP")


def test_record_without_a_title_says_which_fields_it_has() -> None:
    found = RecordMapping().dataset({"Nimi": "Kattegat", "Vuosi": 2018}, "t.csv:2")
    assert isinstance(found, Rejection)
    assert found.reason.endswith("has no title; its fields: Nimi, Vuosi")


def test_doi_of_a_cited_paper_is_taken_before_its_name() -> None:
    paper = {"@type": "ScholarlyArticle", "name": "A paper", "sameAs": "https://doi.org/10.1002/2015JC011"}
    found = RecordMapping().dataset({"name": "SST", "citation": [paper, "Another paper"]}, "p.jsonld")
    assert isinstance(found, Dataset)
    assert found.related == ("10.1002/2015jc011", "Another paper")


def test_a_record_that_states_no_language_has_that_of_its_text() -> None:
    found = RecordMapping().dataset(
        {"titel": "Pegel", "beschreibung": "Die Wasserstände werden täglich gemessen."}, "p"
    )
    assert isinstance(found, Dataset) and found.language == "de"


def test_columns_hold_only_for_records_that_have_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("heading,about,title\nLake ice,Thickness,row 1\n")
    (tmp_path / "b.json").write_text(json.dumps({"title": "Snow", "meta": {"text": "Depth"}}))
    options = {"columns": {"title": "heading", "description": ["about", "meta.text"]}}
    found = [d for d in FolderSource(SourceSetup(input=tmp_path, options=options)).datasets() if isinstance(d, Dataset)]
    assert [(d.title, d.description) for d in found] == [("Lake ice", "Thickness"), ("Snow", "Depth")]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("http://publications.europa.eu/resource/authority/language/DEU", "de"),
        ("ger", "de"),
        ("fre", "fr"),
        ("zho", "zh"),
        ("de-DE", "de"),
        ("German", "de"),
        ("", "en"),
    ],
)
def test_languages_of_catalogues_become_two_letters(said: str, code: str) -> None:
    assert language_code(said) == code


@pytest.mark.parametrize(
    ("record", "title", "translations"),
    [
        ({"title": [{"@language": "de", "@value": "Eis"}, {"@language": "en", "@value": "Ice"}]}, "Ice",
         {("de", "title", "Eis")}),
        ({"title": {"de": "Eis", "fr": "Glace", "en": ""}, "description": {"en-GB": "Ice.", "de": "Das Eis."}}, "Eis",
         {("fr", "title", "Glace"), ("de", "description", "Das Eis.")}),
        ({"title": "Ice", "title_translated": {"de": "Eis", "en": "Ice"}}, "Ice", {("de", "title", "Eis")}),
        ({"title": "Eis", "title_en": "Ice"}, "Eis", {("en", "title", "Ice")}),
        ({"title": "Ice"}, "Ice", set()),
    ],
)  # fmt: skip
def test_titles_in_other_languages_are_kept(
    record: dict[str, object], title: str, translations: set[tuple[str, str, str]]
) -> None:
    found = RecordMapping().dataset(record, "a")
    assert isinstance(found, Dataset)
    assert (found.title, set(found.translations)) == (title, translations)
