"""Reads papers in HTML (PubMed Central, publishers' pages, arXiv) as blocks, with selectolax."""

from __future__ import annotations

import re
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser

from scirgen import BlockKind, PaperError, ParsedBlock, ParsedPaper
from scirgen.plugin import find_doi
from scirgen.stages.parse.assemble import abstract_of, clean, mark_references, set_levels
from scirgen.stages.parse.grid import GivenCell, table_block
from scirgen.stages.parse.terms import kind_of_heading

_DROPPED: Final = (
    "script", "style", "noscript", "template", "nav", "header", "footer", "aside", "form", "button", "iframe", "svg",
    "select", "dialog",
    "annotation", "sup.xref", "[hidden]", "[aria-hidden=true]",
    ":is(h3, h4, p).author", ":is(h3, h4, p).date",
)  # fmt: skip
_STATED: Final = {
    "title": ("citation_title", "dc.title", "og:title"),
    "abstract": ("citation_abstract", "dcterms.abstract"),
    "doi": ("citation_doi", "dc.identifier"),
    "person": ("citation_author", "dc.creator"),
    "people": ("author",),
    "date": ("citation_publication_date", "citation_date", "citation_year", "citation_online_date", "dc.date",
             "dcterms.date", "article:published", "article:published_time", "date"),
}  # fmt: skip
"""The names of the ``meta`` elements that state each, the surest first: those that Google Scholar asks publishers for,
Dublin Core's, Pandoc's (R Markdown, pkgdown, Quarto, distill)."""
_PRINTED: Final = dict(zip(("people", "date"), _DROPPED[-2:], strict=True))
_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_SUFFIX: Final = re.compile(r"(?:Jr|Sr)\.?|I{2,3}|IV")
_BETWEEN: Final = re.compile(rf"\s*(?:[;&]|,(?!\s*(?:{_SUFFIX.pattern})(?!\w))|\band\b)\s*")
_NOT_NAME: Final = re.compile(r"\([^()]*\)|(?<!\S)\S*@\S*")
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
    stated = {what: _stated(tree, what) for what in _STATED}
    title = " ".join(stated["title"][:1])
    language = (tree.root.attributes.get("lang") or "")[:2].lower() if tree.root is not None else ""
    for dropped in _DROPPED:
        for node in reversed(tree.css(dropped)):  # what is inside another before it
            if node.tag not in ("html", "head", "body"):
                node.decompose()
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
        abstract=abstract_of(blocks) or " ".join(stated["abstract"][:1]),
        authors=_names(stated["person"], stated["people"]),
        doi=find_doi(" ".join(stated["doi"])),
        year=next((int(year[0]) for year in map(_YEAR.search, stated["date"]) if year), None),
        language=language if language in ("en", "pt", "es", "zh", "fr", "de") else "",
        parser="html/1",
        blocks=tuple(blocks),
    )


def _stated(tree: Any, what: str) -> list[str]:
    """Return what the page states in the first of the places for it that hold any text."""
    for place in (*(f'meta[name="{n}" i], meta[property="{n}" i]' for n in _STATED[what]), _PRINTED.get(what, "")):
        texts = [str(n.attributes.get("content") or n.text()) for n in (tree.css(place) if place else ())]
        if found := [clean(" ".join(text.split())) for text in texts if text.strip()]:
            return found
    return []


def _names(person: list[str], people: list[str]) -> tuple[str, ...]:
    """Return the authors; ``person`` are single names, maybe with the family name first, ``people`` lists of names."""
    listed = (name for text in people for name in _BETWEEN.split(_NOT_NAME.sub("", text)))
    return tuple(map(_turned, person)) or tuple(filter(None, map(str.strip, listed)))


def _turned(name: str) -> str:
    """Return a name whose family name comes first ("Smith, Jane, Jr.") as it is said ("Jane Smith Jr.")."""
    family, *given = re.split(r"\s*,\s*", name)
    after = [part for part in given if _SUFFIX.fullmatch(part)]
    return " ".join([*(part for part in given if part not in after), family, *after])


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
