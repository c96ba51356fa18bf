"""Exports of catalogues in files, as their services write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen import Dataset, InputError, Rejection, SourceSetup
from scirgen.core.config import Config
from scirgen.core.registry import load_registry
from scirgen.stages.collect.files.folder import FolderSource
from scirgen.stages.collect.open import open_source

DATACITE = {
    "data": [
        {
            "id": "10.5880/ice.2021",
            "type": "dois",
            "attributes": {
                "doi": "10.5880/ice.2021",
                "titles": [{"title": "Ice thickness of Svalbard glaciers"}],
                "creators": [{"name": "Berg, A."}],
                "descriptions": [{"descriptionType": "Abstract", "description": "Radar soundings of 14 glaciers."}],
                "subjects": [{"subject": "glaciology"}],
                "publicationYear": 2021,
                "rightsList": [{"rightsIdentifier": "cc-by-4.0"}],
                "relatedIdentifiers": [{"relationType": "IsCitedBy", "relatedIdentifier": "10.1000/paper",
                                        "relatedIdentifierType": "DOI"}],
            },
        }
    ],
    "meta": {"total": 1},
    "links": {"self": "x"},
}  # fmt: skip
CKAN = {
    "help": "h",
    "success": True,
    "result": {
        "count": 1,
        "results": [
            {
                "id": "a1",
                "name": "ice",
                "title": "Ice thickness of Svalbard glaciers",
                "notes": "Radar soundings of 14 glaciers.",
                "tags": [{"display_name": "glaciology"}],
                "resources": [{"format": "CSV"}],
                "extras": [{"key": "doi", "value": "10.5880/ice.2021"}],
                "license_id": "cc-by",
                "author": "Berg, A.",
            }
        ],
    },
}
ZENODO = {
    "hits": {
        "total": 1,
        "hits": [
            {
                "id": 55,
                "doi": "10.5281/zenodo.55",
                "links": {"html": "https://zenodo.org/records/55"},
                "metadata": {
                    "title": "Ice thickness of Svalbard glaciers",
                    "description": "<p>Radar soundings of 14 glaciers.</p>",
                    "creators": [{"name": "Berg, A."}],
                    "keywords": ["glaciology"],
                    "license": {"id": "cc-by-4.0"},
                    "publication_date": "2021-05-01",
                    "related_identifiers": [{"identifier": "10.1000/paper", "relation": "isCitedBy"}],
                },
            }
        ],
    },
    "aggregations": {"type": {"buckets": [{"key": "dataset"}, {"key": "image"}, {"key": "x"}]}},
}
DATAVERSE = {
    "status": "OK",
    "data": {
        "id": 7,
        "authority": "10.7910",
        "identifier": "DVN/ICE",
        "latestVersion": {
            "license": {"name": "CC0 1.0", "uri": "http://creativecommons.org/publicdomain/zero/1.0"},
            "metadataBlocks": {
                "citation": {
                    "fields": [
                        {"typeName": "title", "value": "Ice thickness of Svalbard glaciers"},
                        {"typeName": "author", "value": [{"authorName": {"value": "Berg, A."}}]},
                        {"typeName": "dsDescription",
                         "value": [{"dsDescriptionValue": {"value": "Radar soundings of 14 glaciers."}}]},
                        {"typeName": "keyword", "value": [{"keywordValue": {"value": "glaciology"}}]},
                        {"typeName": "subject", "value": ["Earth and Environmental Sciences"]},
                    ]
                }
            },
        },
    },
}  # fmt: skip
DATAVERSE_SEARCH = {
    "status": "OK",
    "data": {
        "q": "ice",
        "total_count": 1,
        "items": [
            {
                "name": "Ice thickness of Svalbard glaciers",
                "type": "dataset",
                "global_id": "doi:10.7910/DVN/ICE",
                "description": "Radar soundings of 14 glaciers.",
                "authors": ["Berg, A."],
                "keywords": ["glaciology"],
            }
        ],
    },
}
STAC = {
    "collections": [
        {
            "type": "Collection",
            "stac_version": "1.0.0",
            "id": "svalbard-ice",
            "title": "Ice thickness of Svalbard glaciers",
            "description": "Radar soundings of 14 glaciers.",
            "license": "CC-BY-4.0",
            "keywords": ["glaciology"],
            "providers": [{"name": "Berg, A."}],
            "extent": {"spatial": {"bbox": [[10, 76, 30, 81]]},
                       "temporal": {"interval": [["2019-01-01T00:00:00Z", None]]}},
            "links": [{"rel": "self", "href": "https://stac.example/svalbard-ice"}],
            "sci:doi": "10.5880/ice.2021",
        }
    ],
    "links": [{"rel": "root", "href": "/"}, {"rel": "self", "href": "/collections"}],
}  # fmt: skip
DCAT = {
    "@type": "dcat:Catalog",
    "title": "A portal",
    "dataset": [
        {
            "@type": "dcat:Dataset",
            "identifier": "ice-1",
            "title": "Ice thickness of Svalbard glaciers",
            "description": "Radar soundings of 14 glaciers.",
            "keyword": ["glaciology"],
            "publisher": {"name": "Polar Institute"},
            "license": "https://creativecommons.org/licenses/by/4.0/",
        }
    ],
}
SCHEMA_ORG = {
    "@context": "https://schema.org/",
    "@graph": [
        {"@type": "Person", "name": "A. Berg"},
        {
            "@type": "Dataset",
            "@id": "https://x.org/ice",
            "name": "Ice thickness of Svalbard glaciers",
            "description": "Radar soundings of 14 glaciers.",
            "keywords": "glaciology, radar",
            "creator": [{"@type": "Person", "name": "Berg, A."}],
            "license": "https://creativecommons.org/licenses/by/4.0/",
        },
    ],
}
OAI = """<?xml version="1.0" encoding="UTF-8"?>
<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><responseDate>2024-01-01T00:00:00Z</responseDate>
<ListRecords>
 <record><header><identifier>oai:x.org:1</identifier><datestamp>2024-01-01</datestamp></header>
  <metadata><oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" \
xmlns:dc="http://purl.org/dc/elements/1.1/">
   <dc:title>Ice thickness of Svalbard glaciers</dc:title><dc:creator>Berg, A.</dc:creator>
   <dc:description>Radar soundings of 14 glaciers.</dc:description><dc:subject>glaciology</dc:subject>
   <dc:identifier>https://doi.org/10.5880/ice.2021</dc:identifier><dc:rights>cc-by-4.0</dc:rights>
  </oai_dc:dc></metadata></record>
 <record><header status="deleted"><identifier>oai:x.org:2</identifier></header></record>
