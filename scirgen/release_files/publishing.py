"""Counts what may be published: one table by licence for dry run, card and push, and one CSV, line by line."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple, TextIO

from scirgen.core.records.licences import Terms, recognised, strictest, terms_of
from scirgen.release_files.release import Release

Kind = Literal["record", "paper", "passage", "question"]
KINDS: Final[tuple[Kind, ...]] = ("record", "paper", "passage", "question")
_WIDEST = 40
FILE: Final = "licences.csv"
"""The release's list of records, papers and questions with their licences."""


class LicenceRow(NamedTuple):
    """The number of things of each kind under a licence; a question counts under the licences of the texts that it
    quotes."""

    licence: str
    terms: Terms
    counts: dict[Kind, int]


class Line(NamedTuple):
    """One thing with the licences of its texts."""

    kind: Kind
    id: str
    licences: tuple[str, ...]

    @property
    def terms(self) -> Terms:
        """The strictest terms of its licences."""
        return strictest(map(terms_of, self.licences))


class Publishing:
    """Counts things by licence and by terms."""

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self._by_licence: dict[str, Counter[Kind]] = defaultdict(Counter)
        self._by_terms: dict[Kind, Counter[Terms]] = defaultdict(Counter)
        for line in lines:
            self.add(line)

    def add(self, line: Line) -> None:
        for licence in {recognised(x) or x for x in line.licences}:
            self._by_licence[licence][line.kind] += 1
        self._by_terms[line.kind][line.terms] += 1

    @property
    def rows(self) -> list[LicenceRow]:
        """The table, the most open licences first."""
        order = list(Terms)
        rows = [LicenceRow(name, terms_of(name), dict(counts)) for name, counts in self._by_licence.items()]
        return sorted(rows, key=lambda r: (order.index(r.terms), -sum(r.counts.values()), r.licence))

    def summary(self) -> list[str]:
        """Return sentences about questions (before a run: records), each by the strictest of its licences, and
        about all together."""
        kind: Kind = "question" if self._by_terms["question"] else "record"
        found, names = self._by_terms[kind], defaultdict(list)
        for row in self.rows:
            names[row.terms].append(row.licence)
        counted = ", ".join(f"{found[terms]:,} {text}" for terms, text in _MAY.items() if found[terms])
        said = [f"Of {found.total():,} {kind}s, each by the strictest of its licences: {counted}."] if found else []
        alike = (
            "the same licence" if len(names[Terms.SHARE_ALIKE]) == 1 else "several licences that each ask for the same"
        )
        whole = {**_MAY, Terms.SHARE_ALIKE: f"under {alike}"}
        limits = (Terms.SHARE_ALIKE, Terms.NON_COMMERCIAL, Terms.NO_DERIVATIVES)
        together = [f"{whole[terms]} ({', '.join(names[terms])})" for terms in limits if names[terms]]
        return [*said, f"Published as one work, it is {' and '.join(together)}."] if together else said

    def as_text(self) -> list[str]:
        """Return the table, with only the kinds that occur, and the sentences, as lines of text."""
        kinds = [k for k in KINDS if self._by_terms[k]]
        cells = [["licence", "may be published", *(f"{k}s" for k in kinds)]]
        cells += [[_cut(r.licence), str(r.terms), *(f"{r.counts.get(k, 0):,}" for k in kinds)] for r in self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = (
            "  ".join(c.ljust(w) if n < 2 else c.rjust(w) for n, (c, w) in enumerate(zip(row, widths, strict=True)))
            for row in cells
        )
        return [*lines, *self.summary()]


_MAY: Final = {
    Terms.OPEN: "with the source named",
    Terms.SHARE_ALIKE: "under the same licence",
    Terms.NON_COMMERCIAL: "not for commercial use",
    Terms.NO_DERIVATIVES: "only whole and unchanged",
    Terms.OTHER: "under a licence that is not recognised",
    Terms.NOT_STATED: "without a stated licence",
}


def _cut(licence: str) -> str:
    licence = "".join(c for c in licence if c.isprintable())  # a terminal obeys control characters
    return licence if len(licence) <= _WIDEST else f"{licence[: _WIDEST - 1]}…"


def lines_of(release: Release) -> Iterator[Line]:
    """Yield a line for each record, paper, passage and question of a release."""
    records: dict[str, str] = {}
    for document in release.corpus():
        records[document.id] = document.licence
        yield Line("record", document.id, (document.licence,))
    for paper in release.papers():
        yield Line("paper", paper.id, (paper.licence,))
    for passage in release.passages():
        yield Line("passage", passage.id, (passage.licence,))
    for row in release.rows():
        own = (records.get(row.dataset_id, ""),)
        yield Line("question", row.id, tuple(dict.fromkeys(e.licence for e in row.evidence)) or own)


def write_lines(out: TextIO, lines: Iterable[Line]) -> int:
    """Write lines as CSV; return their number."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("kind", "id", "licence", "may be published"))
    number = 0
    for number, line in enumerate(lines, 1):  # noqa: B007
        writer.writerow(map(cell, (line.kind, line.id, "; ".join(line.licences), line.terms)))
    return number


def cell(text: str) -> str:
    """Return a text that no spreadsheet reads as a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
