"""Finds candidates for headings: short separate groups, and starts of paragraphs in another typeface."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from rapidfuzz import fuzz

from scirgen import BlockKind
from scirgen.stages.parse.terms import ABSTRACT, kind_of_heading, plain
from scirgen_pdf.headings.numbering import Number, in_sequence, number_of
from scirgen_pdf.page.lines import Style
from scirgen_pdf.paragraphs import Group

_MAX_CHARS, _MAX_LINES, _MAX_WORDS = 260, 5, 36
_MAX_LEAD, _MIN_REST = 140, 2
_LEAD_END: Final = ".:—–：。"

StyleKey = tuple[bool, str, float, bool, bool, bool, int]


@dataclass(frozen=True)
class Outline:
    """Entries of the PDF's own outline: (level, text, page)."""

    entries: tuple[tuple[int, str, int], ...] = ()

    def below(self, title: str) -> Outline:
        """Return the outline without a top entry for the whole paper; a section may have the paper's name too."""
        top = [entry for entry in self.entries if entry[0] == 1]
        whole = len(top) == 1 < len(self.entries) and fuzz.ratio(plain(top[0][1]), plain(title)) >= 88
        return Outline(tuple(entry for entry in self.entries if entry[0] > 1)) if whole else self


@dataclass
class Candidate:
    """A group, or the first ``length`` characters of one (a run-in), that may be a heading.

    ``name``: its kind among the usual headings; ``number``: the number that continues an earlier one; ``outline``: its
    level in the PDF's outline; ``score``: how sure the classifier is, from 0 to 1.
    """

    index: int
    group: Group
    text: str
    style: Style
    share: float
    length: int = 0
    ended: bool = False
    name: str = ""
    numbers: Sequence[Number] = ()
    number: Number | None = None
    outline: int | None = None
    score: float = 0.0
    level: int = field(default=0)

    @property
    def run_in(self) -> bool:
        """Tells whether the paragraph continues in the same line."""
        return self.length > 0

    @cached_property
    def key(self) -> StyleKey:
        """The type in which headings of one level are set."""
        letters = [c for c in self.text if c.isalpha()]
        capitals = len(letters) > 3 and sum(c.isupper() for c in letters) > 0.85 * len(letters)
        s = self.style
        return (self.run_in, s.font, s.size, s.bold, s.italic, capitals, s.colour)


def candidates(groups: Sequence[Group], body: Style, outline: Outline, first: int) -> list[Candidate]:
    """All candidates from index ``first`` on, in order of reading."""
    found: list[Candidate] = []
    for index, group in enumerate(groups[first:], first):
        lead = _lead(index, group, body) if group.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM) else None
        if lead is not None and ((_goes_on(group) and not _is_bold(group, body)) or not _stands_alone(group, body)):
            found.append(lead)
        elif _stands_alone(group, body):
            found.append(Candidate(index, group, group.text, group.style, group.share))
    for candidate in found:
        candidate.name = kind_of_heading(candidate.text)
        candidate.numbers = number_of(candidate.text)
    for candidate, number in zip(found, in_sequence([c.numbers for c in found]), strict=True):
        candidate.number = number
    _match_outline(found, outline)
    return found


def _goes_on(group: Group) -> bool:
    """Return whether a group fills its lines like running text, or ends like a sentence."""
    full = group.lines[0].x1 - group.lines[0].x0 > 0.85 * (group.x1 - group.x0)
    return group.share < 0.95 and (full or group.text[-1:] in ".。;；:：")


def _is_bold(group: Group, body: Style) -> bool:
    """Return whether all words of a group are bold, also a name in another slant, in a paper whose text is not."""
    words = [run for line in group.lines for run in line.runs if re.search(r"[^\W\d_]{2}", run.text)]
    return not body.bold and all(run.style.bold for run in words)


def _stands_alone(group: Group, body: Style) -> bool:
    if group.kind in (BlockKind.TITLE, BlockKind.CAPTION, BlockKind.REFERENCE, BlockKind.HEADING):
        return False
    text = group.text
    if len(group.lines) > _MAX_LINES or len(text) > _MAX_CHARS or len(text.split()) > _MAX_WORDS:
        return False
    letters = sum(c.isalpha() for c in text)
    if letters < 2 or letters < 0.45 * len(text.replace(" ", "")) or text[-1:] in ",;，；、":
        return False
    return group.share > 0.4 and group.style.size >= 0.7 * body.size


def _lead(index: int, group: Group, body: Style) -> Candidate | None:
    """Return the beginning of a paragraph that differs from the rest in weight, slant or font."""
    style = next((r.style for r in group.lines[0].runs if len(r.text.strip()) > 1 and not r.raised), None)
    if style is None or not _set_off(style, body, min(body.size, group.style.size)):
        return None
    text, done = "", False
    for line in group.lines[:3]:
        part, done = _same_type(line.runs, style)
        text = f"{text} {part}".strip()
        if done:
            break
    rest = group.text[len(text) :].lstrip()
    if not done or not 3 <= len(text) <= _MAX_LEAD or len(rest) < _MIN_REST or not group.text.startswith(text):
        return None
    if sum(c.isalpha() for c in text) < 0.5 * len(text.replace(" ", "")) or len(text.split()) > 18:
        return None
    bold = style.bold and not body.bold and group.style.size >= body.size - 0.6
    if style.size < body.size - 0.6 and not bold and kind_of_heading(text) != "back":  # notes; back matter may be small
        return None
    ended = text[-1] in _LEAD_END or rest[0] in _LEAD_END
    length = len(text) + (1 if text[-1] not in _LEAD_END and rest[0] in _LEAD_END else 0)
    return Candidate(index, group, text, style, 1.0, length=length, ended=ended)


def _same_type(runs: Sequence[object], style: Style) -> tuple[str, bool]:
    """Return the text of a line up to a change of type, and whether the type changes; numbers and marks may be in
    another type."""
    position, text = 0, ""
    for run in runs:
        piece, own = run.text, run.style  # type: ignore[attr-defined]
        differs = (own.font, own.bold, own.italic) != (style.font, style.bold, style.italic)
        marks = not re.search(r"[^\W\d_]{2}", piece)
        if piece.strip() and differs and not (marks and position == 0) and not run.raised:  # type: ignore[attr-defined]
            return " ".join(text.split()), True
        text += piece
        position += len(piece.strip())
    return " ".join(text.split()), False


def _set_off(style: Style, body: Style, least: float) -> bool:
    # A sans serif looks larger than it is.
    least = 0.85 * least if style.bold and style.font != body.font else least - 0.6
    if re.search(r"math|symbol|cmmi|cmsy", style.font, re.I) or style.size < least:
        return False
    return style.bold != body.bold or (style.italic and not body.italic) or style.font != body.font


def _match_outline(found: Sequence[Candidate], outline: Outline) -> None:
    used: set[int] = set()
    names = [plain(c.text) for c in found]
    abstract = 0
    for level, text, page in outline.entries:
        name = plain(text)
        elsewhere = any(plain(t) == name and n <= abstract for n, t, _ in outline.entries)
        if abstract and level > abstract and elsewhere:
            continue  # "Methods" below "Abstract" is a label in the abstract, not the section of this name
        if not abstract or level <= abstract:
            abstract = level if name in ABSTRACT else 0
        if len(name) < 2:
            continue
        best, score = -1, 0.0
        for i, candidate in enumerate(found):
            if i in used or (page > 0 and abs(candidate.group.page - page) > 1):
                continue
            value = fuzz.ratio(name, names[i])
            if value > score:
                best, score = i, value
        if best >= 0 and score >= 88:
            found[best].outline = level
            used.add(best)
