"""Reads papers in GROBID's TEI as blocks, with pages and boxes if GROBID gave coordinates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from scirgen import BlockKind, PaperError, ParsedBlock, ParsedPaper
from scirgen.plugin import Box, PlacedLine
from scirgen.stages.parse.grid import GivenCell, table_block
from scirgen.stages.parse.xmlread import read_xml, span_of, text_of

_NUMBER = re.compile(r"^\s*(\d+(?:\.\d+)*)\.?")


def parse_tei(data: bytes, parser: str = "tei/1") -> ParsedPaper:
    """Return the blocks of a TEI document.

    Raises:
        PaperError: ``no_text`` if it has no text, ``damaged``, ``too_large``.
    """
    root = read_xml(data)
    title = text_of(root.find(".//titleStmt/title"))
    abstract_element = root.find(".//profileDesc/abstract")
    abstract = [text_of(p) for p in abstract_element.iter("p")] if abstract_element is not None else []
    blocks = (
        [ParsedBlock(kind=BlockKind.TITLE, text=title, lines=_places(root.find(".//titleStmt/title")))] if title else []
    )
    if any(abstract):
        blocks.append(ParsedBlock(kind=BlockKind.HEADING, text="Abstract", level=1))
        assert abstract_element is not None
        blocks += [_paragraph(p) for p in abstract_element.iter("p")]
    body = root.find(".//text/body")
    if body is not None:
        blocks += _children(body)
    for back in root.findall(".//text/back"):
        blocks += _back(back)
    blocks = [b for b in blocks if b.text]
    if not any(b.kind is BlockKind.PARAGRAPH for b in blocks):
        raise PaperError("the TEI contains no text", code="no_text")
    pages = {line.page for b in blocks for line in b.lines} | {int(s.get("n") or 0) for s in root.iter("surface")}
    return ParsedPaper(
        title=title,
        abstract=" ".join(filter(None, abstract)),
        language=_language(root),
        pages=max(pages, default=0),
        parser=parser,
        blocks=tuple(blocks),
    )


def _language(root: Element) -> str:
    element = root.find(".//text")
    code = (element.get("{http://www.w3.org/XML/1998/namespace}lang") or "") if element is not None else ""
    return code[:2].lower() if code[:2].lower() in ("en", "pt", "es", "zh") else ""


def _children(parent: Element) -> Iterator[ParsedBlock]:
    for child in parent:
        if child.tag == "div":
            yield from _children(child)
        elif child.tag == "head":
            number = (child.get("n") or "").rstrip(".")
            text = " ".join(filter(None, (child.get("n") or "", text_of(child))))
            match = _NUMBER.match(number)
            yield ParsedBlock(
                kind=BlockKind.HEADING,
                text=text,
                level=match.group(1).count(".") + 1 if match else 1,
                lines=_places(child),
            )
        elif child.tag == "p":
            yield _paragraph(child)
        elif child.tag == "formula":
            yield ParsedBlock(kind=BlockKind.EQUATION, text=text_of(child), lines=_places(child))
        elif child.tag == "figure":
            kind = BlockKind.CAPTION
            label = " ".join(filter(None, (text_of(child.find("head")), text_of(child.find("figDesc")))))
            yield ParsedBlock(kind=kind, text=label, lines=_places(child))
            table = child.find("table")
            if table is not None:
                yield _table(table)
        elif child.tag == "note":
            yield ParsedBlock(kind=BlockKind.FOOTNOTE, text=text_of(child), lines=_places(child))
        elif child.tag == "list":
            for item in child.iter("item"):
                yield ParsedBlock(kind=BlockKind.LIST_ITEM, text=text_of(item), lines=_places(item))


def _table(table: Element) -> ParsedBlock:
    """Return the block of a table; GROBID does not mark header rows."""
    rows = list(table.iter("row"))
    marked = [row.get("role") == "label" for row in rows]
    given = [[GivenCell(text_of(c), span_of(c, "rows"), span_of(c, "cols")) for c in row] for row in rows]
    return table_block(given, marked.index(False) if any(marked) and not all(marked) else None)


def _back(back: Element) -> Iterator[ParsedBlock]:
    for div in back:
        if div.get("type") == "references":
            yield ParsedBlock(kind=BlockKind.HEADING, text="References", level=1)
            for reference in div.iter("biblStruct"):
                note = next((n for n in reference.iter("note") if n.get("type") == "raw_reference"), None)
                text = text_of(note) if note is not None else text_of(reference)
                yield ParsedBlock(kind=BlockKind.REFERENCE, text=text, lines=_places(reference))
        else:
            yield from _children(div)


def _paragraph(element: Element) -> ParsedBlock:
    return ParsedBlock(kind=BlockKind.PARAGRAPH, text=text_of(element), lines=_places(element))


def _places(element: Element | None) -> tuple[PlacedLine, ...]:
    """Parse ``coords="page,x,y,w,h;..."``; several boxes of one page become one place, since TEI has no offsets of
    lines."""
    if element is None:
        return ()
    coords = element.get("coords") or ";".join(s.get("coords") or "" for s in element.iter("s"))
    boxes: dict[int, Box] = {}
    for part in filter(None, coords.split(";")):
        try:
            page, x, y, w, h = (float(v) for v in part.split(","))
        except ValueError:
            continue
        old = boxes.get(int(page), (x, y, x + w, y + h))
        boxes[int(page)] = (min(old[0], x), min(old[1], y), max(old[2], x + w), max(old[3], y + h))
    return tuple(PlacedLine(start=0, page=page, bbox=box) for page, box in sorted(boxes.items())[:1])
