"""Citation links between datasets and papers, as publishers (Crossref) and repositories (DataCite) registered them.

DataCite's Events API has both kinds: https://support.datacite.org/docs/eventdata-guide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field

from scirgen import Candidate, Dataset
from scirgen_services.forms.fields import as_dict, as_list, as_text, find_doi
from scirgen_services.web.json_api import ServiceOptions, WebService, paper_by_doi


class EventsOptions(ServiceOptions):
    """Selects the links by who registered them and by their type."""

    base_url: str = "https://api.datacite.org"
    sources: tuple[str, ...] = ("crossref", "datacite-crossref")
    relations: tuple[str, ...] = Field(
        default=("references", "cites", "is-referenced-by", "is-cited-by", "is-supplement-to", "is-supplemented-by")
    )
    most: int = Field(default=200, ge=1)


class EventsService(WebService[EventsOptions]):
    """Papers that an event links with a dataset's DOI, in either direction."""

    name = "events"
    options_type = EventsOptions

    def papers(self, dataset: Dataset) -> Iterator[Candidate]:
        """Yield the other DOI of each link, each once."""
        if not dataset.doi:
            return
        seen = {dataset.doi}
        for event in self._events(dataset.doi):
            if (
                event.get("source-id") not in self.options.sources
                or event.get("relation-type-id") not in self.options.relations
            ):
                continue
            for end in ("subj-id", "obj-id"):
                doi = find_doi(as_text(event.get(end)))
                if doi and doi not in seen:
                    seen.add(doi)
                    yield paper_by_doi(doi, "event_link")

    def _events(self, doi: str) -> Iterator[Mapping[str, object]]:
        number, left = 1, self.options.most
        while left > 0:
            params: dict[str, str | int] = {"doi": doi, "page[size]": min(left, 100), "page[number]": number}
            reply = as_dict(self.http.json(f"{self.base}/events", params))
            if "data" not in reply:
                raise self.problem("a page without 'data'")
            items = as_list(reply["data"])
            yield from (as_dict(as_dict(i).get("attributes")) for i in items[:left])
            left -= len(items)
            number += 1
            pages = as_dict(reply.get("meta")).get("totalPages", as_dict(reply.get("meta")).get("total-pages"))
            if not items or not isinstance(pages, int) or number > pages:
                return
