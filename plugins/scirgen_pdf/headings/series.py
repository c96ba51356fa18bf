"""Accepts headings that the classifier is unsure of because they stand in a series: one type, one scheme of numbers,
or one form.

The classifier has seen few papers with headings in the body's own size ("II. METHODS" in small capitals,
"B. Sampling" in italics, "Sampling. We took ..." in bold).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from scirgen import BlockKind
from scirgen_pdf.headings.candidates import Candidate
from scirgen_pdf.page.lines import Style
from scirgen_pdf.paragraphs import Group

_SCHEMES: Final = ("roman", "letter", "arabic", "roman_letter", "letter_number", "han", "han_paren", "lower")
_LEAST_SCORE: Final = 0.1
_NEAR_A_TABLE: Final = 0.3
_HALF_SURE: Final = 0.5
_ENDS: Final = tuple(".;,:。；，：！？")
_LEAST_ALIKE: Final = 3
_LONGEST: Final = 160
_STATEMENT: Final = re.compile(
    r"^(?:theorem|lemma|proposition|corollary|definition|remark|example|proof|conjecture|axiom|claim|assumption|exercise|note|hypothesis"
    r"|case|step|algorithm|observation|question|problem|input|output|th[ée]or[èe]me|lemme|d[ée]finition|remarque|satz|beweis|teorema|lema)\b",
    re.I,
)
_ENTRY: Final = re.compile(r"^\[?\d{1,3}[\].]?\s+\S|^[A-ZÀ-Þ][\w'’-]+,?\s")
_YEAR: Final = re.compile(r"\b(?:18|19|20)\d\d[a-z]?\b")


def accept_series(found: Sequence[Candidate], groups: Sequence[Group], body: Style, threshold: float) -> None:
    """Raise the score of candidates in a series to ``threshold``."""
    for members in _numbered(found):
        apart = [c for c in members if _set_apart(c, body)]
        if len(apart) >= 0.7 * len(members):
            _accept(apart, sum(_above_prose(c, groups) for c in apart), threshold)
    behind = _behind_the_paper(found, threshold)
    for members in _run_ins([c for c in found if c.index not in behind], body):
        titles = [c for c in members if _is_title(c, groups, body)]
        _accept(titles, len(titles) if len(titles) >= 0.7 * len(members) else 0, threshold)
    for c in found:
        if c.index in behind and c.run_in and not c.name and not c.numbers:  # "Conceptualization: AB, CD"
            c.score = 0.0
        # "Author contributions. AB planned ..."
        back = c.run_in and c.name == "back" and (c.ended or c.score >= _HALF_SURE)
        named = c.name == "back" and not c.run_in and c.score >= _LEAST_SCORE and _set_apart(c, body)
        if back or named or _opens_references(c, groups):
            c.score = max(c.score, threshold)
    _accept_alike(found, groups, body, threshold)
    _accept_reserved(found, groups, body, threshold)
    _accept_children(found, groups, threshold)


def _behind_the_paper(found: Sequence[Candidate], threshold: float) -> set[int]:
    """Return the indices of what is below back matter or references, such as roles below "Author contributions"."""
    behind: set[int] = set()
    inside = False
    for c in found:
        if not c.run_in and (c.score >= threshold or c.name in ("back", "references")):
            inside = c.name in ("back", "references")
        elif inside:
            behind.add(c.index)
    return behind


def _numbered(found: Sequence[Candidate]) -> list[list[Candidate]]:
    """Candidates of one type whose numbers go on in one scheme."""
    series: dict[tuple[object, str], list[Candidate]] = defaultdict(list)
    for c in found:
        if c.number is not None and c.number.scheme in _SCHEMES and len(c.group.lines) <= 3 and not c.run_in:
            series[(c.key, c.number.scheme)].append(c)
    return [members for members in series.values() if max(c.number.values[-1] for c in members if c.number) >= 2]


def _run_ins(found: Sequence[Candidate], body: Style) -> list[list[Candidate]]:
    """Beginnings of long paragraphs in one type: at least three with letters or numbers like 4.1, or that many bold
    ones.

    A bold one ends in a stop, or the text behind it begins as a sentence.
    """
    series: dict[tuple[object, bool], list[Candidate]] = defaultdict(list)
    for c in found:
        lettered = c.number is not None and (
            c.number.scheme == "lower" or (c.number.scheme == "arabic" and c.number.depth > 1)
        )
        apart = c.ended or c.group.text[len(c.text) :].lstrip()[:1].isupper()
        bold = c.style.bold and not body.bold and apart and c.text[:1].isupper()
        if c.run_in and c.group.kind is BlockKind.PARAGRAPH and (lettered or bold):
            series[(c.key, lettered)].append(c)
    return [
        members for members in series.values() if len({c.text for c in members}) >= max(_LEAST_ALIKE, len(members) / 2)
    ]


def _accept(titles: Sequence[Candidate], above_prose: int, threshold: float) -> None:
    """Accept titles of which at least three, and half, stand above prose; a figure may stand between the others and
    their prose."""
    if above_prose >= max(3, 0.5 * len(titles)):
        for c in titles:
            c.score = max(c.score, threshold)


def _accept_alike(found: Sequence[Candidate], groups: Sequence[Group], body: Style, threshold: float) -> None:
    """Accept what is set in a type that most others of its kind are headings in."""
    alike: dict[tuple[object, ...], list[Candidate]] = defaultdict(list)
    for c in found:
        if not c.run_in and c.share > 0.9 and c.group.kind is not BlockKind.TABLE:
            alike[c.key[1:5]].append(c)
    for members in alike.values():
        sure = sum(c.score >= threshold for c in members)
        if sure >= 2 and sure >= 0.6 * len(members):
            for c in members:
                if c.score >= _LEAST_SCORE and _is_title(c, groups, body):
                    c.score = max(c.score, threshold)


def _accept_reserved(found: Sequence[Candidate], groups: Sequence[Group], body: Style, threshold: float) -> None:
    """Accept the lines of a type that the paper uses for nothing but short lines above prose, such as a medium
    weight."""
    printed: Counter[Style] = Counter()
    for group in groups:
        for line in group.lines:
            for run in line.runs:
                printed[run.style] += len(run.text.strip())
    types: dict[Style, list[Candidate]] = defaultdict(list)
    for c in found:
        if not c.run_in and c.share > 0.9 and c.group.kind is BlockKind.PARAGRAPH:
            types[c.style].append(c)
    for style, members in types.items():
        other = style.font != body.font or (style.bold, style.italic) != (body.bold, body.italic)
        titles = [c for c in members if c.text[:1].isupper() and _is_brief(c) and _above_prose(c, groups)]
        alone = sum(len(c.text) for c in titles) > 0.8 * printed[style]
        if other and alone and style.size >= body.size - 0.3 and len({c.text for c in titles}) >= _LEAST_ALIKE:
            for c in titles:
                c.score = max(c.score, threshold)


def _accept_children(found: Sequence[Candidate], groups: Sequence[Group], threshold: float) -> None:
    """Accept lines in any type whose number goes on below an accepted heading: "3.1.2. Recycling" below "3.1.
    Catalysts"."""
    known = {c.number.values for c in found if c.number and c.number.scheme == "arabic" and c.score >= threshold}
    for c in found:
        if c.number is None or c.number.scheme != "arabic" or c.number.depth < 2 or c.run_in:
            continue
        words = re.findall(r"[^\W\d_]{3,}|[\u4e00-\u9fff]{2,}", c.text)
        line = _is_brief(c) and bool(words) and len(c.group.lines) <= 2 and c.group.kind is BlockKind.PARAGRAPH
        if line and c.number.values[:-1] in known and _above_prose(c, groups):
            c.score = max(c.score, threshold)
            known.add(c.number.values)


