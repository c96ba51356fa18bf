"""Replies of the shapes that the services document, made from short descriptions; and loopback services that page
through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scirgen.testing.web import Answer, Asked, Route


def datacite_record(number: int, **attributes: object) -> dict[str, object]:
    """A DOI of https://api.datacite.org/dois."""
    return {
        "id": f"10.5555/data.{number}",
        "type": "dois",
        "attributes": {
            "doi": f"10.5555/data.{number}",
            "titles": [{"title": f"数据 {number}", "lang": "zh"}, {"title": f"Soil record {number}", "lang": "en"}],
            "descriptions": [
                {"description": "How it was made.", "descriptionType": "Methods"},
                {"description": f"Soil moisture at site {number}.", "descriptionType": "Abstract", "lang": "en"},
            ],
            "creators": [{"name": "Li, Xin", "nameType": "Personal"}],
            "subjects": [{"subject": "soil moisture"}, {"subject": "permafrost"}],
            "relatedIdentifiers": [
                {"relationType": "IsCitedBy", "relatedIdentifier": f"10.5555/paper.{number}",
                 "relatedIdentifierType": "DOI"},
                {"relationType": "IsNewVersionOf", "relatedIdentifier": "10.5555/old", "relatedIdentifierType": "DOI"},
                {
                    "relationType": "References", "relatedIdentifier": "10.5555/data.0", "relatedIdentifierType": "DOI",
                    "resourceTypeGeneral": "Dataset",
                },
            ],
            "rightsList": [{"rightsUri": "https://creativecommons.org/licenses/by/4.0/legalcode",
                            "rightsIdentifier": "cc-by-4.0"}],
            "publisher": "National Tibetan Plateau Data Center",
            "publicationYear": 2021,
            "geoLocations": [
                {
                    "geoLocationPlace": "Heihe",
                    "geoLocationBox": {
                        "westBoundLongitude": 98, "eastBoundLongitude": 101, "southBoundLatitude": 38,
                        "northBoundLatitude": 42,
                    },
                }
            ],
            "dates": [{"date": "2012/2018", "dateType": "Collected"}],
            "language": "en",
            "url": f"https://data.example.org/{number}",
            **attributes,
        },
    }  # fmt: skip


def datacite(records: Sequence[Mapping[str, object]]) -> Route:
    """``/dois`` with cursor paging; the next link repeats the query, as the service's does."""

    def route(asked: Asked) -> Answer:
        size, start = int(asked.query["page[size]"]), int(asked.query["page[cursor]"]) - 1
        page = records[start : start + size]
        links = {"self": "..."}
        if start + size < len(records):
            links["next"] = f"https://api.datacite.org/dois?page%5Bcursor%5D={start + size + 1}&page%5Bsize%5D={size}"
        return Answer({"data": page, "meta": {"total": len(records), "totalPages": 1, "page": 1}, "links": links})

    return route


def openalex_work(number: int, pdf: str | None = None, **more: object) -> dict[str, object]:
    """A work of https://api.openalex.org/works."""
    location = {"pdf_url": pdf, "landing_page_url": f"https://doi.org/10.5555/paper.{number}", "license": "cc-by"}
    return {
        "id": f"https://openalex.org/W{number}",
        "doi": f"https://doi.org/10.5555/paper.{number}",
        "title": f"A study of soil {number}",
        "publication_year": 2020,
        "authorships": [{"author": {"display_name": "Jane Roe"}}],
        "best_oa_location": location if pdf else None,
        **more,
    }


def openalex(works: Mapping[str, Mapping[str, object]], lists: Mapping[str, Sequence[Mapping[str, object]]]) -> Route:
    """``/works``: single works by DOI, and lists by filter with cursor paging."""

    def route(asked: Asked) -> Answer:
        doi = asked.path.partition("https://doi.org/")[2]
        if doi:
            return Answer(works[doi]) if doi in works else Answer({"error": "not found"}, 404)
        found = next((v for k, v in lists.items() if k in asked.query["filter"]), [])
        size, start = int(asked.query["per-page"]), int(asked.query["cursor"].replace("*", "0"))
        following = str(start + size) if start + size < len(found) else None
        return Answer(
            {"meta": {"count": len(found), "next_cursor": following}, "results": list(found[start : start + size])}
        )

    return route


def ckan(packages: Sequence[Mapping[str, object]]) -> Route:
    """``package_search`` with start and rows."""

    def route(asked: Asked) -> Answer:
        if asked.query.get("sort") != "id asc":
            return Answer({"success": False, "error": {"message": "unstable order", "__type": "Search Error"}}, 409)
        start, rows = int(asked.query["start"]), int(asked.query["rows"])
        return Answer({"success": True, "result": {"count": len(packages), "results": packages[start : start + rows]}})

    return route


def huggingface(datasets: Sequence[Mapping[str, object]], base: list[str]) -> Route:
    """``/api/datasets``; the next page is named by the Link header. ``base`` holds the server's address once it
    runs."""

    def route(asked: Asked) -> Answer:
        start, size = int(asked.query.get("cursor", 0)), int(asked.query["limit"])
        headers = {}
        if start + size < len(datasets):
            headers["Link"] = f'<{base[0]}/api/datasets?limit={size}&cursor={start + size}>; rel="next"'
        return Answer(list(datasets[start : start + size]), headers=headers)

    return route


_OAI = (
    '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/">'
    "<responseDate>2024-01-01T00:00:00Z</responseDate>{}</OAI-PMH>"
)
_DC = (
    "<record><header{deleted}><identifier>oai:x:{n}</identifier>"
    "<datestamp>2024-01-01</datestamp></header>{metadata}</record>"
)
_METADATA = (
    '<metadata><oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/">'
    "{fields}</oai_dc:dc></metadata>"
)  # fmt: skip


def oai_record(number: int, *, deleted: bool = False, **fields: str) -> str:
    """A record in Dublin Core."""
    given = {
        "title": f"Ocean record {number}", "identifier": f"https://doi.org/10.5555/oai.{number}", "type": "dataset",
        "rights": "Creative Commons Attribution 4.0", "relation": f"10.5555/paper.{number}", **fields,
    }  # fmt: skip
    texts = "".join(f"<dc:{k}>{v}</dc:{k}>" for k, v in given.items() if v)
    metadata = "" if deleted else _METADATA.format(fields=texts)
    return _DC.format(n=number, deleted=' status="deleted"' if deleted else "", metadata=metadata)


def oaipmh(records: Sequence[str], size: int) -> Route:
    """``ListRecords`` with resumption tokens."""

    def route(asked: Asked) -> Answer:
        token = asked.query.get("resumptionToken", "t0")
        if not token[1:].isdecimal():
            return Answer(_OAI.format('<error code="badResumptionToken">expired</error>'))
        if not records:
            return Answer(_OAI.format('<error code="noRecordsMatch">nothing</error>'))
        start = int(token[1:])
        following = f"t{start + size}" if start + size < len(records) else ""
        page = "".join(records[start : start + size]) + f"<resumptionToken>{following}</resumptionToken>"
        return Answer(_OAI.format(f"<ListRecords>{page}</ListRecords>"), headers={"Content-Type": "text/xml"})

    return route
