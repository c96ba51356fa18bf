"""All that a record says of its licence counts: what two places state must agree."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from scirgen.core.records import Dataset, Paper
from scirgen.core.registry import load_registry
from scirgen.stages.collect.files.known_records import plain, record_forms
from scirgen.stages.collect.files.mapping import RecordMapping
from scirgen.stages.collect.files.recordfiles import plain_record
from scirgen.stages.collect.source import Candidate, Fetched
from scirgen.stages.collect.validated_source import checked

_BY = "https://creativecommons.org/licenses/by/4.0/"
_NC = "https://creativecommons.org/licenses/by-nc/4.0/"


def _licence(record: Mapping[str, object], columns: Mapping[str, str] | None = None) -> str:
    forms = (form(record) for form in record_forms(load_registry()))
    found = next(filter(None, forms), None) or RecordMapping(columns).dataset(plain(record), "a")
    assert isinstance(found, Dataset)
    return found.licence


def _datacite(*rights: Mapping[str, str]) -> Mapping[str, object]:
    return {"attributes": {"doi": "10.5555/a", "titles": [{"title": "Ice"}], "rightsList": list(rights)}}


def _ckan(resources: list[object], **more: object) -> Mapping[str, object]:
    return {"id": "a", "title": "Ice", "notes": "Ice.", "extras": [], "resources": resources, **more}


@pytest.mark.parametrize(
    ("record", "licence"),
    [
        (_datacite({"rights": "Creative Commons Attribution 4.0 International", "rightsUri": _BY,
                    "rightsIdentifier": "cc-by-4.0"}, {"rights": "Open Access"}), "cc-by-4.0"),
        (_datacite({"rights": "Closed Access", "rightsUri": _BY}), "cc-by-4.0; closed access"),
        (_datacite({"rightsUri": _BY}, {"rightsUri": _NC}), "cc-by-4.0; cc-by-nc-4.0"),
        (_datacite(), "unknown"),
        (_ckan([{"license": _NC}], license_id="cc-by"), "cc-by; cc-by-nc-4.0"),
        (_ckan([{"license": _BY}], license_id="cc-by", license_title="Creative Commons Attribution",
               license_url="http://www.opendefinition.org/licenses/cc-by"), "cc-by-4.0"),
        (_ckan([], license_id="notspecified", license_title="License not specified"), "unknown"),
        (plain_record({"identifier": ["a"], "title": ["Ice"], "rights": ["info:eu-repo/semantics/openAccess", _BY]}),
         "cc-by-4.0"),
        (plain_record({"identifier": ["a"], "title": ["Ice"], "rights": [_BY, "Only for members"]}),
         "cc-by-4.0; only for members"),
        ({"title": "Ice", "license": {"name": "CC BY 4.0", "url": _NC}}, "cc-by-4.0; cc-by-nc-4.0"),
        ({"title": "Ice", "licenses": [{"name": "CC-BY-4.0", "path": _BY}]}, "cc-by-4.0"),
        ({"title": "Ice", "licence": "CC BY 4.0", "access_rights": "restricted"}, "cc-by-4.0; restricted"),
        ({"title": "Ice", "dct:license": "CC0", "dct:rights": "© 2020 The Authors"}, "cc0-1.0"),
        ({"title": "Ice", "dct:license": "CC0", "dct:rights": "© Met Office"}, "cc0-1.0; © met office"),
        ({"metadata": {"title": "Ice", "rights": [{"id": "cc-by-4.0", "title": {"en": "CC BY 4.0"}}]}, "links": {}},
         "cc-by-4.0"),
        ({"datasetVersion": {"license": {"name": "CC0 1.0", "uri": "http://creativecommons.org/publicdomain/zero/1.0"},
          "metadataBlocks": {"citation": {"fields": [{"typeName": "title", "value": "Ice"}]}}}}, "cc0-1.0"),
        ({"datasetVersion": {"termsOfUse": "Ask us.",
          "metadataBlocks": {"citation": {"fields": [{"typeName": "title", "value": "Ice"}]}}}}, "ask us."),
    ],
)  # fmt: skip
def test_places_that_state_a_licence_must_agree(record: Mapping[str, object], licence: str) -> None:
    assert _licence(record) == licence


def test_a_column_that_the_user_names_is_the_only_one() -> None:
    record = {"title": "Ice", "terms": "CC BY 4.0", "rights": "see the handbook"}
    assert _licence(record, {"licence": "terms"}) == "cc-by-4.0"
    assert _licence(record) == "see the handbook"


async def test_an_adapters_raw_licence_gets_its_name() -> None:
    class Mine:
        name = "mine"

        def revision(self, cursor: str | None) -> None:
            return None

        def datasets(self, cursor: str | None = None) -> list[Dataset]:
            return [Dataset(id="a", title="Ice", licence="Creative Commons Attribution 4.0 International")]

        def papers(self, dataset: Dataset) -> list[Candidate]:
            return [Candidate(Paper(id="p", licence="CC BY‑NC 4.0"), "column")]

        def fetch(self, paper: Paper) -> Fetched:
            return Fetched()

    source = checked(Mine())
    [found] = [e async for e in source.datasets(None)]
    assert isinstance(found, Dataset) and found.licence == "cc-by-4.0"
    assert [c.paper.licence async for c in source.papers(found)] == ["cc-by-nc-4.0"]