</ListRecords></OAI-PMH>"""
UNKNOWN = {
    "version": 3,
    "facets": {"year": [{"n": 1}, {"n": 2}, {"n": 3}]},
    "payload": {"rows": [{"titel": 1, "name": "Ice thickness of Svalbard glaciers",
                          "summary": "Radar soundings of 14 glaciers."}]},
}  # fmt: skip


def read(path: Path, **options: object) -> list[Dataset | Rejection]:
    source = FolderSource(SourceSetup(input=path, options=options))
    return [e for e in source.datasets() if isinstance(e, (Dataset, Rejection))]


def write(path: Path, value: object) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "export", "doi"),
    [
        ("datacite.json", DATACITE, "10.5880/ice.2021"),
        ("datacite-one.json", DATACITE["data"][0], "10.5880/ice.2021"),
        ("ckan.json", CKAN, "10.5880/ice.2021"),
        ("ckan-one.json", {"success": True, "result": CKAN["result"]["results"][0]}, "10.5880/ice.2021"),
        ("zenodo.json", ZENODO, "10.5281/zenodo.55"),
        ("dataverse.json", DATAVERSE, "10.7910/dvn/ice"),
        ("dataverse-search.json", DATAVERSE_SEARCH, "10.7910/dvn/ice"),
        ("stac.json", STAC, "10.5880/ice.2021"),
        ("stac-one.json", STAC["collections"][0], "10.5880/ice.2021"),
        ("dcat.json", DCAT, None),
        ("schema-org.jsonld", SCHEMA_ORG, None),
        ("harvest.xml", OAI, "10.5880/ice.2021"),
        ("unknown.json", UNKNOWN, None),
        ("lines.jsonl", json.dumps(DATACITE["data"][0]), "10.5880/ice.2021"),
        ("answers.jsonl", json.dumps({"data": DATACITE["data"][0]}), "10.5880/ice.2021"),
    ],
)
def test_export_of_a_service_is_read_from_a_file(name: str, export: object, doi: str | None, tmp_path: Path) -> None:
    (found,) = read(write(tmp_path / name, export))
    assert isinstance(found, Dataset), found
    assert found.title == "Ice thickness of Svalbard glaciers"
    assert "Radar soundings of 14 glaciers." in found.description
    assert (found.doi or "").lower() == (doi or "")
    if name != "unknown.json":
        assert "glaciology" in found.keywords
    if name not in ("unknown.json", "dataverse-search.json"):
        assert found.licence.startswith("cc")


def test_list_is_found_where_the_user_says_it_stands(tmp_path: Path) -> None:
    export = {"a": {"items": [{"title": "One"}, {"title": "Two"}]}, "b": {"rows": [{"title": "Three"}]}}
    assert [d.title for d in read(write(tmp_path / "a.json", export), records="b.rows")] == ["Three"]
    with pytest.raises(InputError, match=r"nothing found at 'b.row'") as caught:
        read(tmp_path / "a.json", records="b.row")
    assert "a.items (2), b.rows (1)" in caught.value.hint


def test_record_with_lists_of_its_own_stays_one_record(tmp_path: Path) -> None:
    record = {"title": "Ice", "authors": [{"name": "A"}, {"name": "B"}], "files": [{"name": "a.csv"}]}
    (found,) = read(write(tmp_path / "a.json", record))
    assert isinstance(found, Dataset) and (found.title, found.authors) == ("Ice", ("A", "B"))


def test_dotted_columns_reach_into_objects_and_lists(tmp_path: Path) -> None:
    record = {"about": {"titles": [{"text": "Ice"}]}, "who": [{"n": "A"}, {"n": "B"}], "text": {"long": "Radar."}}
    columns = {"title": "about.titles.0.text", "authors": "who.n", "description": "text.long"}
    (found,) = read(write(tmp_path / "a.json", record), columns=columns)
    assert isinstance(found, Dataset)
    assert (found.title, found.authors, found.description) == ("Ice", ("A", "B"), "Radar.")


def test_network_source_with_an_input_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.json", DATACITE)
    config = Config.model_validate({"input": str(tmp_path / "a.json"), "collect": {"source": "datacite"}})
    with pytest.raises(InputError, match="'datacite' reads from its service, not from files"):
        open_source(config, load_registry(), None, tmp_path)


def test_xml_that_is_no_oai_answer_is_not_a_file_of_records(tmp_path: Path) -> None:
    write(tmp_path / "paper.xml", "<article><front/></article>")
    write(tmp_path / "a.json", [{"title": "Ice"}])
    assert len(read(tmp_path)) == 1


def test_oai_file_that_is_cut_short_is_set_aside(tmp_path: Path) -> None:
    (found,) = read(write(tmp_path / "harvest.xml", OAI[:600]))
    assert isinstance(found, Rejection) and found.code == "malformed_record"
