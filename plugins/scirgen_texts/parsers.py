"""The parsers of text forms, each for one kind of file."""

from __future__ import annotations

from pathlib import Path

from scirgen import ParsedPaper, ParserOptions
from scirgen.stages.parse.text import decoded, paper_bytes
from scirgen_texts.latex import parse_latex
from scirgen_texts.tei import parse_tei
from scirgen_texts.webpage import parse_html


class LatexParser:
    """Reads LaTeX source."""

    reads = ("latex",)

    def parse(self, path: Path, options: ParserOptions) -> ParsedPaper:
        return parse_latex(decoded(paper_bytes(path)))


class HtmlParser:
    """Reads a paper's HTML page."""

    reads = ("html",)

    def parse(self, path: Path, options: ParserOptions) -> ParsedPaper:
        return parse_html(paper_bytes(path))


class TeiParser:
    """Reads TEI."""

    reads = ("tei",)

    def parse(self, path: Path, options: ParserOptions) -> ParsedPaper:
        return parse_tei(paper_bytes(path))
