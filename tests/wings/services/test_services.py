from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scirgen import Candidate, ConfigError, Dataset, InputError, Paper, SourceError, SourceSetup
from scirgen.core.config import HttpConfig
from scirgen.plugin import SourceRefusedError
from scirgen.stages.collect.files.folder import FolderSource
from scirgen.stages.collect.validated_source import CheckedSource
from scirgen.testing import check_source
from scirgen.testing.web import Answer, Asked, LoopbackServer
from scirgen_estimate import estimate
from scirgen_services.arxiv import ArxivService
from scirgen_services.bibliography import BibliographyService, FolderService
from scirgen_services.events import EventsService
from scirgen_services.openalex import OpenAlexService
from scirgen_services.semantic_scholar import SemanticScholarService
from scirgen_services.unpaywall import UnpaywallService
from tests.support import catalogue_shapes as shapes

DATASET = Dataset(id="d1", title="Soil moisture of the Heihe basin", doi="10.5555/data.1")
PDF = Answer(b"%PDF-1.7\nbody")
Setup = Callable[..., SourceSetup]


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    def make(
        server: LoopbackServer | None = None, contact: str | None = "me@example.org", **options: object
    ) -> SourceSetup:
        http = HttpConfig(allow_private_addresses=True, requests_per_second=1e6, retries=0, contact=contact)
        base = {"base_url": server.url} if server else {}
        return SourceSetup(cache=tmp_path / "cache", options={**base, **options}, http=http)

    return make


def found(candidates: Iterator[Candidate] | list[Candidate]) -> list[tuple[str, str]]:
    return [(c.paper.id, c.found_by) for c in candidates]


# -- OpenAlex ----------------------------------------------------------------------------------------------------------


def test_openalex_citing_works_come_before_mentioning_ones_each_once(setup: Setup) -> None:
    works = {"10.5555/data.1": {"id": "https://openalex.org/W99", "doi": "https://doi.org/10.5555/data.1"}}
    lists = {
        "cites:W99": [shapes.openalex_work(n) for n in range(5)],
        "fulltext.search": [shapes.openalex_work(n) for n in (3, 7)],
    }
    with LoopbackServer({"/works": shapes.openalex(works, lists)}) as server:
        got = found(OpenAlexService(setup(server)).papers(DATASET))
        assert all(a.query["mailto"] == "me@example.org" for a in server.asked)
    assert got == [(f"10.5555/paper.{n}", "cites") for n in range(5)] + [("10.5555/paper.7", "mentions_doi")]


def test_openalex_pages_and_stops_at_the_most_that_is_wanted(setup: Setup) -> None:
    works = {"10.5555/data.1": {"id": "https://openalex.org/W99"}}
    many = {"cites:W99": [shapes.openalex_work(n) for n in range(450)]}
    with LoopbackServer({"/works": shapes.openalex(works, many)}) as server:
        assert len(list(OpenAlexService(setup(server, most=300, mentions=False)).papers(DATASET))) == 300
        assert [a.query.get("cursor") for a in server.asked[1:]] == ["*", "200"]


def test_openalex_searches_for_unknown_datasets_if_they_have_a_doi(setup: Setup) -> None:
    with LoopbackServer({"/works": shapes.openalex({}, {"fulltext": [shapes.openalex_work(7)]})}) as server:
        service = OpenAlexService(setup(server))
        assert found(service.papers(DATASET)) == [("10.5555/paper.7", "mentions_doi")]
        asked = len(server.asked)
        assert found(service.papers(Dataset(id="x", title="No DOI"))) == []
        assert len(server.asked) == asked


def test_openalex_an_open_copy_is_downloaded_and_its_licence_recorded(setup: Setup) -> None:
    with LoopbackServer({"/oa.pdf": lambda _: PDF}) as server:
        work = shapes.openalex_work(7, pdf=server.url + "/oa.pdf")
        server.routes["/works"] = shapes.openalex({"10.5555/paper.7": work}, {"fulltext": [work]})
        service = OpenAlexService(setup(server))
        (candidate,) = service.papers(DATASET)
        assert (candidate.paper.licence, candidate.paper.year, candidate.paper.authors) == (
            "cc-by",
            2020,
            ("Jane Roe",),
        )
        assert service.fetch(candidate.paper).media_type == "application/pdf"
        assert service.fetch(Paper(id="p", doi="10.5555/paper.7")).file is not None
        assert service.fetch(Paper(id="q", doi="10.5555/unknown")).code == "no_open_copy"


