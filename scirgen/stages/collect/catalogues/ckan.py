"""CKAN action API: data.gov, data.europa.eu mirrors and hundreds of research portals.

Documented at https://docs.ckan.org/en/latest/api/ (``package_search``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field

from scirgen.core.errors import InputError
from scirgen.core.records import Dataset, Paper, Rejection
from scirgen.core.text.doi import find_doi, find_dois
from scirgen.core.text.language import language_code
from scirgen.stages.collect.licences import normalise_licence
from scirgen.stages.collect.source import Candidate, Cursor
from scirgen.stages.collect.web.json_api import ServiceOptions, WebService, as_dict, as_list, as_text


class CkanOptions(ServiceOptions):
    """Selects the packages; ``fq`` is a Solr filter query such as ``organization:geology``."""

    query: str | None = None
    fq: str | None = None
    page_size: int = Field(default=100, ge=1, le=1000)


class CkanSource(WebService[CkanOptions]):
    """Packages in the order of their ids, so that one that is added or changed during the run does not move the others."""

    name = "ckan"
    options_type = CkanOptions

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        """All packages from an offset on."""
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
        """The number of packages."""
        total = self._search(0, 0).get("count")
        return total if isinstance(total, int) else None

    def papers(self, dataset: Dataset) -> Iterator[Candidate]:
        """DOIs in the package's text and extras, except its own."""
        for doi in dict.fromkeys(d for entry in dataset.related for d in find_dois(entry)):
            if doi != dataset.doi:
                yield Candidate(Paper(id=doi, doi=doi, url=f"https://doi.org/{doi}"), "related_identifier")

    def _search(self, start: int, rows: int) -> Mapping[str, object]:
        given: dict[str, str | int] = {k: v for k, v in (("q", self.options.query), ("fq", self.options.fq)) if v}
        params = {**given, "rows": rows, "start": start, "sort": "id asc"}
        reply = as_dict(self.http.json(f"{self.base}/api/3/action/package_search", params))
        if reply.get("success") is not True:
            error = as_dict(reply.get("error"))
            raise self.problem(as_text(error.get("message")) or "the reply does not say success")
        return as_dict(reply.get("result"))


def dataset_of(item: Mapping[str, object], portal: str = "") -> Dataset | Rejection:
    """The dataset that a CKAN package describes, or the reason why it cannot be used; ``portal`` is the address below
    which its page is."""
    extras = {as_text(as_dict(e).get("key")): as_text(as_dict(e).get("value")) for e in as_list(item.get("extras"))}
    identity = as_text(item.get("id")) or as_text(item.get("name"))
    title, notes = as_text(item.get("title")) or as_text(item.get("name")), as_text(item.get("notes"))
    if not title or not identity:
        lacks = "title" if identity else "id"
        reason = f"CKAN package {identity or title!r} has no {lacks}"
        return Rejection.of("collect", f"no_{lacks}", reason, ("Dataset", identity or "?"))
    licence = as_text(item.get("license_url")) or as_text(item.get("license_id")) or as_text(item.get("license_title"))
    doi = find_doi(as_text(item.get("doi")) or extras.get("doi") or extras.get("DOI"))
    formats = (as_text(as_dict(r).get("format")) for r in as_list(item.get("resources")))
    return Dataset(
        id=identity,
        title=title,
        description=notes,
        doi=doi,
        url=as_text(item.get("url")) or (f"{portal}/dataset/{as_text(item.get('name')) or identity}" if portal else None),
        authors=tuple(filter(None, [as_text(item.get("author"))])),
        keywords=tuple(
            t for e in as_list(item.get("tags")) if (t := as_text(as_dict(e).get("display_name") or as_dict(e).get("name")))
        ),
        fields=tuple(
            (label, text)
            for label, text in (
                ("Organisation", as_text(as_dict(item.get("organization")).get("title"))),
                ("Format", "; ".join(dict.fromkeys(f for f in formats if f))),
                *((k, v) for k, v in extras.items() if k and k.lower() != "doi" and len(v) <= 2000 and v[:1] not in ("{", "[")),
            )
            if text
        ),
        related=tuple(dict.fromkeys(d for text in (notes, *extras.values()) for d in find_dois(text) if d != doi)),
        licence=normalise_licence(licence),
        language=language_code(as_text(item.get("language"))),
    )  # fmt: skip
