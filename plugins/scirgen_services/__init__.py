"""Paper services, and catalogues beside DataCite and CKAN: sources of candidate papers, their files and records."""

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
    "oaipmh": ("oaipmh:OaiSource", "any OAI-PMH repository"),
    "huggingface": ("huggingface:HuggingFaceSource", "datasets of the Hugging Face Hub"),
}
PLUGIN = Plugin(
    "scirgen-services",
    __version__,
    tuple(
        Provided(kind, name, f"scirgen_services.{target}", *more)
        for kind, listed in (("source", _SOURCES), ("papers", _PAPERS))
        for name, (target, *more) in listed.items()
    ),
)
