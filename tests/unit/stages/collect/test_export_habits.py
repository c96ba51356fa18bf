"""Habits of real exports: headings in other languages, languages in three letters, DOIs inside citations, GeoJSON extras."""

from __future__ import annotations

import pytest

from scirgen.core.records import Dataset, Rejection
from scirgen.core.text.language import language_code
from scirgen.stages.collect.catalogues import ckan
from scirgen.stages.collect.files.mapping import RecordMapping


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


def test_ckan_extras_in_json_and_the_own_doi_are_left_out() -> None:
    extras = [{"key": "spatial", "value": '{"type": "Polygon"}'}, {"key": "doi", "value": "10.1234/nsn"}]
    found = ckan.dataset_of({"id": "a", "title": "Nitrate", "notes": "See 10.1234/paper.", "extras": extras})
    assert isinstance(found, Dataset)
    assert (found.fields, found.related) == ((), ("10.1234/paper",))


@pytest.mark.parametrize(
    ("said", "code"), [("ger", "de"), ("fre", "fr"), ("zho", "zh"), ("de-DE", "de"), ("German", "de"), ("", "en")]
)
def test_languages_of_catalogues_become_two_letters(said: str, code: str) -> None:
    assert language_code(said) == code
