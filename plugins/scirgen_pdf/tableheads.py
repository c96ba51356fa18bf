"""Finds the header of a table on a PDF page: which columns each text names, level by level. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from statistics import median
from typing import Annotated

from scirgen.plugin import Box
from scirgen.stages.parse.grid import GivenCell
from scirgen_pdf.reading.page import Word, around
from scirgen_pdf.tablerows import Area, Ends, Row, chunks_of, columns_under, is_open, made_cell
from scirgen_pdf.units import Count, Ems, Points, Times


@dataclass(frozen=True)
class Heads:
    """Limits of the reader of a table's header."""

    chunk_gap: Annotated[Ems, "a wider blank in a header's line parts the headers of two columns"] = 0.7
    close_names: Annotated[Ems, "likewise, if there are as many columns below as texts between such blanks"] = 0.4
    wider: Annotated[Times, "these blanks than those within the texts, at least"] = 1.05
    in_line: Annotated[Points, "by which the lines of one name may begin, end or have their middles apart"] = 0.6
    closer: Annotated[Times, "the least step between lines: those of one row are closer, rows farther apart"] = 1.15
    overlap: Annotated[Ems, "lines that are closer are cells set at middle height"] = 0.8
    slack: Annotated[Points, "by which a rule may miss the middle of the text above it"] = 2
    most_words: Annotated[Count, "of a text that is parted by the places of its columns"] = 12
    nearly: Annotated[Ems, "a name that is as close to the middle of more columns may name them too"] = 3


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

    @property
    def columns(self) -> range:
        return range(self.first, self.last + 1)

    @property
    def box(self) -> Box:
        return around([w.box for w in self.words])

    @property
    def text(self) -> str:
        return " ".join(w.text for w in self.words)

    def in_line(self, other: _Name) -> bool:
        """Check whether the texts begin, end or have their middles below each other, as lines of one text do."""
        (a, _, b, _), (c, _, d, _) = self.box, other.box
        return min(abs(a - c), abs(b - d), abs(a + b - c - d) / 2) < _RULES.in_line

    def ends(self, above: _Name, columns: Ends) -> bool:
        """Check whether the text is the rest of the one above it: in line with it, where it had no room there."""
        edges = [-math.inf, *(x for column in columns for x in column), math.inf]
        room = edges[2 * above.last + 3] - edges[2 * above.first] - (above.box[2] - above.box[0])
        word = self.words[0]
        return self.in_line(above) and room < word.box[2] - word.box[0] + 4


def head_rows(head: Sequence[Row], columns: Ends, cells: Ends, area: Area, page: int) -> list[tuple[GivenCell, ...]]:
    """Return the rows of the header; nothing if it is not clear which columns a text over several ones names.

    Lines that name single columns are one row; a line with a text over several columns is a row by itself.
    """
    levels: list[list[_Name]] = [[]]
    steps = [b.middle - a.middle for a, b in pairwise(head)]
    far = [step > _RULES.closer * min(steps) > _RULES.overlap * head[0].size for step in steps]
    for at, row in enumerate(head):
        if at and far[at - 1]:
            levels.append([])
        names = _names(row, head[at + 1 :], columns, area)
        wide = [n for n in names if n.first != n.last]
        named = {c for level in levels for m in level for c in m.columns}
        fresh = {c for n in names for c in n.columns} - named - {0}
        if any(
            n.meets(m)
            and (
                n in wide
                or m.first != m.last
                or not n.in_line(m)
                or (fresh & {m.first - 1, m.last + 1} and not n.ends(m, columns))
                or fresh >= {m.first - 1, m.last + 1}
            )
            for n in names
            for m in levels[-1]
        ):
            levels.append([])
        levels[-1] += names
        if wide and at + 1 < len(head) and not any(far):
            levels.append([])
    levels = [level for level in levels if level]
    made: list[tuple[GivenCell, ...]] = []
    upper: list[_Name] = []
    for number, level in enumerate(levels):
        below = [n for row in levels[number + 1 :] for n in row]
        spans = _spans(level, below, cells)
        if spans is None or any(n.meets(s) and not {*s.columns} <= {*n.columns} for n in upper for s in spans):
            return []  # or a name stands over a part of another's columns
        upper += spans
        given: list[GivenCell] = []
        for name in spans:
            given += [GivenCell("")] * (name.first - sum(c.columns for c in given))
            given.append(made_cell(name.words, page, name.last - name.first + 1))
        made.append(tuple(given))
    return made


