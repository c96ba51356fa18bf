"""Everything that uses a service on the network: catalogues, paper services, the Batch API."""

from __future__ import annotations

from scirgen import Plugin, Provided, __version__

_PAPERS = {
    "openalex": ("openalex:OpenAlexService", "works that cite or mention a DOI"),
    "events": ("events:EventsService", "links of Crossref and DataCite"),
    "semantic-scholar": ("semantic_scholar:SemanticScholarService", "citing papers"),
    "arxiv": ("arxiv:ArxivService", "preprints"),
    "unpaywall": ("unpaywall:UnpaywallService", "open copies by DOI"),
    "bibliography": ("bibliography:BibliographyService", "a BibTeX or RIS file", "sources"),
    "folder": ("bibliography:FolderService", "a folder of papers"),
}
_SOURCES = {
    "datacite": ("datacite:DataCiteSource", "DataCite by query, repository or prefix"),
    "ckan": ("ckan:CkanSource", "any CKAN portal"),
    "oaipmh": ("oaipmh:OaiSource", "any OAI-PMH repository"),
    "huggingface": ("huggingface:HuggingFaceSource", "datasets of the Hugging Face Hub"),
}
_FORMS = {
    "datacite": ("forms.datacite:recognised", "records of DataCite in files"),
    "ckan": ("forms.ckan:recognised", "packages of CKAN in files"),
}
_LOOKUPS = {"datacite": ("datacite:DataCiteLookup", "datasets that papers name, at DataCite")}
_CLIENTS = {"default": ("web.http:open_http", "limits, retries, checked addresses, a cache on disk")}
_MODELS = {"batch": ("batch.openai_batch:BatchChat", "the Batch API of an OpenAI-compatible server, half price")}
PLUGIN = Plugin(
    "scirgen-services",
    __version__,
    tuple(
        Provided(kind, name, f"scirgen_services.{target}", *more)
        for kind, listed in (
            ("source", _SOURCES),
            ("papers", _PAPERS),
            ("record_form", _FORMS),
            ("dataset_lookup", _LOOKUPS),
            ("http_client", _CLIENTS),
            ("chat_model", _MODELS),
            ("command", {"push": ("push_command:push", "Publish a release on the Hugging Face Hub.")}),
            ("codes", {"scirgen-services": ("codes:CODES",)}),
        )
        for name, (target, *more) in listed.items()
    ),
)
