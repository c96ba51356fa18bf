"""Sentences of scientific prose with their offsets.

sentencex (Wikimedia Foundation) and each full stop before a capital propose the ends of sentences. This module adds the
rules for papers: citations, figure and equation references, abbreviations of the field, initials, units, species,
numbered items, and reference marks directly after a full stop.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Sequence
from functools import lru_cache
from typing import Final

import sentencex

from scirgen.core.records import Block, BlockKind, Document
from scirgen.core.runtime import stop_here

PROSE: Final = frozenset({BlockKind.PARAGRAPH, BlockKind.LIST_ITEM})
"""Kinds of blocks that contain sentences."""

_LONGEST_ASIDE: Final = 400
"""Characters of a bracket whose inner full stops do not end a sentence."""
_LEAST_ASIDE: Final = 5
"""Words of a bracket that may be a sentence: "(It would also work.) You can"."""
_LONGEST_JOINED: Final = 1500
_UPPER: Final = r"A-ZÀ-ÖØ-ÞŁŚŠŽČΑ-ΩА-Я"

_MARK: Final = re.compile(
    r"[.!?…]+[\"”’»)\]]*(?:\[\d[\d,–\-\s]*\]|(?<=[^\W\d_][.!?])\d{1,3}(?:[,–-]\d{1,3})*|(?:[\s,–]\s?\[\d[\d,–\-\s]*\])+(?=\s[A-Z]))?(?=\s)"
    r"|[。！？]+[”’」』）)]*"
    r"|(?<=[a-zà-ÿ]{3}|[a-z]{2}[)\]])\.(?=(?:The|This|These|However|It|We|In|Here|For|As|To|Our|There)\s)"
    r"|(?=[•▪‣●■□]\s|(?<!\d)(?<!\d\s)◦\s)"
)
"""Where a sentence may end: an end mark with the brackets and citations behind it, a full stop whose blank was lost, or
a list mark."""
_NEVER_LAST: Final = re.compile(
    r"\b(?:figs?|eqs?|eqns?|refs?|tabs?|secs?|sects?|chs?|chaps?|vols?|pp|approx|ca|cf|viz|vs|[ie]\.\s?[eg]|subsp|var|ssp|dr|prof|mrs?|ms|mt|st"
    r"|resp|aprox|núms?|n[º°]|p[áa]gs?|abb|bzw|bspw|vgl|ggf|usw|sog|z\.\s?b|d\.\s?h|u\.\s?a|p\.\s?ex|p\.\s?ej|incl|excl|est|ed|eds|art|suppl|fide)\.$",
    re.I,
)
_WORD_TOO: Final = re.compile(r"(?:\d\s(?:sec|ms|est)|\b[A-Z]{2,})\.$")
"""A unit or an acronym that reads as an abbreviation: "5 sec.", "20 ms.", "on ART."."""
_PANEL: Final = re.compile(r"\((?:[a-h]|[ivx]{1,4})\)\s")
"""A letter or number in brackets that opens an item: "in two ways. (i) Every"."""
_NUMBERED: Final = re.compile(r"\b(?:nos?|nrs?|c|p|op|lot|cat|max|min|wt|at|vol|mol|log|bull|nat)\.$", re.I)
"""Abbreviations only if a number, a sign or another abbreviation follows: "No. 6", "c. 1953", "at. %"."""
_JOURNAL: Final = re.compile(
    r"\b(?:Sci|Rep|Proc|Natl|Acad|Geophys|Res|Lett|Env|Environ|Ecol|Biol|Chem|Phys|Meteorol|Hydrol|Atmos|Oceanogr|Clim|Soc|Trans|Int|Rev|Eng|Comput|Univ|Assoc"
    r"|Dept|Dep|Inst|Lab|Appl|Am|Surv)\.$"
)
_JOURNAL_GOES_ON: Final = re.compile(r"(?!Figs?|Eqs?|Tabs?|Secs?|Refs?|Nos?)[A-Z][a-z]{1,8}\.|\d+\s?[,(:]|of\b|[A-Z]\b")
_INITIAL: Final = re.compile(rf"(?:^|[\s(\[,;&.\-–])[{_UPPER}]\.$")
_NAMED: Final = re.compile(
    r"(?:\b(?:vitamin|type|figure|table|panel|appendix|class|group|zone|site|model|scenario|phase|plan)\s[A-Z]|\d\s?°?[A-Z])\.$",
    re.I,
)
"""A capital with a full stop that is not an initial: "vitamin C.", "783 K."."""
_STATES: Final = re.compile(r"\b(?:[A-Z]\.){2,}$")
_STARTER: Final = re.compile(
    r"[\"“‘'(\[]*(?:The|This|These|Those|There|Thus|Therefore|Then|That|It|Its|In|On|At|As|An|A|And|We|Our|Here|However|For|From|By|But|With|When|While|Where"
    r"|Whereas|Which|Although|Also|Additionally|After|Before|Because|Both|Each|If|Since|So|To|Two|Three|Such|Some|Specifically|Similarly|Such|Finally|First"
    r"|Second|Furthermore|Moreover|Consequently|Hence|Note|Under|Using|Results?|Data|Not|No|They|Their|Other|Most|Many|All|One|Only|Over|According|Again|Indeed|More|Following|Numerically|Relatively|Interestingly|Given|Unlike|Is|Are|How|What"
    r"|El|La|Los|Las|En|Un|Una|Por|Para|Con|Se|Este|Esta|Estos|Estas|Sin|Al|O|Os|As|Um|Uma|No|Na|Nos|Nas|Em|Com|Le|Les|L['’]|Un|Une|Des|Dans|Ce|Cette|Ces|Pour|Sur"
    r"|Il|Elle|On|Nous|Der|Die|Das|Den|Dem|Ein|Eine|Im|Bei|Mit|Für|Wir|Es|Sie|Auf|Zu)(?![\w.])"
)
"""A word that begins sentences but not names."""
_PROSE_BEGINS: Final = re.compile(rf"[{_UPPER}][a-zà-ÿ]{{2,}} [a-zà-ÿ]")
"""A capitalised word before a small one, as at a sentence's beginning."""
_LABEL: Final = re.compile(
    r"(?:fig|tab|figure|table|figura|tabela|tabla|quadro|cuadro|scheme|box|plate|abb|abbildung|tabelle|tableau)\.?\s*[A-Z]?\.?\d{1,3}[a-z]?\s*[.:]",
    re.I,
)
"""A caption's label, which belongs to its first sentence."""
_LOWER: Final = re.compile(r"[\"“‘'(\[]*(?![a-z]{1,3}[A-Z]|[a-z]+\d\b)[a-zà-öø-ÿ]")
"""A small letter, but not that of a name such as "mRNA" or "spicepy1"."""
_YEAR: Final = re.compile(r"\s*\(?[\[(]?\d{1,4}[a-z]?[\])]|\s*\(?(?:in press|submitted)")
_UNIT: Final = re.compile(
    r"(?<=\d)\s?(?:[µμkcmdhnGMT]?(?:m|g|s|W|J|Pa|Hz|L|l|K|V|A)|ha|h|d|yr|min|°C|ppm|ppb|dia|dias|días)(?:[−-]?[1-4²³])?\.$"
)
_ITEM: Final = re.compile(r"\(?(?:\d{1,2}(?:\.\d{1,2}){0,3}|[A-Za-z]|[ivxIVX]{1,5})[.)]+")
"""The number of an item, which belongs to what follows it."""
_BEGINS: Final = re.compile(rf"[\"“”‘'(\[¿¡–—•▪◦‣●■□*<>~≈±+\-−]*(?:[{_UPPER}\d$€£§#∆]|[a-zα-ω])|[^\w\s]")
_GOES_ON: Final = re.compile(r"\s*(?:[,;:)\]%/=×]|\?\?)")
_OPEN, _CLOSE = "([", ")]"
_UNFINISHED: Final = re.compile(r"[-–,(]")
_FINISHED: Final = re.compile(r"[.!?…。！？:；;][\"”’»)\]]*(?:\[?\d[\d,–\-\s]*\]?)?\s*$")


