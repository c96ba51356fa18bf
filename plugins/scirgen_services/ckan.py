"""CKAN action API: data.gov, data.europa.eu mirrors and hundreds of research portals.

Documented at https://docs.ckan.org/en/latest/api/ (``package_search``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field

from scirgen import Cursor, Dataset, InputError, Rejection
from scirgen_services.forms.ckan import dataset_of
from scirgen_services.forms.fields import as_dict, as_list, as_text
from scirgen_services.web.json_api import ServiceOptions, WebService


class CkanOptions(ServiceOptions):
    """Selects the packages; ``fq`` is a Solr filter query such as ``organization:geology``."""

    query: str | None = None
    fq: str | None = None
    page_size: int = Field(default=100, ge=1, le=1000)


class CkanSource(WebService[CkanOptions]):
    """Packages in the order of their ids, so that one that is added or changed during the run does not move the
    others."""

    name = "ckan"
    options_type = CkanOptions

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        start = int(cursor) if cursor and cursor.isdecimal() else 0
        if cursor and not cursor.isdecimal():
            raise InputError(f"{cursor!r} is not a cursor of this source", hint="Begin a new run.")
        while True:
            result = self._search(start, self.options.page_size)
            items = as_list(result.get("results"))
            for item in items:
                yield dataset_of(as_dict(item), self.base)
            start += len(items)
            total = result.get("count")
            if not items or (isinstance(total, int) and start >= total):
                return
            yield Cursor(str(start))

    def count(self) -> int | None:
        total = self._search(0, 0).get("count")
        return total if isinstance(total, int) else None

    def _search(self, start: int, rows: int) -> Mapping[str, object]:
        given: dict[str, str | int] = {k: v for k, v in (("q", self.options.query), ("fq", self.options.fq)) if v}
        params = {**given, "rows": rows, "start": start, "sort": "id asc"}
        reply = as_dict(self.http.json(f"{self.base}/api/3/action/package_search", params))
        if reply.get("success") is not True:
            error = as_dict(reply.get("error"))
            raise self.problem(as_text(error.get("message")) or "the reply does not report success")
        return as_dict(reply.get("result"))
