"""Recomputes the numbers of an answer from the cells of a table that it rests on. Pure functions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from scirgen.claims.quantities import SCALES, Quantity, cell_quantity
from scirgen.core.records import Span

_MAX_PAIRED = 60
"""Cells of which every two are compared; of more, only those that stand next to each other."""
_FEW = 3
"""Up to so many cells a result of one digit counts; among more it occurs by chance."""


def cell_numbers(evidence: Sequence[Span]) -> list[Quantity]:
    """Return the numbers of the cells that carry an answer, or of the rows that do, in the units of their headers."""
    found: list[Quantity | None] = []
    for span in (s for s in evidence if s.medium == "table" and s.role == "answer"):
        if span.headers:
            found.append(cell_quantity(span.text, span.headers))
            continue
        above = (s for s in evidence if s.medium != "text" and s.role == "context" and s.start < span.start)
        mine = sorted((s for s in above if s.document_id == span.document_id), key=lambda s: s.start)
        cells = _columns(span)
        heads = [row for row in map(_columns, _nearest(mine)) if len(row) == len(cells)]
        found += [cell_quantity(text, [row[n] for row in heads]) for n, text in enumerate(cells)]
    return [q for q in found if q is not None]


def _nearest(rows: Sequence[Span]) -> list[Span]:
    """Return the rows from the last caption on: rows before it are of another table."""
    captions = [n for n, row in enumerate(rows) if not row.text.lstrip().startswith("|")]
    return list(rows[captions[-1] :] if captions else rows)


def _columns(row: Span) -> list[str]:
    """Return the texts of a row of a table in Markdown."""
    return [text.strip() for text in row.text.strip().strip("|").split("|")]


def computed(claimed: Quantity, cells: Sequence[Quantity]) -> str:
    """Describe how a number follows from cells, within its rounding; "" if it does not.

    Returns:
        found, count, sum, mean, difference, per cent, share or ratio.
    """
    if any(_rounds(claimed, q.value) for q in cells):
        return "found"
    if claimed.value == len(cells) and not claimed.unit:
        return "count"
    if claimed.decimals == 0 and abs(claimed.value) < 10 and len(cells) > _FEW:
        return ""
    return next((name for name, value in _results(claimed, cells) if _rounds(claimed, value)), "")


def alike(claimed: Quantity, cell: Quantity) -> bool:
    """Check whether the units of a number and a cell agree: "g" agrees with "g m−2", and a missing unit with any."""
    one_measure = any(claimed.unit in scale and cell.unit in scale for scale in SCALES)
    return not (claimed.unit and cell.unit) or cell.unit.startswith(claimed.unit) or one_measure


def _results(claimed: Quantity, cells: Sequence[Quantity]) -> Iterator[tuple[str, float]]:
    """Compute what cells may say together; sums and means of those in the unit of the claimed number, in runs."""
    like = [q.value for q in cells if alike(claimed, q)]
    for start, end in itertools.combinations(range(len(like) + 1), 2):
        if end - start > 1 and (len(like) <= _MAX_PAIRED or (start, end) == (0, len(like))):
            total = math.fsum(like[start:end])
            yield "sum", total
            yield "mean", total / (end - start)
    values = [q.value for q in cells]
    near = len(values) if len(values) <= _MAX_PAIRED else 2
    for a, b in ((a, b) for n, a in enumerate(values) for b in values[n + 1 : n + near]):
        yield "difference", a - b
        for over, under in ((a, b), (b, a)):
            if under and claimed.unit == "%":
                yield "per cent", 100 * (over - under) / abs(under)
                yield "share", 100 * over / under
            elif under and not claimed.unit:
                yield "ratio", over / under
    if claimed.unit == "%" and (total := math.fsum(values)):
        yield from (("share", 100 * value / total) for value in values)


def _rounds(claimed: Quantity, value: float) -> bool:
    """Check whether a value is the claimed number when rounded to its places; signs may be said in words."""
    if claimed.signed and claimed.value * value < 0:
        return False
    return abs(abs(claimed.value) - abs(value)) <= 0.5 * 10.0**-claimed.places + 1e-9 * max(1.0, abs(value))