def sentence_spans(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Return the offsets (start, end) of the sentences of ``text``, in order, not overlapping, without the space around
    them.

    Every character that is not white space lies in exactly one sentence. A blank line always ends a sentence.

    Args:
        text: running text, any length.
        language: a two-letter code; languages that sentencex does not know are treated as English.
    """
    found: list[tuple[int, int]] = []
    for match in re.finditer(r"(?:(?!\n\s*\n).)+", text, re.S):
        found += _paragraph(match.group(), match.start(), language)
    return found


def document_sentences(
    document: Document,
    start: int = 0,
    end: int | None = None,
    kinds: Container[BlockKind] = PROSE,
) -> list[tuple[int, int]]:
    """Return the sentences of a document's blocks of certain kinds, as offsets into its text, that begin in [start,
    end).

    A sentence that a displayed equation or the end of a page interrupts is one sentence.
    """
    stop = len(document.text) if end is None else end
    found: list[tuple[int, int]] = []
    last = -1
    for index in range(bisect_right(document.blocks, start, key=lambda b: b.end), len(document.blocks)):
        stop_here()
        block = document.blocks[index]
        if block.start >= stop:
            break
        if block.kind in kinds:
            spans = sentence_spans(document.text[block.start : block.end], document.language)
            placed = [(block.start + s, block.start + e) for s, e in spans if start <= block.start + s < stop]
            if found and placed and _interrupted(document, document.blocks[last : index + 1], found[-1], placed[0]):
                found[-1] = (found[-1][0], placed.pop(0)[1])
            found += placed
            last = index
    return found


def _interrupted(document: Document, blocks: Sequence[Block], before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Check whether a sentence continues in another block: after displayed equations, or in the next paragraph, where a
    page ended."""
    text = document.text
    goes_on = _LOWER.match(text, after[0]) or _GOES_ON.match(text, after[0])
    if len(blocks) < 3:
        if any(block.kind is not BlockKind.PARAGRAPH for block in blocks):
            return False
        goes_on = goes_on or _UNFINISHED.match(text, before[1] - 1)
        whole = _FINISHED.search(text[before[0] : before[1]])
    elif any(block.kind is not BlockKind.EQUATION for block in blocks[1:-1]):
        return False
    else:
        whole = _FINISHED.search(text[before[0] : before[1]].rstrip(":"))
    return bool(goes_on) and not whole and after[1] - before[0] <= _LONGEST_JOINED


