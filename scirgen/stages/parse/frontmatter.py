"""Reads a paper's front matter from its parsed blocks: DOI, year, licence, keywords. Parsers find the authors.

Nothing is guessed: a DOI has a DOI's form and is in the paper's own head; what is not found stays empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise, takewhile
from typing import Final

from scirgen.core.records import BlockKind
from scirgen.core.records.licences import normalise_licence
from scirgen.core.text.doi import find_doi
from scirgen.core.text.sentences import sentence_spans
from scirgen.stages.base import FrontMatter
from scirgen.stages.parse.base import ParsedBlock, ParsedPaper
from scirgen.stages.parse.terms import kind_of_heading

FRONT_VERSION: Final = 11
"""Raise it when a paper gives another front matter: records made from papers are then made again."""
_HEAD = 14  # blocks before which a paper's own DOI, date and licence are printed
_TAIL = 12  # blocks at the end, without references, in which a licence may be printed
_ASIDE = (BlockKind.OTHER, BlockKind.FOOTNOTE)
_YEAR = r"(19\d\d|20[0-4]\d)"
_DATED = re.compile(
    rf"(?i)(?:publi(?:shed|cation)|available|©|\(c\)|copyright)[^\d]{{0,40}}(?:\d{{1,2}}[/.,\s]+){{0,2}}(?:\w+\s+)?"
    rf"(?:\d{{4}}[-–])?{_YEAR}\b(?![-–]\d\d\b)"
)
_ARRIVED = re.compile(
    rf"(?i)(?<!last )\b(?:received|submitted(?! to)|(?:up|down)loaded)\b[^;|]{{0,60}}?{_YEAR}\b"
    rf"(?:[^|]{{0,30}}?\brevised\b[^;|]{{0,60}}?{_YEAR}\b)?"
)
_VENUE = re.compile(
    r"(?i)\b(?:proc(?:eedings|\.)|conference|workshop|symposium|congress|journal|transactions|magazine|letters|annals"
    r"|vol(?:ume\b|\.)|issue|issn|isbn|appear\w*)|\$\d|\d \((?:19|20)\d\d\)"
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?,?"
_DATE = re.compile(
    rf"(?i)\b(?:{_MONTH}[\s-]+(?:\d{{1,2}},?\s+)?|date[\w ]{{0,20}}:\s*|accepted[^\d]{{0,20}}(?:\d{{1,2}}\s+\w+\s+)?"
    rf"|(?=\d{{4}}[/.-]\d\d?[/.-]\d)){_YEAR}\b"
)
_BRACKETED = re.compile(rf"\({_YEAR}\)(?!\s+[a-z])")
_CITE = re.compile(r"(?i)cit(?:e|ation|ar|er)\b(?: (?:as|this|como|este|cet)\b)?|zitier\w+")
_ENTRY = 400  # characters of a paper's own entry before its year, as in "Cite as: Doe, J. 2021"
_ENTRY_YEAR = re.compile(rf"(?<![\w/.-]){_YEAR}\b(?![\w/-])")
_VOLUME = re.compile(rf"\b{_YEAR}; ?\d+[(:]")
"""The year before a volume, as in "2021;28:e7"."""
_ANY_YEAR = re.compile(rf"(?<![\w/.-])(?<!\d \d ){_YEAR}\b(?!-\d{{3}})")  # not of an axis: "1 0 1999"
_SHORT = 120  # characters; a longer paragraph is prose
_NUMBERED = re.compile(r"\W*(?:\d{1,2}|[IVX]{1,4})(?:[.\s]|$)")
_DATE_LINE = 100  # longest block that is a date, or a volume and year
_VENUE_LINE = 300  # characters of a journal's or a meeting's line
LICENSED = re.compile(
    r"creative ?commons|\bcc[- ]?(?:by|0|zero)\b|(?:licen[sc]|distribut|publish)ed under(?! licen[sc]e to\b)", re.I
)
_GENERAL = re.compile(r"creative commons licen[sc]es?\b(?! *[-:(])", re.I)
"""Publishers speak of "the article's Creative Commons licence" after they have named it."""
_LIMITED = re.compile(r"commercial|derivative", re.I)
_OF_PAPER = re.compile(r"\b(?:article|paper|publication|manuscript|work|author)s?\b", re.I)
_OF_DATA = re.compile(
    r"\b(?:data|datasets?|databases?|code|software|program|package|maps?|images?|metadata"
    r"|[al]?gpl(?:v?\d)?|(?:general public|mit|bsd|apache)(?:[- ]style)? licen[sc]e)\b", re.I
)  # fmt: skip
"""Words for things beside the paper, and licences of software ("distributed under the GNU General Public License")."""
_WAIVER = re.compile(r"\bappl(?:y|ies) to (?:the |all )?(?:meta)?data\b", re.I)
_NOTICE = re.compile(r"^(?:(?!licen[sc]|commons).){0,300}?(?=\bthis (?:is an open|article|work|paper)\b)", re.I | re.S)
_OWN_DOI = re.compile(r"(?i)\W*(?:https?://)?(?:dx\.)?doi\b")
_BROKEN_DOI = re.compile(r"(\b10\.\d{4,9}/(?:\S{0,80}[/_-](?=\s+\S*\d)|\S{0,80}\.(?=\s+\d{5})|(?=\s)))\s+")
_BROKEN_ADDRESS = re.compile(r"(creativecommons\.org/\S*/|https?://)\s+(?=[\w.]+/)", re.I)
_KEYWORDS = re.compile(r"(?is)^\s*(?:key\s?words?|palavras-chave|palabras clave)\b\s*[:.—-]?\s*(.*)")


def front_matter(parsed: ParsedPaper) -> FrontMatter:
    """Return the front matter of a parsed paper."""
    head = parsed.blocks[:_HEAD]
    aside = (b for b in parsed.blocks[_HEAD:] if b.kind in _ASIDE and b.lines and b.lines[0].page == 1)
    first = (*head, *aside)
    printed = "\n".join(b.text for b in first if b.kind in _ASIDE and (b in head or _OWN_DOI.match(b.text)))
    ends = (
        *first,
        *[b for b in parsed.blocks[_HEAD:] if _is_prose(b)][-_TAIL:],
    )
    return FrontMatter(
        title=" ".join((parsed.title or _first_heading(head)).split()),
        abstract=parsed.abstract or _first_paragraphs(parsed.blocks),
        authors=parsed.authors,
        keywords=_keywords(head),
        doi=parsed.doi or find_doi(_BROKEN_DOI.sub(r"\1", printed)),
        year=parsed.year or printed_year([b.text for b in head if b.kind in _ASIDE or _cited(b.text, at_start=True)]),
        licence=_licence(parsed.licence.split("\n") if parsed.licence else [b.text for b in ends if _is_prose(b)]),
        language=parsed.language,
        language_guessed=not (parsed.language and parsed.kind in ("jats", "tei", "html")),
        passages=tuple(b.text for b in parsed.blocks if b.kind is not BlockKind.REFERENCE),
    )


def _is_prose(block: ParsedBlock) -> bool:
    return block.kind not in (BlockKind.REFERENCE, BlockKind.TITLE, BlockKind.HEADING, BlockKind.EQUATION)


def _licence(texts: Iterable[str]) -> str:
    """Return the licence on which all sentences about the paper agree, else their texts; "unknown" without any."""
    found: list[str] = []
    for text in texts:
        sentences = [text[start:end] for start, end in sentence_spans(text)] if LICENSED.search(text) else []
        for sentence in sentences:
            named = LICENSED.search(_GENERAL.sub("", sentence))
            own = not _WAIVER.search(sentence) and (_OF_PAPER.search(sentence) or not _OF_DATA.search(sentence))
            if own and (named or _LIMITED.search(sentence)):
                found.append(_BROKEN_ADDRESS.sub(r"\1", _NOTICE.sub("", sentence)))
    return normalise_licence(found)


def _first_heading(head: tuple[ParsedBlock, ...]) -> str:
    """Return the first heading above the text that is not the name or the number of a section."""
    above = takewhile(lambda b: b.kind is not BlockKind.PARAGRAPH or len(b.text) <= _SHORT, head)
    texts = (b.text for b in above if b.kind in (BlockKind.TITLE, BlockKind.HEADING))
    return next((text for text in texts if not kind_of_heading(text) and not _NUMBERED.match(text)), "")


def _first_paragraphs(blocks: tuple[ParsedBlock, ...], limit: int = 1500) -> str:
    """Return the beginning of a paper without an abstract."""
    found = ""
    for block in blocks:
        if block.kind is BlockKind.PARAGRAPH and len(block.text) > _SHORT:
            found = f"{found} {block.text}".strip()
            if len(found) > limit // 2:
                break
    return found[:limit].rsplit(". ", 1)[0].rstrip(".") + "." if found else ""


def _keywords(head: tuple[ParsedBlock, ...]) -> tuple[str, ...]:
    for block, after in pairwise((*head, *head[-1:])):
        if found := _KEYWORDS.match(block.text):
            below = after.text if _is_prose(after) and ". " not in after.text else ""
            listed = re.split(r"\s*[;,·•]\s*", (found.group(1) or below).strip(" ."))
            return tuple(k for k in listed if k and len(k) < 80)[:20]
    return ()


def printed_year(printed: Iterable[str]) -> int | None:
    """Return the year of publication in texts that stand outside the body of a paper's first page.

    It is the latest one in a statement of publication, else in the paper's own entry, else beside the name of a journal
    or a meeting, else in a date, in brackets, or in a short line. Dates of receipt are not read.
    """
    texts = [_ARRIVED.sub(" ", text) for text in printed]
    short = [
        text for text in texts if len(text) <= _DATE_LINE and "et al" not in text and re.search(r"[^\W\d_]{3}", text)
    ]
    entries = [year for text in texts for year in _cited(text)]
    venues = [text for text in texts if len(text) <= _VENUE_LINE and _VENUE.search(text)]
    for years in (
        _DATED.findall("\n".join(texts)),
        entries,
        *(
            p.findall("\n".join(t))
            for p, t in ((_ENTRY_YEAR, venues), (_DATE, texts), (_BRACKETED, texts), (_ANY_YEAR, short))
        ),
    ):
        if years:
            return int(max(years))
    return None


def _cited(text: str, at_start: bool = False) -> list[str]:
    """Return the years of a paper's own entry in a text; with ``at_start`` only of an entry that the text begins
    with."""
    entries = [_CITE.match(text)] if at_start else list(_CITE.finditer(text))
    volumes = [_VOLUME.match(text)] if at_start else list(_VOLUME.finditer(text))
    lines = [text[e.end() : e.end() + _ENTRY].partition("\n")[0] for e in entries if e]
    years = [*map(_ENTRY_YEAR.search, lines), *volumes]
    return [year[1] for year in years if year]
