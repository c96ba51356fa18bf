"""Finds the header of a table on a PDF page: which columns each text names, level by level. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Annotated

from scirgen.plugin import Box
from scirgen.stages.parse.grid import GivenCell
from scirgen_pdf.reading.page import Word, around
from scirgen_pdf.tablerows import Area, Ends, Row, chunks_of, columns_under, made_cell
from scirgen_pdf.units import Ems, Points, Times


@dataclass(frozen=True)
class Heads:
    """Limits of the reader of a table's header."""

    chunk_gap: Annotated[Ems, "a wider blank in a header's line parts the headers of two columns"] = 0.7
    close_names: Annotated[Ems, "likewise, if there are as many columns below as texts between such blanks"] = 0.4
    wider: Annotated[Times, "these blanks than those within the texts, at least"] = 1.05
    in_line: Annotated[Points, "by which the lines of one name may begin, end or have their middles apart"] = 2
    slack: Annotated[Points, "by which a rule may miss the middle of the text above it"] = 2
    nearly: Annotated[Ems, "a name is not surely over its columns if it is that close to the middle of others"] = 3


_RULES = Heads()


@dataclass
class _Name:
    """Words of a header's line and the columns that they name; ``sure`` if a rule below them says so."""

    words: list[Word]
    first: int
    last: int
    sure: bool = False

    def meets(self, other: _Name) -> bool:
        return self.first <= other.last and other.first <= self.last

    def holds(self, other: _Name) -> bool:
        return self.first <= other.first and other.last <= self.last

    @property
    def box(self) -> Box:
        return around([w.box for w in self.words])

    def in_line(self, other: _Name) -> bool:
        """Check whether the texts begin, end or have their middles below each other, as lines of one text do."""
        (a, _, b, _), (c, _, d, _) = self.box, other.box
        return min(abs(a - c), abs(b - d), abs(a + b - c - d) / 2) < _RULES.in_line

    def ends(self, above: _Name, columns: Ends) -> bool:
        """Check whether the text is the rest of the one above it: in line with it, where it had no room there."""
        edges = [-math.inf, *(x for column in columns for x in column), math.inf]
        room = edges[2 * above.last + 3] - edges[2 * above.first] - (above.box[2] - above.box[0])
        word = self.words[0]
        told = word.text[0] in "([%" or word.text[0].islower() or above.words[-1].text[-1:] in "-–/,("
        return self.in_line(above) and (told or room < word.box[2] - word.box[0] + 4)


def head_rows(head: Sequence[Row], columns: Ends, area: Area, page: int) -> list[tuple[GivenCell, ...]]:
    """Return the rows of the header; nothing if it is not clear which columns a text over several ones names.

    Lines that name single columns are one row; a line with a text over several columns is a row by itself.
    """
    levels: list[list[_Name]] = [[]]
    for at, row in enumerate(head):
        names = _further_names(_names(row, head[at + 1 :], columns, area), levels, columns)
        wide = [n for n in names if n.first != n.last]
        named = {c for level in levels for m in level for c in range(m.first, m.last + 1)}
        fresh = {c for n in names for c in range(n.first, n.last + 1)} - named - {0}
        if any(
            n.meets(m)
            and (
                n in wide
                or m.first != m.last
                or not n.in_line(m)
                or (fresh & {m.first - 1, m.last + 1} and not n.ends(m, columns))
            )
            for n in names
            for m in levels[-1]
        ):
            levels.append([])
        levels[-1] += names
        if wide and at + 1 < len(head):
            levels.append([])
    levels = [level for level in levels if level]
    made: list[tuple[GivenCell, ...]] = []
    for number, level in enumerate(levels):
        below = [n for row in levels[number + 1 :] for n in row]
        spans = _spans(level, below, columns)
        if spans is None:
            return []
        cells: list[GivenCell] = []
        for name in spans:
            cells += [GivenCell("")] * (name.first - sum(c.columns for c in cells))
            cells.append(made_cell(name.words, page, name.last - name.first + 1))
        made.append(tuple(cells))
    return made


def _further_names(names: list[_Name], levels: list[list[_Name]], columns: Ends) -> list[_Name]:
    """Return the names of a line without those that go on with a wide name above; a name with a rule takes what is
    above it."""
    above = next((level for level in reversed(levels) if level), [])
    left = []
    for name in names:
        met = [m for m in above if m.meets(name)]
        if name.sure and met and all(name.holds(m) and not m.sure for m in met):
            name.words[:0] = [w for m in met for w in m.words]
            above[:] = [m for m in above if m not in met]
        elif [m.first != m.last and m.holds(name) for m in met] == [True] and name.in_line(met[0]):
            room = columns[met[0].last][1] - columns[met[0].first][0] - (met[0].box[2] - met[0].box[0])
            alone = sum(met[0].meets(n) for n in names) == 1 and room < name.words[0].box[2] - name.words[0].box[0]
            if alone:
                met[0].words += name.words
                continue
        left.append(name)
    return left


