"""Tables of a parsed document as cells. A cell's text is the document's own text at its place."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


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
    unit: str = Field(default="", description="the number's unit, from the cell or else from its header")


class Table(BaseModel):
    """The cells of a table in reading order. ``caption`` and ``notes`` are places in the document's text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    width: int = Field(description="number of columns")
    header_rows: int
    header_columns: int
    cells: tuple[Cell, ...]
    caption: tuple[int, int] | None = None
    notes: tuple[int, int] | None = None

    def headers(self, cell: Cell) -> tuple[Cell, ...]:
        """The cells that say what a cell is: the row that heads its group, its row's headers, its column's headers."""
        last = cell.column + cell.columns
        above = [
            c for c in self.cells if c.row < self.header_rows and c.column < last and cell.column < c.column + c.columns
        ]
        groups = [c for c in self.cells if self.is_group(c) and c.row < cell.row]
        beside = [
            c
            for c in self.cells
            if self.header_rows <= c.row <= cell.row < c.row + c.rows
            and c.column < min(self.header_columns, cell.column)
            and not self.is_group(c)
        ]
        body = cell.row >= self.header_rows and not self.is_group(cell)
        return tuple(c for c in (*groups[-1:], *beside, *above) if body and c != cell)

    def is_group(self, cell: Cell) -> bool:
        """Check whether a cell fills its row below the header, and so heads the rows that follow."""
        return cell.header and cell.row >= self.header_rows and cell.columns >= self.width > 1

    def is_value(self, cell: Cell) -> bool:
        """Check whether a question may ask for a cell: it is in no header and not a row's name."""
        return cell.row >= self.header_rows and cell.column > 0 and not self.is_group(cell)

    def at(self, start: int, end: int) -> Cell | None:
        """The cell with exactly this place."""
        return next((cell for cell in self.cells if (cell.start, cell.end) == (start, end)), None)

    def shifted(self, by: int, caption: tuple[int, int] | None = None, notes: tuple[int, int] | None = None) -> Table:
        """The table with its cells' places moved by ``by``."""
        cells = tuple(c.model_copy(update={"start": c.start + by, "end": c.end + by}) for c in self.cells)
        return self.model_copy(update={"cells": cells, "caption": caption, "notes": notes})
