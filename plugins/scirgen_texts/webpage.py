"""Reads papers in HTML (PubMed Central, publishers' pages, arXiv) as blocks, with selectolax."""

from __future__ import annotations

import re
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser

from scirgen import BlockKind, PaperError, ParsedBlock, ParsedPaper
from scirgen.stages.parse.assemble import abstract_of, clean, mark_references, set_levels
from scirgen.stages.parse.grid import GivenCell, table_block
from scirgen.stages.parse.terms import kind_of_heading

_DROPPED: Final = (
    "script", "style", "noscript", "template", "nav", "header", "footer", "aside", "form", "button", "iframe", "svg",
    "select", "dialog",
    "annotation", "sup.xref", "[hidden]", "[aria-hidden=true]",
)  # fmt: skip
_HEADINGS: Final = {f"h{n}": n for n in range(1, 7)}
_TAKEN: Final = "h1, h2, h3, h4, h5, h6, p, li, figcaption, table, dd, blockquote"
_MIN_PROSE: Final = 1500


def parse_html(data: bytes) -> ParsedPaper:
    """Return the blocks of a paper's HTML page; they have no pages and boxes.

    Raises:
        PaperError: ``not_a_pdf`` if the page holds too little prose for a paper (a log-in or consent page, an abstract
        page).
    """
    tree = LexborHTMLParser(data)
    title = _meta(tree, "citation_title", "dc.title", "og:title")
    language = (tree.root.attributes.get("lang") or "")[:2].lower() if tree.root is not None else ""
    summary = _meta(tree, "citation_abstract", "dcterms.abstract")
    tree.strip_tags(list(_DROPPED), recursive=True)
    root = _main(tree)
    blocks = _blocks(root) if root is not None else []
    if sum(len(b.text) for b in blocks if b.kind is BlockKind.PARAGRAPH and len(b.text) > 100) < _MIN_PROSE:
        raise PaperError(
            "the file is an HTML page without the text of a paper",
            hint="Often a log-in, consent or abstract page saved under the paper's name; download the paper itself.",
            code="not_a_pdf",
        )
    blocks = _with_title(blocks, title)
    set_levels(blocks)
    mark_references(blocks)
    title = next((b.text for b in blocks if b.kind is BlockKind.TITLE), "")
    return ParsedPaper(
        title=title,
        abstract=abstract_of(blocks) or summary,
        language=language if language in ("en", "pt", "es", "zh", "fr", "de") else "",
        parser="html/1",
        blocks=tuple(blocks),
    )


def _meta(tree: Any, *names: str) -> str:
    for name in names:
        for key in ("name", "property"):
            node = tree.css_first(f'meta[{key}="{name}" i]')
            if node is not None and node.attributes.get("content"):
                return clean(" ".join(str(node.attributes["content"]).split()))
    return ""


def _main(tree: Any) -> Any:
    """Return the element that holds the paper: the article or main element with the most text, else the body."""
    found = [*tree.css("article"), *tree.css("main"), *tree.css("[role=main]")]
    largest = max(found, key=lambda node: len(node.text()), default=None)
    if largest is not None and tree.body is not None and len(largest.text()) > 0.3 * len(tree.body.text()):
        return largest
    return tree.body


def _blocks(root: Any) -> list[ParsedBlock]:
    blocks: list[ParsedBlock] = []
    for node in root.css(_TAKEN):
        tag = node.tag
        above = _ancestors(node)
        if (
            "table" in above
            or (tag == "p" and above & {"li", "figcaption", "dd", "blockquote"})
            or (tag == "li" and node.css_first("li, p") is not None and "li" in above)
        ):
            continue
        if tag == "table":
            blocks += _table(node)
            continue
        text = _text(node)
        if not text:
            continue
        if tag in _HEADINGS:
            blocks.append(ParsedBlock(kind=BlockKind.HEADING, text=text, level=_HEADINGS[tag]))
        elif tag == "figcaption" or "figure" in above:
            blocks.append(ParsedBlock(kind=BlockKind.CAPTION, text=text))
        else:
            blocks.append(
                ParsedBlock(kind=BlockKind.LIST_ITEM if tag in ("li", "dd") else BlockKind.PARAGRAPH, text=text)
            )
    return blocks


def _ancestors(node: Any) -> set[str]:
    found: set[str] = set()
    parent = node.parent
    while parent is not None:
        found.add(str(parent.tag))
        parent = parent.parent
    return found


def _table(node: Any) -> list[ParsedBlock]:
    made = []
    caption = node.css_first("caption")
    if caption is not None and _text(caption):
        made.append(ParsedBlock(kind=BlockKind.CAPTION, text=_text(caption)))
    rows = node.css("tr")
    given = [
        [
            GivenCell(_text(cell), _covered(cell, "rowspan"), _covered(cell, "colspan"), cell.tag == "th")
            for cell in row.css("td, th")
        ]
        for row in rows
    ]
    refused = "table_shape" if node.css_first("table table, td table") is not None else ""
    return [*made, table_block(given, sum(row.parent.tag == "thead" for row in rows) or None, refused)]


def _covered(cell: Any, name: str) -> int:
    stated = str(cell.attributes.get(name) or "")
    return int(stated) if stated.isdecimal() and len(stated) < 5 else 1


def _text(node: Any) -> str:
    return clean(
        re.sub(r"\s+([,.;:)\]])", r"\1", " ".join(node.text(separator=" ").split()))
        if node.css_first("br")
        else " ".join(node.text().split())
    )


def _with_title(blocks: list[ParsedBlock], title: str) -> list[ParsedBlock]:
    """Return the blocks with the title first: the page's first heading of the first level, if it has one."""
    first = next((i for i, b in enumerate(blocks) if b.kind is BlockKind.HEADING and b.level == 1), None)
    if first is not None and not kind_of_heading(blocks[first].text):
        own = blocks[first].model_copy(update={"kind": BlockKind.TITLE, "level": None})
        return [own, *blocks[:first], *blocks[first + 1 :]]
    return [ParsedBlock(kind=BlockKind.TITLE, text=title), *blocks] if title else blocks