def _names(row: Row, rest: Sequence[Row], columns: Ends, area: Area) -> list[_Name]:
    """Return the texts of a header's line with the columns below them, or those below their short rule or between the
    upright rules beside them."""
    names = []
    for chunk, place in _placed(row, rest, columns, area):
        over = [n for n, (a, b) in enumerate(columns) if place and _is_under(place, (a + b) / 2)]
        sure, over = bool(over), over or columns_under(chunk, columns)
        parts: list[list[Word]] = []
        if len(over) > 1 and not sure:
            below = {n for r in rest for w in r.words for n in columns_under([w], columns)}
            if not below & {*over}:
                parts = _aligned_parts(chunk, [columns[n] for n in over]) or _widest_parts(chunk, len(over))
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


def _aligned_parts(chunk: Sequence[Word], columns: Ends) -> list[list[Word]]:
    """Return the words of a chunk as one text for each of some columns, each of which begins, ends or has its middle
    where its column does; nothing if there is none or several such ways."""
    if len(chunk) > _RULES.most_words:
        return []
    found = []
    for cuts in combinations(range(1, len(chunk)), len(columns) - 1):
        parts = [list(chunk[a:b]) for a, b in pairwise((0, *cuts, len(chunk)))]
        if all(is_aligned(part, column) for part, column in zip(parts, columns, strict=True)):
            found.append(parts)
    return found[0] if len(found) == 1 else []


def is_aligned(words: Sequence[Word], column: tuple[float, float]) -> bool:
    """Check whether a text begins, ends or has its middle where a column does."""
    (a, b), (c, d) = (words[0].box[0], words[-1].box[2]), column
    return min(abs(a - c), abs(b - d), abs(a + b - c - d) / 2) < _RULES.in_line


def _is_under(rule: Box, middle: float) -> bool:
    return rule[0] - _RULES.slack < middle < rule[2] + _RULES.slack


def _placed(row: Row, rest: Sequence[Row], columns: Ends, area: Area) -> Iterator[tuple[list[Word], Box | None]]:
    """Yield the texts of a line, each with its place, if rules mark it: between upright rules, or the widest short rule
    right below it that is below no other text of the line and several columns."""
    walls = sorted(r[0] for r in area.walls if r[1] - _RULES.slack < row.middle < r[3] + _RULES.slack)
    within: list[tuple[list[list[Word]], Box]] = []
    for left, right in pairwise([area.box[0], *walls, area.box[2]]):
        words = [w for w in row.words if left <= (w.box[0] + w.box[2]) / 2 < right]
        if words:
            within.append((_chunks(Row(words), rest, columns), (left, 0, right, 0)))
    chunks = [chunk for own, _ in within for chunk in own]
    below = [r for r in area.parts if r[1] > row.middle and sum(_is_under(r, (a + b) / 2) for a, b in columns) > 1]
    for own, place in within:
        for chunk in own:
            middle = (chunk[0].box[0] + chunk[-1].box[2]) / 2
            under = [
                r for r in below
                if _is_under(r, middle) and sum(r[0] < c[-1].box[2] and c[0].box[0] < r[2] for c in chunks) == 1
                and not any(r[0] < w.box[0] < r[2] and x.middle < r[1] for x in rest for w in x.words)
            ]  # fmt: skip
            yield chunk, place if len(own) == 1 and walls else max(under, key=lambda r: r[2] - r[0], default=None)


