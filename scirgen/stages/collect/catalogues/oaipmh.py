"""OAI-PMH: any repository that is harvested with it, in Dublin Core. oaipmh-scythe speaks the protocol.

Specified at https://www.openarchives.org/OAI/openarchivesprotocol.html.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import httpx2
from pydantic import Field

from scirgen.core.errors import SourceRefusedError, require
from scirgen.core.records import Dataset, Paper, Rejection
from scirgen.core.text.doi import find_doi
from scirgen.core.text.language import language_code
from scirgen.stages.collect.licences import normalise_licence
from scirgen.stages.collect.source import Candidate, Cursor
from scirgen.stages.collect.web.http import Http
from scirgen.stages.collect.web.json_api import ServiceOptions, WebService, as_list, as_text

if TYPE_CHECKING:
    from oaipmh_scythe import Scythe


class OaiOptions(ServiceOptions):
    """``base_url`` is the repository's OAI-PMH endpoint."""

    metadata_prefix: str = "oai_dc"
    set: str | None = None
    since: str | None = None
    until: str | None = None
    types: tuple[str, ...] = Field(
        default=(), description="only records whose dc:type has one of these words (dataset); empty: all"
    )


class OaiSource(WebService[OaiOptions]):
    """Records of a repository. A page is one reply of the repository, and its cursor is the resumption token."""

    name = "oaipmh"
    options_type = OaiOptions
    per_second = 1.0

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        """All records that are not deleted."""
        scythe = _scythe(self.base, self.http)
        token = cursor
        while True:
            page = self._page(scythe, token)
            if page is None:
                return
            for item in page.records:
                found = self._dataset(item)
                if found is not None:
                    yield found
            if not page.token:
                return
            token = page.token
            yield Cursor(token)

    def papers(self, dataset: Dataset) -> Iterator[Candidate]:
        """DOIs in dc:relation."""
        for entry in dataset.related:
            doi = find_doi(entry)
            if doi and doi != dataset.doi:
                yield Candidate(Paper(id=doi, doi=doi, url=f"https://doi.org/{doi}"), "related_identifier")

    def _page(self, scythe: Scythe, token: str | None) -> _Page | None:
        from oaipmh_scythe import exceptions
        from oaipmh_scythe.iterator import OAIResponseIterator

        options = self.options
        given = {
            "metadataPrefix": options.metadata_prefix,
            "set": options.set,
            "from": options.since,
            "until": options.until,
        }
        query = {
            "verb": "ListRecords",
            **({"resumptionToken": token} if token else {k: v for k, v in given.items() if v}),
        }
        try:
            responses = OAIResponseIterator(scythe, query)
        except exceptions.NoRecordsMatch:
            return None
        except exceptions.BadResumptionToken as error:
            raise SourceRefusedError(
                f"{self.base}: the cursor is no longer known: {error}",
                hint="The repository drops cursors after a while; run with --set collect.http.cache_days=0 to start "
                "again.",
                code="expired_cursor",
            ) from error
        except exceptions.OAIPMHException as error:
            raise SourceRefusedError(f"{self.base}: {type(error).__name__}: {error}", code="oai_error") from error
        response = responses.oai_response
        assert response is not None
        root: Any = response.xml
        records = list(root.iterfind(f".//{scythe.oai_namespace}record"))
        following = responses.resumption_token
        return _Page(records, following.token if following else None)

    def _dataset(self, element: Any) -> Dataset | Rejection | None:
        from oaipmh_scythe.models import Record

        try:
            record = Record(element)
        except (ValueError, StopIteration) as error:
            return _rejected("malformed_record", "?", f"an OAI record without header or with empty metadata: {error}")
        identity = as_text(record.header.identifier)
        if record.deleted:
            return None
        metadata: Mapping[str, object] = record.metadata
        types = " ".join(_values(metadata, "type")).lower()
        if self.options.types and not any(t.lower() in types for t in self.options.types):
            return None
        titles = _values(metadata, "title")
        if not titles or not identity:
            return _rejected("no_title", identity or "?", f"OAI record {identity!r} has no title")
        identifiers = _values(metadata, "identifier")
        doi = next((d for i in identifiers if (d := find_doi(i))), None)
        return Dataset(
            id=identity,
            title=titles[0],
            description="\n".join(_values(metadata, "description")),
            doi=doi,
            url=next((i for i in identifiers if i.startswith("http")), f"https://doi.org/{doi}" if doi else None),
            authors=tuple(_values(metadata, "creator")),
            keywords=tuple(_values(metadata, "subject")),
            fields=tuple(
                (label, "; ".join(found))
                for label, key in (
                    ("Publisher", "publisher"), ("Published", "date"), ("Coverage", "coverage"), ("Format", "format"),
                )
                if (found := _values(metadata, key))
            ),
            related=tuple(_values(metadata, "relation")),
            licence=_licence(_values(metadata, "rights")),
            language=language_code((_values(metadata, "language") or [""])[0]),
        )  # fmt: skip


def _rejected(code: str, record_id: str, reason: str) -> Rejection:
    return Rejection.of("collect", code, reason, ("Dataset", record_id))


class _Page:
    def __init__(self, records: list[Any], token: str | None) -> None:
        self.records = records
        self.token = token


def _scythe(endpoint: str, http: Http) -> Scythe:
    """A scythe client that sends its requests through scirgen's client, with checked addresses, rate limits, cache and
    retries."""
    with require("sources", "the source oaipmh"):
        from oaipmh_scythe import Scythe

    class Polite(Scythe):
        def _request(self, query: dict[str, str]) -> httpx2.Response:
            reply = http.reply(self.endpoint, query, check=_whole_xml)
            return httpx2.Response(200, content=reply.body, request=httpx2.Request("GET", self.endpoint))

    return Polite(endpoint)


def _whole_xml(body: bytes) -> None:
    """Raises ValueError for XML that is cut short, or that declares entities or an external DTD."""
    from defusedxml import DefusedXmlException, ElementTree

    try:
        ElementTree.fromstring(body, forbid_dtd=True)
    except DefusedXmlException as error:
        raise SourceRefusedError(
            f"the reply declares a document type, which is refused: {error}", code="unsafe_xml"
        ) from error
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error


def _values(metadata: Mapping[str, object], key: str) -> list[str]:
    found = metadata.get(key)
    return [t for v in (as_list(found) if isinstance(found, list) else [found]) if (t := as_text(v))]


def _licence(rights: list[str]) -> str:
    known = [normalise_licence(r) for r in rights]
    return next(
        (k for k in known if k.startswith(("cc", "public-domain", "odc", "odbl"))), known[0] if known else "unknown"
    )
