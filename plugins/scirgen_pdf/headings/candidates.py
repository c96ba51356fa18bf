"""Finds candidates for headings: short separate groups, and starts of paragraphs in another typeface."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Final, NamedTuple

from rapidfuzz import fuzz

from scirgen import BlockKind
from scirgen.stages.parse.terms import ABSTRACT, kind_of_heading, plain
from scirgen_pdf.headings.numbering import Number, in_sequence, number_of
from scirgen_pdf.page.lines import Run, Style
from scirgen_pdf.paragraphs import Group
from scirgen_pdf.units import Chars, Count, Share, Times

_NUMBER: Final = re.compile(r"\d{1,2}(?:\.\d{1,2})+\.?")
_WORD: Final = re.compile(r"[^\W\d_]{2}")
_LEAD_END: Final = ".:—–：。"


class StyleKey(NamedTuple):
    """The type in which headings of one level are set."""

    run_in: bool
    font: str
    size: float
    bold: bool
    italic: bool
    capitals: bool
    colour: int


@dataclass(frozen=True)
class Candidates:
    """Rules of the pass that finds what may be a heading."""

    # Groups that stand alone
    chars: Annotated[Chars, "of a heading"] = 260
    lines: Annotated[Count, "of a heading"] = 5
    words: Annotated[Count, "of a heading"] = 36
    letters: Annotated[Chars, "of a heading, at least"] = 2
    of_letters: Annotated[Share, "a heading's characters that are letters; a formula has fewer"] = 0.45
    in_type: Annotated[Share, "a heading's characters in its main type"] = 0.4
    smallest: Annotated[Times, "the size of a heading in the body's"] = 0.7
    full: Annotated[Share, "of the column's width: the first line of running text"] = 0.85
    # Leads of paragraphs
    least_lead: Annotated[Chars, "of a lead"] = 3
    lead: Annotated[Chars, "of a lead; longer is emphasis"] = 140
    lead_lines: Annotated[Count, "of a lead"] = 3
    lead_letters: Annotated[Share, "a lead's characters that are letters"] = 0.5
    rest: Annotated[Chars, "of the paragraph behind the lead, at least"] = 2
    # The outline
    similar: Annotated[float, "rapidfuzz ratio: an entry of the outline is the heading"] = 88
    pages: Annotated[Count, "pages by which an outline may be off"] = 1


_RULES = Candidates()
_IN_CAPITALS: Final = 0.85  # of the letters; the rest are of units and names
_LEAST_CAPITALS: Final = 4  # fewer are an acronym


@dataclass(frozen=True)
class Outline:
    """Entries of the PDF's own outline: (level, text, page)."""

    entries: tuple[tuple[int, str, int], ...] = ()

    def below(self, title: str) -> Outline:
        """Return the outline without a top entry for the whole paper; a section may have the paper's name too."""
        top = [entry for entry in self.entries if entry[0] == 1]
        whole = len(top) == 1 < len(self.entries) and fuzz.ratio(plain(top[0][1]), plain(title)) >= _RULES.similar
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
        """True if the paragraph continues in the same line."""
        return self.length > 0

    @cached_property
    def key(self) -> StyleKey:
        """The type in which headings of one level are set."""
        letters = [c for c in self.text if c.isalpha()]
        upper = sum(c.isupper() for c in letters)
        capitals = len(letters) >= _LEAST_CAPITALS and upper > _IN_CAPITALS * len(letters)
        s = self.style
        return StyleKey(self.run_in, s.font, s.size, s.bold, s.italic, capitals, s.colour)


def candidates(
    groups: Sequence[Group], body: Style, outline: Outline, first: int, rules: Candidates = _RULES
) -> list[Candidate]:
    """Return all candidates from index ``first`` on, in reading order."""
    found: list[Candidate] = []
    for index, group in enumerate(groups[first:], first):
        prose = group.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM)
        lead = _lead(index, group, body, rules) if prose else None
        alone = _stands_alone(group, body, rules)
        if lead is not None and ((_goes_on(group, rules) and not _is_bold(group)) or not alone):
            found.append(lead)
        elif alone:
            found.append(Candidate(index, group, group.text, group.style, group.share))
    for candidate in found:
        candidate.name = kind_of_heading(candidate.text)
        candidate.numbers = number_of(candidate.text)
    for candidate, number in zip(found, in_sequence([c.numbers for c in found]), strict=True):
        candidate.number = number
    _match_outline(found, outline, rules)
    return found


