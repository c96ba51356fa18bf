"""arXiv: preprints whose text names a dataset's DOI or title, and the PDFs of all arXiv papers.

Documented at https://info.arxiv.org/help/api/user-manual.html; its terms ask for one request every three seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import Field

from scirgen import Candidate, Dataset, Fetched, Paper
from scirgen.plugin import SourceRefusedError
from scirgen_services.web.http import is_xml
from scirgen_services.web.json_api import ServiceOptions, WebService

_ATOM = "{http://www.w3.org/2005/Atom}"
_DOI = re.compile(r"^10\.48550/arxiv\.(.+)$", re.I)


class ArxivOptions(ServiceOptions):
    """``pdf_url`` is the address of the files, since they are on another host than the API."""

    base_url: str = "https://export.arxiv.org"
    pdf_url: str = "https://arxiv.org"
    most: int = Field(default=10, ge=1, le=100)


class ArxivService(WebService[ArxivOptions]):
    """A search for the title as a phrase. Its results are only candidates; stage `match` decides."""

    name = "arxiv"
    options_type = ArxivOptions
    per_second = 1 / 3

    def papers(self, dataset: Dataset) -> Iterator[Candidate]:
        """Yield the preprints that the record names by their number, then those that a search finds."""
        seen: set[str] = set()
        for entry in dataset.related:
            if found := re.match(r"(?:arxiv:|.{0,200}10\.48550/arxiv\.)(\S{1,100})", entry, re.I):
                paper = self._paper(found.group(1))
                seen.add(paper.id)
                yield Candidate(paper, "related_identifier")
        phrase = re.sub(r"[^\w\s.-]+", " ", dataset.title).strip()
        params: dict[str, str | int] = {"search_query": f'all:"{phrase}"', "max_results": self.options.most}
        for paper in self._entries(self.http.reply(f"{self.base}/api/query", params, check=is_xml).body):
            if paper.id not in seen:
                seen.add(paper.id)
                yield Candidate(paper, "text_search")

    def fetch(self, paper: Paper) -> Fetched:
        """Return the PDF of an arXiv paper, found by its DOI."""
        if found := _DOI.match(paper.doi or ""):
            return self.http.download(f"{self.options.pdf_url.rstrip('/')}/pdf/{found.group(1)}")
        return Fetched(code="no_open_copy", reason=f"{paper.doi or paper.title!r} is not an arXiv paper")

    def _paper(self, number: str, title: str = "", authors: tuple[str, ...] = (), year: int | None = None) -> Paper:
        number = re.sub(r"v\d+$", "", number)
        doi = f"10.48550/arxiv.{number}".lower()
        url = f"{self.options.pdf_url.rstrip('/')}/pdf/{number}"
        return Paper(id=doi, title=title, doi=doi, url=url, authors=authors, year=year, media_type="application/pdf")

    def _entries(self, body: bytes) -> Iterator[Paper]:
        from defusedxml import ElementTree

        for entry in ElementTree.fromstring(body, forbid_dtd=True).iterfind(f"{_ATOM}entry"):
            identity = (entry.findtext(f"{_ATOM}id") or "").rpartition("/abs/")[2]
            title = " ".join((entry.findtext(f"{_ATOM}title") or "").split())
            if not identity or title == "Error":
                raise SourceRefusedError(
                    f"{self.name}: {entry.findtext(f'{_ATOM}summary') or 'an entry without id'}", code="bad_reply"
                )
            names = tuple(n.text for n in entry.iterfind(f"{_ATOM}author/{_ATOM}name") if n.text)
            year = (entry.findtext(f"{_ATOM}published") or "")[:4]
            yield self._paper(identity, title, names, int(year) if year.isdecimal() else None)
