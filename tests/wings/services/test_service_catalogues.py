from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scirgen import Dataset, Rejection, ScirgenError, SourceError, SourceSetup
from scirgen.core.config import HttpConfig
from scirgen.core.errors import SourceRefusedError
from scirgen.testing import check_source
from scirgen.testing.web import Answer, LoopbackServer, Route
from scirgen_services.huggingface import HuggingFaceSource
from scirgen_services.oaipmh import OaiSource
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


# -- Hugging Face Hub --------------------------------------------------------------------------------------------------


def hub_dataset(number: int) -> dict[str, object]:
    return {
        "id": f"org/soil_{number}", "author": "org", "description": "Soil.",
        "cardData": {"pretty_name": f"Soil {number}"},
        "tags": ["license:cc-by-4.0", "language:en", f"arxiv:2001.{number:05}", "climate",
                 "task_categories:tabular-regression"],
    }  # fmt: skip


def test_huggingface_pages_follow_the_link_header_and_the_contract_holds(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    base: list[str] = []
    routes: dict[str, Route] = {
        "/api/datasets": shapes.huggingface([hub_dataset(n) for n in range(7)], base),
    }
    with LoopbackServer(routes) as server:
        base.append(server.url)
        source = HuggingFaceSource(setup(server, page_size=3))
        (first, *rest) = datasets(source)
        assert len(rest) == 6
        assert server.asked[0].headers["Authorization"] == "Bearer hf_secret"
        (candidate,) = source.papers(first)
        entries = list(source.datasets())
        assert sum(not isinstance(e, Dataset) for e in entries) == 2
    assert (first.title, first.licence, first.keywords) == ("Soil 0", "cc-by-4.0", ("climate",))
    assert (candidate.paper.doi, candidate.paper.url) == (
        "10.48550/arxiv.2001.00000",
        "https://arxiv.org/pdf/2001.00000",
    )


def test_huggingface_conforms_without_the_papers_host(setup: Setup) -> None:
    base: list[str] = []
    with LoopbackServer({"/api/datasets": shapes.huggingface([hub_dataset(n) for n in range(7)], base)}) as server:
        base.append(server.url)
        report = check_source(HuggingFaceSource(setup(server, page_size=3)), papers_of=0)
    assert (report.datasets, report.cursors) == (7, 2)


def test_huggingface_a_next_page_on_another_host_is_not_followed(setup: Setup) -> None:
    elsewhere = Answer([hub_dataset(1)], headers={"Link": '<http://10.0.0.1/api/datasets?cursor=1>; rel="next"'})
    with LoopbackServer({"/": lambda _: elsewhere}) as server, pytest.raises(ScirgenError):
        datasets(HuggingFaceSource(setup(server)))


# -- OAI-PMH -----------------------------------------------------------------------------------------------------------


def test_oaipmh_records_follow_resumption_tokens_and_the_contract_holds(setup: Setup) -> None:
    records = [shapes.oai_record(n, deleted=n == 3) for n in range(8)]
    with LoopbackServer({"/": shapes.oaipmh(records, 3)}) as server:
        source = OaiSource(setup(server, set="ocean"))
        report = check_source(source)
        assert (report.datasets, report.cursors, report.candidates) == (7, 2, 7)
        assert server.asked[0].query == {"verb": "ListRecords", "metadataPrefix": "oai_dc", "set": "ocean"}
        first = datasets(source)[0]
    assert (first.id, first.doi, first.licence) == ("oai:x:0", "10.5555/oai.0", "cc-by-4.0")


def test_oaipmh_gives_the_types_asked_for_and_rejects_untitled_records(setup: Setup) -> None:
    records = [shapes.oai_record(1), shapes.oai_record(2, type="article"), shapes.oai_record(3, title="")]
    with LoopbackServer({"/": shapes.oaipmh(records, 9)}) as server:
        entries = list(OaiSource(setup(server, types=["Dataset"])).datasets())
    assert [e.id for e in entries if isinstance(e, Dataset)] == ["oai:x:1"]
    assert [(e.code, e.record_id) for e in entries if isinstance(e, Rejection)] == [("no_title", "oai:x:3")]


def test_oaipmh_empty_repository_and_a_forgotten_token(setup: Setup) -> None:
    with LoopbackServer({"/": shapes.oaipmh([], 9)}) as server:
        assert list(OaiSource(setup(server)).datasets()) == []
        with pytest.raises(SourceRefusedError) as raised:
            list(OaiSource(setup(server)).datasets("expired!"))
    assert raised.value.error_code == "expired_cursor"


def test_oaipmh_external_entities_are_not_read(setup: Setup) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><OAI-PMH>&e;</OAI-PMH>'
    with LoopbackServer({"/": lambda _: Answer(bomb)}) as server, pytest.raises(SourceRefusedError) as raised:
        list(OaiSource(setup(server)).datasets())
    assert raised.value.error_code == "unsafe_xml"


def test_oaipmh_a_reply_cut_short_is_a_retryable_error(setup: Setup) -> None:
    cut = Answer("<OAI-PMH><ListRecords><record>")
    with LoopbackServer({"/": lambda _: cut}) as server, pytest.raises(SourceError) as raised:
        list(OaiSource(setup(server)).datasets())
    assert (raised.value.error_code, raised.value.retryable) == ("bad_reply", True)
