"""Accepts headings that the classifier is unsure of if they belong to a series: one type, one scheme of numbers, or one
form.

The classifier has seen few papers with headings in the body's own size ("II. METHODS" in small capitals,
"B. Sampling" in italics, "Sampling. We took ..." in bold).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from scirgen import BlockKind
from scirgen_pdf.headings.candidates import Candidate
from scirgen_pdf.page.lines import Style, same_row
from scirgen_pdf.paragraphs import Group
from scirgen_pdf.units import Chars, Count, Ems, Points, Share

_ENDS: Final = tuple(".;,:。；，：！？")
_STATEMENT: Final = re.compile(
    r"^(?:theorem|lemma|proposition|corollary|definition|remark|example|proof|conjecture|axiom|claim|assumption|exercise|note|hypothesis"
    r"|case|step|algorithm|observation|question|problem|input|output|th[ée]or[èe]me|lemme|d[ée]finition|remarque|satz|beweis|teorema|lema)\b",
    re.I,
)
_NUMBERED_STATEMENT: Final = re.compile(_STATEMENT.pattern + r" [A-Z]?\d+(?:\.\d+)*(?:\W*| ?\(.*)", re.I)
_KEY: Final = re.compile(r"[A-ZÀ-Þ][\w'’-]+,? (?:18|19|20)\d\d[a-z]?")
_PROGRAM: Final = re.compile(r"(?:begin|do|else|end|for|foreach|if|repeat|return|then|until|while)\b")
_APPENDIX: Final = re.compile(r"\W*(?:appendi|anhang|annex|anexo|ap[ée]ndice)", re.I)
_ENTRY: Final = re.compile(r"^\[?\d{1,3}[\].]?\s+\S|^[A-ZÀ-Þ][\w'’-]+,?\s")
_YEAR: Final = re.compile(r"\b(?:18|19|20)\d\d[a-z]?\b")
_WORDS: Final = re.compile(r"[^\W\d_]{3,}|[\u4e00-\u9fff]{2,}")


@dataclass(frozen=True)
class Series:
    """Rules of the pass that accepts headings in series."""

    beside_table: Annotated[Share, "the score of a numbered heading in what looks like a table"] = 0.3
    least_score: Annotated[Share, "the classifier's score of a heading that others of its type vouch for"] = 0.1
    half_sure: Annotated[Share, "the score of a lead with the name of back matter and without a stop"] = 0.5
    in_lines: Annotated[Count, "lines of a numbered heading in a series"] = 3
    alike: Annotated[Count, "members of a series"] = 3
    titles: Annotated[Share, "the members of a series that look like headings"] = 0.7
    above_prose: Annotated[Share, "the headings of a series above prose; a figure may stand below others"] = 0.5
    accepted: Annotated[Share, "the members of a type that are headings, if the rest are"] = 0.6
    reserved: Annotated[Share, "a type's characters in headings, if it is used for nothing else"] = 0.8
    in_type: Annotated[Share, "a heading's characters in its main type"] = 0.9
    child_lines: Annotated[Count, "lines of a heading below another in any type"] = 2
    looked_at: Annotated[Count, "groups behind a heading among which its prose or entries stand"] = 3
    entries: Annotated[Count, "references below their heading"] = 2
    prose: Annotated[Chars, "of the prose below a heading"] = 60
    rest_numbered: Annotated[Chars, "of a paragraph behind a lead with a number"] = 30
    rest: Annotated[Chars, "of a paragraph behind another lead"] = 100
    lead_words: Annotated[Count, "words of a lead in a series"] = 10
    brief_words: Annotated[Count, "words of a heading that only its number or type shows"] = 14
    longest: Annotated[Chars, "of a heading in a series; a Chinese sign counts as two"] = 160
    math: Annotated[Share, "a heading's characters in fonts for formulas"] = 0.4
    centred: Annotated[Ems, "what a centred heading leaves empty before it"] = 2.5
    lopsided: Annotated[Ems, "how unequal the rooms beside a centred heading may be"] = 1.2
    larger: Annotated[Points, "how much larger than the body a heading's type is"] = 0.4
    as_large: Annotated[Points, "how much smaller than the body a reserved type may be"] = 0.3


_RULES = Series()


def accept_series(
    found: Sequence[Candidate], groups: Sequence[Group], body: Style, threshold: float, rules: Series = _RULES
) -> None:
    """Raise the score of candidates in a series to ``threshold``."""
    for members in _numbered(found, rules):
        apart = [c for c in members if _set_apart(c, body, rules)]
        if len(apart) >= rules.titles * len(members):
            _accept(apart, sum(_above_prose(c, groups, rules) for c in apart), threshold, rules)
    for c in found:
        if _is_back(c, body, rules) or _opens_references(c, groups, rules) or _is_appendix(c, rules):
            c.score = max(c.score, threshold)
    behind = _behind_the_paper(found, threshold)
    for members in _run_ins([c for c in found if c.index not in behind], body, rules):
        titles = [c for c in members if _is_title(c, groups, body, rules)]
        _accept(titles, len(titles) if len(titles) >= rules.titles * len(members) else 0, threshold, rules)
    _refuse(found, behind, body, threshold, rules)
    _refuse_labels(found, groups)
    _accept_alike(found, groups, body, threshold, rules)
    _accept_reserved(found, groups, body, threshold, rules)
    _accept_children(found, groups, threshold, rules)
    _accept_missing(found, threshold, rules)


def _is_back(c: Candidate, body: Style, rules: Series) -> bool:
    """Return whether a line or lead with the name of back matter is its heading: "Author contributions. AB planned"."""
    if c.run_in:
        return c.name == "back" and (c.ended or c.score >= rules.half_sure)
    return c.name == "back" and c.score >= rules.least_score and _set_apart(c, body, rules)


def _is_appendix(c: Candidate, rules: Series) -> bool:
    """Return whether a line is the heading of an appendix, in whatever type: "Appendix B Implementation"."""
    line = not c.run_in and len(c.group.lines) <= rules.child_lines and _is_brief(c, rules)
    return line and c.number is not None and c.number.scheme == "appendix"


def _behind_the_paper(found: Sequence[Candidate], threshold: float) -> set[int]:
    """Return the indices of what is below back matter or references, such as roles below "Author contributions"; an
    appendix is the paper's own text."""
    behind: set[int] = set()
    inside = False
    for c in found:
        if not c.run_in and c.score >= threshold:
            inside = c.name in ("back", "references") and not _APPENDIX.match(c.text)
        elif inside:
            behind.add(c.index)
    return behind