def test_openalex_the_key_is_sent_but_not_kept_in_the_cache(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENALEX_API_KEY", "sesame-opens")
    with LoopbackServer({"/works": shapes.openalex({}, {"fulltext": []})}) as server:
        list(OpenAlexService(setup(server)).papers(DATASET))
        assert {a.query["api_key"] for a in server.asked} == {"sesame-opens"}
    kept = b"".join(p.read_bytes() for p in (tmp_path / "cache").iterdir() if p.is_file())
    assert kept and b"sesame" not in kept


@pytest.mark.parametrize("answer", [Answer({}, 429, {"Retry-After": "999"}), Answer("x", 500), Answer('{"results": [')])
def test_openalex_faults_are_retryable_errors(setup: Setup, answer: Answer) -> None:
    with LoopbackServer({"/": lambda _: answer}) as server, pytest.raises(SourceError) as raised:
        list(OpenAlexService(setup(server)).papers(DATASET))
    assert raised.value.retryable


def test_openalex_estimate_and_error_say_that_it_wants_a_key_and_charges(setup: Setup, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps([{"title": "Soil moisture", "doi": "10.5555/data.1"}]))
    with LoopbackServer({"/works": shapes.openalex({}, {"fulltext": []})}) as server:
        settings = {
            "collect.papers_from": ["openalex"],
            "collect.paper_options": {"openalex": {"base_url": server.url}},
            "collect.http.allow_private_addresses": True,
        }
        found = estimate(tmp_path / "run", input=tmp_path / "r.json", model="openai:x-7b", settings=settings)
    assert any("OPENALEX_API_KEY" in note and "charges above a free amount" in note for note in found.notes)
    with LoopbackServer({"/": lambda _: Answer({}, 402)}) as server, pytest.raises(SourceRefusedError) as refused:
        list(OpenAlexService(setup(server)).papers(DATASET))
    assert "wants a key, or what it gives free is used up" in refused.value.hint


# -- events ------------------------------------------------------------------------------------------------------------


def event(subject: str, target: str, relation: str = "references", source: str = "crossref") -> dict[str, object]:
    ends = {"subj-id": f"https://doi.org/{subject}", "obj-id": f"https://doi.org/{target}"}
    return {
        "id": f"{subject}-{target}",
        "type": "events",
        "attributes": {**ends, "relation-type-id": relation, "source-id": source},
    }


def test_events_give_the_other_end_of_each_link_once(setup: Setup) -> None:
    events = [
        event("10.5555/Paper.1", "10.5555/data.1"),
        event("10.5555/data.1", "10.5555/paper.2", "is-cited-by", "datacite-crossref"),
        event("10.5555/paper.1", "10.5555/data.1"), event("10.5555/x", "10.5555/data.1", "is-part-of"),
        event("10.5555/y", "10.5555/data.1", source="datacite-usage"),
    ]  # fmt: skip

    def route(asked: Asked) -> Answer:
        number, size = int(asked.query["page[number]"]), 2
        page = events[(number - 1) * size : number * size]
        return Answer({"data": page, "meta": {"total": 5, "totalPages": 3, "page": number}})

    with LoopbackServer({"/events": route}) as server:
        got = found(EventsService(setup(server)).papers(DATASET))
        assert [a.query["doi"] for a in server.asked] == ["10.5555/data.1"] * 3
    assert got == [("10.5555/paper.1", "event_link"), ("10.5555/paper.2", "event_link")]


# -- Semantic Scholar --------------------------------------------------------------------------------------------------


def test_semantic_scholar_follows_the_offsets(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2_API_KEY", "k")

    def route(asked: Asked) -> Answer:
        start = int(asked.query["offset"])
        data = [
            {
                "citingPaper": {
                    "paperId": f"s{n}",
                    "title": "T",
                    "externalIds": {"DOI": f"10.5555/P{n}"} if n else {},
                    "year": 2021,
                }
            }
            for n in range(start, start + 2)
        ]
        return Answer({"offset": start, **({"next": start + 2} if start < 2 else {}), "data": data})

    with LoopbackServer({"/graph/v1/paper/DOI:10.5555/data.1/citations": route}) as server:
        got = found(SemanticScholarService(setup(server)).papers(DATASET))
        headers = {k.lower(): v for k, v in server.asked[0].headers.items()}
        assert headers["x-api-key"] == "k"
    assert got == [("s0", "cites"), ("10.5555/p1", "cites"), ("10.5555/p2", "cites"), ("10.5555/p3", "cites")]


def test_semantic_scholar_finds_open_copies_by_doi(setup: Setup) -> None:
    with LoopbackServer({"/x.pdf": lambda _: PDF}) as server:
        server.routes["/graph/v1/paper/DOI:10.5555/p"] = lambda _: Answer(
            {"openAccessPdf": {"url": server.url + "/x.pdf"}}
        )
        service = SemanticScholarService(setup(server))
        assert found(service.papers(DATASET)) == []
        assert service.fetch(Paper(id="p", doi="10.5555/p")).file is not None
        assert service.fetch(Paper(id="q", doi="10.5555/q")).code == "no_open_copy"


# -- arXiv -------------------------------------------------------------------------------------------------------------

FEED = """<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>q</title>{}</feed>"""
ENTRY = """<entry><id>http://arxiv.org/abs/{n}</id><published>2023-05-01T00:00:00Z</published><title>On
  soil</title><summary>{s}</summary><author><name>A. Uthor</name></author></entry>"""


def test_arxiv_finds_preprints_and_fetches_their_files(setup: Setup) -> None:
    feed = Answer(FEED.format(ENTRY.format(n="2305.00001v2", s="") + ENTRY.format(n="2305.00002v1", s="")))
    with LoopbackServer({"/api/query": lambda _: feed, "/pdf/2305.00001": lambda _: PDF}) as server:
        service = ArxivService(setup(server, pdf_url=server.url))
        dataset = DATASET.model_copy(update={"related": ("arxiv:2305.00002", "10.5555/other")})
        candidates = list(service.papers(dataset))
        assert server.asked[0].query["search_query"] == 'all:"Soil moisture of the Heihe basin"'
        assert service.fetch(candidates[1].paper).file is not None
        assert service.fetch(Paper(id="x", doi="10.5555/p")).code == "no_open_copy"
    assert found(candidates) == [
        ("10.48550/arxiv.2305.00002", "related_identifier"), ("10.48550/arxiv.2305.00001", "text_search"),
    ]  # fmt: skip
    assert (candidates[1].paper.title, candidates[1].paper.year) == ("On soil", 2023)


def test_arxiv_asks_no_more_often_than_its_terms_allow() -> None:
    assert ArxivService.per_second == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("body", "retryable"),
    [(FEED.format(ENTRY.format(n="x", s="bad query").replace("On\n  soil", "Error")), False), ("<feed><entry>", True)],
)
def test_arxiv_errors_in_the_feed_are_errors(setup: Setup, body: str, retryable: bool) -> None:
    with LoopbackServer({"/api/query": lambda _: Answer(body)}) as server, pytest.raises(SourceError) as raised:
        list(ArxivService(setup(server)).papers(DATASET))
    assert raised.value.retryable is retryable


# -- Unpaywall ---------------------------------------------------------------------------------------------------------


def test_unpaywall_tries_the_open_locations_in_turn(setup: Setup) -> None:
    with LoopbackServer({"/login.pdf": lambda _: Answer("<html>log in</html>"), "/ok.pdf": lambda _: PDF}) as server:
        places = [{"url_for_pdf": None}, {"url_for_pdf": server.url + "/ok.pdf"}]
        server.routes["/v2/10.5555/p"] = lambda _: Answer(
            {"doi": "10.5555/p", "best_oa_location": {"url_for_pdf": server.url + "/login.pdf"}, "oa_locations": places}
        )
        service = UnpaywallService(setup(server))
        assert service.fetch(Paper(id="p", doi="10.5555/p")).file is not None
        assert server.asked[0].query["email"] == "me@example.org"
        assert service.fetch(Paper(id="q", doi="10.5555/nothing")).code == "no_open_copy"
        assert list(service.papers(DATASET)) == []


def test_unpaywall_without_a_contact_address_is_refused_before_any_work(setup: Setup) -> None:
    with pytest.raises(ConfigError) as raised:
        UnpaywallService(setup(contact=None))
    assert "collect.http.contact" in raised.value.hint


# -- bibliography and folder -------------------------------------------------------------------------------------------

BIB = """@article{roe2020, title = {A {Study} of Soil}, doi = {10.5555/P1}, year = {2020}, keywords = {10.5555/data.1; \
soil},
  file = {Full Text PDF:files/12/roe.md:text/markdown}}
@article{doe2021, title = {Another}, doi = {10.5555/p2}, year = {2021}, keywords = {d1}}
@article{poe2022, title = {Unrelated}, doi = {10.5555/p3}}
"""
RIS = (
    "TY  - JOUR\nTI  - A Study of Soil\nDO  - 10.5555/P1\nPY  - 2020\n"
    "KW  - 10.5555/data.1\nL1  - files/12/roe.md\nER  - \n"
)


@pytest.mark.parametrize(("name", "text"), [("z.bib", BIB), ("z.ris", RIS)])
def test_a_bibliography_gives_its_entries_and_their_files(setup: Setup, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "files" / "12").mkdir(parents=True)
    (tmp_path / "files" / "12" / "roe.md").write_text("# Soil")
    (tmp_path / name).write_text(text)
    service = BibliographyService(setup(file=str(tmp_path / name)))
    candidates = service.papers(DATASET)
    assert found(candidates)[0] == ("10.5555/p1", "column")
    assert (candidates[0].paper.title, candidates[0].paper.year) == ("A Study of Soil", 2020)
    assert service.fetch(candidates[0].paper).file == tmp_path / "files" / "12" / "roe.md"
    if name == "z.bib":
        assert found(candidates)[1:] == [("10.5555/p2", "bibliography")]
        assert service.fetch(candidates[1].paper).code == "no_open_copy"


def test_a_bibliography_or_folder_that_is_not_there_is_an_input_error(setup: Setup, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        BibliographyService(setup(file=str(tmp_path / "none.bib")))
    with pytest.raises(InputError):
        FolderService(setup(folder=str(tmp_path / "none")))


# -- together ----------------------------------------------------------------------------------------------------------


def test_services_beside_a_source_add_papers_and_files(setup: Setup, catalogue: Path) -> None:
    with LoopbackServer({"/v2/10.5555/paper.7": lambda _: Answer({"best_oa_location": None})}) as server:
        server.routes["/v2/10.5555/paper.7"] = lambda _: Answer(
            {"best_oa_location": {"url_for_pdf": server.url + "/ok.pdf"}}
        )
        server.routes["/ok.pdf"] = lambda _: PDF
        server.routes["/works"] = shapes.openalex({}, {"fulltext": [shapes.openalex_work(7)]})
        services = [OpenAlexService(setup(server)), UnpaywallService(setup(server))]
        source = CheckedSource(FolderSource(SourceSetup(input=catalogue)), services)
        report = check_source(source)
    # lake-ice: a file of the folder and a work without an OpenAlex location, whose file Unpaywall knows; soil-temp: a
    # file.
    assert (report.datasets, report.candidates, report.files) == (3, 3, 3)


async def test_a_failing_service_loses_the_paper_only_until_the_next_run(setup: Setup, catalogue: Path) -> None:
    with LoopbackServer({"/": lambda _: Answer("x", 503)}) as server:
        source = CheckedSource(FolderSource(SourceSetup(input=catalogue)), [UnpaywallService(setup(server))])
        with pytest.raises(SourceError) as raised:
            await source.fetch(Paper(id="p", doi="10.5555/p"))
    assert raised.value.retryable
