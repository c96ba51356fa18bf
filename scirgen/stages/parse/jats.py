"""Reads papers in JATS XML (PubMed Central, SciELO and most publishers) as blocks, which have no pages and boxes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from scirgen.core.errors import PaperError
from scirgen.core.records import BlockKind
from scirgen.core.text.doi import find_doi
from scirgen.stages.parse.base import ParsedBlock, ParsedPaper
from scirgen.stages.parse.grid import GivenCell, table_block
from scirgen.stages.parse.xmlread import span_of, text_of

_SKIP = frozenset({
    "tex-math", "fn-group", "object-id", "alternatives-none", "graphic", "ext-link-none", "table-wrap", "fig",
    "disp-formula",
})  # fmt: skip
_MAX_DEPTH = 40


def parse_jats(root: Element) -> ParsedPaper:
    """Return the blocks of a JATS ``article``.

    Raises:
        PaperError: ``no_text`` if it has neither body nor abstract.
    """
    article = root if root.tag == "article" else root.find(".//article")
    if article is None:
        article = root
    language = (article.get("{http://www.w3.org/XML/1998/namespace}lang") or "")[:2].lower()
    title = text_of(article.find(".//article-meta//article-title"), frozenset({"xref", "fn"}))
    abstract = _abstract(article)
    blocks = [ParsedBlock(kind=BlockKind.TITLE, text=title)] if title else []
    if abstract:
        blocks.append(ParsedBlock(kind=BlockKind.HEADING, text=_label(article) or "Abstract", level=1))
        blocks += [ParsedBlock(kind=BlockKind.PARAGRAPH, text=p) for p in abstract]
    body = article.find("body")
    if body is not None:
        _put_floats(article, body)
        blocks += _content(body, 1)
    back = article.find("back")
    if back is not None:
        blocks += _back(back)
    if body is None and not abstract:
        raise PaperError("the XML has neither a body nor an abstract", code="no_text")
    return ParsedPaper(
        title=title,
        abstract=" ".join(abstract),
        **_stated(article),
        language=language if language in ("en", "pt", "es", "zh") else "",
        parser="jats/1",
        blocks=tuple(b for b in blocks if b.text),
    )


def _stated(article: Element) -> dict[str, Any]:
    """Return the authors, DOI, year and licence, as the file states them."""
    meta = article.find(".//article-meta")
    if meta is None:
        return {}
    names = [c.find("name") for c in meta.iter("contrib") if c.get("contrib-type", "author") == "author"]
    years = [text_of(y) for d in meta.iter("pub-date") if (y := d.find("year")) is not None]
    licence = meta.find(".//license")
    href = "{http://www.w3.org/1999/xlink}href"
    stated = [licence.get(href) or "", *map(text_of, licence)] if licence is not None else []
    return {
        "authors": tuple(
            " ".join(filter(None, (text_of(n.find(part)) for part in ("given-names", "surname", "suffix"))))
            for n in names
            if n is not None
        ),
        "doi": find_doi(next((text_of(i) for i in meta.iter("article-id") if i.get("pub-id-type") == "doi"), "")),
        "year": next((int(y) for y in sorted(years) if y.isdecimal() and len(y) == 4), None),
        "licence": "\n".join(filter(None, stated)) or text_of(licence),
    }


def _abstract_element(article: Element) -> Element | None:
    plain = [a for a in article.findall(".//article-meta/abstract") if not a.get("abstract-type")]
    return plain[0] if plain else article.find(".//article-meta/abstract")


def _label(article: Element) -> str:
    element = _abstract_element(article)
    return text_of(element.find("title")) if element is not None else ""


def _abstract(article: Element) -> list[str]:
    element = _abstract_element(article)
    if element is None:
        return []
    found = [text_of(p, _SKIP) for p in element.iter("p")]
    return [p for p in found if p] or list(filter(None, [text_of(element, frozenset({"title"}))]))


def _content(parent: Element, level: int) -> Iterator[ParsedBlock]:
    if level > _MAX_DEPTH:
        raise PaperError("the XML is nested too deeply", code="damaged")
    for child in parent:
        match child.tag:
            case "sec":
                title = " ".join(filter(None, (text_of(child.find("label")), text_of(child.find("title")))))
                if title:
                    yield ParsedBlock(kind=BlockKind.HEADING, text=title, level=level)
                yield from _content(child, level + 1 if title else level)
            case "p":
                text = text_of(child, _SKIP)
                if text:
                    yield ParsedBlock(kind=BlockKind.PARAGRAPH, text=text)
                yield from _inside(child)
            case "list":
                for item in child.iter("list-item"):
                    yield ParsedBlock(kind=BlockKind.LIST_ITEM, text=text_of(item, _SKIP))
            case "fig" | "table-wrap" | "disp-formula" | "fig-group" | "boxed-text" | "disp-quote" | "statement":
                yield from _float(child, level)
            case _:
                continue


def _put_floats(article: Element, body: Element) -> None:
    """Move the figures and tables that a file has behind its text into the paragraphs that name them first."""
    floats = {f.get("id"): f for group in article.iter("floats-group") for f in group if f.get("id")}
    for paragraph in body.iter("p") if floats else ():
        paragraph.extend(f for x in list(paragraph.iter("xref")) if (f := floats.pop(x.get("rid"), None)) is not None)
    body.extend(floats.values())


def _inside(paragraph: Element) -> Iterator[ParsedBlock]:
    for tag in ("fig", "table-wrap", "disp-formula"):
        for element in paragraph.iter(tag):
            yield from _float(element, 1)


def _float(element: Element, level: int) -> Iterator[ParsedBlock]:
    if element.tag == "disp-formula":
        yield ParsedBlock(kind=BlockKind.EQUATION, text=text_of(element, frozenset({"tex-math"})))
        return
    if element.tag in ("boxed-text", "disp-quote", "statement", "fig-group"):
        yield from _content(element, level)
        return
    label = " ".join(filter(None, (text_of(element.find("label")), text_of(element.find("caption")))))
    if label:
        yield ParsedBlock(kind=BlockKind.CAPTION, text=label)
    for table in element.iter("table"):
        yield table_block(*_rows(table))
    if notes := " ".join(text_of(foot) for foot in element.findall("table-wrap-foot")):
        yield ParsedBlock(kind=BlockKind.FOOTNOTE, text=notes)


def _rows(table: Element) -> tuple[list[list[GivenCell]], int]:
    """Return the rows of a table, and how many of them are in its head."""
    rows = [
        [
            GivenCell(text_of(c, frozenset({"tex-math"})), span_of(c, "rowspan"), span_of(c, "colspan"), c.tag == "th")
            for c in row
            if c.tag in ("td", "th")
        ]
        for row in table.iter("tr")
    ]
    return rows, sum(1 for head in table.iter("thead") for _ in head.iter("tr"))


def _back(back: Element) -> Iterator[ParsedBlock]:
    for child in back:
        if child.tag == "ref-list":
            yield ParsedBlock(kind=BlockKind.HEADING, text=text_of(child.find("title")) or "References", level=1)
            for ref in child.iter("ref"):
                cited = ref.find("mixed-citation")
                yield ParsedBlock(kind=BlockKind.REFERENCE, text=text_of(cited if cited is not None else ref))
        elif child.tag in ("ack", "sec", "app", "notes", "app-group", "glossary"):
            if child.tag == "sec":
                wrapper = Element("body")
                wrapper.append(child)
                yield from _content(wrapper, 1)
                continue
            title = text_of(child.find("title"))
            if title:
                yield ParsedBlock(kind=BlockKind.HEADING, text=title, level=1)
            yield from _content(child, 2)