def _refuse(found: Sequence[Candidate], behind: set[int], body: Style, threshold: float, rules: Series) -> None:
    """Refuse numbered statements, words of programs, leads that are roles or entries behind the paper or items of a
    list, and lines in the body's own type or, alone of their type, in its slant, or with an author and a year alone."""
    alike = Counter((c.run_in, c.style) for c in found)
    numbered = sum(c.score >= threshold and not c.run_in and _is_outermost(c) for c in found) >= rules.alike
    for c in found:
        if c.run_in:
            role = c.index in behind and c.name not in ("back", "references")  # "Funds: AB", "12. Adams BC, Dyer EF"
            behind_it = c.group.text[len(c.text) :].lstrip()
            goes_on = not (c.ended or c.numbers) and behind_it[:1].islower()  # "flexsurv for R"
            refused = role or goes_on or (numbered and _is_outermost(c))
        else:
            known = c.name or c.numbers or c.outline is not None or c.key.capitals
            moved = c.group.lines[0].x0 - c.group.x0 > rules.centred * body.size
            slanted = c.style.italic and not c.style.bold and c.style.size <= body.size + rules.larger
            lone = slanted and alike[False, c.style] == 1
            key = not c.style.bold and _KEY.fullmatch(c.text) is not None
            refused = not (known or moved) and (c.style == body or lone or key)
        if refused or _NUMBERED_STATEMENT.fullmatch(c.text) or _PROGRAM.match(c.text):
            c.score = 0.0


