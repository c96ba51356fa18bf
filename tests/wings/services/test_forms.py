"""Habits of real exports of CKAN and DataCite: extras in JSON, a record's own DOI, all that a record describes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen import Dataset
from scirgen.stages.collect.files.paperfolder import PaperFolder
from scirgen_services.forms import ckan, datacite


def test_ckan_extras_in_json_and_the_own_doi_are_left_out() -> None:
    extras = [{"key": "spatial", "value": '{"type": "Polygon"}'}, {"key": "doi", "value": "10.1234/nsn"}]
    found = ckan.dataset_of({"id": "a", "title": "Nitrate", "notes": "See 10.1234/paper.", "extras": extras})
    assert isinstance(found, Dataset)
    assert (found.fields, found.related) == ((), ("10.1234/paper",))


def test_ckan_of_a_german_portal_is_read_in_full() -> None:
    def extra(key: str, value: object) -> dict[str, object]:
        return {"key": key, "value": value if isinstance(value, str) else json.dumps(value)}

    package = {
        "id": "a1",
        "title": "Pegelstände der Elbe",
        "notes": "Die Wasserstände der Elbe werden an zwölf Pegeln gemessen.",
        "maintainer": "WSV",
        "resources": [{"name": "Zeitreihen", "format": "CSV", "description": "Werte je Pegel",
                       "license": "http://dcat-ap.de/def/licenses/dl-by-de/2.0"}],
        "extras": [
            extra("identifier", "https://doi.org/10.5675/pegel"),
            extra("references", ["https://doi.org/10.1000/paper"]),
            extra("language", ["http://publications.europa.eu/resource/authority/language/DEU"]),
            extra("spatial", {"type": "Polygon", "coordinates": [[[8.1, 50.2], [12.3, 50.2], [12.3, 54.0]]]}),
        ],
    }  # fmt: skip
    found = ckan.dataset_of(package)
    assert isinstance(found, Dataset)
    assert (found.doi, found.related) == ("10.5675/pegel", ("10.1000/paper",))
    assert (found.language, found.licence, found.authors) == ("de", "dl-de-by-2.0", ("WSV",))
    fields = dict(found.fields)
    assert fields["Files"] == "Zeitreihen: Werte je Pegel" and fields["Maintainer"] == "WSV"
    assert fields["Spatial extent"] == "longitude 8.1 to 12.3, latitude 50.2 to 54 (degrees)"


def test_datacite_gives_all_that_a_record_describes() -> None:
    record = {
        "doi": "10.5555/a",
        "titles": [{"title": "of the north", "titleType": "Subtitle"}, {"title": "Lake ice"}],
        "version": "2.1",
        "descriptions": [
            {"description": "Ice was drilled weekly.", "descriptionType": "Methods"},
            {"description": "Thickness of ice.", "descriptionType": "Abstract"},
            {"description": "NetCDF with one file a year.", "descriptionType": "TechnicalInfo"},
        ],
        "geoLocations": [{"geoLocationPoint": {"pointLongitude": 11.5, "pointLatitude": 61.2}}],
        "fundingReferences": [{"funderName": "NRC", "awardNumber": "77", "awardTitle": "Cold lakes"}],
        "relatedIdentifiers": [
            {"relationType": "IsCitedBy", "relatedIdentifier": "arXiv:2501.10120v2", "relatedIdentifierType": "arXiv"},
        ],
        "relatedItems": [
            {"relationType": "IsCitedBy", "titles": [{"title": "Thin ice"}],
             "relatedItemIdentifier": {"relatedItemIdentifier": "10.1000/thin"}},
        ],
    }  # fmt: skip
    found = datacite.dataset_of({"id": "10.5555/a", "attributes": record})
    assert isinstance(found, Dataset)
    assert (found.title, found.description) == ("Lake ice", "Thickness of ice.")
    assert found.related == ("10.48550/arxiv.2501.10120", "10.1000/thin")
    assert dict(found.fields) == {
        "Subtitle": "of the north",
        "Version": "2.1",
        "Spatial extent": "longitude 11.5, latitude 61.2 (degrees)",
        "Funding": "NRC (award 77: Cold lakes)",
        "Related items": "Thin ice",
        "Methods": "Ice was drilled weekly.",
        "Technical information": "NetCDF with one file a year.",
    }


def _package(**more: object) -> Dataset:
    found = ckan.recognised({"id": "a", "title": "Ice", "notes": "Ice.", "extras": [], "resources": [], **more})
    assert isinstance(found, Dataset)
    return found


def test_ckan_keeps_titles_in_other_languages() -> None:
    texts = {"title": {"de": "Eis", "en": "Ice"}, "notes": "", "notes_translated": {"de": "Das Eis.", "en": "The ice."}}
    found = _package(**texts)
    assert (found.title, found.description) == ("Ice", "The ice.")
    assert set(found.translations) == {("de", "title", "Eis"), ("de", "description", "Das Eis.")}


@pytest.mark.parametrize(
    "stated",
    [
        {"references": [{"title": "Forty winters of lake ice in the north of the land"}]},
        {"references": "Forty winters of lake ice in the north of the land"},
        {"extras": [{"key": "references", "value": '["Forty winters of lake ice in the north of the land"]'}]},
        {"extras": [{"key": "publications", "value": "Forty winters of lake ice in the north of the land"}]},
    ],
)
def test_a_title_among_ckans_references_links_the_paper(stated: dict[str, object], tmp_path: Path) -> None:
    found = _package(**stated)
    assert found.related == ("Forty winters of lake ice in the north of the land",)
    (tmp_path / "p.md").write_text("# Forty Winters of Lake Ice in the North of the Land\n\nIce became thinner.")
    (tmp_path / "q.md").write_text("# Snow\n\nSnow became thinner.")
    linked = [(c.found_by, c.paper.file) for c in PaperFolder(tmp_path, everyone_up_to=0).candidates(found)]
    assert linked == [("cites_related", str(tmp_path / "p.md"))]


def test_a_reference_with_a_doi_is_its_doi() -> None:
    assert _package(references=[{"title": "Ice", "doi": "https://doi.org/10.5555/ICE"}]).related == ("10.5555/ice",)
