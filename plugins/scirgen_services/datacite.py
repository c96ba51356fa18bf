"""DataCite REST API: datasets of TPDC, PANGAEA, Zenodo, Dryad, GFZ and all others with DataCite DOIs.

Documented at https://support.datacite.org/docs/api and https://support.datacite.org/docs/pagination (cursors).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

from scirgen import Cursor, Dataset, Rejection
from scirgen_services.forms.datacite import dataset_of
from scirgen_services.forms.fields import as_dict, as_list, as_text
from scirgen_services.web.json_api import ServiceOptions, WebService


class DataCiteOptions(ServiceOptions):
    """Selects the DOIs, by any combination of a query, a repository and a prefix."""

    base_url: str = "https://api.datacite.org"
    query: str | None = None
    client: str | None = None
    prefix: str | None = None
    page_size: int = 100


class DataCiteSource(WebService[DataCiteOptions]):
    """Datasets by repository (``client``), DOI prefix or query; papers are the related identifiers of a record."""

    name = "datacite"
    options_type = DataCiteOptions

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        """Yield the pages in the order of creation: a record added during the run comes at the end, so none is lost or
        read twice."""
        token = cursor or "1"
        while True:
            reply = as_dict(self.http.json(f"{self.base}/dois", self._params(token, self.options.page_size)))
            if "data" not in reply:
                raise self.problem("a page without 'data'")
            items = as_list(reply["data"])
            for item in items:
                yield dataset_of(as_dict(item))
            link = as_text(as_dict(reply.get("links")).get("next"))
            following = next(iter(parse_qs(urlsplit(link).query).get("page[cursor]", [])), "")
            if not items or not following or following == token:
                return
            token = following
            yield Cursor(token)

    def count(self) -> int | None:
        reply = as_dict(self.http.json(f"{self.base}/dois", self._params("1", 1)))
        total = as_dict(reply.get("meta")).get("total")
        return total if isinstance(total, int) else None

    def _params(self, token: str, size: int) -> dict[str, str | int]:
        options = self.options
        given = {"query": options.query, "client-id": options.client, "prefix": options.prefix}
        params: dict[str, str | int] = {k: v for k, v in given.items() if v}
        return {**params, "resource-type-id": "dataset", "page[size]": size, "page[cursor]": token}


class LookupOptions(ServiceOptions):
    """The service's address."""

    base_url: str = "https://api.datacite.org"


class DataCiteLookup(WebService[LookupOptions]):
    """Looks one dataset up at a time."""

    name = "datacite"
    options_type = LookupOptions

    def by_title(self, title: str) -> Dataset | Rejection | None:
        """Return DataCite's record of a dataset whose title has the words of a name and few others; None if there is
        none."""
        query: dict[str, str | int] = {
            "query": f'titles.title:"{title}"',
            "resource-type-id": "dataset",
            "page[size]": 5,
        }
        wanted = set(title.lower().split())
        for reply in as_list((self.known(f"{self.base}/dois", query) or {}).get("data")):
            record = dataset_of(as_dict(reply))
            words = re.findall(r"[\w-]+", record.title.lower()) if isinstance(record, Dataset) else []
            if wanted <= set(words) and len(words) <= 2 * len(wanted):
                return record
        return None

    def by_doi(self, doi: str) -> Dataset | Rejection | None:
        """Return DataCite's record of a dataset; None if DataCite does not know the DOI, or it is not a dataset's."""
        reply = as_dict((self.known(f"{self.base}/dois/{doi}", {}) or {}).get("data"))
        kind = as_dict(as_dict(reply.get("attributes")).get("types")).get("resourceTypeGeneral")
        return dataset_of(reply) if kind == "Dataset" else None
