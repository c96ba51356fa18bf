"""OAI-PMH: any repository that is harvested with it, in Dublin Core or DataCite's schema.

Specified at https://www.openarchives.org/OAI/openarchivesprotocol.html.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from pydantic import Field

from scirgen import Cursor, Dataset, Rejection
from scirgen.plugin import SourceRefusedError
from scirgen.stages.collect.files.mapping import RecordMapping
from scirgen.stages.collect.files.recordfiles import OAI, dublin_core, plain_record
from scirgen_services.web.http import is_xml
from scirgen_services.web.json_api import ServiceOptions, WebService


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
        """Yield all records that are not deleted."""
        mapping, token = RecordMapping(), cursor
        while True:
            page = self._page(token)
            for number, record in enumerate(page.iter(f"{OAI}record"), 1):
                found = dublin_core(record)
                types = " ".join(found.get("type", [])).lower() if found else ""
                if found and (not self.options.types or any(t.lower() in types for t in self.options.types)):
                    yield mapping.dataset(plain_record(found), f"OAI record {number}")
            token = (page.findtext(f".//{OAI}resumptionToken") or "").strip()
            if not token:
                return
            yield Cursor(token)

    def _page(self, token: str | None) -> Element:
        """Return the repository's next reply; an empty one if nothing matches.

        Raises:
            SourceRefusedError: ``expired_cursor``, or another error that the repository states (``oai_error``).
            SourceError: the reply is not OAI-PMH.
        """
        from defusedxml import ElementTree

        options = self.options
        given = {
            "metadataPrefix": options.metadata_prefix,
            "set": options.set,
            "from": options.since,
            "until": options.until,
        }
        asked = {"resumptionToken": token} if token else {k: v for k, v in given.items() if v}
        body = self.http.reply(self.base, {"verb": "ListRecords", **asked}, check=is_xml).body
        page: Element = ElementTree.fromstring(body, forbid_dtd=True)
        if page.tag != f"{OAI}OAI-PMH":
            raise self.problem("a reply that is not OAI-PMH")
        error = page.find(f"{OAI}error")
        code = error.get("code") if error is not None else "noRecordsMatch"
        if code == "badResumptionToken":
            raise SourceRefusedError(
                f"{self.base}: the server no longer knows the cursor: {page.findtext(f'{OAI}error')}",
                hint="The repository drops cursors after a while; run with --set collect.http.cache_days=0 to start "
                "again.",
                code="expired_cursor",
            )
        if code != "noRecordsMatch":
            raise SourceRefusedError(f"{self.base}: {code}: {page.findtext(f'{OAI}error')}", code="oai_error")
        return page
