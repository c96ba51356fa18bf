"""Converts the HTML of catalogues to plain text. Texts without tags or entities, and signs such as ``p < 0.05``, stay
unchanged."""

from __future__ import annotations

import html
import re
from typing import Final

from selectolax.lexbor import LexborHTMLParser

_BLOCKS: Final = (
    "address", "article", "aside", "blockquote", "br", "caption", "dd", "div", "dl", "dt", "figcaption", "figure",
    "footer",
    "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table",
    "tbody",
    "td", "tfoot", "th", "thead", "tr", "ul",
)  # fmt: skip
_INLINE: Final = (
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "body", "center", "cite", "code", "del", "dfn", "em", "font",
    "head",
    "html", "i", "img", "ins", "kbd", "mark", "q", "s", "samp", "script", "small", "span", "strike", "strong",
    "style", "sub",
    "sup", "title", "tt", "u", "var", "wbr",
)  # fmt: skip
_UNREAD: Final = ["script", "style", "head", "noscript", "template", "iframe", "svg", "math"]
_TAG = re.compile(rf"</?(?:{'|'.join(_BLOCKS + _INLINE)})(?=[\s/>])[^<>]{{0,2000}}>|<!--", re.IGNORECASE)
_NO_TAG = re.compile(rf"<(?!!--|/?(?:{'|'.join(_BLOCKS + _INLINE)})[\s/>])", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_SPACES = re.compile(r"[ \t\r\f\v\u00a0\u2007\u202f]+")
_ROUNDS = 3
"""Largest number of unescaping passes: catalogues escape texts that are already escaped (``&amp;lt;p&amp;gt;``)."""


def plain_text(text: str) -> str:
    """Return the text without HTML: tags removed, entities resolved, one line per paragraph or list item.

    Args:
        text: a title, description or other field of a catalogue, with or without HTML.

    Returns:
        Text without tags, ``&nbsp;`` and the like; the same string object if there were none.
    """
    plain = text
    for _ in range(_ROUNDS):
        if _TAG.search(plain):
            plain = _without_tags(plain)
        elif _ENTITY.search(plain):
            plain = html.unescape(plain)
        else:
            break
    return plain if plain is text else _tidy(plain)


def one_line(text: str) -> str:
    """Like `plain_text`, for a title, a name or a keyword: white space becomes single spaces."""
    plain = plain_text(text)
    return plain if plain is text else " ".join(plain.split())


def _without_tags(text: str) -> str:
    tree = LexborHTMLParser(_NO_TAG.sub("&lt;", text))
    tree.strip_tags(_UNREAD)
    for node in tree.css(",".join(_BLOCKS)):
        node.insert_before("\n")
        node.insert_after("\n")
    return tree.body.text(separator="") if tree.body is not None else ""


def _tidy(text: str) -> str:
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)
