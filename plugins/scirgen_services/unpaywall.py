"""Unpaywall: the open copy of a paper known by its DOI. It finds no papers. Documented at
https://unpaywall.org/products/api."""

from __future__ import annotations

from scirgen import Candidate, Dataset, Fetched, Paper, SourceSetup
from scirgen_services.forms.fields import as_dict, as_list, as_text
from scirgen_services.web.json_api import ServiceOptions, WebService


class UnpaywallOptions(ServiceOptions):
    """The service requires a contact address."""

    base_url: str = "https://api.unpaywall.org"


class UnpaywallService(WebService[UnpaywallOptions]):
    """Tries the best open location first, then the others, until one gives a file.

    Raises:
        ConfigError: no contact address is set.
    """

    name = "unpaywall"
    options_type = UnpaywallOptions

    def __init__(self, setup: SourceSetup) -> None:
        super().__init__(setup)
        self._email = self.contact()

    def papers(self, dataset: Dataset) -> list[Candidate]:
        """Yield nothing: the service finds no papers."""
        return []

    def fetch(self, paper: Paper) -> Fetched:
        if not paper.doi:
            return Fetched(code="no_open_copy", reason="a paper without a DOI cannot be looked up")
        found = self.known(f"{self.base}/v2/{paper.doi}", {"email": self._email}, "http_422") or {}
        locations = [as_dict(found.get("best_oa_location")), *map(as_dict, as_list(found.get("oa_locations")))]
        last = super().fetch(paper)
        for url in dict.fromkeys(as_text(location.get("url_for_pdf")) for location in locations):
            if url:
                last = self.http.download(url)
                if last.file is not None:
                    return last
        return last