def _chunks(row: Row, rest: Sequence[Row], columns: Ends) -> list[list[Word]]:
    """Return the texts of a line; those over one column are one text if it goes on below its beginning, as in a
    justified cell; one over the labels and other columns is parted where its blank is widest."""
    joined: list[list[Word]] = []
    for chunk in reversed(chunks_of(row, _RULES.chunk_gap)):
        behind = joined[-1] if joined and rest and is_open(joined[-1]) else []
        hyphen = behind and behind[-1].text[-1] == "-" and len(chunk) == len(behind) == 1
        flush = hyphen and any(
            abs(w.box[0] - chunk[0].box[0]) < _RULES.in_line and w.text[0].islower() for w in rest[0].words
        )
        if behind and (flush or columns_under(chunk + behind, columns) == columns_under(behind, columns)):
            joined[-1] = chunk + behind
        else:
            joined.append(chunk)
    chunks: list[list[Word]] = []
    for chunk in reversed(joined):
        over = columns_under(chunk, columns)
        parts = (over == [0, 1] and _aligned_parts(chunk, columns[:2])) or []
        chunks += parts or (over[0] == 0 < over[-1] and _widest_parts(chunk, 2)) or [chunk]
    return chunks


def _spans(level: Sequence[_Name], lower: Sequence[_Name], cells: Ends) -> list[_Name] | None:
    """Return the headers of a row in order, lines of one joined; None if it is not clear which columns they name."""
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
    clear = all(a.last < b.first for a, b in pairwise(spans)) and _widen(spans, lower, cells)
    return spans if clear and all(a.last < b.first for a, b in pairwise(spans)) else None


def _widen(spans: Sequence[_Name], lower: Sequence[_Name], cells: Ends) -> bool:
    """Give names the columns beside them that only a row below names, if it is clear which: the same names stand below
    each, or it is in the middle of those columns alone."""
    below, named = ({c for n in row for c in n.columns} for row in (lower, spans))
    wider = [s for s in spans if not s.sure and s.first and below & {*s.columns}]
    own = {c for s in wider for c in s.columns}
    repeated = _repeated(wider, lower, sorted(below - {0} - named | own & below))
    for at, span in enumerate(wider):
        texts = [[m.text for m in lower if n in m.columns] for n in span.columns]
        if any(texts == texts[:n] * (len(texts) // n) for n in range(2, len(texts))):
            return False  # the same names several times: one text may be that of several names
        left, right = span.first, span.last
        while left - 1 > 0 and left - 1 in below - named:
            left -= 1
        while right + 1 in below - named:
            right += 1
        x0, _, x1, _ = span.box
        fits = [
            (a, b) for a in range(left, span.first + 1) for b in range(span.last, right + 1)
            if abs(cells[a][0] + cells[b][1] - x0 - x1) / 2 < span.words[0].box[3] - span.words[0].box[1]
        ]  # fmt: skip
        if repeated:
            span.first, span.last = repeated[at]
        elif len(fits) == 1 or (span.first == span.last and (left, right) in fits):
            span.first, span.last = fits[0] if len(fits) == 1 else (left, right)
        elif (left, right) != (span.first, span.last):
            return False
    free = below - {c for s in spans for c in s.columns} - {0}
    return not any(_may_name(s, n, lower, cells) for s in spans if not s.sure for n in free & {s.first - 1, s.last + 1})


def _may_name(span: _Name, beside: int, lower: Sequence[_Name], cells: Ends) -> bool:
    """Check whether a name may also be that of the column beside it, which only a row below names."""
    x0, _, x1, _ = span.box
    ends = cells[min(span.first, beside)][0] + cells[max(span.last, beside)][1]
    whole = span.first == span.last and any(n.ends(span, cells) for n in lower if n.meets(span))
    flush = beside < span.first and abs(x1 - cells[span.last][1]) < 1
    near = abs(ends - x0 - x1) / 2 < _RULES.nearly * (span.words[0].box[3] - span.words[0].box[1])
    return not whole and (near or flush)


def _repeated(names: Sequence[_Name], lower: Sequence[_Name], free: Sequence[int]) -> list[tuple[int, int]]:
    """Return the columns of each of several names, if the same row of names stands below each of them."""
    size, rest = divmod(len(free), max(1, len(names)))
    groups = [free[n * size : (n + 1) * size] for n in range(len(names))]
    below = [[[m.text for m in lower if n in m.columns] for n in group] for group in groups]
    if rest or size < 2 or len(names) < 2 or any(texts != below[0] for texts in below):
        return []
    ends = [(group[0], group[-1]) for group in groups]
    return ends if all(a <= n.first and n.last <= b for n, (a, b) in zip(names, ends, strict=True)) else []
