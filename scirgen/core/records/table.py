"""Tables of a parsed document as cells. A cell's text is the document's own text at its place."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field

from scirgen.core.grouped import grouped

_NUMBER = re.compile(r"[(\[<>≤≥~+−–.-]*\s?\d[\W\d]*")
"""A header that is a number, an interval or a range, and says nothing by itself."""


class Cell(BaseModel):
    """A cell that is not empty, at [start, end) of the document's text; page and box are those of that span."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: int
    end: int
    row: int = Field(description="0-based, as column; of a cell over several: the first")
    column: int
    rows: int = Field(default=1, description="rows that it covers")
    columns: int = Field(default=1, description="columns that it covers")
    header: bool = Field(default=False, description="it names a column, a row or the rows below it")
    number: float | None = Field(default=None, description="its value, if it is one number")
    unit: str = Field(
        default="", description="the number's unit, from the cell or its header; of a header: what it says"
    )


class Table(BaseModel):
    """The cells of a table in reading order. ``caption`` and ``notes`` are places in the document's text."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    width: int = Field(description="number of columns")
    header_rows: int
    header_columns: int
    cells: tuple[Cell, ...]
    caption: tuple[int, int] | None = None
    notes: tuple[int, int] | None = None

    @cached_property
    def _above(self) -> list[Cell]:
        return [c for c in self.cells if c.row < self.header_rows]

    @cached_property
    def _groups(self) -> list[Cell]:
        return [c for c in self.cells if self.is_group(c)]

    @cached_property
    def _names(self) -> list[Cell]:
        """The cells that name rows."""
        below = (c for c in self.cells if c.row >= self.header_rows and c.column < self.header_columns)
        return [c for c in below if not self.is_group(c)]

    @cached_property
    def _beside(self) -> dict[int, list[Cell]]:
        """The cells that name each row."""
        return grouped((row, c) for c in self._names for row in range(c.row, c.row + c.rows))

    @cached_property
    def _by_place(self) -> dict[tuple[int, int], Cell]:
        return {(c.start, c.end): c for c in self.cells}

    @cached_property
    def _heads(self) -> dict[tuple[int, int], Cell | None]:
        return {}

    def headers(self, cell: Cell) -> tuple[Cell, ...]:
        """Return the cells that label a cell: its group's heading row, its row's and its column's headers."""
        if cell.row < self.header_rows or self.is_group(cell):
            return ()
        last = cell.column + cell.columns
        before = bisect_left(self._groups, cell.row, key=lambda c: c.row)
        beside = (c for c in self._beside.get(cell.row, ()) if c.column < cell.column)
        above = (c for c in self._above if c.column < last and cell.column < c.column + c.columns)
        return (*self._groups[max(0, before - 1) : before], *beside, *above)

    def head(self, header: Cell, text: str) -> Cell | None:
        """Return the cell that says what a header is that is a number: the name of its column; of one in the top rows,
        a unit at their left that is not of the numbers below. ``text`` is the document's."""
        if not self._heads:
            self._heads.update(self._found_heads(text))
        return self._heads.get((header.start, header.end))

    def _found_heads(self, text: str) -> Iterator[tuple[tuple[int, int], Cell | None]]:
        corner = [c for c in self._above if c.column < self.header_columns]
        units = [c for c in corner if c.unit]
        for h in (*self._names, *self._above):
            found = None
            if _NUMBER.fullmatch(text, h.start, h.end):
                if h.row >= self.header_rows:
                    named = (c for c in corner if c.column <= h.column < c.column + c.columns)
                    found = max(named, key=lambda c: c.row, default=None)
                    units = [c for c in units if c is not found]
                else:
                    found = next((c for c in units if c.row <= h.row < c.row + c.rows), None)
            yield (h.start, h.end), found

    def is_group(self, cell: Cell) -> bool:
        """Check whether a cell fills its row below the header, and so heads the rows that follow."""
        return cell.header and cell.row >= self.header_rows and cell.columns >= self.width > 1

    def is_value(self, cell: Cell) -> bool:
        """Check whether a question may ask for a cell: it is in no header and not a row's name."""
        return cell.row >= self.header_rows and cell.column > 0 and not self.is_group(cell)

    def at(self, start: int, end: int) -> Cell | None:
        """Return the cell with exactly this place."""
        return self._by_place.get((start, end))

    def with_cells(
        self, cells: tuple[Cell, ...], caption: tuple[int, int] | None = None, notes: tuple[int, int] | None = None
    ) -> Table:
        """Return the same table with other cells; a copy of the model would keep what was derived from the old ones."""
        return Table(**{**self.model_dump(exclude={"cells"}), "cells": cells, "caption": caption, "notes": notes})

    def shifted(self, by: int, caption: tuple[int, int] | None = None, notes: tuple[int, int] | None = None) -> Table:
        """Return the table with its cells' places moved by ``by``."""
        moved = (c.model_copy(update={"start": c.start + by, "end": c.end + by}) for c in self.cells)
        return self.with_cells(tuple(moved), caption, notes)
