from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scirgen import Dataset, Rejection, ScirgenError, SourceError, SourceSetup
from scirgen.core.config import HttpConfig
from scirgen.testing import check_source
from scirgen.testing.web import Answer, LoopbackServer
from scirgen_services.ckan import CkanSource
from scirgen_services.datacite import DataCiteSource
from tests.support import catalogue_shapes as shapes

Setup = Callable[..., SourceSetup]
HTTP = HttpConfig(allow_private_addresses=True, requests_per_second=1e6, retries=0, contact="me@example.org")


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    def make(server: LoopbackServer, **options: object) -> SourceSetup:
        return SourceSetup(cache=tmp_path / "cache", options={"base_url": server.url, **options}, http=HTTP)

    return make


def datasets(source: object) -> list[Dataset]:
    return [e for e in source.datasets() if isinstance(e, Dataset)]


# -- DataCite ----------------------------------------------------------------------------------------------------------


def test_datacite_a_record_becomes_a_dataset_with_its_papers(setup: Setup) -> None:
    with LoopbackServer({"/dois": shapes.datacite([shapes.datacite_record(1)])}) as server:
        source = DataCiteSource(setup(server, prefix="10.5555", query="soil"))
        (found,) = datasets(source)
        asked = server.asked[0].query
    assert (asked["prefix"], asked["query"], asked["resource-type-id"]) == ("10.5555", "soil", "dataset")
    assert (found.id, found.title, found.licence) == ("10.5555/data.1", "Soil record 1", "cc-by-4.0")
    assert found.description == "Soil moisture at site 1."
    assert found.translations == (("zh", "title", "数据 1"),)
    assert dict(found.fields)["Spatial extent"] == "longitude 98 to 101, latitude 38 to 42 (degrees)"
    assert dict(found.fields)["Time range"] == "2012/2018"
    assert [(c.paper.doi, c.found_by) for c in source.papers(found)] == [("10.5555/paper.1", "related_identifier")]


def test_datacite_pages_follow_the_cursor_and_the_contract_holds(setup: Setup) -> None:
    records = [shapes.datacite_record(n) for n in range(1, 24)]
    with LoopbackServer({"/dois": shapes.datacite(records)}) as server:
        source = DataCiteSource(setup(server, page_size=5))
        report = check_source(source)
        assert (report.datasets, report.cursors, report.rejections) == (23, 4, 0)
        assert source.count() == 23


def test_datacite_incomplete_records_are_set_aside_or_read_in_part(
    setup: Setup,
) -> None:
    bare = {
        "id": "10.5555/bare",
        "attributes": {"doi": "10.5555/bare", "titles": [{"title": "Bare"}], "rightsList": None},
    }
    records = [shapes.datacite_record(1, titles=[]), bare, {"id": "10.5555/x"}]
    with LoopbackServer({"/dois": shapes.datacite(records)}) as server:
        entries = list(DataCiteSource(setup(server)).datasets())
    assert [(e.code, e.record_id) for e in entries if isinstance(e, Rejection)] == [
        ("no_title", "10.5555/data.1"), ("no_title", "10.5555/x"),
    ]  # fmt: skip
    assert [(e.title, e.licence) for e in entries if isinstance(e, Dataset)] == [("Bare", "unknown")]


@pytest.mark.parametrize(
    ("answer", "code", "retryable"),
    [
        (Answer({}, 429, {"Retry-After": "999"}), "rate_limited", True), (Answer("x", 502), "http_502", True),
        (Answer({"errors": [{"title": "bad"}]}, 400), "http_400", False),
        (Answer('{"data": [', 200), "bad_reply", True),
        (Answer({"meta": {}}), "bad_reply", True),
    ],
)  # fmt: skip
def test_datacite_faults_are_errors_that_say_whether_to_try_again(
    setup: Setup, answer: Answer, code: str, retryable: bool
) -> None:
    with LoopbackServer({"/dois": lambda _: answer}) as server, pytest.raises(SourceError) as raised:
        datasets(DataCiteSource(setup(server)))
    assert (raised.value.error_code, raised.value.retryable) == (code, retryable)


def test_a_catalogue_is_read_from_the_cache_the_second_time(setup: Setup) -> None:
    with LoopbackServer({"/dois": shapes.datacite([shapes.datacite_record(n) for n in range(9)])}) as server:
        first = datasets(DataCiteSource(setup(server, page_size=3)))
        asked = len(server.asked)
        assert datasets(DataCiteSource(setup(server, page_size=3))) == first
        assert len(server.asked) == asked == 3


def test_an_unknown_option_of_a_catalogue_names_the_known_one(setup: Setup) -> None:
    with LoopbackServer({}) as server, pytest.raises(ScirgenError) as raised:
        DataCiteSource(setup(server, qeury="x"))
    assert "query" in raised.value.hint


# -- CKAN --------------------------------------------------------------------------------------------------------------


def package(number: int, **more: object) -> dict[str, object]:
    return {
        "id": f"id-{number:03}", "name": f"rivers-{number}", "title": f"Rivers {number}", "license_id": "cc-by",
        "notes": f"Levels, see https://doi.org/10.5555/paper.{number}.",
        "tags": [{"display_name": "water", "name": "w"}],
        "extras": [{"key": "doi", "value": f"10.5555/ckan.{number}"}, {"key": "Gauge", "value": "radar"}],
        "organization": {"title": "Survey"}, "resources": [{"format": "CSV"}, {"format": "CSV"}], **more,
    }  # fmt: skip


def test_ckan_packages_are_paged_in_a_stable_order_and_the_contract_holds(setup: Setup) -> None:
    with LoopbackServer({"/api/3/action/package_search": shapes.ckan([package(n) for n in range(12)])}) as server:
        source = CkanSource(setup(server, page_size=5, fq="organization:survey"))
        report = check_source(source)
        assert (report.datasets, report.cursors, report.candidates) == (12, 2, 12)
        assert source.count() == 12
        (first, *_) = datasets(source)
    assert (first.doi, first.licence, first.keywords) == ("10.5555/ckan.0", "cc-by", ("water",))
    assert first.fields == (("Organisation", "Survey"), ("Format", "CSV"), ("Gauge", "radar"))
    assert first.url == f"{server.url}/dataset/rivers-0"


def test_ckan_says_what_the_portal_said_when_it_refuses(setup: Setup) -> None:
    refused = Answer({"success": False, "error": {"message": "Search error: bad fq"}})
    with LoopbackServer({"/": lambda _: refused}) as server, pytest.raises(SourceError, match="bad fq"):
        datasets(CkanSource(setup(server)))


def test_ckan_package_without_a_title_uses_its_name(setup: Setup) -> None:
    packages = [package(1, title=""), package(2, title="", name="")]
    with LoopbackServer({"/": shapes.ckan(packages)}) as server:
        entries = list(CkanSource(setup(server)).datasets())
    assert [e.title for e in entries if isinstance(e, Dataset)] == ["rivers-1"]
    assert [e.code for e in entries if isinstance(e, Rejection)] == ["no_title"]