def _refuse_labels(found: Sequence[Candidate], groups: Sequence[Group]) -> None:
    """Refuse the label of an axis, between a figure's other text and its caption, and a cell with another at its
    right."""
    for c in found:
        around = list(groups[max(0, c.index - 1) : c.index + 2])
        known = c.run_in or c.name or c.numbers or c.outline is not None
        axis = [g.kind for g in around[:1] + around[2:]] == [BlockKind.OTHER, BlockKind.CAPTION]
        last, after = c.group.lines[-1], around[-1]
        aside = min(line.x0 for line in after.lines) > last.x1 and same_row(last, after.lines[0])
        cell = aside and after.page == c.group.page and last.x1 < (c.group.x0 + c.group.x1) / 2
        if not known and (axis or cell):
            c.score = 0.0


def _is_outermost(c: Candidate) -> bool:
    """Return whether a text begins with one Arabic number."""
    return any(number.scheme == "arabic" and number.depth == 1 for number in c.numbers)


def _numbered(found: Sequence[Candidate], rules: Series) -> list[list[Candidate]]:
    """Candidates of one type whose numbers go on in one scheme."""
    series: dict[tuple[object, str], list[Candidate]] = defaultdict(list)
    for c in found:
        if c.number is not None and len(c.group.lines) <= rules.in_lines and not c.run_in:
            series[(c.key, c.number.scheme)].append(c)
    return [members for members in series.values() if max(c.number.values[-1] for c in members if c.number) > 1]


def _run_ins(found: Sequence[Candidate], body: Style, rules: Series) -> list[list[Candidate]]:
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
        bold = c.style.bold and apart and c.text[:1].isupper()
        if c.run_in and (lettered or bold):
            series[(c.key, lettered)].append(c)
    several = (members for members in series.values() if len({c.text for c in members}) >= rules.alike)
    return [members for members in several if len({c.text for c in members}) >= len(members) / 2]


def _accept(titles: Sequence[Candidate], above_prose: int, threshold: float, rules: Series) -> None:
    """Accept titles of which at least three, and half, stand above prose; a figure may stand between the others and
    their prose."""
    if above_prose >= max(rules.alike, rules.above_prose * len(titles)):
        for c in titles:
            c.score = max(c.score, threshold)


def _accept_alike(
    found: Sequence[Candidate], groups: Sequence[Group], body: Style, threshold: float, rules: Series
) -> None:
    """Accept what is set in a type that most others of its kind are headings in."""
    alike: dict[tuple[object, ...], list[Candidate]] = defaultdict(list)
    for c in found:
        if not c.run_in and c.share > rules.in_type and c.group.kind is not BlockKind.TABLE:
            alike[c.key.font, c.key.size, c.key.bold, c.key.italic].append(c)
    for members in alike.values():
        sure = sum(c.score >= threshold for c in members)
        if sure > 1 and sure >= rules.accepted * len(members):
            for c in members:
                if c.score >= rules.least_score and _is_title(c, groups, body, rules):
                    c.score = max(c.score, threshold)


def _accept_reserved(
    found: Sequence[Candidate], groups: Sequence[Group], body: Style, threshold: float, rules: Series
) -> None:
    """Accept the lines of a type that the paper uses for nothing but short lines above prose, such as a medium
    weight."""
    printed: Counter[Style] = Counter()
    for group in groups:
        for line in group.lines:
            for run in line.runs:
                printed[run.style] += len(run.text.strip())
    types: dict[Style, list[Candidate]] = defaultdict(list)
    for c in found:
        if not c.run_in and c.share > rules.in_type and c.group.kind is BlockKind.PARAGRAPH:
            types[c.style].append(c)
    for style, members in types.items():
        other = style.font != body.font
        titles = [c for c in members if c.text[:1].isupper() and _is_brief(c, rules) and _above_prose(c, groups, rules)]
        alone = sum(len(c.text) for c in titles) > rules.reserved * printed[style]
        large = style.size >= body.size - rules.as_large
        if other and alone and large and len({c.text for c in titles}) >= rules.alike:
            for c in titles:
                c.score = max(c.score, threshold)