def _names(row: Row, rest: Sequence[Row], columns: Ends, area: Area) -> list[_Name]:
    """Return the texts of a header's line with the columns below them, or below their short rule."""
    names = []
    for chunk, rule in _over_rules(row, rest, area):
        over = [n for n, (a, b) in enumerate(columns) if rule and _is_under(rule, (a + b) / 2)]
        sure, over = len(over) > 1, over if len(over) > 1 else columns_under(chunk, columns)
        parts = [] if sure or len(over) == 1 else _widest_parts(chunk, len(over))
        if len(parts) == len(over) and all(
            n in columns_under(part, columns) for part, n in zip(parts, over, strict=True)
        ):
            names += [_Name(part, n, n) for part, n in zip(parts, over, strict=True)]
        else:
            names.append(_Name(chunk, over[0], over[-1], sure))
    return names


def _widest_parts(chunk: Sequence[Word], count: int) -> list[list[Word]]:
    """Return the words of a chunk parted at its widest blanks into that many texts; nothing if others are as wide."""
    size = median(w.box[3] - w.box[1] for w in chunk)
    gaps = sorted(((b.box[0] - a.box[2]) / size for a, b in pairwise(chunk)), reverse=True)
    if len(gaps) < count - 1 or gaps[count - 2] < _RULES.close_names:
        return []
    parts = chunks_of(Row(list(chunk)), gaps[count - 2] / _RULES.wider)
    return parts if len(parts) == count else []


def _is_under(rule: Box, middle: float) -> bool:
    return rule[0] - _RULES.slack < middle < rule[2] + _RULES.slack


def _over_rules(row: Row, rest: Sequence[Row], area: Area) -> Iterator[tuple[list[Word], Box | None]]:
    """Yield the texts of a line, each with the widest rule right below it that is below no other text of the line."""
    chunks = chunks_of(row, _RULES.chunk_gap)
    below = [r for r in area.parts if r[1] > row.middle]
    for chunk in chunks:
        middle = (chunk[0].box[0] + chunk[-1].box[2]) / 2
        own = [
            r for r in below
            if _is_under(r, middle) and sum(r[0] < c[-1].box[2] and c[0].box[0] < r[2] for c in chunks) == 1
            and not any(r[0] < w.box[0] < r[2] and x.middle < r[1] for x in rest for w in x.words)
        ]  # fmt: skip
        yield chunk, max(own, key=lambda r: r[2] - r[0], default=None)


def _spans(level: Sequence[_Name], lower: Sequence[_Name], columns: Ends) -> list[_Name] | None:
    """Return the headers of a row in order, the lines of one joined; None if it is not clear which columns they name.

    A text may name more columns than it is over: those beside it that only a row below names. Then it is in their
    middle.
    """
    below = {c for n in lower for c in range(n.first, n.last + 1)}
    spans: list[_Name] = []
    for name in level:
        home = next((s for s in spans if s.meets(name)), None)
        if home is None:
            spans.append(replace(name, words=list(name.words)))
        elif any(abs(w.box[3] - name.words[0].box[3]) < 1 for w in home.words):
            return None  # two names of one line over one column: the body hides that there are two
        else:
            home.words += name.words
            home.first, home.last = min(home.first, name.first), max(home.last, name.last)
    spans.sort(key=lambda s: s.first)
    if any(a.last >= b.first for a, b in pairwise(spans)):
        return None
    taken = {c for s in spans for c in range(s.first, s.last + 1)}
    for span in spans:
        if span.sure or span.first == 0 or not below:
            continue
        left, right = span.first, span.last
        while left - 1 > 0 and left - 1 not in taken and left - 1 in below:
            left -= 1
        while right + 1 not in taken and right + 1 in below:
            right += 1
        middle = (span.words[0].box[0] + span.words[-1].box[2]) / 2
        size = span.words[0].box[3] - span.words[0].box[1]
        fits = [
            (a, b)
            for a in range(left, span.first + 1)
            for b in range(span.last, right + 1)
            if abs((columns[a][0] + columns[b][1]) / 2 - middle) < size
        ]
        if (left, right) != (span.first, span.last) and len(fits) != 1:
            return None
        span.first, span.last = fits[0] if fits else (span.first, span.last)
    taken = {c for s in spans for c in range(s.first, s.last + 1)}
    for span in spans:  # a column beside an unruled name that only the row below names may be one of its own
        beside = {span.first - 1, span.last + 1} & (below - taken - {0})
        near = _RULES.nearly * (span.words[0].box[3] - span.words[0].box[1])
        unclear = span.first < span.last or not any(n.ends(span, columns) for n in lower if n.meets(span))
        if unclear and not span.sure and any(_middle(span, n, columns) < near for n in beside):
            return None
    return spans


def _middle(name: _Name, beside: int, columns: Ends) -> float:
    """Return how far a name is from the middle of its columns moved or widened by the one beside them, in points."""
    step = -1 if beside < name.first else 1
    middle = (name.words[0].box[0] + name.words[-1].box[2]) / 2
    ends = [(name.first + step, name.last + step), (min(name.first, beside), max(name.last, beside))]
    return min(abs((columns[a][0] + columns[b][1]) / 2 - middle) for a, b in ends)