def _goes_on(group: Group, rules: Candidates) -> bool:
    """Return whether a group fills its lines like running text, or ends like a sentence."""
    full = group.lines[0].x1 - group.lines[0].x0 > rules.full * (group.x1 - group.x0)
    return full or group.text[-1:] in ".。;；:："


def _is_bold(group: Group) -> bool:
    """Return whether all words of a group are bold, also a name in another slant."""
    words = [run for line in group.lines for run in line.runs if re.search(r"[^\W\d_]{2}", run.text)]
    return all(run.style.bold for run in words)


def _stands_alone(group: Group, body: Style, rules: Candidates) -> bool:
    if group.kind in (BlockKind.TITLE, BlockKind.CAPTION, BlockKind.REFERENCE, BlockKind.HEADING):
        return False
    text = group.text
    if len(group.lines) > rules.lines or len(text) > rules.chars or len(text.split()) > rules.words:
        return False
    letters = sum(c.isalpha() for c in text)
    if letters < rules.letters or letters < rules.of_letters * len(text.replace(" ", "")) or text[-1:] in ",;，；、":
        return False
    return group.share > rules.in_type and group.style.size >= rules.smallest * body.size


def _lead(index: int, group: Group, body: Style, rules: Candidates) -> Candidate | None:
    """Return the beginning of a paragraph that differs from the rest in weight, slant or font."""
    words = [r for r in group.lines[0].runs if len(r.text.strip()) > 1 and not _NUMBER.fullmatch(r.text.strip())]
    style = words[0].style if words else None
    if style is None or not _set_off(style, body):
        return None
    text, done = "", False
    for line in group.lines[: rules.lead_lines]:
        number = bool(not text and _NUMBER.fullmatch(line.runs[0].text.strip()))
        part, done = _same_type(line.runs, style, number)
        text = f"{text} {part}".strip()
        if done:
            break
    rest = group.text[len(text) :].lstrip()
    if not done or not rules.least_lead <= len(text) <= rules.lead or len(rest) < rules.rest:
        return None
    letters = sum(c.isalpha() for c in text)
    many = letters < rules.lead_letters * len(text.replace(" ", ""))
    if many or not group.text.startswith(text):
        return None
    ended = text[-1] in _LEAD_END
    length = len(text) + (1 if text[-1] not in _LEAD_END and rest[0] in _LEAD_END else 0)
    return Candidate(index, group, text, style, 1.0, length=length, ended=ended)


def _same_type(runs: Sequence[Run], style: Style, number: bool) -> tuple[str, bool]:
    """Return the text of a line up to a change of type, and whether the type changes. ``number``: the first run is one,
    in any type; signs of a formula between bold words are in any type, too."""
    alike = [
        not run.text.strip() or (own.bold if style.bold else own.italic if style.italic else own.font == style.font)
        for run in runs
        for own in [run.style]
    ]
    end = next((i for i, same in enumerate(alike) if not same and i >= number), len(runs))
    if style.bold and end:
        words = [bool(_WORD.search(run.text)) for run in runs]
        other = next((i for i in range(end, len(runs)) if words[i] and not alike[i]), len(runs))
        end = max((i + 1 for i in range(end, other) if words[i]), default=end)
    return " ".join("".join(run.text for run in runs[:end]).split()), end < len(runs)


def _set_off(style: Style, body: Style) -> bool:
    return style.bold != body.bold or style.italic or style.font != body.font


def _match_outline(found: Sequence[Candidate], outline: Outline, rules: Candidates) -> None:
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
        if len(name) < rules.letters:
            continue
        best, score = -1, 0.0
        for i, candidate in enumerate(found):
            if i in used or (page > 0 and abs(candidate.group.page - page) > rules.pages):
                continue
            value = fuzz.ratio(name, names[i])
            if value > score:
                best, score = i, value
        if best >= 0 and score >= rules.similar:
            found[best].outline = level
            used.add(best)
