"""Reads a paper's front matter from its parsed blocks: DOI, year, licence, keywords. Parsers find the authors.

Nothing is guessed: a DOI has a DOI's form and stands in the paper's own head, and what is not found stays empty.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from scirgen.core.config import ParseConfig
from scirgen.core.records import BlockKind
from scirgen.core.registry import Registry
from scirgen.core.text.doi import find_doi
from scirgen.stages.base import FrontMatter
from scirgen.stages.parse.base import LAYOUT_VERSION, ParsedBlock, ParsedPaper
from scirgen.stages.parse.process.pool import ParserPool
from scirgen.stages.parse.stage import read_paper

FRONT_VERSION: Final = 2
"""Raise it when a paper gives another front matter: records made from papers are then made again."""
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
_BROKEN_DOI = re.compile(r"(\b10\.\d{4,9}/(?:\S{0,80}[/_-](?=\s+\S*\d)|\S{0,80}\.(?=\s+\d{5})|(?=\s)))\s+")
_KEYWORDS = re.compile(r"(?is)^\s*(?:key\s?words?|palavras-chave|palabras clave)\b\s*[:.—-]?\s*(.*)")


class FrontReader:
    """A `PaperReader` over the run's parsers."""

    versions: Final = (LAYOUT_VERSION, FRONT_VERSION)

    def __init__(self, config: ParseConfig, registry: Registry) -> None:
        self._config, self._registry = config, registry
        self._pool: ParserPool | None = None

    async def read(self, path: Path) -> FrontMatter:
        """Read one file.

        Raises:
            PaperError: it cannot be read.
        """
        self._pool = self._pool or ParserPool(self._config.workers, self._config.memory_mb)
        return front_matter(await read_paper(path, self._config, self._registry, self._pool))

    def close(self) -> None:
        """End the parser's processes; another file starts new ones."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None


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
        authors=parsed.authors,
        keywords=_keywords(head),
        doi=parsed.doi or _printed_doi(printed),
        year=parsed.year or _year(own),
        licence=parsed.licence or (licence.group() if licence else ""),
        language=parsed.language,
        passages=tuple(b.text for b in parsed.blocks if b.kind is not BlockKind.REFERENCE),
    )


def _printed_doi(text: str) -> str | None:
    """The first DOI in a text, whose parts on two lines are joined; None for a template's ("10.21105/joss.0XXXX")."""
    doi = find_doi(_BROKEN_DOI.sub(r"\1", text))
    return None if doi and "xxx" in doi else doi


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
