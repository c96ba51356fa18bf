"""Semantic Scholar: papers that cite a dataset's DOI, and their open PDFs.

Documented at https://api.semanticscholar.org/api-docs/graph (``/paper/{id}/citations``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field

from scirgen import Candidate, Dataset, Fetched, Paper, normalise_licence
from scirgen_services.forms.fields import as_dict, as_list, as_text, find_doi, secret_from_environment
from scirgen_services.web.json_api import ServiceOptions, WebService

_FIELDS = "title,year,externalIds,openAccessPdf,authors"


class SemanticScholarOptions(ServiceOptions):
    """Without a key the service allows about one request per second, shared by all."""

    base_url: str = "https://api.semanticscholar.org"
    most: int = Field(default=100, ge=1)
    api_key_env: str = "S2_API_KEY"


class SemanticScholarService(WebService[SemanticScholarOptions]):
    """Citing papers, paged by offset; none for a dataset that the service does not know."""

    name = "semantic-scholar"
    options_type = SemanticScholarOptions
    per_second = 1.0

    def headers(self) -> Mapping[str, str]:
        """Return the API key, if there is one."""
        key = secret_from_environment(self.options.api_key_env)
        return {"x-api-key": key} if key else {}

    def papers(self, dataset: Dataset) -> Iterator[Candidate]:
        if not dataset.doi:
            return
        offset: object = 0
        left = self.options.most
        while isinstance(offset, int) and left > 0:
            url = f"{self.base}/graph/v1/paper/DOI:{dataset.doi}/citations"
            reply = self.known(url, {"fields": _FIELDS, "offset": offset, "limit": min(left, 100)})
            if reply is None:
                return
            if "data" not in reply:
                raise self.problem("a page without 'data'")
            items = as_list(reply["data"])
            for item in items[:left]:
                paper = _paper(as_dict(as_dict(item).get("citingPaper")))
                if paper is not None:
                    yield Candidate(paper, "cites")
            left -= len(items)
            offset = reply.get("next") if items else None

    def fetch(self, paper: Paper) -> Fetched:
        """Return the open PDF, looked up by DOI if the candidate has no address."""
        if not paper.doi or (paper.url and paper.media_type == "application/pdf"):
            return super().fetch(paper)
        found = self.known(f"{self.base}/graph/v1/paper/DOI:{paper.doi}", {"fields": _FIELDS}) or {}
        url = as_text(as_dict(found.get("openAccessPdf")).get("url"))
        return self.http.download(url) if url else super().fetch(paper)


def _paper(item: Mapping[str, object]) -> Paper | None:
    ids, pdf = as_dict(item.get("externalIds")), as_dict(item.get("openAccessPdf"))
    doi, year, url = find_doi(as_text(ids.get("DOI"))), item.get("year"), as_text(pdf.get("url"))
    identity = doi or as_text(item.get("paperId"))
    if not identity:
        return None
    names = (as_text(as_dict(a).get("name")) for a in as_list(item.get("authors")))
    return Paper(
        id=identity,
        title=as_text(item.get("title")),
        doi=doi,
        url=url or (f"https://doi.org/{doi}" if doi else None),
        authors=tuple(n for n in names if n),
        year=year if isinstance(year, int) else None,
        licence=normalise_licence(as_text(pdf.get("license"))),
        media_type="application/pdf" if url else None,
    )