def _opens_references(c: Candidate, groups: Sequence[Group]) -> bool:
    """Return whether a line that says "References" stands above entries, in whatever type it is set."""
    following = groups[c.index + 1 : c.index + 4]
    entries = sum(bool(_ENTRY.match(g.text) and _YEAR.search(g.text)) for g in following)
    return c.name == "references" and not c.run_in and entries >= min(2, len(following)) > 0


def _is_brief(c: Candidate) -> bool:
    return c.text[-1:] not in ".;,:。；，：！" and len(c.text.split()) <= 14


def _is_title(c: Candidate, groups: Sequence[Group], body: Style) -> bool:
    if c.run_in:
        long = len(c.group.text) - len(c.text) > (30 if c.number else 100) and len(c.text.split()) <= 10
        return long and not _STATEMENT.match(c.text)
    return _set_apart(c, body) and _above_prose(c, groups)


def _set_apart(c: Candidate, body: Style) -> bool:
    """Return whether a line differs from the body in type, in capitals or by being centred, has words, and does not end
    as a sentence."""
    group = c.group
    left, right = group.lines[0].x0 - group.x0, group.x1 - group.lines[0].x1
    centred = left > 2.5 * body.size and abs(left - right) < 1.2 * body.size
    distinct = c.style.bold != body.bold or c.style.italic != body.italic or c.style.size > body.size + 0.4
    small_capitals = c.style.font != body.font and bool(re.search(r"csc|caps|smallcap|-sc\b", c.style.font, re.I))
    words = re.findall(r"[^\W\d_]{3,}|[\u4e00-\u9fff]{2,}", c.text)
    brief = len(c.text) + sum("\u4e00" <= char <= "\u9fff" for char in c.text) <= _LONGEST
    end = "" if c.name == "back" else c.text[-1:]  # "Acknowledgments."
    whole = end not in _ENDS and brief and max(line.math for line in group.lines) < 0.4
    return (
        (centred or distinct or small_capitals or c.key[5])
        and bool(words)
        and whole
        and (group.kind is not BlockKind.TABLE or (c.number is not None and c.score > _NEAR_A_TABLE))
    )


def _above_prose(c: Candidate, groups: Sequence[Group]) -> bool:
    following = groups[c.index + 1 : c.index + 4]
    return any(g.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM) and len(g.text) > 60 for g in following)
