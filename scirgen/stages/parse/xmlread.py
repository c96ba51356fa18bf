"""Reads XML safely: without entities, DTDs, network access or unbounded trees. Shared by the JATS and TEI readers."""

from __future__ import annotations

import html.entities
import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from scirgen.core.errors import PaperError

_DOCTYPE = re.compile(rb"<!DOCTYPE[^\[<>]*(\[)?[^<>]*>", re.I)
_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,31});")
_XML_OWN = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})
_MAX_BYTES = 60_000_000


def read_xml(data: bytes) -> Element:
    """Return the root element.

    Named characters of HTML (``&ndash;``), which publishers use with the DTD that declares them, are replaced.
    A document type declaration without an internal subset is dropped (nearly all JATS files have one); one that defines
    entities is refused.

    Raises:
        PaperError: ``damaged`` (not well-formed, or entities), ``too_large``.
    """
    if len(data) > _MAX_BYTES:
        raise PaperError(f"{len(data)} bytes of XML are too large for a paper", code="too_large")
    match = _DOCTYPE.search(data[:20_000])
    if match and match.group(1) is None:
        data = data[: match.start()] + data[match.end() :]
    data = _ENTITY.sub(_character, data)
    try:
        root: Element = ElementTree.fromstring(data, forbid_dtd=True, forbid_entities=True, forbid_external=True)
    except DefusedXmlException as error:
        raise PaperError(f"XML with entities or a DTD is not allowed: {error}"[:200], code="damaged") from error
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise PaperError(
            f"XML that is not well-formed: {error}"[:200], hint="Fetch it again.", code="damaged"
        ) from error
    for element in root.iter():
        if isinstance(element.tag, str):
            element.tag = element.tag.rpartition("}")[2]
    return root


def _character(match: re.Match[bytes]) -> bytes:
    name = match.group(1)
    code = html.entities.name2codepoint.get(name.decode("ascii"))
    return match.group() if name in _XML_OWN or code is None else f"&#{code};".encode()


def text_of(element: Element | None, skip: frozenset[str] = frozenset()) -> str:
    """Return all text of an element with white space collapsed, leaving out the elements in ``skip`` (not their
    tails)."""
    if element is None:
        return ""
    return re.sub(r"\s+", " ", "".join(_pieces(element, skip))).strip()


def span_of(element: Element, name: str) -> int:
    """Return the rows or columns that a cell states to cover; 1 if it states no number."""
    stated = element.get(name, "")
    return int(stated) if stated.isdecimal() and len(stated) < 5 else 1


def _pieces(element: Element, skip: frozenset[str]) -> Iterator[str]:
    if element.text:
        yield element.text
    for child in element:
        if child.tag == "break":
            yield " "
        elif isinstance(child.tag, str) and child.tag not in skip:
            yield from _pieces(child, skip)
        if child.tail:
            yield child.tail
