"""Common code of catalogues and paper services over HTTP: options, one client, files by URL, and reading of irregular
JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Generic, TypeVar

from scirgen import Candidate, ConfigError, Dataset, Fetched, Paper, SourceError, SourceSetup
from scirgen.core.files.yamlfile import validate
from scirgen.plugin import Frozen, SourceRefusedError, find_dois
from scirgen_services.forms.fields import as_dict
from scirgen_services.web.http import open_http


class ServiceOptions(Frozen):
    """Base of the options of a service; an unknown option is an error."""

    base_url: str


O = TypeVar("O", bound=ServiceOptions)  # noqa: E741 - the options' type


class WebService(Generic[O]):
    """A service with options and a client.

    Raises:
        ResourceError: an option is unknown or wrong.
    """

    name: str = ""
    reads_files: ClassVar[bool] = False
    per_second: ClassVar[float] = 5.0
    charges: ClassVar[str] = ""
    """A note for estimates, if the service costs money."""
    options_type: ClassVar[type[ServiceOptions]]

    def __init__(self, setup: SourceSetup) -> None:
        self.setup = setup
        options = validate(dict(setup.options), self.options_type, f"options of {self.name}")
        self.options: O = options  # type: ignore[assignment]
        self.base = self.options.base_url.rstrip("/")
        self.http = open_http(
            setup,
            per_second=self.per_second,
            headers=self.headers(),
            secret_params=self.secret_params(),
            service=self.base,
        )

    def headers(self) -> Mapping[str, str]:
        """Return the headers with the service's key; sent only to its own host."""
        return {}

    def secret_params(self) -> Mapping[str, str]:
        """Query parameters that are kept out of the cache and of messages."""
        return {}

    def contact(self) -> str:
        """Return the contact address.

        Raises:
            ConfigError: the service requires one and none is set.
        """
        if not self.setup.http.contact:
            raise ConfigError(f"{self.name} needs an e-mail address", hint="Set collect.http.contact: you@example.org")
        return self.setup.http.contact

    def revision(self, cursor: str | None) -> str | None:
        """Return None: a page that was read counts as unchanged."""
        return None

    def papers(self, dataset: Dataset) -> Iterable[Candidate]:
        """Yield the papers whose DOIs are among the record's related identifiers, each once and without the dataset's
        own."""
        for doi in dict.fromkeys(d for entry in dataset.related for d in find_dois(entry)):
            if doi != dataset.doi:
                yield paper_by_doi(doi, "related_identifier")

    def fetch(self, paper: Paper) -> Fetched:
        """Return the file at the paper's own URL, if that is known to be a file."""
        if paper.url and paper.media_type == "application/pdf":
            return self.http.download(paper.url)
        return Fetched(code="no_open_copy", reason=f"{self.name} knows no open copy of {paper.doi or paper.title!r}")

    def known(self, url: str, params: Mapping[str, str | int], *unknown: str) -> Mapping[str, object] | None:
        """Return the object at an address; None if the service does not know it (``unknown``: further codes).

        Raises:
            SourceError: see `Http.json`.
        """
        try:
            return as_dict(self.http.json(url, params))
        except SourceRefusedError as error:
            if error.error_code not in ("http_404", *unknown):
                raise
        return None

    def problem(self, what: str) -> SourceError:
        """Return the error for a reply of another shape than documented."""
        return SourceError(f"{self.name}: {what}", hint="The service may have changed its replies.", code="bad_reply")


def paper_by_doi(doi: str, found_by: str) -> Candidate:
    """Return a candidate known only by its DOI."""
    return Candidate(Paper(id=doi, doi=doi, url=f"https://doi.org/{doi}"), found_by)