def _paragraph(text: str, offset: int, language: str) -> list[tuple[int, int]]:
    cuts = _cuts(text, language)
    spans: list[tuple[int, int]] = []
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        piece = text[start:end]
        lead = len(piece) - len(piece.lstrip())
        if piece.strip():
            spans.append((offset + start + lead, offset + start + len(piece.rstrip())))
    return spans


@lru_cache(maxsize=4096)
def _cuts(text: str, language: str) -> tuple[int, ...]:
    likely: set[int] = set()
    position = 0
    for piece in sentencex.segment(language, text):
        position += len(piece)
        likely.add(len(text[:position].rstrip()))
    asides = _asides(text)
    found: list[int] = []
    for match in _MARK.finditer(text):
        end = match.end()
        begin = found[-1] if found else 0
        if end >= len(text) or not text[end:].strip():
            continue
        around = next(((a, b) for a, b in asides if a < match.start() < b), None)
        if around and not (end == around[1] + 1 and len(text[slice(*around)].split()) >= _LEAST_ASIDE):
            continue
        if _ITEM.fullmatch(text[begin:end].strip()) or _LABEL.fullmatch(text[begin:end].strip()):
            continue
        if not match.group() or match.group()[0] in "。！？" or _ends(text, match.start(), end, end in likely):
            found.append(end)
    return tuple(end for end in found if end > 0)


def _ends(text: str, at: int, end: int, likely: bool) -> bool:
    """Check whether the mark in [at, end) ends a sentence; ``likely``: sentencex says that it does."""
    before, after = text[max(0, at - 30) : at + 1], text[end : end + 60].lstrip()
    if (_LOWER.match(after) and not _PANEL.match(after)) or _GOES_ON.match(after):
        return False
    if text[at] in "!?…" or text[at : at + 2] == "..":
        return likely or bool(_BEGINS.match(after))
    cited = end > at + 1 and text[at + 1].isspace()  # "It fell. [7] The"
    if cited and (_INITIAL.search(before) or re.search(r"\b(?:al|spp?|cv|etc)\.$", before, re.I)):
        return False
    if end > at + 1 and text[at + 1] in ')]”’"»':  # "(Figure 6A.). The"
        short = _NEVER_LAST.search(before) or before.endswith("al.")
        return bool((_STARTER if short else _BEGINS).match(after))
    pattern = before.endswith("*.") and not text[end].isspace()
    if _WORD_TOO.search(before) and _STARTER.match(after):
        return True
    if pattern or _NEVER_LAST.search(before) or _is_abbreviation(before, after):
        return False
    starter = _STARTER.match(after)
    if re.search(r"\b(?:al|spp?|cv|etc)\.$", before, re.I):
        code = re.search(r"\bspp?\.$", before) and re.match(r"[B-Z]\b", after)
        return not code and bool(re.match(r"[\"“(]?[A-ZÀ-Þ]", after)) and not _YEAR.match(after)
    if _UNIT.search(before) or _NAMED.search(before):
        return bool(_BEGINS.match(after))
    if _INITIAL.search(before) or _STATES.search(before):
        return bool(starter)
    if re.search(r"(?:^|\s)[a-z]\.$", before):
        return bool(starter or _PROSE_BEGINS.match(after)) or (likely and not after[0].isdigit())
    if likely or starter:
        return bool(_BEGINS.match(after))
    word = re.search(r"[^\W\d_]{3}\.$|[\d)\]%]\.$", before)
    return bool(word and re.match(rf"[\"“(¿¡]?[{_UPPER}]", after)) or bool(_PROSE_BEGINS.match(after))


def _is_abbreviation(before: str, after: str) -> bool:
    """Check whether a full stop is that of an abbreviation because of what follows it."""
    if _NUMBERED.search(before):
        return bool(re.match(r"[\d%#(\[±~<>≈]|[A-Z]+[.\-/]?\d", after))
    return bool(_JOURNAL.search(before) and _JOURNAL_GOES_ON.match(after))


def _asides(text: str) -> list[tuple[int, int]]:
    """Return the outermost brackets that open and close within a few hundred characters, as offsets."""
    found: list[tuple[int, int]] = []
    stack: list[int] = []
    for match in re.finditer(r"[()\[\]]", text):
        at, sign = match.start(), match.group()
        if sign in _OPEN:
            stack.append(at)
            continue
        stack = [opening for opening in stack if at - opening <= _LONGEST_ASIDE]
        if stack and text[stack[-1]] == _OPEN[_CLOSE.index(sign)]:
            opening = stack.pop()
            found = [pair for pair in found if pair[0] < opening]
            found.append((opening, at))
    return found
