"""OpenAlex: works that cite a dataset's DOI or mention it, and their open-access files.

Documented at https://docs.openalex.org (works, filters ``cites`` and ``fulltext.search``, cursor paging).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field

from scirgen import Candidate, Dataset, Fetched, Paper, normalise_licence
from scirgen_services.forms.fields import as_dict, as_list, as_text, find_doi, secret_from_environment
from scirgen_services.web.json_api import ServiceOptions, WebService

_SELECT = "id,doi,title,publication_year,authorships,best_oa_location,type"


class OpenAlexOptions(ServiceOptions):
    """``mentions`` also searches full texts for the DOI, for papers that name a dataset without citing it."""

    base_url: str = "https://api.openalex.org"
    mentions: bool = True
    open_only: bool = Field(default=True, description="only works with an open copy, since the others cannot be read")
    most: int = Field(default=50, ge=1, description="largest number of works per dataset, of each kind")
    api_key_env: str = "OPENALEX_API_KEY"


class OpenAlexService(WebService[OpenAlexOptions]):
    """Citing works first, then mentioning ones; newest last, so that a growing list keeps its beginning."""

    name = "openalex"
    options_type = OpenAlexOptions
    per_second = 8.0
    charges = (
        "OpenAlex needs a key (OPENALEX_API_KEY) and charges above a free amount; a dataset costs two or three "
        "requests, a file one more"
    )

    def secret_params(self) -> Mapping[str, str]:
        """Return the API key, if there is one."""
        key = secret_from_environment(self.options.api_key_env)
        return {"api_key": key} if key else {}

    def papers(self, dataset: Dataset) -> Iterator[Candidate]:
        """Yield the works that cite the dataset, then works whose text contains its DOI."""
        if not dataset.doi:
            return
        seen: set[str] = set()
        work = self._work(dataset.doi)
        searches = [("cites", f"cites:{as_text(work.get('id')).rpartition('/')[2]}")] if work else []
        if self.options.mentions:
            searches.append(("mentions_doi", f'fulltext.search:"{dataset.doi}"'))
        for found_by, search in searches:
            for item in self._works(search):
                paper = _paper(item)
                if paper.id not in seen and paper.doi != dataset.doi:
                    seen.add(paper.id)
                    yield Candidate(paper, found_by)

    def fetch(self, paper: Paper) -> Fetched:
        """Return the open-access PDF of the paper, looked up by DOI if the candidate has no address."""
        if paper.url and paper.media_type == "application/pdf":
            return super().fetch(paper)
        location = as_dict((self._work(paper.doi) or {}).get("best_oa_location")) if paper.doi else {}
        url = as_text(location.get("pdf_url"))
        return self.http.download(url) if url else super().fetch(paper)

    def _work(self, doi: str) -> Mapping[str, object] | None:
        return self.known(f"{self.base}/works/https://doi.org/{doi}", {"select": _SELECT, **self._polite()})

    def _works(self, search: str) -> Iterator[Mapping[str, object]]:
        search += ",is_oa:true" if self.options.open_only else ""
        cursor, left = "*", self.options.most
        while cursor and left > 0:
            params: dict[str, str | int] = {
                "filter": search, "select": _SELECT, "sort": "publication_date:asc", "per-page": min(left, 200),
                "cursor": cursor,
            }  # fmt: skip
            reply = as_dict(self.http.json(f"{self.base}/works", {**params, **self._polite()}))
            if "results" not in reply:
                raise self.problem("a page without 'results'")
            results = as_list(reply["results"])
            yield from map(as_dict, results[:left])
            left -= len(results)
            cursor = as_text(as_dict(reply.get("meta")).get("next_cursor")) if results else ""

    def _polite(self) -> dict[str, str]:
        return {"mailto": self.setup.http.contact} if self.setup.http.contact else {}


def _paper(item: Mapping[str, object]) -> Paper:
    doi = find_doi(as_text(item.get("doi")))
    location = as_dict(item.get("best_oa_location"))
    pdf, year = as_text(location.get("pdf_url")), item.get("publication_year")
    names = (as_text(as_dict(as_dict(a).get("author")).get("display_name")) for a in as_list(item.get("authorships")))
    return Paper(
        id=doi or as_text(item.get("id")),
        title=as_text(item.get("title")),
        doi=doi,
        url=pdf or as_text(location.get("landing_page_url")) or (f"https://doi.org/{doi}" if doi else None),
        authors=tuple(n for n in names if n),
        year=year if isinstance(year, int) else None,
        licence=normalise_licence(as_text(location.get("license"))),
        media_type="application/pdf" if pdf else None,
    )