def _accept_children(found: Sequence[Candidate], groups: Sequence[Group], threshold: float, rules: Series) -> None:
    """Accept lines in any type whose number goes on below an accepted heading: "3.1.2. Recycling" below "3.1.
    Catalysts"."""
    known = {c.number.values for c in found if c.number and c.number.scheme == "arabic" and c.score >= threshold}
    for c in found:
        if c.number is None or c.number.scheme != "arabic" or c.number.depth == 1 or c.run_in:
            continue
        few = len(c.group.lines) <= rules.child_lines
        line = few and _is_brief(c, rules) and _WORDS.search(c.text) is not None
        if line and c.number.values[:-1] in known and _above_prose(c, groups, rules):
            c.score = max(c.score, threshold)
            known.add(c.number.values)


def _accept_missing(found: Sequence[Candidate], threshold: float, rules: Series) -> None:
    """Accept a line in any type with the number that is missing between accepted headings: "5. Use" between "4. Setup"
    and "6. Library"; of several such lines, the one most set apart."""
    lines = [(c, c.number) for c in found if c.number is not None and not c.run_in]
    places = {(number.scheme, number.values): c.index for c, number in lines if c.score >= threshold}
    for c, number in sorted(lines, key=lambda line: line[0].score, reverse=True):
        *outer, last = number.values
        near = [places.get((number.scheme, (*outer, value)), -1) for value in (last - 1, last, last + 1)]
        missing = near[1] < 0 <= near[0] < c.index < near[2]
        if missing and len(c.group.lines) <= rules.child_lines and _is_brief(c, rules) and _WORDS.search(c.text):
            c.score = max(c.score, threshold)
            places[number.scheme, number.values] = c.index


def _opens_references(c: Candidate, groups: Sequence[Group], rules: Series) -> bool:
    """Return whether a line that says "References" stands above entries, in whatever type it is set."""
    following = groups[c.index + 1 : c.index + 1 + rules.looked_at]
    entries = sum(bool(_ENTRY.match(g.text) and _YEAR.search(g.text)) for g in following)
    return c.name == "references" and not c.run_in and entries >= min(rules.entries, len(following)) > 0


def _is_brief(c: Candidate, rules: Series) -> bool:
    return c.text[-1:] not in ".;,:。；，：！" and len(c.text.split()) <= rules.brief_words


def _is_title(c: Candidate, groups: Sequence[Group], body: Style, rules: Series) -> bool:
    if c.run_in:
        rest = len(c.group.text) - len(c.text) > (rules.rest_numbered if c.number else rules.rest)
        return rest and len(c.text.split()) <= rules.lead_words and not _STATEMENT.match(c.text)
    return _set_apart(c, body, rules) and _above_prose(c, groups, rules)


def _set_apart(c: Candidate, body: Style, rules: Series) -> bool:
    """Return whether a line differs from the body in type, in capitals or by being centred, has words, and does not end
    as a sentence."""
    group = c.group
    if group.kind is BlockKind.TABLE and (c.number is None or c.score <= rules.beside_table):
        return False
    left, right = group.lines[0].x0 - group.x0, group.x1 - group.lines[0].x1
    centred = left > rules.centred * body.size and abs(left - right) < rules.lopsided * body.size
    slanted = (c.style.bold, c.style.italic) != (body.bold, body.italic)
    if not (centred or slanted or c.key.capitals or c.style.size > body.size + rules.larger):
        return False
    end = "" if c.name == "back" else c.text[-1:]  # "Acknowledgments."
    length = len(c.text) + sum("\u4e00" <= char <= "\u9fff" for char in c.text)
    plain = max(line.math for line in group.lines) < rules.math
    return _WORDS.search(c.text) is not None and end not in _ENDS and length <= rules.longest and plain


def _above_prose(c: Candidate, groups: Sequence[Group], rules: Series) -> bool:
    following = groups[c.index + 1 : c.index + 1 + rules.looked_at]
    return any(g.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM) and len(g.text) > rules.prose for g in following)
