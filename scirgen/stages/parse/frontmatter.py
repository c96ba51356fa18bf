"""Reads a paper's front matter from its parsed blocks: authors, DOI, year, licence, keywords.

Nothing is guessed: a DOI has a DOI's form and stands in the paper's own head, a name has the form of a name, and what
is not found stays empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from scirgen.core.records import BlockKind
from scirgen.core.text.doi import find_doi
from scirgen.stages.parse.base import ParsedBlock, ParsedPaper

_HEAD = 14  # blocks before which a paper's own DOI, date and licence are printed
_TAIL = 12
_YEAR = r"((?:19|20)\d\d)"
_DATED = re.compile(rf"(?i)(?:published|accepted|©|\(c\)|copyright)[^\d]{{0,40}}(?:\d{{1,2}}\s+)?(?:\w+\s+)?{_YEAR}\b")
_BRACKETED = re.compile(rf"\({_YEAR}\)")
_ANY_YEAR = re.compile(rf"(?<![\w/.-]){_YEAR}\b")
_DATE_LINE = 80  # longest block that is a date, or a volume and year
_LICENCE = re.compile(
    r"(?i)creativecommons\.org/(?:licenses/[a-z-]+/\d\.\d|publicdomain/\w+/\d\.\d)"
    r"|\bCC[ -](?:BY(?:-(?:NC|SA|ND))*(?:[ -]\d\.\d)?|0)\b"
    r"|creative commons attribution(?:[- ](?:non-?commercial|share-?alike|no-?deriv\w+))*(?:\s*\d\.\d)?"
)
_KEYWORDS = re.compile(r"(?is)^\s*(?:key\s?words?|palavras-chave|palabras clave)\b\s*[:.—-]?\s*(.*)")
_PARTICLE = r"(?:van|von|der|den|de|da|do|dos|del|della|di|du|la|le|bin|ibn|al|y|e)"
_NAME = re.compile(rf"(?:{_PARTICLE}\s+)*[^\W\d_a-z][\w’'.-]*(?:\s+(?:{_PARTICLE}|[^\W\d_a-z][\w’'.-]*)){{1,5}}")
_MARKS = re.compile(r"(?<=\w)[\d*∗†‡§¶#,\s]*\d[\d*∗†‡§¶#,\s]*|[*∗†‡§¶#]+")
_GLUED = re.compile(r"(?:^|\s)[a-f](?=[A-Z])")  # "Marc Kalinaa aETH Zurich": a mark without its raised place
_PLACE = re.compile(
    r"(?i)\b(?:universi\w+|institut\w*|department|faculty|school|centre|center|laborator\w+|college|academy|received)\b"
)


@dataclass(frozen=True)
class FrontMatter:
    """The facts that a paper states about itself; empty where it states none."""

    title: str = ""
    abstract: str = ""
    authors: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    doi: str | None = None
    year: int | None = None
    licence: str = ""


def front_matter(parsed: ParsedPaper) -> FrontMatter:
    """The front matter of a parsed paper."""
    head = parsed.blocks[:_HEAD]
    own = [b.text for b in head if b.kind in (BlockKind.OTHER, BlockKind.FOOTNOTE)]
    printed = "\n".join(own)
    tail = "\n".join(b.text for b in parsed.blocks[-_TAIL:] if b.kind is not BlockKind.REFERENCE)
    licence = _LICENCE.search(printed) or _LICENCE.search("\n".join(b.text for b in head)) or _LICENCE.search(tail)
    return FrontMatter(
        title=" ".join((parsed.title or _first_heading(head)).split()),
        abstract=parsed.abstract or _first_paragraphs(parsed.blocks),
        authors=parsed.authors or _authors(head),
        keywords=_keywords(head),
        doi=parsed.doi or find_doi(printed),
        year=parsed.year or _year(own),
        licence=parsed.licence or (licence.group() if licence else ""),
    )


def _first_heading(head: tuple[ParsedBlock, ...]) -> str:
    return next((b.text for b in head if b.kind in (BlockKind.TITLE, BlockKind.HEADING)), "")


def _first_paragraphs(blocks: tuple[ParsedBlock, ...], most: int = 1500) -> str:
    """The beginning of a paper without an abstract."""
    found = ""
    for block in blocks:
        if block.kind is BlockKind.PARAGRAPH and len(block.text) > 120:
            found = f"{found} {block.text}".strip()
            if len(found) > most // 2:
                break
    return found[:most].rsplit(". ", 1)[0].rstrip(".") + "." if found else ""


def _authors(head: tuple[ParsedBlock, ...]) -> tuple[str, ...]:
    """The names in the line below the title, up to the first thing that is no name."""
    after = next((n for n, b in enumerate(head) if b.kind is BlockKind.TITLE), None)
    if after is None or after + 1 >= len(head) or head[after + 1].kind is not BlockKind.OTHER:
        return ()
    line = head[after + 1].text
    glued = _GLUED.search(line)
    line = line[: min(m.start() for m in (glued, _PLACE.search(line + " university")) if m)]
    names: list[str] = []
    for piece in re.split(r"\s*(?:[,;&]|\band\b|\be\b|\by\b)\s*", _MARKS.sub(", ", line)):
        name = re.sub(r"(?<=[a-z])ID$", "", " ".join(piece.split()))  # the letters of ORCID's sign
        if glued and len(name) > 3 and name[-1] in "abcdef":
            name = name[:-1]
        if not name:
            continue
        if not _NAME.fullmatch(name):
            break
        names.append(name)
    return tuple(dict.fromkeys(names))


def _keywords(head: tuple[ParsedBlock, ...]) -> tuple[str, ...]:
    for block in head:
        if found := _KEYWORDS.match(block.text):
            listed = re.split(r"\s*[;,·•]\s*", found.group(1).strip(" ."))
            return tuple(k for k in listed if k and len(k) < 80)[:20]
    return ()


def _year(printed: list[str]) -> int | None:
    """The year of publication: the latest one in a statement of it, else in brackets, else in a short line."""
    short = [text for text in printed if len(text) <= _DATE_LINE]
    for pattern, texts in ((_DATED, printed), (_BRACKETED, printed), (_ANY_YEAR, short)):
        if found := pattern.findall("\n".join(texts)):
            return int(max(found))
    return None
