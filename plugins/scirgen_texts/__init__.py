"""Papers as LaTeX source, HTML pages and TEI, and PDFs by a GROBID server, which answers with TEI."""

from __future__ import annotations

from scirgen import Plugin, Provided, __version__

PLUGIN = Plugin(
    "scirgen-texts",
    __version__,
    (
        Provided("parser", "latex", "scirgen_texts.parsers:LatexParser", "LaTeX source"),
        Provided("parser", "html", "scirgen_texts.parsers:HtmlParser", "full texts as HTML pages"),
        Provided("parser", "tei", "scirgen_texts.parsers:TeiParser", "TEI, as GROBID writes it"),
        Provided("parser", "grobid", "scirgen_texts.grobid:GrobidParser", "PDF, by a GROBID server", "grobid"),
    ),
)
